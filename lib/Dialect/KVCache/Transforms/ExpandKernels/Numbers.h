//===- Numbers.h - Conversions of stored numbers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_NUMBERS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_NUMBERS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// A float or an integer code (a number or a vector) as another float, rounded
/// once.
Value convertFloat(ImplicitLocOpBuilder &b, Value value, Type element);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_NUMBERS_H
