//===- ControlFlow.h - Branches and loops -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_CONTROLFLOW_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_CONTROLFLOW_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// Calls `body` under `condition`, or without one where it is null.
void emitIf(ImplicitLocOpBuilder &b, Value condition,
            function_ref<void()> body);

/// What `then` or `otherwise` gives, values of `types`, by `condition` (`i1`,
/// null for always).
SmallVector<Value> emitIfElse(ImplicitLocOpBuilder &b, Value condition,
                              TypeRange types,
                              function_ref<SmallVector<Value>()> then,
                              function_ref<SmallVector<Value>()> otherwise);

/// `then` under a condition, else `otherwise`.
Value emitChoice(ImplicitLocOpBuilder &b, Value condition,
                 function_ref<Value()> then, Value otherwise);

/// A loop that carries `initial`: while `condition` holds of them, they become
/// what `body` makes of them.
SmallVector<Value> emitWhile(ImplicitLocOpBuilder &b, ValueRange initial,
                             function_ref<Value(ValueRange)> condition,
                             function_ref<SmallVector<Value>(ValueRange)> body);

/// Zeros of `types`.
SmallVector<Value> emitZeros(ImplicitLocOpBuilder &b, TypeRange types);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_CONTROLFLOW_H
