//===- Divisibility.h - What divides an index ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_KVCACHETOMEMREF_DIVISIBILITY_H
#define LIB_CONVERSION_KVCACHETOMEMREF_DIVISIBILITY_H

#include "mlir/IR/Value.h"

namespace mlir::kvcache {

/// A number that is sure to divide `value`, from 1 to 2^32: the magnitude of a
/// constant, else a power of two, found through sums, products, shifts, casts,
/// affine.apply and the induction variables of scf.for. 0 is divided by
/// everything: 2^32 stands for that.
int64_t getKnownDivisor(Value value);

} // namespace mlir::kvcache

#endif // LIB_CONVERSION_KVCACHETOMEMREF_DIVISIBILITY_H
