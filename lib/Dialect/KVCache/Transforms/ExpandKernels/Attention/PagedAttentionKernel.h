//===- PagedAttentionKernel.h - Attention to pages ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PAGEDATTENTIONKERNEL_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PAGEDATTENTIONKERNEL_H

#include "PagedProducts.h"
#include "Partials.h"
#include "QueryTiles.h"
#include "SharedScales.h"
#include "SoftmaxState.h"

#include "../ExpandKernels.h"

namespace mlir::kvcache {

/// The kernel of `kvcache.paged_attention`: see ExpandPagedAttention.cpp.
class PagedAttentionKernel {
public:
  /// `sharesScales` says that each warp of a block has a head of its own and
  /// all tokens, instead of some of the tokens of one head.
  PagedAttentionKernel(ImplicitLocOpBuilder &host, PagedAttentionOp op,
                       Tuning tuning, bool sharesScales);
  void emit();

private:
  using Values = SmallVector<Value>;

  /// The tile that comes, where it is loaded ahead, and where the one after it
  /// lies; else where the one that comes does.
  struct Ahead {
    Values keys, values, pages, scales;
  };

  void emitTile(const QueryTile &rows, Value head, Value part);
  /// Tiles `first` to before `stop`, of tokens that all rows see.
  SoftmaxState walkWhole(Value first, Value stop, const SoftmaxState &initial);
  /// Others: `before` tiles from `first` on and those from `after` to before
  /// `stop`.
  SoftmaxState walkEdges(Value first, Value before, Value after, Value stop,
                         const SoftmaxState &initial);
  /// The scales of a tile: those loaded with it, or what comes another way.
  Values scalesOf(Side side, ValueRange loaded);
  /// Rows are those of each group of eight that the lane has scores of, sums of
  /// values four of each step of each group.
  SoftmaxLanes softmaxLanes() const;

  /// Scores are by row and token of the lane.
  void maskEdges(SmallVector<Values> &scores, Value tile);
  /// By granule, row of the lane's and token, as SoftmaxState gives them.
  SmallVector<SmallVector<Values>> weights(SoftmaxState &sums,
                                           SmallVector<Values> &scores,
                                           ValueRange valueScales);
  /// Takes a tile in, by its scores.
  void addValues(SoftmaxState &sums, ValueRange values,
                 SmallVector<Values> &scores);
  /// Stores what `runs` are of row `inTile` of the tile, which is a row.
  void store(const QueryTile &rows, Value inTile, Value head, Value part,
             Value maximum, Value sum, ArrayRef<RowRun> runs);
  void storeOwn(const SoftmaxState &sums, const QueryTile &rows, Value head,
                Value part);
  void merge(const SoftmaxState &sums, const QueryTile &rows, Value head,
             Value part);

  int64_t valueSteps() const { return headSize / 16; }
  const ScoreLanes &lanes() const { return products->lanes(); }
  int64_t headsPerBlock() const { return warps / tokenWarps; }
  /// Which of the warps with the tokens of its head the warp is.
  Value tokenWarp() {
    return tokenWarps == 1 ? Arith(*b).i32(0) : warp->number;
  }

  ImplicitLocOpBuilder &host;
  PagedAttentionOp op;
  Tuning tuning;
  LayoutAttr layout;
  Type dtype;
  bool is8Bit, sharesScales;
  /// Whether there is one loop of tiles, with care, instead of one for whole
  /// tiles and one for others, and whether that for whole tiles loads the next
  /// one while it multiplies one.
  bool walksOnce = false, prefetches = false;
  /// `tokenWarps` of the warps have the tokens of a head.
  int64_t headSize, group, rowGroups, warps, tokenWarps;

  KernelBuilder *builder = nullptr;
  ImplicitLocOpBuilder *b = nullptr;
  std::optional<Warp> warp;
  std::optional<CacheTiles> tiles;
  std::optional<SharedScales> scales;
  std::optional<QueryFragments> queries;
  std::optional<PagedProducts> products;
  std::optional<RowResults> results;
  /// f32; null where there is none.
  Value globalScale;
  /// By group of rows and row of the lane's: what scores are multiplied by, the
  /// first key and the one after the last.
  Values factors, begins, ends;
  /// The first key of any row and the one after the last of any; the last first
  /// key and the first one after a last.
  Value begin, end, lastBegin, firstEnd;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PAGEDATTENTIONKERNEL_H
