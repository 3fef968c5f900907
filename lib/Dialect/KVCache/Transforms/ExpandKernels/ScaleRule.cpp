//===- ScaleRule.cpp - Scales and codes of numbers -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleRule.h"

#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::kvcache;

static constexpr double largestF32 = std::numeric_limits<float>::max();
static const double smallestNormalF32 = std::ldexp(1.0, -126);

Value mlir::kvcache::emitLarger(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  // Of LLVM's dialect: arith's becomes comparisons and selections.
  return LLVM::MaxNumOp::create(b, lhs, rhs);
}

Value mlir::kvcache::emitAmax(ImplicitLocOpBuilder &b,
                              ArrayRef<Value> numbers) {
  // An intrinsic: math.absf becomes a library call.
  auto magnitudes = llvm::map_to_vector(numbers, [&](Value number) -> Value {
    return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                         b.getStringAttr("llvm.fabs"), number)
        .getResult(0);
  });
  // As a tree, so that the comparisons are not one long chain.
  while (magnitudes.size() > 1) {
    size_t pairs = magnitudes.size() / 2;
    for (size_t i = 0; i < pairs; ++i)
      magnitudes[i] = emitLarger(b, magnitudes[2 * i], magnitudes[2 * i + 1]);
    if (magnitudes.size() % 2) {
      magnitudes[pairs] = magnitudes.back();
      ++pairs;
    }
    magnitudes.truncate(pairs);
  }
  return magnitudes.front();
}

ScaleRule::ScaleRule(ImplicitLocOpBuilder &b, LayoutAttr layout,
                     QuantizationAttr quantization, Value globalScale)
    : b(b), layout(layout), quantization(quantization),
      globalScale(globalScale) {
  largest = llvm::TypeSwitch<Type, double>(layout.getDtype())
                .Case<Float8E4M3FNType>([](Type) { return 448; })
                .Case<Float8E5M2Type>([](Type) { return 57344; })
                .Case<Float4E2M1FNType>([](Type) { return 6; })
                .Default([](Type) { return 127; });
}

Value ScaleRule::constant(double number) const {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(number));
}

Value ScaleRule::select(Value condition, Value whenTrue,
                        Value whenFalse) const {
  return arith::SelectOp::create(b, condition, whenTrue, whenFalse);
}

Value ScaleRule::isLess(Value lhs, Value rhs) const {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Scales
//===----------------------------------------------------------------------===//

/// `amax / largest`, rounded once. With `k` the rounded inverse, `q` is the
/// quotient but for its last place and `r` is what is left of it, exactly; a
/// last step of `r * k` rounds right, since quotients of a 24-bit number by 7,
/// 3 or 127 keep well away from halves of the last place. Only denormal
/// quotients lie on halves: for these `r * k` must be the half exactly, which
/// it is once it is rounded, far above the denormals.
Value ScaleRule::divideByLargest(Value amax) const {
  float inverse = 1.0f / static_cast<float>(largest);
  constexpr double lift = 1 << 24;
  Value quotient = arith::MulFOp::create(b, amax, constant(inverse));
  Value rest = LLVM::FMAOp::create(b, quotient, constant(-largest), amax);
  rest = arith::MulFOp::create(b, rest, constant(inverse * lift));
  return LLVM::FMAOp::create(b, rest, constant(1 / lift), quotient);
}

/// On bits; zero, powers of two and NaN stay. Denormals are lifted first.
Value ScaleRule::roundUpToPowerOfTwo(Value scale) const {
  constexpr double lift = 1 << 24;
  Value isDenormal = isLess(scale, constant(smallestNormalF32));
  Value lifted = arith::MulFOp::create(
      b, scale, select(isDenormal, constant(lift), constant(1)));
  auto i32 = [&](int32_t number) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(number));
  };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), lifted);
  bits = arith::AddIOp::create(b, bits, i32(0x007FFFFF));
  bits = arith::AndIOp::create(b, bits, i32(0xFF800000));
  Value power = arith::BitcastOp::create(b, b.getF32Type(), bits);
  power = arith::MulFOp::create(
      b, power, select(isDenormal, constant(1 / lift), constant(1)));
  Value isNaN =
      arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, scale, scale);
  return select(isNaN, scale, power);
}

bool ScaleRule::hasContract(ScaleContract contract) const {
  return quantization.getContract() == contract;
}

double ScaleRule::largestMade() const {
  // A small global scale makes large ones of any.
  if (globalScale)
    return std::numeric_limits<double>::infinity();
  double scale = largestF32 / largest;
  if (quantization.getFloorOn() == FloorOn::scale)
    scale = std::max(scale, quantization.getFloor().convertToDouble());
  // To the next power of two, or to nearest in a narrower format.
  return 2 * scale;
}

double ScaleRule::largestStored() const {
  auto dtype = cast<FloatType>(layout.getScaleDtype());
  double number =
      APFloat::getLargest(dtype.getFloatSemantics()).convertToDouble();
  return hasContract(ScaleContract::power_of_two)
             ? std::ldexp(1.0, std::ilogb(number))
             : number;
}

Value ScaleRule::limit(Value scale) const {
  // Conversions to 8 bits saturate.
  Type dtype = layout.getScaleDtype();
  bool saturates =
      isa<Float8E8M0FNUType>(dtype) ||
      (isa<Float8E4M3FNType>(dtype) && hasContract(ScaleContract::arbitrary));
  if (saturates || largestMade() <= largestStored())
    return scale;
  // This minimum keeps NaN.
  return LLVM::MinimumOp::create(b, scale, constant(largestStored()));
}

/// `1 / scale`, rounded once; 0 where that is not finite.
Value ScaleRule::inverse(Value scale) const {
  Value result;
  // A step of Newton's method from an approximation rounds right. It must not
  // meet denormals or infinities: four times the scale is none where the
  // result counts.
  bool staysFinite =
      !globalScale &&
      4 * std::min(largestMade(), largestStored()) <= std::ldexp(1.0, 126);
  if (staysFinite) {
    Value scaled = arith::MulFOp::create(b, scale, constant(4));
    Value y = NVVM::RcpApproxFtzF32Op::create(b, b.getF32Type(), scaled);
    Value negative = arith::NegFOp::create(b, scaled);
    Value error = LLVM::FMAOp::create(b, negative, y, constant(1));
    y = LLVM::FMAOp::create(b, error, y, y);
    result = arith::MulFOp::create(b, y, constant(4));
  } else {
    result = arith::DivFOp::create(b, constant(1), scale);
  }
  Value isTiny = arith::CmpFOp::create(b, arith::CmpFPredicate::OLE, scale,
                                       constant(std::ldexp(1.0, -128)));
  return select(isTiny, constant(0), result);
}

ScaleRule::Scale ScaleRule::scale(Value amax) const {
  Type dtype = layout.getScaleDtype();
  Value floor = constant(quantization.getFloor().convertToDouble());
  bool hasFloor = quantization.getFloor().isNonZero();
  if (hasFloor && quantization.getFloorOn() == FloorOn::amax)
    amax = emitLarger(b, amax, floor);
  // This minimum keeps NaN.
  amax = LLVM::MinimumOp::create(b, amax, constant(largestF32));
  Value scale = divideByLargest(amax);
  if (globalScale)
    scale = arith::DivFOp::create(b, scale, globalScale);
  if (hasFloor && quantization.getFloorOn() == FloorOn::scale)
    scale = emitLarger(b, scale, floor);
  // f8E8M0FNU has no other numbers and rounds up anyway.
  if (hasContract(ScaleContract::power_of_two) &&
      !isa<Float8E8M0FNUType>(dtype))
    scale = roundUpToPowerOfTwo(scale);
  scale = limit(scale);

  Scale result;
  result.stored = convertFloat(b, scale, dtype);
  Value used = convertFloat(b, result.stored, b.getF32Type());
  if (globalScale)
    used = arith::MulFOp::create(b, used, globalScale);
  if (quantization.getApply() == ApplyScale::inverse) {
    result.factor = inverse(used);
    return result;
  }
  result.isZero =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, used, constant(0));
  result.factor = used;
  return result;
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// f32 to i8: to nearest even, saturating, NaN to 0.
static Value encodeI8(ImplicitLocOpBuilder &b, Value number) {
  Value code =
      LLVM::CallIntrinsicOp::create(b, b.getI32Type(),
                                    b.getStringAttr("llvm.nvvm.f2i.rn"), number)
          .getResult(0);
  auto i32 = [&](int32_t constant) -> Value {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(constant));
  };
  code = arith::MaxSIOp::create(b, code, i32(-128));
  code = arith::MinSIOp::create(b, code, i32(127));
  return arith::TruncIOp::create(b, b.getI8Type(), code);
}

Value ScaleRule::encode(Value numbers, ArrayRef<Scale> scales) const {
  auto type = cast<VectorType>(numbers.getType());
  auto spread = [&](function_ref<Value(const Scale &)> part) -> Value {
    Value first = part(scales.front());
    auto parts = type.clone(first.getType());
    if (scales.size() == 1)
      return vector::BroadcastOp::create(b, parts, first);
    return vector::FromElementsOp::create(b, parts,
                                          llvm::map_to_vector(scales, part));
  };
  Value factors = spread([](const Scale &scale) { return scale.factor; });
  if (quantization.getApply() == ApplyScale::inverse) {
    numbers = arith::MulFOp::create(b, numbers, factors);
  } else {
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
    numbers = arith::DivFOp::create(b, numbers, factors);
    numbers = arith::SelectOp::create(
        b, spread([](const Scale &scale) { return scale.isZero; }), zero,
        numbers);
  }

  Type dtype = layout.getDtype();
  if (dtype.isInteger()) {
    SmallVector<Value> codes;
    for (int64_t i = 0; i < type.getDimSize(0); ++i)
      codes.push_back(
          encodeI8(b, vector::ExtractOp::create(b, numbers, i).getResult()));
    return vector::FromElementsOp::create(b, type.clone(dtype), codes);
  }
  Value codes = convertFloat(b, numbers, dtype);
  if (!isa<Float4E2M1FNType>(dtype))
    return codes;
  auto pairs = VectorType::get({type.getDimSize(0) / 2}, b.getI8Type());
  return vector::BitCastOp::create(b, pairs, codes);
}
