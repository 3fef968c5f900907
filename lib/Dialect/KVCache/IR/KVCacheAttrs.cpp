//===- KVCacheAttrs.cpp - The layout attribute ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult ParamsAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t numHeads, int64_t headSize, bool) {
  if (numHeads < 1)
    return emitError() << "expected num_heads to be at least 1, got "
                       << numHeads;
  if (headSize < 1)
    return emitError() << "expected head_size to be at least 1, got "
                       << headSize;
  return success();
}

LogicalResult ScalesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type dtype, int64_t granularity, TableKind) {
  if (!isa<Float32Type, Float16Type, BFloat16Type, Float8E8M0FNUType,
           Float8E4M3FNType>(dtype))
    return emitError() << "expected a scale dtype of f32, f16, bf16, "
                          "f8E8M0FNU or f8E4M3FN, got "
                       << dtype;
  if (granularity < 1)
    return emitError() << "expected granularity to be at least 1, got "
                       << granularity;
  return success();
}

static int64_t storageBytes(Type dtype) {
  return getStorageType(dtype).getIntOrFloatBitWidth() / 8;
}

/// One side of a page takes less than 2^32 bytes: in-page arithmetic is 32-bit.
static LogicalResult
verifyPageSide(function_ref<InFlightDiagnostic()> emitError, StringRef what,
               int64_t inner, int64_t bytes, ParamsAttr params,
               int64_t pageSize) {
  constexpr int64_t limit = int64_t(1) << 32;
  int64_t side = bytes;
  for (int64_t factor : {pageSize, params.getNumHeads(), inner})
    if (llvm::MulOverflow(side, factor, side) || side >= limit)
      return emitError() << "expected one side of a page to take less than "
                         << limit << " bytes, got page_size " << pageSize
                         << " * num_heads " << params.getNumHeads() << " * "
                         << what << " " << inner << " * " << bytes
                         << " bytes; use a smaller page_size";
  return success();
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type dtype, ParamsAttr params,
                                 int64_t pageSize, ScalesAttr scales) {
  bool packed = isa<Float4E2M1FNType>(dtype);
  if (!packed && !dtype.isSignlessInteger(8) &&
      !isa<Float32Type, Float16Type, BFloat16Type, Float8E4M3FNType,
           Float8E5M2Type>(dtype))
    return emitError() << "expected a dtype of f32, f16, bf16, f8E4M3FN, "
                          "f8E5M2, i8 or f4E2M1FN, got "
                       << dtype;
  if (pageSize < 1)
    return emitError() << "expected page_size to be at least 1, got "
                       << pageSize;
  if (!scales && (packed || dtype.isInteger(8)))
    return emitError() << "expected scales for dtype " << dtype
                       << ", got none; add 'scales = <f32, granularity = "
                       << params.getHeadSize() << ">'";
  if (packed && params.getHeadSize() % 2 != 0)
    return emitError() << "expected an even head_size for dtype " << dtype
                       << ", which stores two elements a byte, got "
                       << params.getHeadSize();
  if (failed(verifyPageSide(emitError, "head_size", params.getHeadSize(),
                            storageBytes(dtype), params, pageSize)))
    return failure();
  return scales
             ? verifyPageSide(emitError, "scales a head",
                              llvm::divideCeil(params.getHeadSize(),
                                               scales.getGranularity()),
                              storageBytes(scales.getDtype()), params, pageSize)
             : success();
}

int64_t LayoutAttr::getScaleSlots() const {
  return isQuantized()
             ? llvm::divideCeil(getHeadSize(), getScales().getGranularity())
             : 0;
}

Type LayoutAttr::getScaleDtype() const {
  return isQuantized() ? getScales().getDtype() : Type();
}

bool LayoutAttr::hasOwnScalesTable() const {
  return isQuantized() && getScales().getTable() == TableKind::own;
}

LayoutAttr LayoutAttr::withScalesTable(TableKind table) const {
  ScalesAttr scales = getScales();
  return get(getContext(), getDtype(), getParams(), getPageSize(),
             ScalesAttr::get(getContext(), scales.getDtype(),
                             scales.getGranularity(), table));
}
