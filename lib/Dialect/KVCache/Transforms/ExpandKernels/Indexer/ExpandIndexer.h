//===- ExpandIndexer.h - Kernels that the indexer's operations share -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_EXPANDINDEXER_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_EXPANDINDEXER_H

#include "../ExpandKernels.h"
#include "BestRows.h"
#include "ScoreTiles.h"

namespace mlir::kvcache {

/// Emits the kernel that writes all scores of `inputs`, before `op`.
void expandScores(ImplicitLocOpBuilder &host, Operation *op,
                  const ScoreInputs &inputs, Value scores, Tuning tuning);

/// Emits the kernel that finds the best of `scores`, before `op`. In the kernel
/// `lengths` gives the scores (`index`) that a row (`index`) has; it is called
/// once with a builder for what it takes from the host.
using RowLengths = std::function<Value(Value row)>;
void expandBest(ImplicitLocOpBuilder &host, Operation *op, Value scores,
                Value indices, Value values, Tuning tuning,
                function_ref<RowLengths(KernelBuilder &)> makeLengths);

/// Registers for a kernel of scores that may trap, which ptxas would spill some
/// of for the sake of one more block.
void keepRegisters(KernelBuilder &builder, const ScoreInputs &inputs,
                   const Tuning &tuning, int64_t threads);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_EXPANDINDEXER_H
