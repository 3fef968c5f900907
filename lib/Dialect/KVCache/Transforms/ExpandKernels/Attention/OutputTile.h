//===- OutputTile.h - Values of a tile times weights ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_OUTPUTTILE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_OUTPUTTILE_H

#include "ScoreTile.h"

namespace mlir::kvcache {

/// Adds O^T = V^T P^T of what `CacheTiles` loads of values, on tensor cores. A
/// lane has four sums of each group of eight rows and step of 16 elements:
/// elements `row` and `row + 8` of rows `2 column` and `2 column + 1`.
class OutputTile {
public:
  using Values = SmallVector<Value>;

  OutputTile(ImplicitLocOpBuilder &b, const ScoreLanes &lanes,
             const CacheTiles &tiles, Type dtype, Type product,
             int64_t rowGroups)
      : b(b), lanes(lanes), tiles(tiles), dtype(dtype), product(product),
        rowGroups(rowGroups) {}

  /// Adds the values times `weights` (f32), by granule of scales, row of the
  /// lane's and token, as scores lie, to `sums`.
  void add(MutableArrayRef<Value> sums, ValueRange values,
           ArrayRef<SmallVector<Values>> weights);

private:
  SmallVector<Values> fragments(ArrayRef<Values> rows);
  Values valueFragment(ValueRange values, int64_t piece, int64_t step,
                       int64_t granule);

  ImplicitLocOpBuilder &b;
  ScoreLanes lanes;
  const CacheTiles &tiles;
  Type dtype, product;
  int64_t rowGroups;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_OUTPUTTILE_H
