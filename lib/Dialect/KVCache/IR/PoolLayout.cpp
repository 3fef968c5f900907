//===- PoolLayout.cpp - Shape and strides of a cache's pools -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

Type mlir::kvcache::getStorageType(Type dtype) {
  return isa<Float4E2M1FNType>(dtype) ? IntegerType::get(dtype.getContext(), 8)
                                      : dtype;
}

PoolLayout PoolLayout::get(LayoutAttr layout, Pool pool) {
  bool scales = pool == Pool::scales;
  Type dtype = scales ? layout.getScaleDtype() : layout.getDtype();
  PoolLayout result;
  result.storageType = getStorageType(dtype);
  result.storageBytes = result.storageType.getIntOrFloatBitWidth() / 8;
  result.sides = layout.getNumSides();
  result.pageSize = layout.getPageSize();
  result.heads = layout.getNumHeads();
  if (scales) {
    result.inner = layout.getScaleSlots();
    result.elementsPerStorage = layout.getGranularity();
  } else {
    result.elementsPerStorage = isa<Float4E2M1FNType>(dtype) ? 2 : 1;
    result.inner = layout.getHeadSize() / result.elementsPerStorage;
  }
  return result;
}

SmallVector<int64_t, 6> PoolLayout::packedStrides(int64_t layers) const {
  auto times = [&](int64_t factor) {
    return ShapedType::isDynamic(layers) ? ShapedType::kDynamic
                                         : layers * layerSize() * factor;
  };
  return {times(sides), times(1), layerSize(), rowSize(), inner, 1};
}

LayoutAttr mlir::kvcache::getLayout(Type paged) {
  if (auto collection = dyn_cast<CollectionType>(paged))
    return collection.getLayout();
  return cast<MHAOperandTypeInterface>(paged).getLayout();
}

Type mlir::kvcache::withLayout(Type paged, LayoutAttr layout) {
  MLIRContext *context = paged.getContext();
  return TypeSwitch<Type, Type>(paged)
      .Case<CollectionType>(
          [&](auto) { return CollectionType::get(context, layout); })
      .Case<CacheType, MHAOperandType, ScalesMHAOperandType>([&](auto type) {
        return decltype(type)::get(context, type.getSide(), layout);
      });
}

GetPagedCacheOp mlir::kvcache::getCollectionOp(Value paged) {
  while (Operation *op = paged.getDefiningOp()) {
    if (auto collection = dyn_cast<GetPagedCacheOp>(op))
      return collection;
    if (!isa<GetKeyCacheOp, GetValueCacheOp, MHAOperandOp, ScalesMHAOperandOp,
             CastOp>(op))
      return {};
    paged = op->getOperand(0);
  }
  return {};
}

KnownTables mlir::kvcache::getKnownTables(Value paged) {
  KnownTables known;
  GetPagedCacheOp op = getCollectionOp(paged);
  // The op may be looked at while it is being verified, so nothing is assumed
  // of the ranks.
  if (!op)
    return known;
  auto dim = [](Value memref, unsigned rank,
                unsigned index) -> std::optional<int64_t> {
    auto type = cast<MemRefType>(memref.getType());
    if (type.getRank() != rank || type.isDynamicDim(index))
      return std::nullopt;
    return type.getDimSize(index);
  };
  known.batch = dim(op.getLookupTable(), 2, 0);
  if (!known.batch)
    known.batch = dim(op.getCacheLengths(), 1, 0);
  known.columns = dim(op.getLookupTable(), 2, 1);
  known.layers = dim(op.getBlocks(), 6, 2);
  if (!known.layers && op.getScales())
    known.layers = dim(op.getScales(), 6, 2);
  return known;
}

Pool mlir::kvcache::getAccessedPool(Operation *access) {
  if (isa<ScalesBlockPagedPtrOp, LoadScaleOp, StoreScaleOp>(access))
    return Pool::scales;
  for (Type type : access->getOperandTypes())
    if (auto operand = dyn_cast<MHAOperandTypeInterface>(type))
      return operand.getPool();
  return Pool::values;
}

std::optional<int64_t> mlir::kvcache::getStaticPitch(MemRefType pool) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(pool.getStridesAndOffset(strides, offset)) || strides.empty() ||
      ShapedType::isDynamic(strides.front()))
    return std::nullopt;
  return strides.front();
}
