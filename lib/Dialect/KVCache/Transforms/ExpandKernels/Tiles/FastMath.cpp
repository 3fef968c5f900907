//===- FastMath.cpp - What the special function unit computes ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FastMath.h"

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

Value FastMath::max(Value x, Value y) {
  return call("llvm.maxnum", ValueRange{x, y});
}

Value FastMath::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}
