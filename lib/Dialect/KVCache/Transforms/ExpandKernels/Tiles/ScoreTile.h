//===- ScoreTile.h - Scores of a tile on tensor cores ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_SCORETILE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_SCORETILE_H

#include "Warp.h"

namespace mlir::kvcache {

/// How the scores of a tile, rows of queries by tokens, lie in a warp: as
/// fragments C (see emitMma) of S = Q K^T or, transposed, of S^T = K Q^T. Rows
/// and tokens come in groups of eight; of each group a lane has one row and two
/// tokens or, transposed, two rows and one token.
struct ScoreLanes {
  bool transposed;
  int64_t rowGroups, tokenGroups;

  int64_t rowsPerLane() const { return rowGroups * (transposed ? 2 : 1); }
  int64_t tokensPerLane() const { return tokenGroups * (transposed ? 1 : 2); }
  /// `i32`: where in the tile the lane's row `row` and its token `token` are.
  Value rowInTile(ImplicitLocOpBuilder &b, const Warp &warp, int64_t row) const;
  Value tokenInTile(ImplicitLocOpBuilder &b, const Warp &warp,
                    int64_t token) const;
};

/// The scores of a tile: sums over the elements of a head, sixteen of them (a
/// step) at a time. Where fragments come from is for the kernel to say.
class ScoreTile {
public:
  using Values = SmallVector<Value>;

  /// Products are of `element` (f16 or bf16). A product waits for the one
  /// before it in its chain: steps take turns in `chains` of them; `addTwo` has
  /// two.
  ScoreTile(ImplicitLocOpBuilder &b, ScoreLanes lanes, Type element,
            int64_t chains = 1);

  /// Takes a step in.
  /// - S, with two groups of rows: `queries` is one fragment A, `keys` a
  ///   fragment B for each group of tokens.
  /// - S^T: `queries` is a fragment B for each group of rows, `keys` a fragment
  ///   A for each two groups of tokens.
  void add(ArrayRef<Values> queries, ArrayRef<Values> keys);
  /// Takes two steps of S with one group of rows in: fragment A has the queries
  /// of the first step in its upper rows, those of the second in its lower
  /// ones; `first` and `second` are the keys of each step, as `add` has them.
  /// `second` is empty where there is no such step.
  void addTwo(const Values &queries, ArrayRef<Values> first,
              ArrayRef<Values> second);

  /// Multiplies what was taken in since the last call by the scales (f32) of
  /// the lane's tokens.
  void scale(ValueRange scales);

  /// Scores (f32) by row and token of the lane.
  SmallVector<Values> scores() const;

private:
  void add(int64_t chain, ArrayRef<Values> queries, ArrayRef<Values> keys);
  /// What was taken in since the last call of `scale`.
  Value sum(int64_t row, int64_t token) const;
  bool hasOneGroup() const { return !lanes.transposed && lanes.rowGroups == 1; }

  ImplicitLocOpBuilder &b;
  ScoreLanes lanes;
  Type element;
  /// Steps that `add` has taken in.
  int64_t step = 0;
  /// By chain and product: fragments C.
  SmallVector<SmallVector<Values>> sums;
  /// By row and token; empty before the first call of `scale`.
  SmallVector<Values> scaled;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_SCORETILE_H
