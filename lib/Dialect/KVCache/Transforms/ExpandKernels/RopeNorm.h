//===- RopeNorm.h - Rows that are normalised and rotated --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROPENORM_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROPENORM_H

#include "Destinations.h"
#include "RowElements.h"

namespace mlir::kvcache {

/// The operands of a norm and of a rotary embedding on the host; null ones are
/// not wanted.
struct RopeNormRequest {
  Value cos, sin;
  /// A position a row; null where rows turn by their tokens.
  Value positions;
  RotationAttr rotation;
  Value weight;
  NormAttr norm;

  bool isAny() const { return cos || weight; }
};

/// A norm and a rotary embedding in a kernel.
class RopeNorm {
public:
  RopeNorm(ImplicitLocOpBuilder &host, KernelBuilder &builder,
           const RopeNormRequest &request, OutOfRange policy);

  std::optional<Rotation> rotation;
  std::optional<Normalisation> norm;

  /// Calls `body` with the position (`index`, null without a rotation) by which
  /// the row at `indices` turns; under `skip` only where the tables have it.
  /// The position of a row that goes nowhere may be any number.
  void at(ValueRange indices, const Destinations &to,
          function_ref<void(Value position)> body) const;

private:
  ImplicitLocOpBuilder &b;
  OutOfRange policy;
  std::optional<Tensor> positions;
  /// Rows of the tables.
  Value limit;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROPENORM_H
