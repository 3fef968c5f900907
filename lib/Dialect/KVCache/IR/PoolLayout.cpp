//===- PoolLayout.cpp - Shape and strides of a cache's pools -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

Type mlir::kvcache::getStorageType(Type dtype) {
  return isa<Float4E2M1FNType>(dtype) ? IntegerType::get(dtype.getContext(), 8)
                                      : dtype;
}

PoolLayout PoolLayout::get(LayoutAttr layout, Pool pool) {
  PoolLayout result;
  auto bytesOf = [](Type storage) {
    return storage ? int64_t(storage.getIntOrFloatBitWidth() / 8) : 0;
  };
  bool packed = isa<Float4E2M1FNType>(layout.getDtype());
  Type values = getStorageType(layout.getDtype());
  Type scales = layout.getScaleDtype();
  Type tail = layout.getRope() ? layout.getRope().getDtype() : Type();
  int64_t codes = layout.getQuantizedSize() / (packed ? 2 : 1);
  switch (pool) {
  case Pool::values:
    result.storageType = values;
    result.inner = codes;
    result.elementsPerStorage = packed ? 2 : 1;
    break;
  case Pool::scales:
    result.storageType = scales;
    result.inner = layout.getScaleSlots();
    result.elementsPerStorage = layout.getGranularity();
    break;
  case Pool::tail:
    result.storageType = tail;
    result.inner = layout.getRopeSize();
    result.elementsPerStorage = 1;
    break;
  }
  result.pool = pool;
  result.storageBytes = bytesOf(result.storageType);
  result.isBytes = !layout.hasSeparatePools();
  result.sides = layout.getKvInner() ? 1 : layout.getNumSides();
  result.pageSize = layout.getPageSize();
  result.heads = layout.getNumHeads();
  result.order = layout.getOrder();

  // A row is what lies together of a (token, head); there are `rows` of them.
  int64_t rows = result.pageSize * result.heads;
  int64_t valueBytes = codes * bytesOf(values);
  int64_t scaleBytes = layout.getScaleSlots() * bytesOf(scales);
  int64_t tailBytes = layout.getRopeSize() * bytesOf(tail);
  int64_t row = 0;
  result.firstByte = result.sideBytes = 0;
  switch (layout.getPlacement()) {
  case Placement::pool:
    row = result.inner * result.storageBytes;
    result.layerBytes = rows * row;
    break;
  case Placement::inlined:
    row = valueBytes + scaleBytes + tailBytes;
    if (pool != Pool::values)
      result.firstByte = valueBytes + (pool == Pool::tail ? scaleBytes : 0);
    if (layout.getKvInner()) {
      result.sideBytes = row;
      row *= 2;
    }
    result.layerBytes = rows * row;
    break;
  case Placement::page_split:
    int64_t data = valueBytes + tailBytes;
    int64_t footer = layout.getFooter() ? layout.getFooter() : scaleBytes;
    row = pool == Pool::scales ? footer : data;
    if (pool != Pool::values)
      result.firstByte = pool == Pool::tail ? valueBytes : rows * data;
    result.layerBytes = rows * (data + footer);
    break;
  }
  bool tokensOutside = result.order == Order::nhd;
  result.slotBytes = tokensOutside ? result.heads * row : row;
  result.headBytes = tokensOutside ? row : result.pageSize * row;
  if (!result.isBytes) {
    result.pitchMultiple = result.heads * row;
    result.pageMultiple = 1;
  } else if (layout.getPageAlign()) {
    result.pitchMultiple = result.pageMultiple = layout.getPageAlign();
  } else {
    result.pitchMultiple = std::gcd(poolAlignment, result.layerBytes);
    result.pageMultiple = 1;
  }
  return result;
}

Type PoolLayout::poolType() const {
  return isBytes ? IntegerType::get(storageType.getContext(), 8) : storageType;
}

int64_t PoolLayout::baseAlignment() const {
  int64_t alignment = poolAlignment;
  for (int64_t step : {pitchMultiple, layerBytes, sideBytes, firstByte})
    alignment = std::gcd(alignment, step);
  return alignment;
}

int64_t PoolLayout::slotAlignment() const {
  return std::gcd(baseAlignment(), slotBytes);
}

int64_t PoolLayout::headAlignment() const {
  return heads == 1 ? slotAlignment() : std::gcd(slotAlignment(), headBytes);
}

bool PoolLayout::isAligned() const {
  return baseAlignment() % storageBytes == 0 && slotBytes % storageBytes == 0 &&
         headBytes % storageBytes == 0;
}

Type PoolLayout::unitType() const {
  return isAligned() ? storageType
                     : IntegerType::get(storageType.getContext(), 8);
}

SmallVector<StringRef, 6> PoolLayout::dimNames() const {
  bool scales = pool == Pool::scales;
  if (isBytes)
    return {"NB", "KD", "L", "bytes"};
  SmallVector<StringRef, 6> names = {scales ? "NBs" : "NB", "KD", "L"};
  if (order == Order::nhd)
    names.append({"P", "H"});
  else
    names.append({"H", "P"});
  names.push_back(scales ? "G" : elementsPerStorage == 2 ? "D / 2" : "D");
  return names;
}

SmallVector<int64_t, 6> PoolLayout::shape() const {
  constexpr int64_t any = ShapedType::kDynamic;
  if (isBytes)
    return {any, sides, any, layerBytes};
  if (order == Order::nhd)
    return {any, sides, any, pageSize, heads, inner};
  return {any, sides, any, heads, pageSize, inner};
}

SmallVector<int64_t, 6> PoolLayout::packedStrides(int64_t layers) const {
  SmallVector<int64_t, 6> dims = shape();
  dims[2] = layers;
  SmallVector<int64_t, 6> strides(dims.size());
  int64_t stride = 1;
  for (size_t index = dims.size(); index-- > 0;) {
    strides[index] = stride;
    stride = ShapedType::isDynamic(stride) || ShapedType::isDynamic(dims[index])
                 ? ShapedType::kDynamic
                 : stride * dims[index];
  }
  return strides;
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

Operation *mlir::kvcache::getPoolsOp(Value paged) {
  while (Operation *op = paged.getDefiningOp()) {
    if (isa<GetPagedCacheOp, GetPagePoolsOp>(op))
      return op;
    if (!isa<GetKeyCacheOp, GetValueCacheOp, MHAOperandOp, ScalesMHAOperandOp,
             CastOp>(op))
      return nullptr;
    paged = op->getOperand(0);
  }
  return nullptr;
}

GetPagedCacheOp mlir::kvcache::getCollectionOp(Value paged) {
  return dyn_cast_or_null<GetPagedCacheOp>(getPoolsOp(paged));
}

KnownTables mlir::kvcache::getKnownTables(Value paged) {
  KnownTables known;
  // The op may be looked at while it is being verified, so nothing is assumed
  // of the ranks.
  Operation *maker = getPoolsOp(paged);
  if (!maker)
    return known;
  auto op = dyn_cast<GetPagedCacheOp>(maker);
  auto dim = [](Value memref, int64_t rank,
                unsigned index) -> std::optional<int64_t> {
    auto type = cast<MemRefType>(memref.getType());
    if (type.getRank() != rank || type.isDynamicDim(index))
      return std::nullopt;
    return type.getDimSize(index);
  };
  auto layersOf = [&](LayoutAttr layout, Value blocks, Value scales) {
    int64_t poolRank = PoolLayout::get(layout, Pool::values).shape().size();
    known.layers = dim(blocks, poolRank, 2);
    if (!known.layers && scales)
      known.layers = dim(scales, poolRank, 2);
  };
  if (!op) {
    auto pools = cast<GetPagePoolsOp>(maker);
    layersOf(pools.getLayout(), pools.getBlocks(), pools.getScales());
    return known;
  }
  known.batch = dim(op.getLookupTable(), 2, 0);
  if (!known.batch)
    known.batch = dim(op.getCacheLengths(), 1, 0);
  known.columns = dim(op.getLookupTable(), 2, 1);
  layersOf(op.getLayout(), op.getBlocks(), op.getScales());
  return known;
}

std::optional<int64_t> mlir::kvcache::getKnownPitch(Value paged, Pool pool) {
  Operation *maker = getPoolsOp(paged);
  if (!maker)
    return std::nullopt;
  LayoutAttr layout = getLayout(maker->getResult(0).getType());
  bool isScales = pool == Pool::scales && layout.hasSeparatePools();
  auto memrefOf = [&](auto op) -> Value {
    return isScales ? op.getScales() : op.getBlocks();
  };
  auto pools = dyn_cast<GetPagePoolsOp>(maker);
  Value memref =
      pools ? memrefOf(pools) : memrefOf(cast<GetPagedCacheOp>(maker));
  std::optional<int64_t> pitch =
      getStaticPitch(cast<MemRefType>(memref.getType()));
  if (pitch)
    *pitch *= PoolLayout::get(layout, pool).poolBytes();
  return pitch;
}

Pool mlir::kvcache::getAccessedPool(Operation *access) {
  if (isa<ScalesBlockPagedPtrOp, LoadScaleOp, StoreScaleOp>(access))
    return Pool::scales;
  // Codes are stored as they are; any other number belongs to the tail.
  if (auto store = dyn_cast<StoreOp>(access)) {
    LayoutAttr layout = getLayout(store.getTarget().getType());
    return layout.getRope() &&
                   getElementTypeOrSelf(store.getValue().getType()) !=
                       getStorageType(layout.getDtype())
               ? Pool::tail
               : Pool::values;
  }
  for (Type type : access->getOperandTypes())
    if (auto operand = dyn_cast<MHAOperandTypeInterface>(type))
      return operand.getPool();
  return Pool::values;
}

AccessedStretch mlir::kvcache::getAccessedStretch(Operation *access) {
  LayoutAttr layout;
  for (Type type : access->getOperandTypes())
    if (auto operand = dyn_cast<MHAOperandTypeInterface>(type))
      layout = operand.getLayout();
  Pool pool = getAccessedPool(access);
  int64_t codes = layout.getQuantizedSize(), all = layout.getHeadSize();
  if (isa<LoadOp>(access))
    return {pool, 0, all, /*slots=*/false, /*perLane=*/1};
  if (pool == Pool::scales)
    return {pool, 0, codes, /*slots=*/true, /*perLane=*/1};
  if (pool == Pool::tail)
    return {pool, codes, all, /*slots=*/false, /*perLane=*/1};
  return {pool, 0, codes, /*slots=*/false,
          PoolLayout::get(layout, pool).elementsPerStorage};
}

std::optional<int64_t> mlir::kvcache::getStaticPitch(MemRefType pool) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(pool.getStridesAndOffset(strides, offset)) || strides.empty() ||
      ShapedType::isDynamic(strides.front()))
    return std::nullopt;
  return strides.front();
}
