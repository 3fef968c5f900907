//===- VerifyAttention.cpp - Verifiers of attention ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Checks that `value`, if there is one, is positive.
static LogicalResult verifyPositive(Operation *op, StringRef name,
                                    std::optional<APFloat> value) {
  if (!value)
    return success();
  double number = value->convertToDouble();
  if (value->isFinite() && number > 0)
    return success();
  return op->emitOpError() << "expected '" << name
                           << "' to be a positive number, got " << number;
}

/// Checks what of the operands all attention has; `outSize` are the elements of
/// a head of 'out'.
static LogicalResult verifyRows(Operation *op, Value q, Value out,
                                Value offsets, Value sinks, Value lse,
                                Value workspace, LayoutAttr layout,
                                ArrayRef<Type> queryTypes, int64_t outSize) {
  MLIRContext *context = op->getContext();
  Type f32 = Float32Type::get(context);
  auto qType = cast<MemRefType>(q.getType());
  int64_t heads = qType.getRank() == 3 ? qType.getDimSize(1) : 0;
  if (qType.getRank() == 3 && ShapedType::isDynamic(heads))
    return op->emitOpError("expected dimension 1 (Hq) of 'q' to be static, "
                           "got a dynamic size");
  constexpr int64_t any = ShapedType::kDynamic;
  if (failed(verifyTensor(op, "q", q, queryTypes,
                          {any, any, layout.getHeadSize()}, {"T", "Hq", "D"})))
    return failure();
  if (heads % layout.getNumHeads() != 0 || heads == 0)
    return op->emitOpError()
           << "expected query heads to be a positive multiple of the "
              "cache's "
           << layout.getNumHeads() << " heads, got " << heads;
  if (failed(verifyTensor(op, "out", out, getWideFloats(context),
                          {any, heads, outSize}, {"T", "Hq", "D"})) ||
      failed(verifyOffsets(op, "row_offsets", offsets)))
    return failure();
  if (lse &&
      failed(verifyTensor(op, "lse", lse, {f32}, {any, heads}, {"T", "Hq"})))
    return failure();
  if (sinks && failed(verifyTensor(op, "sinks", sinks, {f32}, {heads}, {"Hq"})))
    return failure();
  if (workspace &&
      failed(verifyTensor(op, "workspace", workspace, {f32}, {any}, {"N"})))
    return failure();
  for (auto [name, tensor] : {std::pair("out", out), {"lse", lse}})
    if (tensor && failed(verifySameSize(op, 0, "q", q, name, tensor)))
      return failure();
  return success();
}

/// Checks the dtypes of a cache that attention reads; the types that its
/// queries may have.
static FailureOr<SmallVector<Type>> verifyDtypes(Operation *op,
                                                 LayoutAttr layout) {
  Type dtype = layout.getDtype();
  bool isWide = dtype.isBF16() || dtype.isF16();
  if (!isWide && !isa<Float8E4M3FNType>(dtype) && !dtype.isInteger(8)) {
    op->emitOpError("expected a cache of bf16, f16, f8E4M3FN or i8, got ")
        << dtype;
    return failure();
  }
  if (isWide && layout.isQuantized()) {
    op->emitOpError("expected a cache of ")
        << dtype << " without scales, got scales of " << layout.getScaleDtype();
    return failure();
  }
  if (isWide)
    return SmallVector<Type>{dtype};
  MLIRContext *context = op->getContext();
  return SmallVector<Type>{BFloat16Type::get(context),
                           Float16Type::get(context)};
}

static LogicalResult verifyPolicy(Operation *op, OutOfRange policy) {
  if (policy == OutOfRange::skip)
    return op->emitOpError("expected the policy assume or trap, got skip: keys "
                           "that are left out change every result");
  return success();
}

int64_t PagedAttentionOp::getGroup() {
  return getQueryHeads() /
         kvcache::getLayout(getKeys().getType()).getNumHeads();
}

LogicalResult PagedAttentionOp::verify() {
  LayoutAttr layout = kvcache::getLayout(getKeys().getType());
  if (failed(verifyPolicy(*this, getPolicy())))
    return failure();
  for (auto [cache, side] :
       {std::pair(getKeys(), Side::key), {getValues(), Side::value}}) {
    auto type = cast<CacheType>(cache.getType());
    if (type.getSide() != side)
      return emitOpError("expected a cache of ")
             << (side == Side::key ? "keys" : "values") << ", got " << type;
    if (type.getLayout() != layout)
      return emitOpError("expected keys and values of one layout, got ")
             << layout << " and " << type.getLayout();
  }
  FailureOr<SmallVector<Type>> queryTypes = verifyDtypes(*this, layout);
  if (failed(queryTypes))
    return failure();
  if (layout.getRope())
    return emitOpError("expected a layout whose heads are quantised as a "
                       "whole, got a tail of ")
           << layout.getRopeSize() << " of " << layout.getHeadSize()
           << " elements; gather them first";
  constexpr int64_t sizes[] = {64, 80, 96, 128, 192, 256};
  if (!llvm::is_contained(sizes, layout.getHeadSize()))
    return emitOpError("expected a head size of 64, 80, 96, 128, 192 or 256, "
                       "got ")
           << layout.getHeadSize();
  if (failed(verifyRows(*this, getQ(), getOut(), getRowOffsets(), getSinks(),
                        getLse(), getWorkspace(), layout, *queryTypes,
                        layout.getHeadSize())) ||
      failed(verifyPositive(*this, "scale", getScale())) ||
      failed(verifyPositive(*this, "softcap", getSoftcap())) ||
      failed(verifyGlobalScale(*this, layout, getGlobalScale())))
    return failure();
  // A cap times the error of tanh, 2^-22, is one of exponents.
  constexpr int64_t maxSoftcap = 1024;
  if (getSoftcap() && getSoftcap()->convertToDouble() > maxSoftcap)
    return emitOpError("expected 'softcap' to be at most ")
           << maxSoftcap << ", got " << getSoftcap()->convertToDouble()
           << "; leave it out where scores stay far below it";
  // The accessor of the operation is unsigned.
  if (IntegerAttr window = getWindowAttr(); window && window.getInt() < 1)
    return emitOpError("expected 'window' to be at least 1, got ")
           << window.getInt();
  // Positions of tables are counted by 32 bits.
  constexpr int64_t mostPositions = UINT32_MAX;
  if (IntegerAttr window = getWindowAttr();
      window && window.getInt() > mostPositions)
    return emitOpError("expected 'window' to be at most ")
           << mostPositions << ", as many positions as a table may have, got "
           << window.getInt() << "; leave it out where rows see all keys";
  return success();
}

/// Threads of a block of mla_decode: four warps share a tile.
static constexpr int64_t latentThreads = 128;

LogicalResult MLADecodeOp::verify() {
  auto type = cast<CacheType>(getKeys().getType());
  LayoutAttr layout = type.getLayout();
  if (failed(verifyPolicy(*this, getPolicy())))
    return failure();
  if (!layout.getParams().getIsMla() || layout.getNumHeads() != 1)
    return emitOpError("expected a cache of latents, with is_mla and 1 head, "
                       "got ")
           << layout.getNumHeads() << " heads of " << layout;
  FailureOr<SmallVector<Type>> queryTypes = verifyDtypes(*this, layout);
  if (failed(queryTypes))
    return failure();
  if (layout.isQuantized() && layout.getScaleSlots() != 1)
    return emitOpError("expected one scale a token, got ")
           << layout.getScaleSlots() << "; make the granularity the head size, "
           << layout.getHeadSize();
  if (layout.getRope())
    return emitOpError("expected a layout whose heads are quantised as a "
                       "whole, got a tail of ")
           << layout.getRopeSize() << " of " << layout.getHeadSize()
           << " elements; gather them first";
  int64_t size = layout.getHeadSize();
  if (size % 64 != 0 || size > 576)
    return emitOpError("expected a head size that is a multiple of 64 and at "
                       "most 576, got ")
           << size;
  auto out = cast<MemRefType>(getOut().getType());
  int64_t valueSize = out.getRank() == 3 ? out.getDimSize(2) : 0;
  if (out.getRank() == 3 &&
      (ShapedType::isDynamic(valueSize) || valueSize % 64 != 0 ||
       valueSize == 0 || valueSize > std::min<int64_t>(size, 512))) {
    InFlightDiagnostic diag =
        emitOpError("expected dimension 2 (Dv) of 'out' to be a multiple of 64 "
                    "and at most ")
        << std::min<int64_t>(size, 512) << ", got ";
    if (ShapedType::isDynamic(valueSize))
      return diag << "a dynamic size";
    return diag << valueSize;
  }
  constexpr int64_t mostHeads = 128;
  if (auto q = cast<MemRefType>(getQ().getType());
      q.getRank() == 3 && !q.isDynamicDim(1) &&
      (q.getDimSize(1) < 1 || q.getDimSize(1) > mostHeads))
    return emitOpError("expected 1 to ")
           << mostHeads << " query heads, got " << q.getDimSize(1);
  if (failed(verifyRows(*this, getQ(), getOut(), getRowOffsets(),
                        /*sinks=*/Value(), getLse(), getWorkspace(), layout,
                        *queryTypes, valueSize)) ||
      failed(verifyPositive(*this, "scale", getScale())) ||
      failed(verifyGlobalScale(*this, layout, getGlobalScale())))
    return failure();
  if (failed(verifyThreads(*this, getTuningAttr(), latentThreads,
                           "of which four warps share a tile")))
    return failure();
  int64_t heads = getQueryHeads();
  constexpr int64_t any = ShapedType::kDynamic;
  if (getQScales() &&
      (failed(verifyTensor(*this, "q_scales", getQScales(),
                           {Float32Type::get(getContext())}, {any, heads},
                           {"T", "Hq"})) ||
       failed(verifySameSize(*this, 0, "q", getQ(), "q_scales", getQScales()))))
    return failure();
  size_t lists = getSlots().empty()                                   ? 0
                 : layout.isQuantized() && layout.hasOwnScalesTable() ? 2
                                                                      : 1;
  if (getSlots().size() != lists)
    return emitOpError("expected ")
           << lists << " operands (slots" << (lists == 2 ? ", scale_slots" : "")
           << "), got " << getSlots().size();
  StringRef name = "slots";
  for (Value slots : getSlots()) {
    if (failed(verifyTensor(*this, name, slots,
                            {IntegerType::get(getContext(), 32),
                             IntegerType::get(getContext(), 64)},
                            {any, any}, {"T", "K"})) ||
        failed(verifySameSize(*this, 0, "q", getQ(), name, slots)) ||
        failed(
            verifySameSize(*this, 1, "slots", getSlots().front(), name, slots)))
      return failure();
    name = "scale_slots";
  }
  return success();
}
