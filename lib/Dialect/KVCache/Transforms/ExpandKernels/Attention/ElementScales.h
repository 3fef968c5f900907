//===- ElementScales.h - Scales of a lane's elements ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where granules are no multiple of the 16 elements of a step, elements are
// dequantised before they are multiplied. So that they fit f16, the scales of a
// token are brought near 1 by a power of two, which is the scale of the token
// from then on.
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
  /// Of what was loaded the scale of each element.
  SmallVector<Value> ofElements(ArrayRef<Value> loaded);

private:
  /// Granules of which a lane's run of a piece has elements, at most; they
  /// start with the run where `isAligned`.
  struct Run {
    int64_t granules;
    bool isAligned;
  };
  Run runOf(const HeadPiece &piece) const;
  Value firstElement(const HeadPiece &piece);

  ImplicitLocOpBuilder &b;
  LayoutAttr layout;
  const HeadCut &cut;
  Side side;
  Value lane;
};

/// Scales near 1 of the lane's elements, by token, and the powers of two (f32)
/// that take them back, by token.
struct NormalizedScales {
  SmallVector<SmallVector<Value>> elements;
  SmallVector<Value> powers;
};

/// Brings scales of elements (by token of the lane) near 1: products of these
/// with `unit` and a value of 8 bits divided by `unit` fit f16, with room below
/// for much smaller ones. `reduce` combines a number over the lanes that share
/// a token.
NormalizedScales emitNormalizedScales(
    ImplicitLocOpBuilder &b, ArrayRef<SmallVector<Value>> scales, Value unit,
    function_ref<Value(Value, function_ref<Value(Value, Value)>)> reduce);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_ELEMENTSCALES_H
