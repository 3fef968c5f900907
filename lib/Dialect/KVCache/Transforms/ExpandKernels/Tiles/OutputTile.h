//===- OutputTile.h - Values of a tile times weights ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_OUTPUTTILE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_OUTPUTTILE_H

#include "ScoreTile.h"

namespace mlir::kvcache {

/// Numbers of 16 bits whose sum a weight is. One has too few bits where values
/// cancel.
constexpr int64_t weightTerms = 2;

/// Weights of a tile as fragments, to multiply values with on tensor cores: as
/// A of O = P V or, where outputs are transposed, as B of O^T = V^T P^T. A step
/// is sixteen tokens. Products are of `element`.
class OutputTile {
public:
  using Values = SmallVector<Value>;

  /// Fragments A of sixteen rows, by step and term.
  OutputTile(ImplicitLocOpBuilder &b, Type element,
             ArrayRef<SmallVector<Values>> fragments)
      : b(b), element(element), transposed(false),
        fragments{llvm::to_vector(fragments)} {}
  /// Fragments B, of weights (f32) by row and token of the lane, where its
  /// scores lie.
  OutputTile(ImplicitLocOpBuilder &b, ScoreLanes lanes, Type element,
             ArrayRef<Values> weights);

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
