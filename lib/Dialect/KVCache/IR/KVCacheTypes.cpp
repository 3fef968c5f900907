//===- KVCacheTypes.cpp - Types of the kvcache dialect -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

using namespace mlir;
using namespace mlir::kvcache;

static LogicalResult verifySide(function_ref<InFlightDiagnostic()> emitError,
                                Side side, LayoutAttr layout) {
  if (layout.isMLA() && side == Side::value)
    return emitError() << "expected side 'key', got 'value': an MLA layout has "
                          "no value cache; read the values from its keys";
  return success();
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                Side side, LayoutAttr layout) {
  return verifySide(emitError, side, layout);
}

LogicalResult
MHAOperandType::verify(function_ref<InFlightDiagnostic()> emitError, Side side,
                       LayoutAttr layout) {
  return verifySide(emitError, side, layout);
}

LogicalResult
ScalesMHAOperandType::verify(function_ref<InFlightDiagnostic()> emitError,
                             Side side, LayoutAttr layout) {
  if (failed(verifySide(emitError, side, layout)))
    return failure();
  if (!layout.isQuantized())
    return emitError() << "expected a layout with scales, got one without; add "
                          "'scales = <...>' or use a plain mha_operand";
  return success();
}
