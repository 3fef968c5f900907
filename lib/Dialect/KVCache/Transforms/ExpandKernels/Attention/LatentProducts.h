//===- LatentProducts.h - Products of rows with a tile of latents ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_LATENTPRODUCTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_LATENTPRODUCTS_H

#include "SharedTile.h"

#include "../Tiles/ScoreTile.h"

namespace mlir::kvcache {

/// Scores and outputs of sixteen rows with a tile of latents in shared memory,
/// where queries are as well: S = Q K^T of a warp's eight tokens and all
/// elements, O = P V of all tokens and a warp's slice of the elements.
class LatentProducts {
public:
  using Values = SmallVector<Value>;
  static constexpr int64_t rows = 16;

  /// A tile has `tokens` tokens of `size` elements, a slice `slice`; products
  /// are of `product`. Queries lie from byte `queriesAt` of the memory of
  /// `shared` on.
  LatentProducts(ImplicitLocOpBuilder &b, Warp &warp, SharedTile &shared,
                 Type product, int64_t queriesAt, int64_t size, int64_t slice,
                 int64_t tokens)
      : b(b), warp(warp), shared(shared), product(product),
        queriesAt(queriesAt), size(size), slice(slice), tokens(tokens) {}

  /// Bytes of queries.
  static int64_t queryBytes(int64_t size) {
    return stepsOf(size) * fragmentBytes;
  }
  /// Stores fragment A of queries of a step: the step is `step` plus that of
  /// the warp's number.
  void storeQueries(int64_t step, ValueRange fragment);

  /// How scores of the warp's tokens lie, and weights of all of them.
  ScoreLanes scoreLanes() const { return {false, rows / 8, 1}; }
  ScoreLanes weightLanes() const { return {false, rows / 8, tokens / 8}; }

  /// Scores by row and token of the lane, times `scales` of these tokens; they
  /// are empty without scales.
  SmallVector<Values> scores(ValueRange scales);
  /// Adds values times `weights` (f32), by row and token of the lane, to
  /// `sums`: of each eight elements of the slice a fragment C.
  void addValues(MutableArrayRef<Value> sums, ArrayRef<Values> weights);

private:
  /// A fragment has 16 bytes a lane.
  static constexpr int64_t laneBytes = 16,
                           fragmentBytes = Warp::lanes * laneBytes;
  static int64_t stepsOf(int64_t size) { return size / 16; }

  ImplicitLocOpBuilder &b;
  Warp &warp;
  SharedTile &shared;
  Type product;
  int64_t queriesAt, size, slice, tokens;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_LATENTPRODUCTS_H
