//===- OverlapChecks.h - Memory that kernels write --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_OVERLAPCHECKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_OVERLAPCHECKS_H

#include "mlir/IR/Operation.h"

namespace mlir::kvcache {

/// Asserts on the host that what `op`, a kernel operation, writes shares no
/// memory with its other operands: tensors, pools and tables. Pools and tables
/// are known where their collection is made in the same function.
void emitOverlapChecks(Operation *op);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_OVERLAPCHECKS_H
