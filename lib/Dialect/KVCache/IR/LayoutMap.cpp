//===- LayoutMap.cpp - Byte offsets of a cache's elements -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/LayoutMap.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Bytes of a page of `shape` with `layers`, or none where they are too many.
static std::optional<int64_t> pageBytesOf(const PoolLayout &shape,
                                          int64_t layers) {
  int64_t bytes, padded;
  if (llvm::MulOverflow(shape.sides * shape.layerBytes, layers, bytes) ||
      llvm::AddOverflow(bytes, shape.pageMultiple - 1, padded))
    return std::nullopt;
  return padded / shape.pageMultiple * shape.pageMultiple;
}

FailureOr<LayoutMap>
LayoutMap::get(LayoutAttr layout, int64_t layers,
               function_ref<InFlightDiagnostic()> emitError,
               int64_t blocksPitch, int64_t scalesPitch) {
  if (layers < 1)
    return emitError() << "expected at least 1 layer, got " << layers;
  LayoutMap map(layout, layers);
  if (scalesPitch && !(layout.isQuantized() && layout.hasSeparatePools()))
    return emitError() << "expected no pitch of a pool of scales, got "
                       << scalesPitch << "; the layout has no such pool";

  auto setPitch = [&](Pool pool, StringRef name, int64_t given,
                      int64_t &pitch) -> LogicalResult {
    PoolLayout shape = PoolLayout::get(layout, pool);
    std::optional<int64_t> page = pageBytesOf(shape, layers);
    if (!page)
      return emitError() << "expected a page of less than 2^63 bytes, got "
                         << layers << " layers of "
                         << shape.sides * shape.layerBytes << " bytes";
    if (given && (given < *page || given % shape.pitchMultiple != 0))
      return emitError() << "expected a pitch of the " << name
                         << " of at least " << *page
                         << " bytes, a page, and a multiple of "
                         << shape.pitchMultiple << ", got " << given;
    pitch = given ? given : *page;
    return success();
  };
  if (failed(setPitch(Pool::values, "blocks", blocksPitch, map.blocksPitch)))
    return failure();
  if (layout.isQuantized() && layout.hasSeparatePools() &&
      failed(setPitch(Pool::scales, "scales", scalesPitch, map.scalesPitch)))
    return failure();
  return map;
}

int64_t LayoutMap::getPageBytes(Pool pool) const {
  if (pool == Pool::scales && !layout.isQuantized())
    return 0;
  return *pageBytesOf(PoolLayout::get(layout, pool), layers);
}

int64_t LayoutMap::getPitch(Pool pool) const {
  return isOwnPool(pool) ? scalesPitch : blocksPitch;
}

int64_t LayoutMap::getTokenBytes() const {
  auto bytesOf = [&](Pool pool) {
    PoolLayout shape = PoolLayout::get(layout, pool);
    return shape.sides * layers * shape.layerBytes / shape.pageSize;
  };
  int64_t bytes = bytesOf(Pool::values);
  if (layout.isQuantized() && layout.hasSeparatePools())
    bytes += bytesOf(Pool::scales);
  return bytes;
}

LogicalResult
LayoutMap::check(const ElementIndex &index,
                 function_ref<InFlightDiagnostic()> emitError) const {
  auto isBelow = [&](StringRef name, int64_t value, int64_t limit) {
    if (value >= 0 && value < limit)
      return success();
    emitError() << "expected a " << name << " of 0 to " << limit - 1 << ", got "
                << value;
    return failure();
  };
  if (index.block < 0)
    return emitError() << "expected a block of at least 0, got " << index.block;
  return success(succeeded(isBelow("side", static_cast<int64_t>(index.side),
                                   layout.getNumSides())) &&
                 succeeded(isBelow("layer", index.layer, layers)) &&
                 succeeded(isBelow("slot", index.slot, layout.getPageSize())) &&
                 succeeded(isBelow("head", index.head, layout.getNumHeads())) &&
                 succeeded(isBelow("dim", index.dim, layout.getHeadSize())));
}

FailureOr<ElementPlace>
LayoutMap::getPlace(Pool pool, const ElementIndex &index, int64_t inner,
                    function_ref<InFlightDiagnostic()> emitError) const {
  PoolLayout shape = PoolLayout::get(layout, pool);
  int64_t slot = index.slot;
  if (pool == Pool::scales && layout.isSwizzled(index.side)) {
    int64_t flat = 4 * inner + slot % 4;
    slot += flat / shape.inner - slot % 4;
    inner = flat % shape.inner;
  }
  int64_t side = static_cast<int64_t>(index.side);
  // Of a page nothing can overflow.
  int64_t offset = shape.firstByte + slot * shape.slotBytes +
                   index.head * shape.headBytes + inner * shape.storageBytes +
                   index.layer * shape.layerBytes +
                   (shape.sideBytes ? side * shape.sideBytes
                                    : side * layers * shape.layerBytes);
  int64_t start;
  if (llvm::MulOverflow(index.block, getPitch(pool), start) ||
      llvm::AddOverflow(offset, start, offset))
    return emitError() << "expected a block whose bytes lie below 2^63, got "
                       << index.block << " of " << getPitch(pool) << " bytes";
  return ElementPlace{pool, offset, shape.storageBytes, false};
}

FailureOr<ElementPlace>
LayoutMap::getElement(const ElementIndex &index,
                      function_ref<InFlightDiagnostic()> emitError) const {
  if (failed(check(index, emitError)))
    return failure();
  int64_t begin = layout.getQuantizedSize();
  if (index.dim >= begin)
    return getPlace(Pool::tail, index, index.dim - begin, emitError);
  bool pairs = isa<Float4E2M1FNType>(layout.getDtype());
  FailureOr<ElementPlace> place = getPlace(
      Pool::values, index, pairs ? index.dim / 2 : index.dim, emitError);
  if (succeeded(place))
    place->highHalf = pairs && index.dim % 2;
  return place;
}

FailureOr<ElementPlace>
LayoutMap::getScale(const ElementIndex &index,
                    function_ref<InFlightDiagnostic()> emitError) const {
  if (!layout.isQuantized())
    return emitError() << "expected a layout with scales, got one without";
  if (failed(check(index, emitError)))
    return failure();
  if (index.dim >= layout.getQuantizedSize())
    return emitError() << "expected a quantised element, a dim of 0 to "
                       << layout.getQuantizedSize() - 1 << ", got " << index.dim
                       << ", which has no scale";
  return getPlace(Pool::scales, index, index.dim / layout.getGranularity(),
                  emitError);
}
