//===- OutputTile.h - Values of a tile times weights ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_OUTPUTTILE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_OUTPUTTILE_H

#include "ScoreTile.h"

namespace mlir::kvcache {

/// Weights of a tile as fragments, to multiply values with on tensor cores: as
/// A of O = P V or, where outputs are transposed, as B of O^T = V^T P^T. A step
/// is sixteen tokens.
class OutputTile {
public:
  using Values = SmallVector<Value>;

  /// `weights` (f32) are by row and token of the lane, where its scores lie.
  /// Products are of `element`; where that is bf16, whose 8 bits are too few,
  /// weights are sums of two.
  OutputTile(ImplicitLocOpBuilder &b, ScoreLanes lanes, Type element,
             bool transposed, ArrayRef<Values> weights);

  /// Adds the product with `values`, a fragment B of the tokens of step `step`
  /// and eight elements or, transposed, a fragment A of sixteen elements and
  /// these tokens, to `sums`, a fragment C of block `rows` of rows: sixteen or,
  /// transposed, eight of them.
  void add(MutableArrayRef<Value> sums, int64_t rows, int64_t step,
           ValueRange values) const;

private:
  ImplicitLocOpBuilder &b;
  Type element;
  bool transposed;
  /// By block of rows, step and term.
  SmallVector<SmallVector<SmallVector<Values>>> fragments;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_OUTPUTTILE_H
