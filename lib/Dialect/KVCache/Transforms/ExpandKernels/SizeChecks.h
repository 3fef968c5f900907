//===- SizeChecks.h - Sizes that only the host knows ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_SIZECHECKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_SIZECHECKS_H

#include "mlir/IR/Operation.h"

namespace mlir::kvcache {

/// Asserts on the host, before anything is launched for `op`, what its verifier
/// asks of the sizes it knows: that tensors, lists and workspaces have as many
/// entries as one another and the collection ask for, and that the pools have
/// the layers. What folds to true leaves nothing.
void emitSizeChecks(Operation *op);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_SIZECHECKS_H
