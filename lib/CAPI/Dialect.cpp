//===- Dialect.cpp - Attributes and types in C ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache-c/Dialect.h"
#include "Unwrap.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

using namespace mlir;
using namespace mlir::kvcache;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(KVCache, kvcache,
                                      mlir::kvcache::KVCacheDialect)

// The C enumerations are the C++ ones.
static_assert(MlirKVCacheSideValue == static_cast<int>(Side::value));
static_assert(MlirKVCachePoolTail == static_cast<int>(Pool::tail));
static_assert(MlirKVCachePlacementPageSplit ==
              static_cast<int>(Placement::page_split));
static_assert(MlirKVCacheOrderHND == static_cast<int>(Order::hnd));
static_assert(MlirKVCacheScaleSwizzleKV == static_cast<int>(ScaleSwizzle::kv));

static bool isValid(MlirKVCacheSide side) {
  return side == MlirKVCacheSideKey || side == MlirKVCacheSideValue;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

MlirKVCacheLayout mlirKVCacheLayoutDefault(MlirType dtype, int64_t numHeads,
                                           int64_t headSize, int64_t pageSize) {
  MlirKVCacheLayout layout = {};
  layout.dtype = dtype;
  layout.numHeads = numHeads;
  layout.headSize = headSize;
  layout.pageSize = pageSize;
  return layout;
}

bool mlirAttributeIsAKVCacheLayout(MlirAttribute attribute) {
  return static_cast<bool>(toLayout(attribute));
}

MlirTypeID mlirKVCacheLayoutAttrGetTypeID(void) {
  return wrap(LayoutAttr::getTypeID());
}

MlirAttribute mlirKVCacheLayoutAttrGet(MlirContext context,
                                       const MlirKVCacheLayout *layout) {
  MLIRContext *ctx = unwrap(context);
  if (!ctx || !layout)
    return {};
  ctx->getOrLoadDialect<KVCacheDialect>();
  auto emit = [&] { return emitError(UnknownLoc::get(ctx)); };
  Type dtype = unwrap(layout->dtype);
  if (!dtype) {
    emit() << "expected a dtype in a layout, got none";
    return {};
  }
  for (MlirType given : {layout->dtype, layout->scaleDtype, layout->ropeDtype})
    if (given.ptr && unwrap(given).getContext() != ctx) {
      emit() << "expected element types of the layout's own context, got one "
                "of another";
      return {};
    }
  std::optional<Placement> placement = symbolizePlacement(layout->placement);
  std::optional<Order> order = symbolizeOrder(layout->order);
  std::optional<ScaleSwizzle> swizzle = symbolizeScaleSwizzle(layout->swizzle);
  if (!placement || !order || !swizzle) {
    emit() << "expected a placement, order and swizzle that there are, got "
           << layout->placement << ", " << layout->order << " and "
           << layout->swizzle;
    return {};
  }

  ParamsAttr params = ParamsAttr::getChecked(emit, ctx, layout->numHeads,
                                             layout->headSize, layout->isMLA);
  ScalesAttr scales;
  if (Type type = unwrap(layout->scaleDtype)) {
    scales = ScalesAttr::getChecked(emit, ctx, type, layout->granularity,
                                    layout->ownScalesTable ? TableKind::own
                                                           : TableKind::shared);
    if (!scales)
      return {};
  }
  RopeAttr rope;
  if (Type type = unwrap(layout->ropeDtype)) {
    rope = RopeAttr::getChecked(emit, ctx, type, layout->ropeSize);
    if (!rope)
      return {};
  }
  if (!params)
    return {};
  return wrap(Attribute(LayoutAttr::getChecked(
      emit, ctx, dtype, params, layout->pageSize, scales, *placement, *order,
      rope, layout->kvInner, layout->footer, layout->pageAlign, *swizzle)));
}

MlirKVCacheLayout mlirKVCacheLayoutAttrGetParameters(MlirAttribute attribute) {
  MlirKVCacheLayout result = {};
  LayoutAttr layout = toLayout(attribute);
  if (!layout)
    return result;
  result.dtype = wrap(layout.getDtype());
  result.numHeads = layout.getNumHeads();
  result.headSize = layout.getHeadSize();
  result.isMLA = layout.isMLA();
  result.pageSize = layout.getPageSize();
  result.scaleDtype = wrap(layout.getScaleDtype());
  result.granularity = layout.getGranularity();
  result.ownScalesTable = layout.hasOwnScalesTable();
  result.placement = static_cast<MlirKVCachePlacement>(layout.getPlacement());
  result.order = static_cast<MlirKVCacheOrder>(layout.getOrder());
  if (RopeAttr rope = layout.getRope()) {
    result.ropeDtype = wrap(rope.getDtype());
    result.ropeSize = rope.getSize();
  }
  result.kvInner = layout.getKvInner();
  result.footer = layout.getFooter();
  result.pageAlign = layout.getPageAlign();
  result.swizzle = static_cast<MlirKVCacheScaleSwizzle>(layout.getSwizzle());
  return result;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool mlirTypeIsAKVCacheCollection(MlirType type) {
  return isa_and_present<CollectionType>(unwrap(type));
}
bool mlirTypeIsAKVCacheCache(MlirType type) {
  return isa_and_present<CacheType>(unwrap(type));
}
bool mlirTypeIsAKVCacheMHAOperand(MlirType type) {
  return isa_and_present<MHAOperandType>(unwrap(type));
}
bool mlirTypeIsAKVCacheScalesMHAOperand(MlirType type) {
  return isa_and_present<ScalesMHAOperandType>(unwrap(type));
}

MlirTypeID mlirKVCacheCollectionTypeGetTypeID(void) {
  return wrap(CollectionType::getTypeID());
}
MlirTypeID mlirKVCacheCacheTypeGetTypeID(void) {
  return wrap(CacheType::getTypeID());
}
MlirTypeID mlirKVCacheMHAOperandTypeGetTypeID(void) {
  return wrap(MHAOperandType::getTypeID());
}
MlirTypeID mlirKVCacheScalesMHAOperandTypeGetTypeID(void) {
  return wrap(ScalesMHAOperandType::getTypeID());
}

MlirType mlirKVCacheCollectionTypeGet(MlirAttribute layout) {
  LayoutAttr attr = toLayout(layout);
  if (!attr)
    return {};
  return wrap(Type(CollectionType::get(attr.getContext(), attr)));
}

/// Makes a type that belongs to a side; null where it is not a valid one.
template <typename SidedType>
static MlirType getSided(MlirKVCacheSide side, MlirAttribute layout) {
  LayoutAttr attr = toLayout(layout);
  if (!attr)
    return {};
  auto emit = [&] { return emitError(UnknownLoc::get(attr.getContext())); };
  if (!isValid(side)) {
    emit() << "expected the side of keys (0) or of values (1), got " << side;
    return {};
  }
  return wrap(Type(SidedType::getChecked(emit, attr.getContext(),
                                         static_cast<Side>(side), attr)));
}

MlirType mlirKVCacheCacheTypeGet(MlirKVCacheSide side, MlirAttribute layout) {
  return getSided<CacheType>(side, layout);
}
MlirType mlirKVCacheMHAOperandTypeGet(MlirKVCacheSide side,
                                      MlirAttribute layout) {
  return getSided<MHAOperandType>(side, layout);
}
MlirType mlirKVCacheScalesMHAOperandTypeGet(MlirKVCacheSide side,
                                            MlirAttribute layout) {
  return getSided<ScalesMHAOperandType>(side, layout);
}

MlirAttribute mlirKVCacheTypeGetLayout(MlirType type) {
  Type unwrapped = unwrap(type);
  if (auto collection = dyn_cast_if_present<CollectionType>(unwrapped))
    return wrap(Attribute(collection.getLayout()));
  if (auto operand = dyn_cast_if_present<MHAOperandTypeInterface>(unwrapped))
    return wrap(Attribute(operand.getLayout()));
  return {};
}

MlirKVCacheSide mlirKVCacheTypeGetSide(MlirType type) {
  if (auto operand = dyn_cast_if_present<MHAOperandTypeInterface>(unwrap(type)))
    return static_cast<MlirKVCacheSide>(operand.getSide());
  return MlirKVCacheSideKey;
}
