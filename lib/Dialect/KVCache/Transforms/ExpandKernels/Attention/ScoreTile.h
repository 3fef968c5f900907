//===- ScoreTile.h - Scores of a tile of tokens ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SCORETILE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SCORETILE_H

#include "CacheTiles.h"
#include "QueryFragments.h"

namespace mlir::kvcache {

/// The scores of 16 tokens by groups of eight rows that a lane has, four of
/// each group: of one row and four tokens or, where caches hold codes,
/// transposed, of two rows and two tokens.
struct ScoreLanes {
  ImplicitLocOpBuilder &b;
  Warp &warp;
  bool isCode;

  static constexpr int64_t scoresPerLane = 4;
  int64_t rowsPerLane() const { return isCode ? 2 : 1; }
  int64_t tokensPerLane() const { return isCode ? 2 : 4; }
  /// Which of the lane's rows and tokens a score is of.
  int64_t rowOf(int64_t score) const { return isCode ? score % 2 : 0; }
  int64_t tokenOf(int64_t score) const { return isCode ? score / 2 : score; }
  /// `i32`: where in their group and tile these are.
  Value rowInGroup(int64_t row) const;
  Value tokenInTile(int64_t token) const;
};

/// Scores S = Q K^T of what `CacheTiles` and `QueryFragments` load, on tensor
/// cores.
class ScoreTile {
public:
  using Values = SmallVector<Value>;

  /// Caches are of `dtype`, products of `product`.
  ScoreTile(ImplicitLocOpBuilder &b, const ScoreLanes &lanes,
            const CacheTiles &tiles, QueryFragments &queries, Type dtype,
            Type product, int64_t rowGroups)
      : b(b), lanes(lanes), tiles(tiles), queries(queries), dtype(dtype),
        product(product), rowGroups(rowGroups) {}

  /// Scores by group of rows and score of the lane, of what is loaded of keys
  /// and their scales, if there are any: without what queries and codes are to
  /// be multiplied by.
  SmallVector<Values> scores(ValueRange keys, ValueRange scales) {
    return lanes.isCode ? scoresOfCodes(keys, scales) : scoresOfNumbers(keys);
  }

private:
  SmallVector<Values> scoresOfNumbers(ValueRange keys);
  SmallVector<Values> scoresOfCodes(ValueRange keys, ValueRange scales);

  ImplicitLocOpBuilder &b;
  ScoreLanes lanes;
  const CacheTiles &tiles;
  QueryFragments &queries;
  Type dtype, product;
  int64_t rowGroups;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SCORETILE_H
