//===- Numbers.cpp - Conversions of stored numbers -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

Value mlir::kvcache::convertFloat(ImplicitLocOpBuilder &b, Value value,
                                  Type element) {
  Type from = getElementTypeOrSelf(value.getType());
  if (from == element)
    return value;
  auto withElement = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(value.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Type to = withElement(element);
  if (from.isInteger())
    return arith::SIToFPOp::create(b, to, value);
  unsigned fromWidth = from.getIntOrFloatBitWidth();
  unsigned toWidth = element.getIntOrFloatBitWidth();
  if (fromWidth < toWidth)
    return arith::ExtFOp::create(b, to, value);
  if (fromWidth > toWidth)
    return arith::TruncFOp::create(b, to, value);
  // Between f16 and bf16: exact in f32, then rounded.
  Value wide = arith::ExtFOp::create(b, withElement(b.getF32Type()), value);
  return arith::TruncFOp::create(b, to, wide);
}
