//===- ExpandKernels.h - The kernels, an operation each ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_EXPANDKERNELS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_EXPANDKERNELS_H

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

namespace mlir::kvcache {

/// What is tuned, with a value for everything.
struct Tuning {
  int64_t threads, chunks, blocksPerSM;
  /// Blocks of a grid in its first dimension at most.
  int64_t maxBlocks = (int64_t(1) << 31) - 1;

  /// What `attr` (may be null) says, else `defaults`.
  static Tuning get(TuningAttr attr, Tuning defaults);
};

/// Each of these emits the launch of a kernel before `op`, which stays.
LogicalResult expandAppend(AppendOp op, Tuning overrides);
LogicalResult expandGather(GatherOp op, Tuning overrides);
/// `threads` 0: as many as the form takes that suits the layout.
LogicalResult expandPagedAttention(PagedAttentionOp op, Tuning tuning);
LogicalResult expandMLADecode(MLADecodeOp op, Tuning tuning);
LogicalResult expandClearPages(ClearPagesOp op, Tuning defaults);
LogicalResult expandCompact(CompactOp op, Tuning defaults);
LogicalResult expandConvertLayout(ConvertLayoutOp op, Tuning defaults);
LogicalResult expandCopyPages(CopyPagesOp op, Tuning defaults);
LogicalResult expandMoveTokens(MoveTokensOp op, Tuning defaults);
LogicalResult expandAppendScales(AppendScalesOp op, Tuning defaults);
LogicalResult expandQuantizeAppend(QuantizeAppendOp op, Tuning defaults);
LogicalResult expandRMSNorm(RMSNormOp op, Tuning defaults);
LogicalResult expandRope(RopeOp op, Tuning defaults);
LogicalResult expandRopeQuantizeAppend(RopeQuantizeAppendOp op,
                                       Tuning defaults);
LogicalResult expandRemapIndices(RemapIndicesOp op, Tuning defaults);
LogicalResult expandTopK(TopKOp op, Tuning defaults);
LogicalResult expandIndexerScores(IndexerScoresOp op, Tuning defaults);
/// `forScores` is for what scores keys, `forBest` for what chooses among
/// scores.
LogicalResult expandIndexerTopK(IndexerTopKOp op, Tuning forScores,
                                Tuning forBest);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_EXPANDKERNELS_H
