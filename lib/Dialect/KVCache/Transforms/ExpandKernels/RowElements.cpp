//===- RowElements.cpp - The elements of a tensor's rows -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowElements.h"

#include "RowUnits.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// Stored elements
//===----------------------------------------------------------------------===//

AlignedTensor AlignedTensor::take(KernelBuilder &builder, Value memref) {
  AlignedTensor result;
  result.tensor = builder.takeTensor(memref, /*readOnly=*/true);
  result.alignment = result.tensor.elementBytes();
  while (result.alignment < maxAccessBytes &&
         areRowsAligned(memref, 2 * result.alignment) == true)
    result.alignment *= 2;
  return result;
}

static Value loadVector(ImplicitLocOpBuilder &b, Value row, Type elementType,
                        Value element, int64_t lanes, int64_t alignment) {
  return vector::LoadOp::create(b, VectorType::get({lanes}, elementType), row,
                                ValueRange{Arith(b).toIndex(element)},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(alignment));
}

Value AlignedTensor::loadF32(ImplicitLocOpBuilder &b, ValueRange indices,
                             int64_t count, Value element,
                             int64_t lanes) const {
  Value numbers =
      loadVector(b, tensor.row(b, indices, count), tensor.elementType, element,
                 lanes, std::gcd(alignment, lanes * tensor.elementBytes()));
  return convertFloat(b, numbers, b.getF32Type());
}

VectorType RowElements::type(int64_t lanes) const {
  return VectorType::get({lanes}, rotation || norm ? Type(b.getF32Type())
                                                   : tensor.elementType);
}

Value RowElements::loadStored(const Head &head, Value element,
                              int64_t lanes) const {
  Arith arith(b);
  SmallVector<Value> at(head.indices);
  int64_t count = headSize;
  if (isPacked) {
    count *= heads;
    element = arith.add(element, arith.mul(head.head, headSize));
  } else {
    at.push_back(arith.toIndex(head.head));
  }
  return loadVector(b, tensor.row(b, at, count), tensor.elementType, element,
                    lanes, std::gcd(alignment, lanes * tensor.elementBytes()));
}

/// `then`, or `otherwise` where `condition` (null for always) does not hold.
Value RowElements::orElse(Value condition, function_ref<Value()> then,
                          Value otherwise) const {
  if (!condition)
    return then();
  auto check = scf::IfOp::create(b, otherwise.getType(), condition,
                                 /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(check.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return check.getResult(0);
}

Value RowElements::load(const Head &head, Value element, int64_t lanes,
                        ElementRange within, Value condition) const {
  Value otherwise;
  VectorType type = this->type(lanes);
  if (condition) {
    auto elementType = cast<FloatType>(type.getElementType());
    otherwise = arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, APFloat::getNaN(elementType.getFloatSemantics())));
  }
  return orElse(
      condition,
      [&]() -> Value {
        if (!rotation && !norm)
          return loadStored(head, element, lanes);
        return loadRotated(head, element, lanes, within);
      },
      otherwise);
}

//===----------------------------------------------------------------------===//
// RMS norm
//===----------------------------------------------------------------------===//

static Value f32(ImplicitLocOpBuilder &b, double number) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(number));
}

bool RowElements::needsFactor(ElementRange within) const {
  if (!norm)
    return false;
  // What turns is made of its partner too, which may lie elsewhere.
  bool turns = rotation && rotation->range().meets(within);
  return norm->range().meets(within) ||
         (turns && norm->range().meets(rotation->range()));
}

void RowElements::normalise(Head &head, ElementRange within,
                            const LaneGroup &group) const {
  if (!needsFactor(within))
    return;
  Arith arith(b);
  int64_t lanes = maxAccessBytes / tensor.elementBytes();
  while (norm->count % lanes != 0 ||
         alignment % (lanes * tensor.elementBytes()) != 0)
    lanes /= 2;
  int64_t vectors = norm->count / lanes;
  // Each lane of the group adds the squares of its vectors.
  auto loop = scf::ForOp::create(b, group.lane, arith.i32(vectors),
                                 arith.i32(group.lanes), ValueRange{f32(b, 0)});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value element = arith.mul(loop.getInductionVar(), lanes);
    Value numbers =
        convertFloat(b, loadStored(head, element, lanes), b.getF32Type());
    Value sum = loop.getRegionIterArg(0);
    for (int64_t i = 0; i < lanes; ++i) {
      Value number = vector::ExtractOp::create(b, numbers, i);
      sum = LLVM::FMAOp::create(b, number, number, sum);
    }
    scf::YieldOp::create(b, sum);
  }
  Value sum = group.reduce(b, loop.getResult(0), [&](Value lhs, Value rhs) {
    return arith::AddFOp::create(b, lhs, rhs).getResult();
  });
  Value mean = arith::DivFOp::create(b, sum, f32(b, norm->count));
  mean = arith::AddFOp::create(b, mean,
                               f32(b, norm->attr.getEps().convertToDouble()));
  // The instruction: math.sqrt becomes a library call.
  Value root = LLVM::CallIntrinsicOp::create(
                   b, b.getF32Type(), b.getStringAttr("llvm.nvvm.sqrt.rn.f"),
                   ValueRange{mean})
                   ->getResult(0);
  head.factor = arith::DivFOp::create(b, f32(b, 1), root);
}

/// Whether vectors of `lanes` elements lie wholly inside or outside of
/// `range`, which starts at a multiple of them.
static bool isCutInto(ElementRange range, int64_t lanes) {
  return range.begin % lanes == 0 && range.end % lanes == 0;
}

/// An i1 that says whether an element of `within` lies in `range`, or null
/// where all do.
static Value isInside(Arith &arith, Value element, ElementRange range,
                      ElementRange within) {
  Value inside;
  if (within.begin < range.begin)
    inside = arith.less(arith.i32(range.begin - 1), element);
  if (range.end < within.end)
    inside = arith.both(inside, arith.less(element, arith.i32(range.end)));
  return inside;
}

Value RowElements::loadNormalised(const Head &head, Value element,
                                  int64_t lanes, ElementRange within) const {
  Value numbers =
      convertFloat(b, loadStored(head, element, lanes), b.getF32Type());
  if (!norm || !norm->range().meets(within))
    return numbers;
  Arith arith(b);
  return orElse(
      isInside(arith, element, norm->range(), within),
      [&]() -> Value {
        Value weight = norm->weight.loadF32(b, {}, norm->count, element, lanes);
        double offset = norm->attr.getWeightOffset().convertToDouble();
        auto type = cast<VectorType>(numbers.getType());
        auto spread = [&](Value number) {
          return vector::BroadcastOp::create(b, type, number);
        };
        if (offset != 0)
          weight = arith::AddFOp::create(b, weight, spread(f32(b, offset)));
        Value scaled = arith::MulFOp::create(b, numbers, spread(head.factor));
        return arith::MulFOp::create(b, scaled, weight);
      },
      numbers);
}

//===----------------------------------------------------------------------===//
// Rotary embedding
//===----------------------------------------------------------------------===//

Value RowElements::loadRotated(const Head &head, Value element, int64_t lanes,
                               ElementRange within) const {
  bool isCut = !norm || isCutInto(norm->range(), lanes);
  if (rotation)
    isCut &= isCutInto(rotation->range(), lanes) &&
             (rotation->attr.getStyle() == RotationStyle::interleaved ||
              rotation->columns % lanes == 0);
  Arith arith(b);
  if (!isCut) {
    // One by one.
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < lanes; ++i)
      numbers.push_back(vector::ExtractOp::create(
          b, loadRotated(head, arith.add(element, i), 1, within), 0));
    return vector::FromElementsOp::create(b, type(lanes), numbers);
  }
  Value numbers = loadNormalised(head, element, lanes, within);
  if (!rotation || !rotation->range().meets(within))
    return numbers;
  return orElse(
      isInside(arith, element, rotation->range(), within),
      [&] {
        bool areNeighbours =
            rotation->attr.getStyle() == RotationStyle::interleaved &&
            lanes > 1;
        return areNeighbours ? turnNeighbours(head, element, numbers)
                             : turnHalves(head, element, numbers);
      },
      numbers);
}

/// `a * cos - b * sin`, rounded twice.
static Value turn(ImplicitLocOpBuilder &b, Value x, Value cos, Value y,
                  Value sin) {
  return LLVM::FMAOp::create(b, x, cos, arith::MulFOp::create(b, y, sin));
}

Value RowElements::turnNeighbours(const Head &head, Value element,
                                  Value numbers) const {
  Arith arith(b);
  auto type = cast<VectorType>(numbers.getType());
  int64_t pairs = type.getDimSize(0) / 2;
  Value column =
      arith.div(arith.sub(element, arith.i32(rotation->attr.getStart())), 2);
  auto load = [&](const AlignedTensor &table) {
    return table.loadF32(b, {head.position}, rotation->columns, column, pairs);
  };
  Value cos = load(rotation->cos), sin = load(rotation->sin);
  SmallVector<Value> turned;
  for (int64_t i = 0; i < pairs; ++i) {
    Value x = vector::ExtractOp::create(b, numbers, 2 * i);
    Value y = vector::ExtractOp::create(b, numbers, 2 * i + 1);
    Value c = vector::ExtractOp::create(b, cos, i);
    Value s = vector::ExtractOp::create(b, sin, i);
    turned.push_back(turn(b, x, c, y, arith::NegFOp::create(b, s)));
    turned.push_back(turn(b, y, c, x, s));
  }
  return vector::FromElementsOp::create(b, type, turned);
}

/// The other of two that turn together lies elsewhere, and is read again.
Value RowElements::turnHalves(const Head &head, Value element,
                              Value numbers) const {
  Arith arith(b);
  auto type = cast<VectorType>(numbers.getType());
  int64_t lanes = type.getDimSize(0), columns = rotation->columns;
  int64_t start = rotation->attr.getStart();
  bool halves = rotation->attr.getStyle() == RotationStyle::half;
  Value place = arith.sub(element, arith.i32(start));
  Value isFirst, column, distance = arith.i32(halves ? columns : 1);
  if (halves) {
    isFirst = arith.less(place, arith.i32(columns));
    column = arith.rem(place, columns);
  } else {
    isFirst = arith.equal(arith.rem(place, 2), arith.i32(0));
    column = arith.div(place, 2);
  }
  auto choose = [&](Value first, Value second) {
    return arith::SelectOp::create(b, isFirst, first, second);
  };
  Value partner = choose(arith::AddIOp::create(b, element, distance),
                         arith::SubIOp::create(b, element, distance));
  Value others = loadNormalised(head, partner, lanes, rotation->range());
  auto load = [&](const AlignedTensor &table) {
    return table.loadF32(b, {head.position}, columns, column, lanes);
  };
  Value cos = load(rotation->cos), sin = load(rotation->sin);
  sin = choose(arith::NegFOp::create(b, sin), sin);
  return turn(b, numbers, cos, others, sin);
}
