//===- Layout.cpp - Where things lie, in C --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Unwrap.h"
#include "kvcache-c/Dialect.h"

#include "kvcache/Dialect/KVCache/IR/LayoutMap.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/CAPI/Utils.h"

using namespace mlir;
using namespace mlir::kvcache;

static auto errorsOf(LayoutAttr layout) {
  return [context = layout.getContext()] {
    return emitError(UnknownLoc::get(context));
  };
}

/// Whether the layout has a pool of its own or a part of one for it.
static bool hasPool(LayoutAttr layout, MlirKVCachePool pool) {
  switch (pool) {
  case MlirKVCachePoolValues:
    return true;
  case MlirKVCachePoolScales:
    return layout.isQuantized();
  case MlirKVCachePoolTail:
    return static_cast<bool>(layout.getRope());
  default:
    return false;
  }
}

int64_t mlirKVCacheLayoutGetPageBytes(MlirAttribute attribute, int64_t layers,
                                      MlirKVCachePool pool) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout)
    return -1;
  FailureOr<LayoutMap> map = LayoutMap::get(layout, layers, errorsOf(layout));
  if (failed(map))
    return -1;
  if (pool < MlirKVCachePoolValues || pool > MlirKVCachePoolTail) {
    auto emit = errorsOf(layout);
    emit() << "expected a pool of values (0), scales (1) or tails "
              "(2), got "
           << pool;
    return -1;
  }
  return hasPool(layout, pool) ? map->getPageBytes(static_cast<Pool>(pool)) : 0;
}

int64_t mlirKVCacheLayoutGetTokenBytes(MlirAttribute attribute,
                                       int64_t layers) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout)
    return -1;
  FailureOr<LayoutMap> map = LayoutMap::get(layout, layers, errorsOf(layout));
  return failed(map) ? -1 : map->getTokenBytes();
}

/// Whether there is a memref of its own for `pool`.
static bool isMemRef(LayoutAttr layout, MlirKVCachePool pool) {
  return layout && (pool == MlirKVCachePoolValues ||
                    (pool == MlirKVCachePoolScales && layout.isQuantized() &&
                     layout.hasSeparatePools()));
}

intptr_t mlirKVCacheLayoutGetPoolShape(MlirAttribute attribute,
                                       MlirKVCachePool pool, int64_t shape[6]) {
  LayoutAttr layout = toLayout(attribute);
  if (!isMemRef(layout, pool) || !shape)
    return 0;
  SmallVector<int64_t, 6> dims =
      PoolLayout::get(layout, static_cast<Pool>(pool)).shape();
  llvm::copy(dims, shape);
  return dims.size();
}

MlirType mlirKVCacheLayoutGetPoolType(MlirAttribute attribute,
                                      MlirKVCachePool pool) {
  LayoutAttr layout = toLayout(attribute);
  if (!isMemRef(layout, pool))
    return {};
  return wrap(PoolLayout::get(layout, static_cast<Pool>(pool)).poolType());
}

/// The place of an element, or of its scale.
static MlirLogicalResult getPlace(MlirAttribute attribute, int64_t layers,
                                  int64_t pitch, bool ofScale,
                                  const MlirKVCacheElement *element,
                                  MlirKVCachePlace *place) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout || !element || !place)
    return mlirLogicalResultFailure();
  auto emit = errorsOf(layout);
  bool ownPool = ofScale && layout.hasSeparatePools();
  FailureOr<LayoutMap> map = LayoutMap::get(
      layout, layers, emit, ownPool ? 0 : pitch, ownPool ? pitch : 0);
  if (failed(map))
    return mlirLogicalResultFailure();
  ElementIndex index;
  index.block = element->block;
  index.side = static_cast<Side>(element->side);
  index.layer = element->layer;
  index.slot = element->slot;
  index.head = element->head;
  index.dim = element->dim;
  FailureOr<ElementPlace> found =
      ofScale ? map->getScale(index, emit) : map->getElement(index, emit);
  if (failed(found))
    return mlirLogicalResultFailure();
  *place = {static_cast<MlirKVCachePool>(found->pool), found->offset,
            found->bytes, found->highHalf};
  return mlirLogicalResultSuccess();
}

MlirLogicalResult mlirKVCacheLayoutGetElementPlace(
    MlirAttribute layout, int64_t layers, int64_t pitch,
    const MlirKVCacheElement *element, MlirKVCachePlace *place) {
  return getPlace(layout, layers, pitch, /*ofScale=*/false, element, place);
}

MlirLogicalResult
mlirKVCacheLayoutGetScalePlace(MlirAttribute layout, int64_t layers,
                               int64_t pitch, const MlirKVCacheElement *element,
                               MlirKVCachePlace *place) {
  return getPlace(layout, layers, pitch, /*ofScale=*/true, element, place);
}

MlirLogicalResult mlirKVCacheLayoutVisitLayers(
    MlirAttribute attribute, int64_t layers, MlirKVCachePool pool,
    MlirKVCacheStretchCallback callback, void *userData) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout || !callback ||
      failed(LayoutMap::get(layout, layers, errorsOf(layout))))
    return mlirLogicalResultFailure();
  if (!isMemRef(layout, pool)) {
    auto emit = errorsOf(layout);
    emit() << "expected the pool of values (0), or that of scales "
              "(1) where a layout has one, got "
           << pool;
    return mlirLogicalResultFailure();
  }
  PoolLayout shape = PoolLayout::get(layout, static_cast<Pool>(pool));
  MlirKVCacheStretch stretch = {};
  stretch.pool = pool;
  stretch.isBothSides = shape.sideBytes != 0;
  stretch.bytes = shape.layerBytes;
  for (int64_t side = 0; side < shape.sides; ++side)
    for (int64_t layer = 0; layer < layers; ++layer) {
      stretch.side = static_cast<MlirKVCacheSide>(side);
      stretch.layer = layer;
      callback(&stretch, userData);
      stretch.offset += stretch.bytes;
    }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult
mlirKVCacheLayoutVisitToken(MlirAttribute attribute, int64_t layers,
                            MlirKVCacheSide side, int64_t layer, int64_t slot,
                            MlirKVCacheStretchCallback callback,
                            void *userData) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout || !callback)
    return mlirLogicalResultFailure();
  auto emit = errorsOf(layout);
  FailureOr<LayoutMap> map = LayoutMap::get(layout, layers, emit);
  if (failed(map))
    return mlirLogicalResultFailure();
  ElementIndex index;
  index.side = static_cast<Side>(side);
  index.layer = layer;
  index.slot = slot;
  MlirKVCacheStretch stretch = {};
  stretch.side = side;
  stretch.layer = layer;
  // The elements of a pool from `dim` on, `bytes` of them, or one scale.
  auto visit = [&](Pool pool, int64_t dim, int64_t bytes) -> LogicalResult {
    index.dim = dim;
    FailureOr<ElementPlace> place = pool == Pool::scales
                                        ? map->getScale(index, emit)
                                        : map->getElement(index, emit);
    if (failed(place))
      return failure();
    stretch.pool = static_cast<MlirKVCachePool>(pool);
    stretch.offset = place->offset;
    stretch.bytes = bytes;
    callback(&stretch, userData);
    return success();
  };
  auto rowBytes = [&](Pool pool) {
    PoolLayout shape = PoolLayout::get(layout, pool);
    return shape.inner * shape.storageBytes;
  };
  for (index.head = 0; index.head < layout.getNumHeads(); ++index.head) {
    stretch.head = index.head;
    stretch.scale = 0;
    if (failed(visit(Pool::values, 0, rowBytes(Pool::values))) ||
        (layout.getRope() && failed(visit(Pool::tail, layout.getQuantizedSize(),
                                          rowBytes(Pool::tail)))))
      return mlirLogicalResultFailure();
    for (; stretch.scale < layout.getScaleSlots(); ++stretch.scale)
      if (failed(visit(Pool::scales, stretch.scale * layout.getGranularity(),
                       PoolLayout::get(layout, Pool::scales).storageBytes)))
        return mlirLogicalResultFailure();
  }
  return mlirLogicalResultSuccess();
}

MlirLogicalResult mlirKVCacheLayoutExplain(MlirAttribute attribute,
                                           int64_t layers,
                                           MlirStringCallback callback,
                                           void *userData) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout || !callback)
    return mlirLogicalResultFailure();
  FailureOr<LayoutMap> map = LayoutMap::get(layout, layers, errorsOf(layout));
  if (failed(map))
    return mlirLogicalResultFailure();
  mlir::detail::CallbackOstream stream(callback, userData);
  map->explain(stream);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult mlirKVCacheLayoutExplainToken(
    MlirAttribute attribute, int64_t layers, int64_t token, intptr_t numPages,
    const int64_t *table, intptr_t numScalesPages, const int64_t *scalesTable,
    MlirStringCallback callback, void *userData) {
  LayoutAttr layout = toLayout(attribute);
  if (!layout || !callback || numPages < 0 || numScalesPages < 0 ||
      (numPages && !table) || (numScalesPages && !scalesTable))
    return mlirLogicalResultFailure();
  auto emit = errorsOf(layout);
  FailureOr<LayoutMap> map = LayoutMap::get(layout, layers, emit);
  if (failed(map))
    return mlirLogicalResultFailure();
  mlir::detail::CallbackOstream stream(callback, userData);
  return wrap(
      map->explainToken(stream, token, ArrayRef<int64_t>(table, numPages),
                        ArrayRef<int64_t>(scalesTable, numScalesPages), emit));
}
