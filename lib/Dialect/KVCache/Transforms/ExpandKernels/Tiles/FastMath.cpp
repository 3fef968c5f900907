//===- FastMath.cpp - What the special function unit computes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FastMath.h"

#include "../KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

Value FastMath::number(double number) {
  return arith::ConstantOp::create(
      b, b.getF32FloatAttr(static_cast<float>(number)));
}

Value FastMath::call(StringRef intrinsic, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(b, b.getF32Type(),
                                       b.getStringAttr(intrinsic), operands)
      .getResult(0);
}

Value FastMath::exp2(Value x) { return call("llvm.nvvm.ex2.approx.ftz", x); }

Value FastMath::log2(Value x) { return call("llvm.nvvm.lg2.approx.ftz.f", x); }

Value FastMath::reciprocal(Value x) {
  return call("llvm.nvvm.rcp.approx.ftz.f", x);
}

Value FastMath::tanh(Value x) {
  // 1 - 2 / (1 + e^2x): where e^2x is infinite that is 1.
  constexpr double twoLog2e = 2.8853900817779268;
  Value power = exp2(mul(x, number(twoLog2e)));
  Value part = reciprocal(add(power, number(1)));
  return fma(part, number(-2), number(1));
}

Value FastMath::absolute(Value x) { return call("llvm.fabs", x); }

Value FastMath::negate(Value x) { return arith::NegFOp::create(b, x); }

Value FastMath::withSign(Value magnitude, Value sign) {
  return call("llvm.copysign", ValueRange{magnitude, sign});
}

Value FastMath::fma(Value x, Value y, Value z) {
  return LLVM::FMAOp::create(b, x, y, z);
}

Value FastMath::add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }

Value FastMath::sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }

Value FastMath::mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }

Value FastMath::fmaUp(Value x, Value y, Value z) {
  return call("llvm.nvvm.fma.rp.f", ValueRange{x, y, z});
}

Value FastMath::mulUp(Value x, Value y) {
  return call("llvm.nvvm.mul.rp.f", ValueRange{x, y});
}

Value FastMath::max(Value x, Value y) {
  return call("llvm.maxnum", ValueRange{x, y});
}

Value FastMath::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

Value FastMath::maxOrNaN(Value x, Value y) {
  return arith::MaximumFOp::create(b, x, y);
}

std::pair<Value, Value> FastMath::powersTo16Bits(Value largest) {
  constexpr int64_t bias = 127, mantissa = 23, target = 14;
  Arith arith(b);
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), largest);
  Value exponent = arith.div(bits, int64_t(1) << mantissa);
  // Numbers so small that the power would not be a normal one stay small.
  exponent = b.createOrFold<arith::MaxUIOp>(exponent, arith.i32(target + 2));
  auto power = [&](Value exponent) -> Value {
    Value bits = arith.mul(exponent, int64_t(1) << mantissa);
    return arith::BitcastOp::create(b, b.getF32Type(), bits);
  };
  return {
      power(arith::SubIOp::create(b, arith.i32(2 * bias + target), exponent)),
      power(arith::SubIOp::create(b, exponent, arith.i32(target)))};
}
