//===- ElementScales.cpp - Scales of a lane's elements --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementScales.h"

#include "../RowUnits.h"
#include "../Tiles/FastMath.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

bool ElementScales::suits(LayoutAttr layout) {
  return layout.isQuantized() &&
         layout.getGranularity() < layout.getHeadSize() &&
         layout.getGranularity() % 16 != 0;
}

ElementScales::ElementScales(ImplicitLocOpBuilder &b, LayoutAttr layout,
                             const HeadCut &cut, Side side, Value lane)
    : b(b), layout(layout), cut(cut), side(side), lane(lane) {}

ElementScales::Granules
ElementScales::granulesOf(const HeadPiece &piece) const {
  int64_t granularity = layout.getGranularity();
  if (piece.perLane % granularity == 0)
    return {piece.perLane / granularity, /*isAligned=*/true};
  if (granularity % piece.perLane == 0)
    return {1, /*isAligned=*/true};
  return {(piece.perLane - 2) / granularity + 2, /*isAligned=*/false};
}

int64_t ElementScales::count() const {
  int64_t count = 0;
  for (const HeadPiece &piece : cut.pieces)
    count += granulesOf(piece).count;
  return count;
}

Value ElementScales::firstElement(const HeadPiece &piece) {
  Arith arith(b);
  return arith.add(arith.mul(lane, piece.perLane), piece.first);
}

SmallVector<Value> ElementScales::load(Value source, Value block, Value slot,
                                       Value head) {
  Arith arith(b);
  PoolLayout pool = PoolLayout::get(layout, Pool::scales);
  int64_t granularity = layout.getGranularity(), bytes = pool.storageBytes;
  SmallVector<Value> scales;
  auto loadAt = [&](Type type, Value element, IntegerAttr alignment) {
    return convertFloat(b,
                        LoadInPageOp::create(b, type, source, block, slot, head,
                                             arith.toIndex(element),
                                             /*tail=*/UnitAttr(), alignment),
                        b.getF32Type());
  };
  for (const HeadPiece &piece : cut.pieces) {
    auto [granules, isAligned] = granulesOf(piece);
    Value first = firstElement(piece);
    // Those of aligned elements lie side by side, except where they are
    // swizzled.
    int64_t perLoad =
        isAligned && llvm::isPowerOf2_64(bytes) && !layout.isSwizzled(side)
            ? std::min<int64_t>(granules, maxAccessBytes / bytes)
            : 1;
    while (perLoad > 1 && pool.headAlignment() % (perLoad * bytes) != 0)
      perLoad /= 2;
    for (int64_t i = 0; i < granules; i += perLoad) {
      Value element = arith.add(first, i * granularity);
      if (perLoad > 1) {
        Value vector =
            loadAt(VectorType::get({perLoad}, layout.getScaleDtype()), element,
                   b.getI64IntegerAttr(perLoad * bytes));
        for (int64_t j = 0; j < perLoad; ++j)
          scales.push_back(vector::ExtractOp::create(b, vector, j));
        continue;
      }
      // A lane's elements may be of fewer granules, and end with the head.
      if (!isAligned)
        element = arith.minimum(element, arith.i32(layout.getHeadSize() - 1));
      scales.push_back(loadAt(layout.getScaleDtype(), element, IntegerAttr()));
    }
  }
  return scales;
}

SmallVector<Value> ElementScales::ofElements(ArrayRef<Value> loaded,
                                             int64_t number) {
  Arith arith(b);
  int64_t granularity = layout.getGranularity();
  for (const HeadPiece &before : ArrayRef(cut.pieces).take_front(number))
    loaded = loaded.drop_front(granulesOf(before).count);
  const HeadPiece &piece = cut.pieces[number];
  auto [granules, isAligned] = granulesOf(piece);
  Value inGranule;
  if (!isAligned)
    inGranule = arith.rem(firstElement(piece), granularity);
  SmallVector<Value> scales;
  for (int64_t i = 0; i < piece.perLane; ++i) {
    int64_t granule = i / granularity;
    Value scale = loaded[granule];
    // The elements start inside of a granule, which may end before the element.
    if (!isAligned && granule + 1 < granules && i % granularity != 0) {
      Value isNext =
          arith.less(arith.i32(granularity - i % granularity - 1), inGranule);
      scale = arith::SelectOp::create(b, isNext, loaded[granule + 1], scale);
    }
    scales.push_back(scale);
  }
  return scales;
}

NormalizedScales mlir::kvcache::emitNormalizedScales(
    ImplicitLocOpBuilder &b, ArrayRef<SmallVector<Value>> scales,
    Value decodeScale,
    function_ref<Value(Value, function_ref<Value(Value, Value)>)> reduce) {
  FastMath math(b);
  // Of the largest scale, which powersTo16Bits brings to 2^14 and more.
  Value toElements = math.mul(
      decodeScale, math.number(0x1p-14 / NormalizedScales::decodeScale));
  NormalizedScales result;
  for (ArrayRef<Value> ofToken : scales) {
    auto larger = [&](Value x, Value y) { return math.max(x, y); };
    Value largest = math.number(0);
    for (Value scale : ofToken) {
      Value magnitude = math.absolute(scale);
      // Infinity stays with the elements that have it, as NaN does.
      Value isFinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                                             magnitude, math.number(infinity));
      largest =
          larger(largest, math.select(isFinite, magnitude, math.number(0)));
    }
    auto [up, down] = math.powersTo16Bits(reduce(largest, larger));
    Value power = math.mul(up, toElements);
    auto &normalized = result.scales.emplace_back();
    for (Value scale : ofToken)
      normalized.push_back(math.mul(scale, power));
    result.tokenScales.push_back(math.mul(down, math.number(0x1p14)));
  }
  return result;
}
