//===- Numbers.h - Conversions of stored numbers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_NUMBERS_H
#define KVCACHE_DIALECT_KVCACHE_IR_NUMBERS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// A float or an integer code (a number or a vector) as another float, rounded
/// once.
Value convertFloat(ImplicitLocOpBuilder &b, Value value, Type element);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_IR_NUMBERS_H
