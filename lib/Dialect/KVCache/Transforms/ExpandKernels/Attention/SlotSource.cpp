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
      cache(builder.take(keys)), tokens(tokens),
      pieces(b, warp, layout.getHeadSize() * shape.storageBytes, tokens, warps),
      isOfPage(slots.empty() && layout.getPageSize() % tokens == 0),
      isContiguous(isOfPage && shape.isContiguous()),
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

Value SlotSource::keyAt(Value first, Value inTile, bool isWhole) {
  Arith arith(b);
  Value key = arith.add(first, inTile);
  return isWhole ? key : arith.minimum(key, arith.sub(end, arith.i32(1)));
}

Value SlotSource::blockOf(Pool pool, Value token) {
  Arith arith(b);
  return BlockIdOp::create(
      b, operandOf(b, cache, pool), batch,
      arith.toIndex(arith.div(token, layout.getPageSize())), policy);
}

/// The slot of a token of the sequence in its page.
Value SlotSource::inPage(Value first, Value inTile, bool isWhole) {
  Arith arith(b);
  int64_t pageSize = layout.getPageSize();
  if (isOfPage && isWhole)
    return arith.add(arith.rem(first, pageSize), inTile);
  return arith.rem(keyAt(first, inTile, isWhole), pageSize);
}

SlotSource::Place SlotSource::named(unsigned list, Value key) {
  Arith arith(b);
  const Tensor &tensor = lists[list];
  Value at = arith.add(arith.mul(row, tensor.strides[0]), arith.toIndex(key));
  Value view =
      ByteViewOp::create(b, MemRefType::get({1}, tensor.elementType),
                         tensor.base, arith.mul(at, tensor.elementBytes()));
  Value entry = memref::LoadOp::create(b, view, ValueRange{arith.index(0)});
  Value zero = arith.like(entry, 0);
  Value isSlot =
      arith::CmpIOp::create(b, arith::CmpIPredicate::sge, entry, zero);
  Value slot = arith.toIndex(arith::SelectOp::create(b, isSlot, entry, zero));
  int64_t pageSize = layout.getPageSize();
  return {arith.div(slot, pageSize),
          arith::SelectOp::create(b, isSlot,
                                  arith.toI32(arith.rem(slot, pageSize)),
                                  arith.i32(-1))};
}

/// The same of the first list, where no other one names no slot.
SlotSource::Place SlotSource::namedByAll(Value key) {
  Place place = named(0, key);
  if (lists.size() > 1)
    place.slot = arith::SelectOp::create(b, isNamed(named(1, key).slot),
                                         place.slot, Arith(b).i32(-1));
  return place;
}

Value SlotSource::isNamed(Value slot) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, slot,
                               Arith(b).i32(0));
}

SlotSource::Place SlotSource::checked(Place place, Pool pool) {
  Arith arith(b);
  if (policy == OutOfRange::trap) {
    Value blocks = NumBlocksOp::create(b, operandOf(b, cache, pool));
    emitTrapUnless(
        b, isNamed(place.slot),
        {{pool == Pool::values ? "block of a slot" : "scales block of a slot",
          place.block, blocks}});
  }
  return {arith.toI32(place.block), place.slot};
}

SlotSource::Key SlotSource::at(Value tile, Value inTile, bool isWhole) {
  Arith arith(b);
  Value first = arith.mul(tile, tokens);
  Value token = keyAt(first, inTile, isWhole);
  Key key;
  // What blocks of values are beyond their pool traps where keys are loaded.
  Place place;
  if (!lists.empty()) {
    place = namedByAll(token);
    key.valid = arith.both(arith.less(arith.add(first, inTile), end),
                           isNamed(place.slot));
    if (lists.size() > 1)
      place = named(1, token);
    if (!layout.isQuantized())
      return key;
    place =
        checked(place, layout.hasSeparatePools() ? Pool::scales : Pool::values);
    place.slot = arith::SelectOp::create(b, isNamed(place.slot), place.slot,
                                         arith.i32(0));
  } else if (layout.isQuantized()) {
    place.slot = inPage(first, inTile, isWhole);
    place.block = blockOf(looksUpScales ? Pool::scales : Pool::values,
                          isOfPage ? first : token);
  }
  if (!layout.isQuantized())
    return key;
  Value scale = LoadInPageOp::create(
      b, layout.getScaleDtype(), operandOf(b, cache, Pool::scales), place.block,
      arith.toIndex(place.slot), arith.index(0), arith.index(0),
      /*tail=*/UnitAttr(), /*alignment=*/IntegerAttr());
  key.scale = convertFloat(b, scale, b.getF32Type());
  return key;
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
  Value first = arith.mul(tile, tokens);
  SmallVector<Value> words;
  if (isWhole && isContiguous) {
    Value slot = inPage(first, arith.i32(0), isWhole);
    Value block = blockOf(Pool::values, first);
    for (int64_t i = 0; i < pieces.perThread(); ++i)
      llvm::append_range(words, loadPiece(block, slot, pieces.numberOf(i)));
    return words;
  }
  // Else each lane looks one of the keys up, and tells the others: a look-up
  // for each piece would take their registers.
  bool isOnce = isOfPage && isWhole;
  Place found;
  if (isOnce)
    found.block = blockOf(Pool::values, first);
  else if (lists.empty())
    found.block = blockOf(Pool::values, keyAt(first, warp.lane, isWhole));
  else
    found = checked(namedByAll(keyAt(first, warp.lane, isWhole)), Pool::values);
  for (int64_t i = 0; i < pieces.perThread(); ++i) {
    TilePieces::Piece piece = pieces.at(i);
    Value inTile = arith.add(piece.token, piece.further), valid;
    Place place = found;
    if (!isOnce)
      place.block = warp.from(found.block, inTile);
    if (lists.empty()) {
      place.slot = inPage(first, inTile, isWhole);
    } else {
      place.slot = warp.from(found.slot, inTile);
      valid = arith.both(arith.less(arith.add(first, inTile), end),
                         isNamed(place.slot));
      place.slot = arith::SelectOp::create(b, valid, place.slot, arith.i32(0));
    }
    for (Value word : loadPiece(place.block, place.slot, piece.inToken))
      words.push_back(
          valid ? Value(arith::SelectOp::create(b, valid, word, arith.i32(0)))
                : word);
  }
  return words;
}
