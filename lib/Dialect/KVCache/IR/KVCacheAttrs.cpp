//===- KVCacheAttrs.cpp - The layout attribute ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include <cmath>

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

LogicalResult RopeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               Type dtype, int64_t size) {
  if (!isa<Float32Type, Float16Type, BFloat16Type>(dtype))
    return emitError() << "expected a rope dtype of f32, f16 or bf16, got "
                       << dtype;
  if (size < 1)
    return emitError() << "expected a rope size of at least 1, got " << size;
  return success();
}

static int64_t storageBytes(Type dtype) {
  return getStorageType(dtype).getIntOrFloatBitWidth() / 8;
}

/// In-page arithmetic is 32-bit.
static constexpr int64_t pageSideLimit = int64_t(1) << 32;

/// One side of a page takes less than 2^32 bytes, in a pool of values or
/// scales.
static LogicalResult
verifyPageSide(function_ref<InFlightDiagnostic()> emitError, StringRef what,
               int64_t inner, int64_t bytes, ParamsAttr params,
               int64_t pageSize) {
  int64_t side = bytes;
  for (int64_t factor : {pageSize, params.getNumHeads(), inner})
    if (llvm::MulOverflow(side, factor, side) || side >= pageSideLimit)
      return emitError() << "expected one side of a page to take less than "
                         << pageSideLimit << " bytes, got page_size "
                         << pageSize << " * num_heads " << params.getNumHeads()
                         << " * " << what << " " << inner << " * " << bytes
                         << " bytes; use a smaller page_size";
  return success();
}

/// The same for a pool that holds everything: `rowBytes` a (token, head).
static LogicalResult
verifyPageBytes(function_ref<InFlightDiagnostic()> emitError, int64_t rowBytes,
                ParamsAttr params, int64_t pageSize) {
  int64_t bytes = rowBytes;
  for (int64_t factor : {pageSize, params.getNumHeads()})
    if (llvm::MulOverflow(bytes, factor, bytes) || bytes >= pageSideLimit)
      return emitError() << "expected one layer of a page to take less than "
                         << pageSideLimit << " bytes, got page_size "
                         << pageSize << " * num_heads " << params.getNumHeads()
                         << " * " << rowBytes
                         << " bytes; use a smaller page_size";
  return success();
}

/// The tail of a head that is not quantised.
static LogicalResult verifyRope(function_ref<InFlightDiagnostic()> emitError,
                                RopeAttr rope, ScalesAttr scales,
                                Placement placement, ParamsAttr params) {
  if (!rope)
    return success();
  if (!scales)
    return emitError()
           << "expected scales with 'rope', the part of a head that is "
              "not quantised, got none; add 'scales' or drop 'rope'";
  if (placement == Placement::pool)
    return emitError()
           << "expected 'placement' inline or page_split with 'rope', "
              "got pool, whose rows are of one dtype";
  if (rope.getSize() >= params.getHeadSize())
    return emitError() << "expected a rope size of less than head_size "
                       << params.getHeadSize() << ", got " << rope.getSize()
                       << "; a head that is not quantised at all needs no "
                          "scales";
  return success();
}

/// What only some placements have.
static LogicalResult
verifyPlacement(function_ref<InFlightDiagnostic()> emitError,
                Placement placement, ScalesAttr scales, ParamsAttr params,
                bool kvInner, int64_t footer, int64_t pageAlign) {
  auto name = stringifyPlacement(placement);
  if (placement != Placement::pool && scales &&
      scales.getTable() == TableKind::own)
    return emitError() << "expected 'table = shared' with placement " << name
                       << ", whose scales lie in the pages of the values, got "
                          "own; drop it or use 'placement = pool'";
  if (kvInner && placement != Placement::inlined)
    return emitError() << "expected 'placement = inline' with 'kv_inner', got "
                       << name << "; only rows can lie side by side";
  if (kvInner && params.getIsMla())
    return emitError()
           << "expected keys and values with 'kv_inner', got an MLA "
              "layout, which has keys only; drop 'kv_inner'";
  if (footer != 0 && placement != Placement::page_split)
    return emitError()
           << "expected 'placement = page_split' with 'footer', got " << name
           << "; drop 'footer'";
  if (footer != 0 && !scales)
    return emitError()
           << "expected scales with 'footer', which holds them, got "
              "none; drop 'footer'";
  if (pageAlign < 0)
    return emitError() << "expected page_align to be at least 0, got "
                       << pageAlign;
  if (pageAlign != 0 && placement == Placement::pool)
    return emitError() << "expected no 'page_align' with placement pool, got "
                       << pageAlign
                       << "; stride 0 of a pool says how its pages are padded";
  return success();
}

static LogicalResult verifySwizzle(function_ref<InFlightDiagnostic()> emitError,
                                   ScaleSwizzle swizzle, ScalesAttr scales,
                                   ParamsAttr params, int64_t pageSize) {
  if (swizzle == ScaleSwizzle::none)
    return success();
  if (!scales)
    return emitError()
           << "expected scales with 'swizzle', which interleaves them, "
              "got none; drop 'swizzle'";
  if (pageSize % 4 != 0)
    return emitError() << "expected page_size to be a multiple of 4 with "
                          "'swizzle', which interleaves four tokens, got "
                       << pageSize;
  if (swizzle == ScaleSwizzle::v && params.getIsMla())
    return emitError()
           << "expected 'swizzle' none or kv, got v: an MLA layout has "
              "no value cache";
  return success();
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 Type dtype, ParamsAttr params,
                                 int64_t pageSize, ScalesAttr scales,
                                 Placement placement, Order, RopeAttr rope,
                                 bool kvInner, int64_t footer,
                                 int64_t pageAlign, ScaleSwizzle swizzle) {
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
  if (failed(verifyRope(emitError, rope, scales, placement, params)) ||
      failed(verifyPlacement(emitError, placement, scales, params, kvInner,
                             footer, pageAlign)) ||
      failed(verifySwizzle(emitError, swizzle, scales, params, pageSize)))
    return failure();
  int64_t size = params.getHeadSize() - (rope ? rope.getSize() : 0);
  if (packed && size % 2 != 0) {
    InFlightDiagnostic diag = emitError()
                              << "expected an even head_size for dtype "
                              << dtype << ", which stores two elements a byte";
    if (rope)
      diag << ", less the rope size";
    return diag << ", got " << size;
  }

  int64_t slots = scales ? llvm::divideCeil(size, scales.getGranularity()) : 0;
  if (failed(verifyPageSide(emitError, "head_size", size, storageBytes(dtype),
                            params, pageSize)) ||
      (scales && failed(verifyPageSide(emitError, "scales a head", slots,
                                       storageBytes(scales.getDtype()), params,
                                       pageSize))))
    return failure();
  if (placement == Placement::pool)
    return success();
  // None of these is 2^32 or more now, but the rope's and the footer.
  int64_t scaleBytes = scales ? slots * storageBytes(scales.getDtype()) : 0;
  if (footer != 0 && footer < scaleBytes)
    return emitError() << "expected a footer of at least " << scaleBytes
                       << " bytes, which " << slots << " scales take, got "
                       << footer;
  int64_t tailBytes = 0, row;
  if ((rope && llvm::MulOverflow(rope.getSize(), storageBytes(rope.getDtype()),
                                 tailBytes)) ||
      llvm::AddOverflow(tailBytes,
                        size * storageBytes(dtype) / (packed ? 2 : 1), row) ||
      llvm::AddOverflow(row, footer ? footer : scaleBytes, row) ||
      llvm::MulOverflow<int64_t>(row, kvInner ? 2 : 1, row))
    row = std::numeric_limits<int64_t>::max();
  return verifyPageBytes(emitError, row, params, pageSize);
}

int64_t LayoutAttr::getScaleSlots() const {
  return isQuantized() ? llvm::divideCeil(getQuantizedSize(),
                                          getScales().getGranularity())
                       : 0;
}

Type LayoutAttr::getScaleDtype() const {
  return isQuantized() ? getScales().getDtype() : Type();
}

bool LayoutAttr::hasOwnScalesTable() const {
  return isQuantized() && getScales().getTable() == TableKind::own;
}

bool LayoutAttr::isSwizzled(Side side) const {
  // One scale a head stays where it is.
  return getScaleSlots() > 1 &&
         (getSwizzle() == ScaleSwizzle::kv ||
          (getSwizzle() == ScaleSwizzle::v && side == Side::value));
}

LayoutAttr LayoutAttr::withScalesTable(TableKind table) const {
  ScalesAttr scales = getScales();
  return get(getContext(), getDtype(), getParams(), getPageSize(),
             ScalesAttr::get(getContext(), scales.getDtype(),
                             scales.getGranularity(), table),
             getPlacement(), getOrder(), getRope(), getKvInner(), getFooter(),
             getPageAlign(), getSwizzle());
}

LogicalResult TuningAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t threads, int64_t chunks,
                                 int64_t blocksPerSM) {
  if (threads < 0 || threads > 1024 || threads % 32 != 0)
    return emitError() << "expected threads to be 0 or a multiple of 32 up to "
                          "1024, got "
                       << threads;
  if (chunks < 0 || chunks > 64)
    return emitError() << "expected chunks from 0 to 64, got " << chunks;
  if (blocksPerSM < 0 || blocksPerSM > 32)
    return emitError() << "expected blocks_per_sm from 0 to 32, got "
                       << blocksPerSM;
  return success();
}

LogicalResult
QuantizationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                         ScaleContract, APFloat floor, FloorOn, ApplyScale) {
  double number = floor.convertToDouble();
  if (!(number >= 0 && std::isfinite(static_cast<float>(number))))
    return emitError()
           << "expected a floor of at least 0 that is finite in f32, "
              "got "
           << number;
  return success();
}

LogicalResult RotationAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   RotationStyle, int64_t start) {
  if (start < 0)
    return emitError() << "expected start to be at least 0, got " << start;
  return success();
}

LogicalResult NormAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               APFloat eps, APFloat weightOffset) {
  double number = eps.convertToDouble();
  if (!(number >= 0 && std::isfinite(static_cast<float>(number))))
    return emitError()
           << "expected an eps of at least 0 that is finite in f32, "
              "got "
           << number;
  number = weightOffset.convertToDouble();
  if (!std::isfinite(static_cast<float>(number)))
    return emitError() << "expected a weight_offset that is finite in f32, got "
                       << number;
  return success();
}
