//===- Branch.h - Values of one of two branches --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_BRANCH_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_BRANCH_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// What `then` or `otherwise` gives, values of `types`, by `condition` (`i1`);
/// a null one never holds.
SmallVector<Value> emitIfElse(ImplicitLocOpBuilder &b, Value condition,
                              TypeRange types,
                              function_ref<SmallVector<Value>()> then,
                              function_ref<SmallVector<Value>()> otherwise);

/// Zeros of `types`.
SmallVector<Value> emitZeros(ImplicitLocOpBuilder &b, TypeRange types);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_BRANCH_H
