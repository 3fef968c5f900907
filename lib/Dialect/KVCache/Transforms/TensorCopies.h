//===- TensorCopies.h - Copies that bufferization would make ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_TENSORCOPIES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_TENSORCOPIES_H

#include "MemRefRoots.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"

namespace mlir::kvcache {

/// The arguments of the body of `op` whose memrefs are where `memory`, a
/// memref, a cache or a collection, may lie; of the latter two in the pools
/// `counted`.
SmallVector<BlockArgument> findBodyArguments(WithBuffersOp op, Value memory,
                                             WrittenPools counted,
                                             MemRefRoots &roots);

/// Adds notes to `error` that say what forces the copy of `copied`: a use of
/// the old contents, a loop that comes back to them, or memory that may not be
/// written.
void explainCopy(InFlightDiagnostic &error, OpOperand &copied,
                 const bufferization::OneShotAnalysisState &state);

/// Whether `written`, in place, is of old contents each time that its operation
/// runs again in a loop of branches: the analysis does not see that.
bool isWrittenAnew(OpOperand &written,
                   const bufferization::OneShotAnalysisState &state);

/// Fails, with errors, where bufferization would copy a tensor of `op` at
/// another operation: one that leads to `op` (a call of its function, an
/// argument of a loop), or one that has the same buffer. Followed are what
/// `writes` names, up to the operation that wrote it last, and pools, read or
/// written, throughout the program. Copies that the program asks for itself
/// (`bufferization.alloc_tensor`) are none.
///
/// Takes the state of the whole program, as `resolveConflicts` has it; other
/// conflicts may be resolved already. Before that, where only the function of
/// `op` is analysed, `bufferizationState` is null, and only copies by that
/// function's loops count.
LogicalResult
checkTensorCopies(WithBuffersOp op,
                  const bufferization::OneShotAnalysisState &state,
                  const bufferization::BufferizationState *bufferizationState);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_TENSORCOPIES_H
