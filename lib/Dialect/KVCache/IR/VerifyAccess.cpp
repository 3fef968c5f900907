//===- VerifyAccess.cpp - Verifiers of lookups, loads and stores ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "VerifyIndex.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

std::optional<int64_t> mlir::kvcache::getConstant(Value value) {
  APInt constant;
  if (value && matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}

LogicalResult mlir::kvcache::verifyIndex(Operation *op, StringRef name,
                                         Value value,
                                         std::optional<int64_t> size,
                                         StringRef unit) {
  std::optional<int64_t> constant = getConstant(value);
  if (!constant)
    return success();
  if (*constant < 0)
    return op->emitOpError()
           << "expected '" << name << "' to be at least 0, got " << *constant;
  if (size && *constant >= *size)
    return op->emitOpError() << "expected '" << name << "' to be less than "
                             << *size << " (" << unit << "), got " << *constant;
  return success();
}

LogicalResult mlir::kvcache::verifyAlignment(Operation *op,
                                             std::optional<int64_t> alignment,
                                             int64_t least) {
  if (!alignment || (*alignment >= least && llvm::isPowerOf2_64(*alignment)))
    return success();
  return op->emitOpError()
         << "expected 'alignment' to be a power of two of at least " << least
         << " bytes, got " << *alignment;
}

LogicalResult mlir::kvcache::verifyFixedLength(Operation *op, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector || !vector.isScalable())
    return success();
  return op->emitOpError("expected a vector of fixed length, got ") << vector;
}

LogicalResult mlir::kvcache::verifyPosition(Operation *op, Value paged,
                                            Value batch, Value token,
                                            int64_t count) {
  KnownTables tables = getKnownTables(paged);
  if (failed(verifyIndex(op, "batch", batch, tables.batch, "sequences")))
    return failure();
  // Positions are below 2^32 in any table.
  int64_t positions = int64_t(1) << 32;
  StringRef unit = "positions are 32-bit";
  int64_t pageSize = getLayout(paged.getType()).getPageSize();
  int64_t product;
  if (tables.columns &&
      !llvm::MulOverflow(*tables.columns, pageSize, product) &&
      product < positions) {
    positions = product;
    unit = "table columns * page_size";
  }
  if (failed(verifyIndex(op, "token", token, positions, unit)))
    return failure();
  std::optional<int64_t> first = getConstant(token);
  if (first && count > positions - *first)
    return op->emitOpError()
           << "expected 'token' + " << count << " to be at most " << positions
           << " (" << unit << "), got token " << *first;
  return success();
}

LogicalResult mlir::kvcache::verifyHasRows(Operation *op, LayoutAttr layout,
                                           StringRef remedy) {
  if (layout.hasRows())
    return success();
  return op->emitOpError() << "expected a layout of placement pool and order "
                              "nhd, whose tokens are "
                              "rows of a matrix, got placement "
                           << stringifyPlacement(layout.getPlacement())
                           << " and order " << stringifyOrder(layout.getOrder())
                           << "; " << remedy;
}

/// Lookups give a number or a view; there is nothing to skip.
static LogicalResult verifyNoSkip(Operation *op, OutOfRange policy) {
  if (policy != OutOfRange::skip)
    return success();
  return op->emitOpError(
      "expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to "
      "skip; use 'skip' on the load or store");
}

/// Refuses a scales operand where an op speaks of values or of their scales.
static LogicalResult verifyNotScalesOperand(Operation *op, Value operand,
                                            StringRef reason,
                                            StringRef remedy) {
  if (!isa<ScalesMHAOperandType>(operand.getType()))
    return success();
  return op->emitOpError() << "expected a cache or a plain mha_operand, got a "
                              "scales_mha_operand: "
                           << reason << "; " << remedy;
}

static LogicalResult verifyHasScales(Operation *op, Value operand) {
  if (getLayout(operand.getType()).isQuantized())
    return success();
  return op->emitOpError("expected a layout with scales, got one without; add "
                         "'scales = <...>' to the layout");
}

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

LogicalResult CacheLengthOp::verify() {
  if (failed(verifyNoSkip(*this, getPolicy())))
    return failure();
  return verifyIndex(*this, "batch", getBatch(),
                     getKnownTables(getSource()).batch, "sequences");
}

/// Rows are those of a matrix, which not every pool is.
static LogicalResult verifyHasRows(Operation *op, Value operand) {
  return mlir::kvcache::verifyHasRows(
      op, getLayout(operand.getType()),
      "use block_paged_ptr, or a load or store");
}

LogicalResult NumKVRowsOp::verify() {
  return ::verifyHasRows(*this, getSource());
}

LogicalResult RowIdxOp::verify() {
  if (failed(::verifyHasRows(*this, getSource())) ||
      failed(verifyNoSkip(*this, getPolicy())))
    return failure();
  return verifyPosition(*this, getSource(), getBatch(), getToken());
}

LogicalResult BlockRowIdxOp::verify() {
  if (failed(verifyNoSkip(*this, getPolicy())))
    return failure();
  return verifyPosition(*this, getSource(), getBatch(), getToken());
}

LogicalResult PopulateOp::verify() {
  if (failed(::verifyHasRows(*this, getSource())) ||
      failed(verifyNoSkip(*this, getPolicy())))
    return failure();
  auto rows = cast<VectorType>(getRows().getType());
  int64_t count = rows.getDimSize(0);
  int64_t pageSize = kvcache::getLayout(getSource().getType()).getPageSize();
  if (failed(verifyFixedLength(*this, rows)))
    return failure();
  if (count % pageSize != 0 && pageSize % count != 0)
    return emitOpError("expected the page size to divide the number of rows or "
                       "the other way round, got page_size ")
           << pageSize << " and " << count << " rows";
  if (failed(verifyAlignment(*this, getAlignment(), /*least=*/4)) ||
      failed(verifyPosition(*this, getSource(), getBatch(), getToken(), count)))
    return failure();
  std::optional<int64_t> token = getConstant(getToken());
  int64_t step = std::min(count, pageSize);
  if (token && *token % step != 0)
    return emitOpError("expected 'token' to be a multiple of ")
           << step << " (the smaller of page_size and the number of rows), got "
           << *token;
  return success();
}

/// Checks a view of `pool` against the tile it shows.
template <typename PtrOp>
static LogicalResult verifyPagedPtr(PtrOp op, Pool pool) {
  if (failed(verifyNoSkip(op, op.getPolicy())))
    return failure();
  LayoutAttr layout = getLayout(op.getSource().getType());
  PoolLayout shape = PoolLayout::get(layout, pool);
  auto view = cast<MemRefType>(op.getView().getType());
  if (!shape.isAligned())
    return op.emitOpError()
           << "expected " << shape.storageType << " that lie at multiples of "
           << shape.storageBytes << " bytes, got a layout whose tokens lie "
           << shape.slotBytes << " bytes apart, from byte " << shape.firstByte
           << " of a layer on; use a load or store, which copes";
  if (view.getElementType() != shape.storageType)
    return op.emitOpError() << "expected a view of " << shape.storageType
                            << ", got " << view.getElementType();
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  auto strided = StridedLayoutAttr::get(op.getContext(), ShapedType::kDynamic,
                                        {shape.slotStride(), 1});
  if (!view.hasStaticShape() || view.getMemorySpace() ||
      failed(view.getStridesAndOffset(strides, offset)) ||
      strides != ArrayRef<int64_t>{shape.slotStride(), 1} ||
      !ShapedType::isDynamic(offset))
    return op.emitOpError()
           << "expected a view of type "
           << MemRefType::get(view.getShape(), shape.storageType, strided)
           << " with static sizes, got " << view;
  int64_t tile = view.getDimSize(0), count = view.getDimSize(1);
  if (tile < 1 || layout.getPageSize() % tile != 0)
    return op.emitOpError()
           << "expected a tile that divides page_size " << layout.getPageSize()
           << ", got " << tile << " tokens";
  if (count < 1 || count > shape.inner)
    return op.emitOpError() << "expected a view of 1 to " << shape.inner << " "
                            << (pool == Pool::scales ? "scales" : "elements")
                            << " of a head, got " << count;
  auto side = cast<MHAOperandTypeInterface>(op.getSource().getType()).getSide();
  if (pool == Pool::scales && layout.isSwizzled(side) && tile * count != 1)
    return op.emitOpError()
           << "expected a view of 1x1 scales where they are swizzled, got "
           << tile << "x" << count << "; use load_scale or store_scale";

  if (failed(verifyPosition(op, op.getSource(), op.getBatch(), op.getToken())))
    return failure();
  std::optional<int64_t> token = getConstant(op.getToken());
  if (token && *token % layout.getPageSize() + tile > layout.getPageSize())
    return op.emitOpError()
           << "expected " << tile << " tokens in one page of page_size "
           << layout.getPageSize() << ", got a tile from slot "
           << *token % layout.getPageSize();
  if (failed(verifyIndex(op, "head", op.getHead(), layout.getNumHeads(),
                         "num_heads")) ||
      failed(verifyIndex(op, "dim", op.getDim(), layout.getQuantizedSize(),
                         layout.getRope() ? "head_size less the rope size, "
                                            "which load reads"
                                          : "head_size")))
    return failure();
  int64_t dim = getConstant(op.getDim()).value_or(0);
  if (pool == Pool::values && dim % shape.elementsPerStorage != 0)
    return op.emitOpError()
           << "expected an even 'dim' for dtype " << layout.getDtype()
           << ", which stores two elements a byte, got " << dim;
  int64_t first = dim / shape.elementsPerStorage;
  if (count > shape.inner - first)
    return op.emitOpError()
           << "expected a view of at most " << shape.inner - first << " "
           << (pool == Pool::scales ? "scales" : "elements") << " from 'dim' "
           << dim << " on, got " << count;
  return success();
}

LogicalResult BlockPagedPtrOp::verify() {
  return verifyPagedPtr(
      *this, cast<MHAOperandTypeInterface>(getSource().getType()).getPool());
}

LogicalResult ScalesBlockPagedPtrOp::verify() {
  if (failed(verifyNotScalesOperand(*this, getSource(),
                                    "its scales have no scales to point to",
                                    "use block_paged_ptr, which gives the "
                                    "address of a scale")) ||
      failed(verifyHasScales(*this, getSource())))
    return failure();
  return verifyPagedPtr(*this, Pool::scales);
}

LogicalResult ScalesRawPtrOp::verify() {
  LayoutAttr layout = kvcache::getLayout(getSource().getType());
  if (layout.hasSeparatePools() || !layout.isQuantized() ||
      isa<ScalesMHAOperandType>(getSource().getType()))
    return success();
  return emitOpError("expected scales in a pool of their own, got placement ")
         << stringifyPlacement(layout.getPlacement())
         << "; use scales_block_paged_ptr or load_scale";
}

//===----------------------------------------------------------------------===//
// Loads and stores
//===----------------------------------------------------------------------===//

static int64_t getLanes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getDimSize(0) : 1;
}

/// Checks position, head and the stretch of the head that an access of `type`
/// reaches.
template <typename AccessOp>
static LogicalResult verifyStretch(AccessOp op, Value operand, Type type) {
  LayoutAttr layout = getLayout(operand.getType());
  AccessedStretch stretch = getAccessedStretch(op);
  bool whole = stretch.end == layout.getHeadSize();
  if (failed(verifyFixedLength(op, type)) ||
      failed(verifyAlignment(op, op.getAlignment())) ||
      failed(verifyPosition(op, operand, op.getBatch(), op.getToken())) ||
      failed(verifyIndex(op, "head", op.getHead(), layout.getNumHeads(),
                         "num_heads")) ||
      failed(verifyIndex(op, "dim", op.getDim(), stretch.end,
                         whole ? "head_size"
                               : "head_size less the rope size, which load "
                                 "reads")))
    return failure();
  std::optional<int64_t> constant = getConstant(op.getDim());
  int64_t dim = constant.value_or(stretch.begin);
  if (dim < stretch.begin)
    return op.emitOpError()
           << "expected 'dim' to be at least " << stretch.begin
           << " (head_size less the rope size) for a value of "
           << getElementTypeOrSelf(type) << ", got " << dim << "; values of "
           << getStorageType(layout.getDtype()) << " are stored before";
  if (stretch.perLane == 2 && dim % 2 != 0)
    return op.emitOpError()
           << "expected an even 'dim' for dtype " << layout.getDtype()
           << ", which stores two elements a byte, got " << dim;
  int64_t first = stretch.slots ? dim / layout.getGranularity() : dim;
  int64_t size = stretch.slots ? layout.getScaleSlots() : stretch.end;
  int64_t count;
  if (llvm::MulOverflow(getLanes(type), stretch.perLane, count))
    count = std::numeric_limits<int64_t>::max();
  if (count > size - first)
    return op.emitOpError() << "expected at most " << size - first << " "
                            << (stretch.slots ? "scales" : "elements")
                            << " from 'dim' " << dim << " on, got " << count;
  return success();
}

static bool isWideFloat(Type type) {
  return isa<Float32Type, Float16Type, BFloat16Type>(type);
}

LogicalResult LoadOp::verify() {
  if (failed(verifyNotScalesOperand(
          *this, getSource(), "it speaks of scales",
          "use load_scale of the cache, or block_paged_ptr")))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getSource().getType());
  Type type = getElementTypeOrSelf(getResult().getType());
  bool raw = !layout.isQuantized() && type == layout.getDtype();
  if (!raw && !isWideFloat(type))
    return emitOpError("expected a result of f32, f16 or bf16")
           << (layout.isQuantized() ? "" : ", or the cache's dtype") << ", got "
           << type << "; load_quantized gives the codes";
  return verifyStretch(*this, getSource(), getResult().getType());
}

LogicalResult LoadQuantizedOp::verify() {
  if (failed(verifyNotScalesOperand(
          *this, getSource(), "it speaks of scales",
          "use load_scale of the cache, or block_paged_ptr")))
    return failure();
  PoolLayout pool =
      PoolLayout::get(kvcache::getLayout(getSource().getType()), Pool::values);
  Type type = getElementTypeOrSelf(getResult().getType());
  if (type != pool.storageType)
    return emitOpError("expected a result of ")
           << pool.storageType << ", got " << type << "; load dequantises";
  return verifyStretch(*this, getSource(), getResult().getType());
}

LogicalResult LoadScaleOp::verify() {
  if (failed(verifyNotScalesOperand(
          *this, getSource(), "its scales have no scales",
          "use load_scale of the cache, or block_paged_ptr")) ||
      failed(verifyHasScales(*this, getSource())))
    return failure();
  Type dtype = kvcache::getLayout(getSource().getType()).getScaleDtype();
  Type type = getElementTypeOrSelf(getResult().getType());
  if (type != dtype && !type.isF32())
    return emitOpError("expected a result of the scale dtype ")
           << dtype << " or f32, got " << type;
  return verifyStretch(*this, getSource(), getResult().getType());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyNotScalesOperand(
          *this, getTarget(), "it speaks of scales",
          "use store_scale of the cache, or block_paged_ptr")))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getTarget().getType());
  PoolLayout pool = PoolLayout::get(layout, Pool::values);
  Type type = getElementTypeOrSelf(getValue().getType());
  // Floats other than codes go to the unquantised tail, where there is one.
  bool floats = !layout.isQuantized() || layout.getRope();
  if (type != pool.storageType && (!floats || !isWideFloat(type))) {
    if (!floats)
      return emitOpError("expected a value of ")
             << pool.storageType << ", got " << type
             << ": a store does not quantise; convert with the scale first";
    InFlightDiagnostic diag = emitOpError("expected a value of ");
    if (!isWideFloat(pool.storageType))
      diag << pool.storageType << ", ";
    return diag << "f32, f16 or bf16, got " << type;
  }
  return verifyStretch(*this, getTarget(), getValue().getType());
}

LogicalResult StoreScaleOp::verify() {
  if (failed(verifyNotScalesOperand(
          *this, getTarget(), "its scales have no scales",
          "use store_scale of the cache, or block_paged_ptr")) ||
      failed(verifyHasScales(*this, getTarget())))
    return failure();
  Type dtype = kvcache::getLayout(getTarget().getType()).getScaleDtype();
  Type type = getElementTypeOrSelf(getValue().getType());
  if (type != dtype && !type.isF32())
    return emitOpError("expected a value of the scale dtype ")
           << dtype << " or f32, got " << type;
  return verifyStretch(*this, getTarget(), getValue().getType());
}
