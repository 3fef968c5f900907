//===- FastMath.h - What the special function unit computes --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// f32 arithmetic that becomes one instruction each; `math` operations would
// become library calls.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_FASTMATH_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_FASTMATH_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <limits>

namespace mlir::kvcache {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;

class FastMath {
public:
  explicit FastMath(ImplicitLocOpBuilder &b) : b(b) {}

  Value number(double number);
  /// 2^x within 2 ulp; 0 of -inf.
  Value exp2(Value x);
  /// log2(x), absolute error 2^-22 and better; -inf of 0.
  Value log2(Value x);
  /// 1 / x within 1 ulp.
  Value reciprocal(Value x);
  /// tanh(x) within 2^-22.
  Value tanh(Value x);
  Value absolute(Value x);
  Value negate(Value x);
  /// The magnitude of one number with the sign of another.
  Value withSign(Value magnitude, Value sign);
  Value fma(Value x, Value y, Value z);
  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// The same rounded up, not to the nearest.
  Value fmaUp(Value x, Value y, Value z);
  Value mulUp(Value x, Value y);
  /// The larger one; the other one where one is NaN.
  Value max(Value x, Value y);
  /// The larger one; NaN where one is.
  Value maxOrNaN(Value x, Value y);
  Value select(Value condition, Value x, Value y);

  /// For a largest magnitude of f32 that numbers have: a power of two that
  /// brings it below 2^15, near the end of f16's range, so that there is as
  /// much room below as f16 has; and the power that takes this back.
  std::pair<Value, Value> powersTo16Bits(Value largest);

private:
  Value call(StringRef intrinsic, ValueRange operands);
  ImplicitLocOpBuilder &b;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_FASTMATH_H
