//===- PagedProducts.h - Products of rows with tiles of a cache -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PAGEDPRODUCTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PAGEDPRODUCTS_H

#include "CacheTiles.h"
#include "QueryFragments.h"

#include "../Tiles/ScoreTile.h"

namespace mlir::kvcache {

/// Scores and outputs of the tiles that `CacheTiles` loads, by its registers as
/// fragments. Keys of 16 bits are fragment B as they lie in memory. Those of 8
/// bits, which become other registers anyway, are fragment A of S^T = K Q^T,
/// for half the products. Values are fragment A of O^T = V^T P^T.
class PagedProducts {
public:
  using Values = SmallVector<Value>;

  /// `rowGroups` groups of eight rows.
  PagedProducts(ImplicitLocOpBuilder &b, Warp &warp, const CacheTiles &tiles,
                QueryFragments &queries, int64_t rowGroups);

  /// Puts the queries' fragments to shared memory, from where `scores` takes
  /// them: registers that hold none are free. All warps of the block have the
  /// same rows, and come together; once.
  void shareQueries(KernelBuilder &builder);

  /// How scores lie.
  const ScoreLanes &lanes() const { return scoreLanes; }

  /// Scores by row and token of the lane, of what is loaded of keys. `scales`
  /// are by token of the lane and granule; they are empty without scales, and
  /// where elements have their own. What queries and values of 8 bits are to be
  /// multiplied by (`decodeScale`) is left out.
  SmallVector<Values> scores(ValueRange keys, ValueRange scales);

  /// Values of a tile, and the scales that weights are to be multiplied by, by
  /// token of the lane and granule.
  struct LoadedValues {
    ValueRange values;
    Values scales;
    /// By token of the values, normalized: see ElementScales.
    SmallVector<Values> elementScales;
  };
  LoadedValues prepare(ValueRange values, ValueRange scales);

  /// Adds values times `weights` (f32), by granule, row and token as scores
  /// lie, to `sums`: of each group of rows and step of 16 elements four,
  /// elements `row` and `row + 8` of rows `2 column` and `2 column + 1`.
  void addValues(MutableArrayRef<Value> sums, const LoadedValues &values,
                 ArrayRef<SmallVector<Values>> weights);

  /// What outputs and scores are to be multiplied by, as 8-bit elements are not
  /// decoded to what they are; null for 1.
  Value decodeScale() const;

private:
  using Place = std::pair<int64_t, int64_t>;

  /// Steps of 16 elements of keys: a piece, and which one of it.
  SmallVector<Place> steps() const;
  /// What scores take of queries at step `number` of all: fragment A of two
  /// groups of rows, or of this step and the next one of one group; of 8 bits
  /// fragment B of each group.
  Values queryWords(int64_t number);
  int64_t stepsPerFragment() const {
    return !is8Bit() && scoreLanes.rowGroups == 1 ? 2 : 1;
  }
  SmallVector<Values> scoresOf16Bits(ValueRange keys);
  SmallVector<Values> scoresOf8Bits(ValueRange keys, ValueRange scales);
  /// `elementScales` are by token and element of the piece, empty where
  /// elements have none.
  Values valueFragment(const LoadedValues &values, int64_t piece, int64_t step,
                       ArrayRef<Values> elementScales);
  bool is8Bit() const { return scoreLanes.transposed; }

  ImplicitLocOpBuilder &b;
  Warp &warp;
  const CacheTiles &tiles;
  QueryFragments &queries;
  Type dtype, product;
  ScoreLanes scoreLanes;
  /// Where queries lie, fragment by fragment and lane by lane; null where they
  /// are in registers.
  Value sharedQueries;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_PAGEDPRODUCTS_H
