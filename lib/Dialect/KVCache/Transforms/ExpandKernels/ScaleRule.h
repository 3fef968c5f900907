//===- ScaleRule.h - Scales and codes of numbers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_SCALERULE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_SCALERULE_H

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// The larger of two f32 magnitudes; NaN only where both are.
Value emitLarger(ImplicitLocOpBuilder &b, Value lhs, Value rhs);

/// The largest magnitude of f32 numbers; NaN only where all are. There is at
/// least one.
Value emitAmax(ImplicitLocOpBuilder &b, ArrayRef<Value> numbers);

/// How `kvcache.quantize_append` makes scales and codes.
class ScaleRule {
public:
  /// `globalScale` is an f32, or null.
  ScaleRule(ImplicitLocOpBuilder &b, LayoutAttr layout,
            QuantizationAttr quantization, Value globalScale);

  /// The scale of a granule.
  struct Scale {
    /// As it is stored.
    Value stored;
    /// The f32 that numbers are multiplied with, or divided by.
    Value factor;
    /// An i1 that says where codes are 0 whatever the numbers; may be null.
    Value isZero;
  };

  /// The scale for the f32 `amax`.
  Scale scale(Value amax) const;

  /// The codes of a vector of f32 numbers as they are stored, half as many for
  /// f4E2M1FN. Lane `i` has scale `scales[i]`, or all have the only one.
  Value encode(Value numbers, ArrayRef<Scale> scales) const;

private:
  Value constant(double number) const;
  Value select(Value condition, Value whenTrue, Value whenFalse) const;
  Value isLess(Value lhs, Value rhs) const;
  Value divideByLargest(Value amax) const;
  Value roundUpToPowerOfTwo(Value scale) const;
  Value inverse(Value scale) const;
  bool hasContract(ScaleContract contract) const;
  /// An upper bound of scales before they are stored.
  double largestMade() const;
  /// The largest number that a scale is stored as.
  double largestStored() const;
  /// The scale, or what it is stored as where it is larger.
  Value limit(Value scale) const;

  ImplicitLocOpBuilder &b;
  LayoutAttr layout;
  QuantizationAttr quantization;
  Value globalScale;
  /// The largest number of the cache's dtype.
  double largest;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_SCALERULE_H
