//===- ElementScales.h - Scales of a lane's elements ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where granules are no multiple of the 16 elements of a step, elements are
// dequantised before they are multiplied. So that they fit f16, the scales of a
// token are divided by a power of two, which is the scale of the token from
// then on.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_ELEMENTSCALES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_ELEMENTSCALES_H

#include "HeadCut.h"

#include "../KernelBuilder.h"
#include "../Tiles/Warp.h"

namespace mlir::kvcache {

/// The scales of the elements that a lane has of a token.
class ElementScales {
public:
  /// Whether granules of the layout are such.
  static bool suits(LayoutAttr layout);

  /// `lane` (`i32`) is the lane's number among those across the head.
  ElementScales(ImplicitLocOpBuilder &b, LayoutAttr layout, const HeadCut &cut,
                Side side, Value lane);

  /// Scales that are loaded of a token.
  int64_t count() const;
  /// Loads these, in f32, of a head of slot `slot` of a block.
  SmallVector<Value> load(Value source, Value block, Value slot, Value head);
  /// Of what was loaded, or what stands for it, the scale of each element of
  /// piece `number`.
  SmallVector<Value> ofElements(ArrayRef<Value> loaded, int64_t number);

private:
  /// Granules of which a lane has elements of a piece, at most; where
  /// `isAligned` the first of each starts with the lane's first one.
  struct Granules {
    int64_t count;
    bool isAligned;
  };
  Granules granulesOf(const HeadPiece &piece) const;
  Value firstElement(const HeadPiece &piece);

  ImplicitLocOpBuilder &b;
  LayoutAttr layout;
  const HeadCut &cut;
  Side side;
  Value lane;
};

/// What is in place of the scales that a lane has loaded, by token of the lane.
struct NormalizedScales {
  /// The scales divided by the token's, times what `Words::decodeScaled` leaves
  /// out: elements times these fit f16, with room below for much smaller ones.
  SmallVector<SmallVector<Value>> scales;
  /// Powers of two (f32): the largest finite scale of the token, rounded down.
  SmallVector<Value> tokenScales;
  /// What products are to be multiplied by besides: the largest element is less
  /// than 2 * 448 / `decodeScale` = 2^14.8.
  static constexpr double decodeScale = 0x1p-5;
};

/// Normalizes loaded scales, by token of the lane. `decodeScale` is that
/// of the elements' dtype (`Words::decodedUnit`). `reduce` combines a number
/// over the lanes that share a token. Scales that are NaN or infinite stay so,
/// and have no influence on others.
NormalizedScales emitNormalizedScales(
    ImplicitLocOpBuilder &b, ArrayRef<SmallVector<Value>> scales,
    Value decodeScale,
    function_ref<Value(Value, function_ref<Value(Value, Value)>)> reduce);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_ELEMENTSCALES_H
