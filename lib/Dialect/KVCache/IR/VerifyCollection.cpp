//===- VerifyCollection.cpp - Verifiers of collections -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "VerifyIndex.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// get_paged_cache
//===----------------------------------------------------------------------===//

/// Checks element type, rank and memory space of an operand.
static LogicalResult verifyMemRef(Operation *op, StringRef name,
                                  MemRefType type, Type elementType,
                                  ArrayRef<StringRef> dims) {
  if (type.getElementType() != elementType)
    return op->emitOpError() << "expected '" << name << "' of " << elementType
                             << ", got " << type.getElementType();
  if (type.getRank() != static_cast<int64_t>(dims.size()))
    return op->emitOpError()
           << "expected '" << name << "' of rank " << dims.size() << " ["
           << llvm::join(dims, ", ") << "], got rank " << type.getRank();
  if (type.getMemorySpace())
    return op->emitOpError()
           << "expected '" << name << "' in the default memory space, got "
           << type.getMemorySpace() << "; use memref.memory_space_cast";
  return success();
}

/// Checks one dimension; a dynamic one is the caller's promise unless it must
/// be static.
static LogicalResult verifyDim(Operation *op, StringRef name, MemRefType type,
                               unsigned index, StringRef dim, int64_t expected,
                               bool mustBeStatic = false) {
  int64_t size = type.getDimSize(index);
  if (size == expected || (ShapedType::isDynamic(size) && !mustBeStatic) ||
      ShapedType::isDynamic(expected))
    return success();
  InFlightDiagnostic diag = op->emitOpError()
                            << "expected dimension " << index << " (" << dim
                            << ") of '" << name << "' to be " << expected
                            << ", got ";
  if (ShapedType::isDynamic(size))
    return diag << "a dynamic size; it must be static";
  return diag << size;
}

/// Checks a pool: its static sizes are the layout's, everything but the first
/// dimension is packed, and the page pitch is whole rows, or what the layout
/// says of a pool of bytes.
static LogicalResult verifyPool(Operation *op, StringRef name, MemRefType type,
                                const PoolLayout &pool) {
  SmallVector<StringRef, 6> dims = pool.dimNames();
  if (failed(verifyMemRef(op, name, type, pool.poolType(), dims)))
    return failure();
  for (auto [index, expected] : llvm::enumerate(pool.shape()))
    if (!ShapedType::isDynamic(expected) &&
        failed(verifyDim(op, name, type, index, dims[index], expected,
                         /*mustBeStatic=*/true)))
      return failure();

  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitOpError()
           << "expected '" << name << "' with a strided layout, got "
           << type.getLayout();
  if (!ShapedType::isDynamic(offset) &&
      offset % poolAlignment * pool.poolBytes() % poolAlignment != 0)
    return op->emitOpError()
           << "expected '" << name << "' to start at a multiple of "
           << poolAlignment << " bytes, got an offset of " << offset
           << " elements of " << pool.poolBytes() << " bytes";
  int64_t layers = type.getDimSize(2), blocks = type.getDimSize(0);
  int64_t pitch = strides[0];
  // Every byte must be addressable. A page is at least one layer of every side.
  int64_t page = pool.packedStrides(/*layers=*/1)[0], bytes;
  bool overflows =
      (!ShapedType::isDynamic(layers) &&
       llvm::MulOverflow(page, std::max<int64_t>(layers, 1), page)) ||
      llvm::AddOverflow(page, pool.pageMultiple - 1, page);
  page -= page % pool.pageMultiple;
  if (overflows ||
      llvm::MulOverflow(std::max(page, pitch), pool.poolBytes(), bytes) ||
      (!ShapedType::isDynamic(blocks) &&
       llvm::MulOverflow(bytes, blocks, bytes)))
    return op->emitOpError()
           << "expected '" << name << "' of less than 2^63 bytes, got " << type;

  for (auto [index, packed] : llvm::enumerate(pool.packedStrides(layers))) {
    // A stride that is not known now is the caller's promise, and nothing steps
    // along a dimension of one.
    if (index == 0 || ShapedType::isDynamic(packed) ||
        ShapedType::isDynamic(strides[index]) || strides[index] == packed ||
        type.getDimSize(index) == 1)
      continue;
    return op->emitOpError()
           << "expected stride " << index << " (" << dims[index] << ") of '"
           << name << "' to be " << packed << ", got " << strides[index]
           << "; only pages may be padded";
  }
  if (ShapedType::isDynamic(pitch))
    return success();
  if (pitch < page)
    return op->emitOpError() << "expected a page pitch (stride 0) of '" << name
                             << "' of at least " << page << ", got " << pitch;
  if (!pool.isBytes && pitch % pool.rowSize() != 0)
    return op->emitOpError() << "expected the page pitch (stride 0) of '"
                             << name << "' to be a multiple of a row of "
                             << pool.rowSize() << " elements, got " << pitch;
  if (pool.isBytes && pitch % pool.pitchMultiple != 0) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected the page pitch (stride 0) of '"
                              << name << "' to be a multiple of "
                              << pool.pitchMultiple << " bytes, got " << pitch;
    if (pool.pageMultiple != 1)
      return diag << "; 'page_align' of the layout says so";
    return diag << "; say 'page_align = " << (pitch & -pitch)
                << "' in the layout for pages that are aligned to less";
  }
  return success();
}

/// Checks a table `[B, M]` or a list of lengths `[B]`: entries of a row lie
/// side by side.
static LogicalResult verifyTable(Operation *op, StringRef name, MemRefType type,
                                 ArrayRef<StringRef> dims) {
  Type i32 = IntegerType::get(op->getContext(), 32);
  if (failed(verifyMemRef(op, name, type, i32, dims)))
    return failure();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitOpError()
           << "expected '" << name << "' with a strided layout, got "
           << type.getLayout();
  if (strides.back() != 1)
    return op->emitOpError()
           << "expected the last stride of '" << name << "' to be 1, got "
           << (ShapedType::isDynamic(strides.back())
                   ? std::string("a dynamic one")
                   : std::to_string(strides.back()));
  // Rows are found by unsigned arithmetic, and they do not overlap.
  int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 0;
  int64_t least = ShapedType::isDynamic(columns) ? 0 : columns;
  if (type.getRank() == 2 && type.getDimSize(0) != 1 &&
      !ShapedType::isDynamic(strides[0]) && strides[0] < least)
    return op->emitOpError()
           << "expected stride 0 (" << dims[0] << ") of '" << name
           << "' to be at least " << least << ", got " << strides[0];
  return success();
}

/// Checks that a product of static sizes fits the 32-bit table arithmetic.
static LogicalResult verifyFits(Operation *op, StringRef what, int64_t a,
                                StringRef aName, int64_t b, StringRef bName) {
  constexpr int64_t limit = int64_t(1) << 32;
  int64_t product;
  if (ShapedType::isDynamic(a) || ShapedType::isDynamic(b) ||
      (!llvm::MulOverflow(a, b, product) && product < limit))
    return success();
  return op->emitOpError() << "expected " << what << " to be less than "
                           << limit << ", got " << aName << " " << a << " * "
                           << bName << " " << b;
}

/// Entries of a table are found by 32-bit arithmetic.
static LogicalResult verifyTableSize(Operation *op, StringRef name,
                                     MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset, batch = type.getDimSize(0), columns = type.getDimSize(1);
  if (failed(verifyFits(op, ("the number of entries of '" + name + "'").str(),
                        batch, "B", columns, "M")))
    return failure();
  if (failed(type.getStridesAndOffset(strides, offset)) || batch == 1)
    return success();
  return verifyFits(op, ("the number of entries of '" + name + "'").str(),
                    batch, "B", strides[0], "stride");
}

/// Checks the pools of a collection of `layout`; `scales` may be null.
static LogicalResult verifyPools(Operation *op, LayoutAttr layout,
                                 MemRefType blocks, MemRefType scales) {
  if (failed(verifyPool(op, "blocks", blocks,
                        PoolLayout::get(layout, Pool::values))))
    return failure();
  if (!layout.isQuantized()) {
    if (scales)
      return op->emitOpError(
          "expected no 'scales', since the layout has none; add "
          "'scales = <...>' to the layout or drop the operand");
    return success();
  }
  if (!layout.hasSeparatePools()) {
    if (scales)
      return op->emitOpError(
                 "expected no 'scales', since they lie in 'blocks' with "
                 "placement ")
             << stringifyPlacement(layout.getPlacement())
             << "; drop the operand";
    return success();
  }
  if (!scales)
    return op->emitOpError("expected 'scales', since the layout has scales of ")
           << layout.getScaleDtype()
           << "; pass the scales pool or drop 'scales' from the layout";
  if (failed(verifyPool(op, "scales", scales,
                        PoolLayout::get(layout, Pool::scales))) ||
      failed(verifyDim(op, "scales", scales, 2, "L", blocks.getDimSize(2))))
    return failure();
  int64_t nb = blocks.getDimSize(0), nbs = scales.getDimSize(0);
  if (!layout.hasOwnScalesTable() && !ShapedType::isDynamic(nb) &&
      !ShapedType::isDynamic(nbs) && nb != nbs)
    return op->emitOpError("expected as many scales blocks (NBs) as value "
                           "blocks (NB) where both share a table, got ")
           << nbs << " and " << nb
           << "; pass a 'scales_lookup_table' and say 'table = own'";
  return success();
}

/// The type of an optional memref; null without one.
static MemRefType typeOf(TypedValue<MemRefType> memref) {
  return memref ? memref.getType() : MemRefType();
}

LogicalResult GetPagePoolsOp::verify() {
  return verifyPools(*this, getLayout(), getBlocks().getType(),
                     typeOf(getScales()));
}

LogicalResult GetPagedCacheOp::verify() {
  LayoutAttr layout = getLayout();
  MemRefType blocks = getBlocks().getType();
  if (failed(verifyPools(*this, layout, blocks, typeOf(getScales()))))
    return failure();

  MemRefType table = getLookupTable().getType();
  MemRefType lengths = getCacheLengths().getType();
  if (failed(verifyTable(*this, "cache_lengths", lengths, {"B"})) ||
      failed(verifyTable(*this, "lookup_table", table, {"B", "M"})) ||
      failed(verifyDim(*this, "cache_lengths", lengths, 0, "B",
                       table.getDimSize(0))) ||
      failed(verifyTableSize(*this, "lookup_table", table)) ||
      failed(verifyFits(*this, "the number of positions", table.getDimSize(1),
                        "M", layout.getPageSize(), "P")))
    return failure();
  for (auto [name, value] :
       {std::pair("max_prompt_length", getMaxPromptLength()),
        std::pair("max_cache_length", getMaxCacheLength())})
    if (failed(verifyTable(*this, name, value.getType(), {"1"})) ||
        failed(verifyDim(*this, name, value.getType(), 0, "1", 1)))
      return failure();

  if (!layout.isQuantized()) {
    if (getScalesLookupTable())
      return emitOpError("expected no 'scales_lookup_table', since the layout "
                         "has no scales; drop the operand");
    return success();
  }
  if (!layout.hasSeparatePools()) {
    if (getScalesLookupTable())
      return emitOpError("expected no 'scales_lookup_table', since the scales "
                         "lie in 'blocks' with placement ")
             << stringifyPlacement(layout.getPlacement())
             << "; drop the operand";
    return success();
  }
  if (layout.hasOwnScalesTable()) {
    if (!getScalesLookupTable())
      return emitOpError("expected 'scales_lookup_table', since the layout "
                         "says 'table = own'; "
                         "pass the table or say 'table = shared'");
    MemRefType scalesTable = getScalesLookupTable().getType();
    if (failed(verifyTable(*this, "scales_lookup_table", scalesTable,
                           {"B", "M"})) ||
        failed(verifyDim(*this, "scales_lookup_table", scalesTable, 0, "B",
                         table.getDimSize(0))) ||
        failed(verifyDim(*this, "scales_lookup_table", scalesTable, 1, "M",
                         table.getDimSize(1))))
      return failure();
    return verifyTableSize(*this, "scales_lookup_table", scalesTable);
  }
  if (getScalesLookupTable())
    return emitOpError(
        "expected no 'scales_lookup_table', since the layout says 'table = "
        "shared'; drop the operand or say 'table = own'");
  return success();
}

//===----------------------------------------------------------------------===//
// Caches and casts
//===----------------------------------------------------------------------===//

LogicalResult GetKeyCacheOp::verify() {
  return verifyIndex(*this, "layer", getLayer(),
                     getKnownTables(getCollection()).layers, "layers");
}

LogicalResult GetValueCacheOp::verify() {
  return verifyIndex(*this, "layer", getLayer(),
                     getKnownTables(getCollection()).layers, "layers");
}

/// Infers the type of an operand or a cache, with the type's own verifier
/// speaking for the op.
template <typename SidedType>
static LogicalResult inferSided(StringRef opName, MLIRContext *context,
                                std::optional<Location> location, Side side,
                                LayoutAttr layout,
                                SmallVectorImpl<Type> &inferred) {
  auto type = SidedType::getChecked(
      [&] {
        return emitError(location.value_or(UnknownLoc::get(context)))
               << "'" << opName << "' op ";
      },
      context, side, layout);
  if (!type)
    return failure();
  inferred.push_back(type);
  return success();
}

/// The type of an op's only operand, or null and an error where the op is
/// malformed: types are inferred before operands are verified.
template <typename T>
static T sourceType(StringRef op, std::optional<Location> location,
                    ValueRange operands) {
  if (operands.empty()) {
    (void)emitOptionalError(location, "'", op, "' op expected an operand");
    return {};
  }
  T type = dyn_cast<T>(operands.front().getType());
  if (!type)
    (void)emitOptionalError(location, "'", op, "' op expected an operand of '!",
                            T::name, "', got ", operands.front().getType());
  return type;
}

LogicalResult GetKeyCacheOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location,
                                              ValueRange operands,
                                              DictionaryAttr, OpaqueProperties,
                                              RegionRange,
                                              SmallVectorImpl<Type> &inferred) {
  auto source =
      sourceType<CollectionType>(getOperationName(), location, operands);
  return source ? inferSided<CacheType>(getOperationName(), context, location,
                                        Side::key, source.getLayout(), inferred)
                : failure();
}

LogicalResult GetValueCacheOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr, OpaqueProperties, RegionRange,
    SmallVectorImpl<Type> &inferred) {
  auto source =
      sourceType<CollectionType>(getOperationName(), location, operands);
  return source
             ? inferSided<CacheType>(getOperationName(), context, location,
                                     Side::value, source.getLayout(), inferred)
             : failure();
}

LogicalResult MHAOperandOp::inferReturnTypes(MLIRContext *context,
                                             std::optional<Location> location,
                                             ValueRange operands,
                                             DictionaryAttr, OpaqueProperties,
                                             RegionRange,
                                             SmallVectorImpl<Type> &inferred) {
  auto source = sourceType<CacheType>(getOperationName(), location, operands);
  return source ? inferSided<MHAOperandType>(getOperationName(), context,
                                             location, source.getSide(),
                                             source.getLayout(), inferred)
                : failure();
}

LogicalResult ScalesMHAOperandOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr, OpaqueProperties, RegionRange,
    SmallVectorImpl<Type> &inferred) {
  auto source = sourceType<CacheType>(getOperationName(), location, operands);
  return source ? inferSided<ScalesMHAOperandType>(getOperationName(), context,
                                                   location, source.getSide(),
                                                   source.getLayout(), inferred)
                : failure();
}

LogicalResult CastOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  LayoutAttr layout = kvcache::getLayout(source);
  if (layout.isQuantized() && !layout.hasOwnScalesTable() &&
      withLayout(source, layout.withScalesTable(TableKind::own)) == result)
    return success();
  return emitOpError("expected a result that differs from the source only in "
                     "'table = own' in place of 'table = shared', got ")
         << source << " and " << result;
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// Checks that a base is a bare pointer: no layout, no memory space.
static LogicalResult verifyBase(Operation *op, StringRef name,
                                MemRefType type) {
  if (type.getLayout().isIdentity() && !type.getMemorySpace())
    return success();
  return op->emitOpError() << "expected '" << name << "' of type "
                           << MemRefType::get({}, type.getElementType())
                           << ", got " << type;
}

LogicalResult TableReadOp::verify() {
  if (failed(verifyBase(*this, "table", getTable().getType())) ||
      failed(verifyFixedLength(*this, getEntries().getType())))
    return failure();
  return verifyAlignment(*this, getAlignment(), /*least=*/4);
}

LogicalResult ByteViewOp::verify() {
  auto base = getBase().getType();
  auto view = cast<MemRefType>(getView().getType());
  if (failed(verifyBase(*this, "base", base)))
    return failure();
  if (view.getElementType() != base.getElementType() &&
      !base.getElementType().isInteger(8) &&
      !view.getElementType().isInteger(8))
    return emitOpError("expected 'view' of ")
           << base.getElementType() << ", got " << view.getElementType();
  if (!view.hasStaticShape() || !view.getLayout().isIdentity() ||
      view.getMemorySpace())
    return emitOpError("expected 'view' of static shape and identity layout in "
                       "the default memory space, got ")
           << view;
  return success();
}
