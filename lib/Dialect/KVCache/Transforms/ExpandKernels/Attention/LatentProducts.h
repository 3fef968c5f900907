//===- LatentProducts.h - Products of rows with a tile of latents ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_LATENTPRODUCTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_LATENTPRODUCTS_H

#include "SharedTile.h"

#include "../Tiles/OutputTile.h"

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
  /// `shared` on, weights from byte `weightsAt` on.
  LatentProducts(ImplicitLocOpBuilder &b, Warp &warp, SharedTile &shared,
                 Type product, int64_t queriesAt, int64_t weightsAt,
                 int64_t size, int64_t slice, int64_t tokens)
      : b(b), warp(warp), shared(shared), product(product),
        queriesAt(queriesAt), weightsAt(weightsAt), size(size), slice(slice),
        tokens(tokens) {}

  /// Bytes of queries.
  static int64_t queryBytes(int64_t size) {
    return stepsOf(size) * fragmentBytes;
  }
  /// Bytes of the weights of a tile.
  static int64_t weightBytes(int64_t tokens) {
    return weightTerms * rows * weightStride(tokens);
  }
  /// Stores fragment A of queries of a step: the step is `step` plus that of
  /// the warp's number.
  void storeQueries(int64_t step, ValueRange fragment);

  /// How scores and weights of the warp's tokens lie.
  ScoreLanes scoreLanes() const { return {false, rows / 8, 1}; }

  /// Scores by row and token of the lane, times `scales` of these tokens; they
  /// are empty without scales.
  SmallVector<Values> scores(ValueRange scales);
  /// Stores weights (f32), by row and token of the lane. What all warps have
  /// stored `addValues` finds.
  void storeWeights(ArrayRef<Values> weights);
  /// Adds values times weights to `sums`: of each eight elements of the slice a
  /// fragment C.
  void addValues(MutableArrayRef<Value> sums);

private:
  /// Tokens of a warp.
  static constexpr int64_t warpTokens = 8;
  /// A fragment has 16 bytes a lane.
  static constexpr int64_t laneBytes = 16,
                           fragmentBytes = Warp::lanes * laneBytes;
  static int64_t stepsOf(int64_t size) { return size / 16; }
  /// Bytes from row to row of a term of weights: eight rows of a few tokens lie
  /// in different banks.
  static int64_t weightStride(int64_t tokens) { return 2 * tokens + 16; }

  ImplicitLocOpBuilder &b;
  Warp &warp;
  SharedTile &shared;
  Type product;
  int64_t queriesAt, weightsAt, size, slice, tokens;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_LATENTPRODUCTS_H
