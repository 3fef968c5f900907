//===- CacheTiles.cpp - Sixteen tokens of a cache at a time --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheTiles.h"

#include "../Destinations.h"
#include "../RowUnits.h"
#include "../Tiles/Words.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// Elements whose products share a scale.
static int64_t granularityOf(LayoutAttr layout) {
  return layout.isQuantized() && !ElementScales::suits(layout)
             ? layout.getGranularity()
             : layout.getHeadSize();
}

/// Lanes that have a token of keys, and of values.
static constexpr int64_t acrossKeys = 4, acrossValues = 8;

CacheTiles::CacheTiles(ImplicitLocOpBuilder &b, Value keys, Value values,
                       bool sharesTables, bool withScales, OutOfRange policy)
    : b(b), keys(keys), values(values), sharesTables(sharesTables),
      policy(policy), layout(kvcache::getLayout(keys.getType())),
      shape(PoolLayout::get(layout, Pool::values)),
      withScales(withScales && layout.isQuantized()),
      alignment(shape.headAlignment()),
      keyCut(layout.getHeadSize(), acrossKeys, shape.storageBytes,
             maxAccessBytes, granularityOf(layout)),
      valueCut(layout.getHeadSize(), acrossValues, shape.storageBytes,
               maxAccessBytes, granularityOf(layout)) {}

void CacheTiles::setRange(Warp &warp, Value batch, Value head, Value begin,
                          Value end) {
  this->warp = &warp;
  this->batch = batch;
  this->head = head;
  this->begin = begin;
  this->end = end;
}

//===----------------------------------------------------------------------===//
// Where tokens lie
//===----------------------------------------------------------------------===//

int64_t CacheTiles::lookups() const {
  switch (std::gcd(layout.getPageSize(), tokens)) {
  case tokens:
    return 1;
  case tokens / 2:
    return 2;
  default:
    return keysPerLane + valuesPerLane;
  }
}

bool CacheTiles::looksUpScales() const {
  return withScales && layout.hasSeparatePools() &&
         (layout.hasOwnScalesTable() || policy == OutOfRange::trap);
}

int64_t CacheTiles::pageCount() const {
  return lookups() * (sharesTables ? 1 : 2) * (looksUpScales() ? 2 : 1);
}

Value CacheTiles::placeOf(bool asKeys, int64_t number) {
  Arith arith(b);
  if (asKeys)
    return arith.add(warp->row, 8 * number);
  return arith.add(arith.mul(warp->column, 2), number / 2 * 8 + number % 2);
}

Value CacheTiles::clamp(Value token) {
  Arith arith(b);
  Value last = arith.sub(end, arith.i32(1));
  return b.createOrFold<arith::MaxUIOp>(arith.minimum(token, last), begin);
}

SmallVector<Value> CacheTiles::pages(Value tile) {
  Arith arith(b);
  Value first = arith.mul(tile, tokens);
  SmallVector<Value> columns;
  auto column = [&](Value token) {
    columns.push_back(
        arith.toIndex(arith.div(clamp(token), layout.getPageSize())));
  };
  if (lookups() <= 2) {
    for (int64_t i = 0; i < lookups(); ++i)
      column(arith.add(first, i * tokens / 2));
  } else {
    for (int64_t i = 0; i < keysPerLane; ++i)
      column(arith.add(first, placeOf(/*asKeys=*/true, i)));
    for (int64_t i = 0; i < valuesPerLane; ++i)
      column(arith.add(first, placeOf(/*asKeys=*/false, i)));
  }
  SmallVector<Value> blocks;
  for (Pool pool : {Pool::values, Pool::scales}) {
    if (pool == Pool::scales && !looksUpScales())
      continue;
    for (Side side : {Side::key, Side::value}) {
      if (side == Side::value && sharesTables)
        continue;
      for (Value at : columns)
        blocks.push_back(BlockIdOp::create(b, operandOf(b, cacheOf(side), pool),
                                           batch, at, policy));
    }
  }
  return blocks;
}

Value CacheTiles::blockOf(ValueRange pages, Side side, Pool pool, bool asKeys,
                          int64_t number) const {
  int64_t list = side == Side::value && !sharesTables ? 1 : 0;
  if (pool == Pool::scales && looksUpScales())
    list += sharesTables ? 1 : 2;
  int64_t place = 0;
  if (lookups() == 2)
    place = asKeys ? number : number / 2;
  else if (lookups() > 2)
    place = asKeys ? number : keysPerLane + number;
  return pages[list * lookups() + place];
}

Value CacheTiles::slotOf(Value tile, bool asKeys, int64_t number,
                         bool isInside) {
  Arith arith(b);
  int64_t pageSize = layout.getPageSize();
  Value first = arith.mul(tile, tokens);
  Value place = placeOf(asKeys, number);
  if (!isInside)
    return arith.toIndex(arith.rem(clamp(arith.add(first, place)), pageSize));
  if (pageSize == tokens)
    return arith.toIndex(place);
  if (lookups() > 2)
    return arith.toIndex(arith.rem(arith.add(first, place), pageSize));
  // What a half of the tile starts with, the lane's token, then constants.
  int64_t constant = lookups() == 1
                         ? (asKeys ? 8 * number : number / 2 * 8 + number % 2)
                         : (asKeys ? 0 : number % 2);
  int64_t half = lookups() == 1 ? 0 : (asKeys ? number : number / 2);
  Value start = arith.rem(arith.add(first, half * tokens / 2), pageSize);
  Value lane = asKeys ? warp->row : arith.mul(warp->column, 2);
  return arith.toIndex(arith.add(arith.add(start, lane), constant));
}

//===----------------------------------------------------------------------===//
// What tokens hold
//===----------------------------------------------------------------------===//

/// 32-bit registers of a piece: narrower ones have one of their own.
static int64_t wordsOfPiece(const HeadPiece &piece, const PoolLayout &shape) {
  return llvm::divideCeil(piece.perLane * shape.storageBytes, 4);
}

static int64_t tokensPerLane(Side side) {
  return side == Side::key ? CacheTiles::keysPerLane
                           : CacheTiles::valuesPerLane;
}

int64_t CacheTiles::vectors(Side side) const {
  return tokensPerLane(side) * cutOf(side).pieces.size();
}

SmallVector<Type> CacheTiles::types(Side side) const {
  SmallVector<Type> types;
  for (int64_t token = 0; token < tokensPerLane(side); ++token)
    for (const HeadPiece &piece : cutOf(side).pieces)
      types.push_back(
          VectorType::get({wordsOfPiece(piece, shape)}, b.getI32Type()));
  if (withScales)
    types.append(hasElementScales()
                     ? tokensPerLane(side) * scalesOfLane(side).count()
                     : keysPerLane * keyCut.granules,
                 b.getF32Type());
  return types;
}

int64_t CacheTiles::registers(Side side) const {
  int64_t count = 0;
  for (Type type : types(side))
    count += isa<VectorType>(type) ? cast<VectorType>(type).getDimSize(0) : 1;
  return count;
}

SmallVector<Value> CacheTiles::wordsOf(Side side, ValueRange all, int64_t token,
                                       int64_t piece) const {
  return Words(b).of(all[token * cutOf(side).pieces.size() + piece]);
}

SmallVector<Value> CacheTiles::load(Side side, Value tile, ValueRange pages,
                                    bool isInside) {
  SmallVector<Value> loaded = loadValues(side, tile, pages, isInside);
  if (withScales)
    llvm::append_range(loaded,
                       hasElementScales()
                           ? loadElementScales(side, tile, pages, isInside)
                           : loadScales(side, tile, pages, isInside));
  return loaded;
}

SmallVector<Value> CacheTiles::loadValues(Side side, Value tile,
                                          ValueRange pages, bool isInside) {
  Arith arith(b);
  Words registers(b);
  bool asKeys = side == Side::key;
  SmallVector<Value> loaded;
  Value source = operandOf(b, cacheOf(side), Pool::values);
  for (int64_t i = 0; i < (asKeys ? keysPerLane : valuesPerLane); ++i) {
    Value block = blockOf(pages, side, Pool::values, asKeys, i);
    Value slot = slotOf(tile, asKeys, i, isInside);
    for (const HeadPiece &piece : cutOf(side).pieces) {
      Value lane = asKeys ? warp->column : warp->row;
      Value dim = arith.add(arith.mul(lane, piece.perLane), piece.first);
      int64_t bytes = piece.perLane * shape.storageBytes;
      Value elements = LoadInPageOp::create(
          b, VectorType::get({piece.perLane}, shape.storageType), source, block,
          slot, head, arith.toIndex(dim), /*tail=*/UnitAttr(),
          b.getI64IntegerAttr(std::gcd(alignment, bytes)));
      loaded.push_back(registers.whole(registers.vectorOf(elements)));
    }
  }
  return loaded;
}

SmallVector<Value> CacheTiles::loadScales(Side side, Value tile,
                                          ValueRange pages, bool isInside) {
  Arith arith(b);
  SmallVector<Value> scales;
  Value source = operandOf(b, cacheOf(side), Pool::scales);
  Type type = layout.getScaleDtype();
  PoolLayout pool = PoolLayout::get(layout, Pool::scales);
  int64_t count = keyCut.granules, bytes = count * pool.storageBytes;
  // Scales of a head lie side by side, except where they are swizzled.
  bool areOne = count > 1 && llvm::isPowerOf2_64(bytes) &&
                bytes <= maxAccessBytes && pool.headAlignment() % bytes == 0 &&
                !layout.isSwizzled(side);
  for (int64_t i = 0; i < keysPerLane; ++i) {
    Value block = blockOf(pages, side, Pool::scales, /*asKeys=*/true, i);
    Value slot = slotOf(tile, /*asKeys=*/true, i, isInside);
    if (areOne) {
      Value all = LoadInPageOp::create(
          b, VectorType::get({count}, type), source, block, slot, head,
          arith.index(0), /*tail=*/UnitAttr(), b.getI64IntegerAttr(bytes));
      all = convertFloat(b, all, b.getF32Type());
      for (int64_t granule = 0; granule < count; ++granule)
        scales.push_back(vector::ExtractOp::create(b, all, granule));
      continue;
    }
    for (int64_t granule = 0; granule < count; ++granule)
      scales.push_back(convertFloat(
          b,
          LoadInPageOp::create(b, type, source, block, slot, head,
                               arith.index(granule * keyCut.granularity),
                               /*tail=*/UnitAttr(),
                               /*alignment=*/IntegerAttr()),
          b.getF32Type()));
  }
  return scales;
}

ElementScales CacheTiles::scalesOfLane(Side side) const {
  Value lane;
  if (warp)
    lane = side == Side::key ? warp->column : warp->row;
  return ElementScales(b, layout, cutOf(side), side, lane);
}

SmallVector<Value> CacheTiles::loadElementScales(Side side, Value tile,
                                                 ValueRange pages,
                                                 bool isInside) {
  bool asKeys = side == Side::key;
  Value source = operandOf(b, cacheOf(side), Pool::scales);
  SmallVector<Value> scales;
  for (int64_t i = 0; i < tokensPerLane(side); ++i)
    llvm::append_range(
        scales, scalesOfLane(side).load(
                    source, blockOf(pages, side, Pool::scales, asKeys, i),
                    slotOf(tile, asKeys, i, isInside), head));
  return scales;
}

SmallVector<SmallVector<Value>>
CacheTiles::elementScales(Side side, ValueRange all) const {
  SmallVector<Value> scales = llvm::to_vector(all.drop_front(vectors(side)));
  int64_t count = scalesOfLane(side).count();
  SmallVector<SmallVector<Value>> result;
  for (int64_t token = 0; token < tokensPerLane(side); ++token)
    result.push_back(
        llvm::to_vector(ArrayRef(scales).slice(token * count, count)));
  return result;
}

SmallVector<Value> CacheTiles::scalesOfElements(Side side,
                                                ArrayRef<Value> ofToken,
                                                int64_t piece) const {
  return scalesOfLane(side).ofElements(ofToken, piece);
}
