//===- SlotSource.cpp - Tokens of latents, by number or by slot ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlotSource.h"

#include "../Destinations.h"
#include "../RowUnits.h"
#include "../Tiles/Words.h"
#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

SlotSource::SlotSource(KernelBuilder &builder, Value keys, ValueRange slots,
                       OutOfRange policy, Warp &warp, int64_t tokens,
                       int64_t warps)
    : b(builder.body()), warp(warp), layout(kvcache::getLayout(keys.getType())),
      shape(PoolLayout::get(layout, Pool::values)), policy(policy),
      cache(builder.take(keys)), tokens(tokens), threads(warps * Warp::lanes),
      perToken(layout.getHeadSize() * shape.storageBytes / maxAccessBytes),
      perThread(perToken * tokens / threads),
      isContiguous(slots.empty() && shape.isContiguous() &&
                   layout.getPageSize() % tokens == 0),
      looksUpScales(
          layout.isQuantized() && layout.hasSeparatePools() &&
          (layout.hasOwnScalesTable() || policy == OutOfRange::trap)) {
  for (Value list : slots)
    lists.push_back(builder.takeTensor(list, /*readOnly=*/true));
  if (!lists.empty())
    listed = builder.take(sizeOf(builder.hostBuilder(), slots.front(), 1));
}

void SlotSource::setSequence(Value batch, Value end) {
  this->batch = batch;
  this->end = end;
}

Value SlotSource::setList(Value row) {
  this->row = row;
  return end = Arith(b).toI32(listed);
}

/// The block and the slot of an entry of a list.
std::pair<Value, Value> SlotSource::physical(unsigned list, Value token,
                                             Value &valid) {
  Arith arith(b);
  const Tensor &tensor = lists[list];
  Value at = arith.add(arith.mul(row, tensor.strides[0]), arith.toIndex(token));
  Value view =
      ByteViewOp::create(b, MemRefType::get({1}, tensor.elementType),
                         tensor.base, arith.mul(at, tensor.elementBytes()));
  Value entry = memref::LoadOp::create(b, view, ValueRange{arith.index(0)});
  Value zero = arith.like(entry, 0);
  Value isSlot =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, entry, zero);
  valid = arith.both(valid, isSlot);
  Value slot = arith::SelectOp::create(b, isSlot, entry, zero);
  slot = arith.toIndex(slot);
  Value block = arith.div(slot, layout.getPageSize());
  if (policy == OutOfRange::trap) {
    Pool pool = list == 0 ? Pool::values : Pool::scales;
    Value blocks = NumBlocksOp::create(b, operandOf(b, cache, pool));
    emitTrapUnless(b, valid,
                   {{list == 0 ? "block of a slot" : "scales block of a slot",
                     block, blocks}});
  }
  return {arith.toI32(block),
          arith.toI32(arith.rem(slot, layout.getPageSize()))};
}

SlotSource::Place SlotSource::placeOf(Value page, Value slot) {
  Arith arith(b);
  Place place;
  page = arith.toIndex(page);
  place.slot = place.scaleSlot = slot;
  place.block = place.scaleBlock = BlockIdOp::create(
      b, operandOf(b, cache, Pool::values), batch, page, policy);
  if (looksUpScales)
    place.scaleBlock = BlockIdOp::create(b, operandOf(b, cache, Pool::scales),
                                         batch, page, policy);
  return place;
}

SlotSource::Place SlotSource::at(Value tile, Value inTile, bool isWhole) {
  Arith arith(b);
  int64_t pageSize = layout.getPageSize();
  Value first = arith.mul(tile, tokens), token = arith.add(first, inTile);
  if (lists.empty()) {
    if (!isWhole)
      token = arith.minimum(token, arith.sub(end, arith.i32(1)));
    // A tile that is all of one page is looked up as a whole: where there are
    // as many checks as look-ups one with an end, too.
    if (pageSize % tokens != 0 || (!isWhole && policy != OutOfRange::trap))
      return placeOf(arith.div(token, pageSize), arith.rem(token, pageSize));
    Value slot = isWhole ? arith.add(arith.rem(first, pageSize), inTile)
                         : arith.rem(token, pageSize);
    return placeOf(arith.div(first, pageSize), slot);
  }
  Place place;
  place.valid = arith.less(token, end);
  token = arith.minimum(token, arith.sub(end, arith.i32(1)));
  std::tie(place.block, place.slot) = physical(0, token, place.valid);
  std::tie(place.scaleBlock, place.scaleSlot) =
      std::pair(place.block, place.slot);
  if (lists.size() > 1)
    std::tie(place.scaleBlock, place.scaleSlot) =
        physical(1, token, place.valid);
  return place;
}

Value SlotSource::scale(const Place &place) {
  Arith arith(b);
  Value scale = LoadInPageOp::create(
      b, layout.getScaleDtype(), operandOf(b, cache, Pool::scales),
      place.scaleBlock, arith.toIndex(place.scaleSlot), arith.index(0),
      arith.index(0), /*tail=*/UnitAttr(), /*alignment=*/IntegerAttr());
  return convertFloat(b, scale, b.getF32Type());
}

/// Piece `chunk` (`i32`) of a token, counting on to the next tokens of a page
/// where that is contiguous.
SmallVector<Value> SlotSource::loadPiece(Value block, Value slot, Value chunk) {
  Arith arith(b);
  int64_t lanes = maxAccessBytes / shape.storageBytes;
  Value elements = LoadInPageOp::create(
      b, VectorType::get({lanes}, shape.storageType),
      operandOf(b, cache, Pool::values), block, arith.toIndex(slot),
      arith.index(0), arith.toIndex(arith.mul(chunk, lanes)),
      /*tail=*/UnitAttr(),
      b.getI64IntegerAttr(std::gcd(shape.headAlignment(), maxAccessBytes)));
  Words registers(b);
  return registers.of(registers.whole(registers.vectorOf(elements)));
}

SmallVector<Value> SlotSource::load(Value tile, bool isWhole) {
  Arith arith(b);
  Value thread = arith.add(arith.mul(warp.number, Warp::lanes), warp.lane);
  SmallVector<Value> words;
  if (isWhole && isContiguous) {
    Place place = at(tile, arith.i32(0), isWhole);
    for (int64_t i = 0; i < perThread; ++i)
      llvm::append_range(words, loadPiece(place.block, place.slot,
                                          arith.add(thread, i * threads)));
    return words;
  }
  for (int64_t i = 0; i < perThread; ++i) {
    Value piece = arith.add(thread, i * threads);
    Place place = at(tile, arith.div(piece, perToken), isWhole);
    for (Value word :
         loadPiece(place.block, place.slot, arith.rem(piece, perToken)))
      words.push_back(place.valid ? Value(arith::SelectOp::create(
                                        b, place.valid, word, arith.i32(0)))
                                  : word);
  }
  return words;
}
