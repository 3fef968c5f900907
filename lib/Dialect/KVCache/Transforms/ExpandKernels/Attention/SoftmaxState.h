//===- SoftmaxState.h - A softmax over tiles of tokens --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each row a reference m, somewhat below the maximum of exponents (of base
// 2), the weights' sum SUM 2^(x - m) and the sums of values SUM 2^(x - m) v, of
// the tokens that were. m may lag behind, so that sums are scaled anew only
// where the maximum has grown a lot.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SOFTMAXSTATE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SOFTMAXSTATE_H

#include "../Tiles/Warp.h"

#include <functional>

namespace mlir::kvcache {

/// Smaller than the exponents that rows have, but not infinite: the maximum of
/// no token.
constexpr double noMaximum = -1.0e30;

/// The reference lies so far below the maximum: of many small weights beside a
/// large one f16, which ends at 2^-24 and at 2^16, holds more. Maxima so large
/// that f32 has no such difference become a reference of at most 8 below.
constexpr double weightHeadroom = 7;

/// A maximum may grow by so much before sums are scaled anew.
constexpr double maximumLag = 4;

/// The least logarithm (base 2) of a scale of values: a weight without its
/// scale is at most 2^(weightHeadroom + maximumLag - leastScaleLog), 2^107, of
/// which f32 holds the sum of a million.
constexpr double leastScaleLog = -96;

/// Which rows and tokens of a warp's tile the lanes have.
struct SoftmaxLanes {
  /// Rows of which a lane has scores.
  int64_t rows;
  /// A row's tokens are with the lanes of a column of fragments, else with
  /// those of a row.
  bool tokensOnRows;
  /// For each sum of values of the lane which row it is of: a number of the
  /// lane's rows or, where outputs are transposed and scores are not, of the
  /// rows `2 column` and `2 column + 1` of each group of eight, of which the
  /// lane has scores of row `row`.
  SmallVector<int64_t> outputRows;
  bool transposesOutputs = false;
  /// Where warps share the tokens of rows: gives `combine` over the warps of
  /// numbers of the lane's rows, the same in all of them. All warps come
  /// together.
  using Combine = function_ref<Value(Value, Value)>;
  std::function<SmallVector<Value>(ArrayRef<Value> ofRows, Combine combine)>
      overWarps = nullptr;
};

/// What a lane has of a tile.
struct SoftmaxTile {
  /// By row, then token: scores, of which what is masked is -inf. Exponents are
  /// scores times the factors of their rows, which are positive; where there
  /// are no factors, the scores.
  SmallVector<SmallVector<Value>> scores;
  SmallVector<Value> factors;
  /// By granule, then token: logarithms of the scales of values
  /// (`emitScaleLog`), and numbers with the signs of these; empty where there
  /// are no scales, or none that is negative. Maxima leave out what is NaN.
  SmallVector<SmallVector<Value>> logs, signs;
};

class SoftmaxState {
public:
  using Values = SmallVector<Value>;

  /// That of no token.
  SoftmaxState(ImplicitLocOpBuilder &b, Warp &warp, SoftmaxLanes lanes);

  /// All numbers in one list, as loops carry them, and the state of such. Sums
  /// of values are one array: what canonicalization does to a loop takes the
  /// square of the values that it carries.
  Values flatten() const;
  SoftmaxState with(ValueRange numbers) const;

  /// Takes the tile's tokens in. Returns the weights that their values are to
  /// be multiplied by, 2^(x - m) times the scale, by granule, row and token;
  /// a product of these is to be added to `output`. A scale goes into the
  /// exponent, as its logarithm: so the weight fits f16, whatever the scale is.
  /// All lanes come together.
  SmallVector<SmallVector<Values>> add(const SoftmaxTile &tile);

  /// Multiplies the sums of values by all of `factors` (f32) that are not null.
  void scaleOutput(ArrayRef<Value> factors);

  /// The sums of weights by row, over all lanes.
  Values totals() const;

  /// By row: the reference, and the lane's sum of weights.
  Values maximum, weight;
  /// The lane's sums of values.
  Values output;

private:
  /// `combine` of the lane's numbers of rows over all lanes that share these.
  Values reduce(Values ofRows, SoftmaxLanes::Combine combine) const;
  /// Scales sums anew where a maximum has grown a lot.
  void raise(ArrayRef<Value> largest);

  ImplicitLocOpBuilder *b;
  Warp *warp;
  SoftmaxLanes lanes;
};

/// log2 of a scale of values (f32), at least `leastScaleLog`; NaN of one that
/// is negative, infinite or NaN.
Value emitScaleLog(ImplicitLocOpBuilder &b, Value scale);

/// Sums of several parts of a row's tokens, by their maxima.
class SoftmaxMerge {
public:
  SoftmaxMerge(ImplicitLocOpBuilder &b, ArrayRef<Value> maxima);

  /// The largest maximum.
  Value maximum() const { return largest; }
  /// The parts' sums together.
  Value sum(ArrayRef<Value> parts) const;
  /// What the sums of part `part` are multiplied by.
  Value factor(int64_t part) const { return factors[part]; }

private:
  ImplicitLocOpBuilder &b;
  Value largest;
  SmallVector<Value> factors;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SOFTMAXSTATE_H
