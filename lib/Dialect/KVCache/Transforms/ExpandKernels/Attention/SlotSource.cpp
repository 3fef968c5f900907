//===- SlotSource.cpp - Tokens of latents, by number or by slot ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlotSource.h"

#include "../Destinations.h"
#include "../Numbers.h"
#include "../RowUnits.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

SlotSource::SlotSource(KernelBuilder &builder, MLADecodeOp op, Warp &warp,
                       int64_t tokens, int64_t warps)
    : b(builder.body()), warp(warp),
      layout(kvcache::getLayout(op.getKeys().getType())),
      shape(PoolLayout::get(layout, Pool::values)), policy(op.getPolicy()),
      cache(builder.take(op.getKeys())), tokens(tokens),
      threads(warps * Warp::lanes),
      perToken(layout.getHeadSize() * shape.storageBytes / maxAccessBytes),
      perThread(perToken * tokens / threads),
      isContiguous(op.getSlots().empty() && shape.isContiguous() &&
                   layout.getPageSize() % tokens == 0),
      looksUpScales(
          layout.isQuantized() && layout.hasSeparatePools() &&
          (layout.hasOwnScalesTable() || policy == OutOfRange::trap)) {
  for (Value slots : op.getSlots())
    lists.push_back(builder.takeTensor(slots, /*readOnly=*/true));
  if (!lists.empty())
    listed =
        builder.take(sizeOf(builder.hostBuilder(), op.getSlots().front(), 1));
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
    Value outside =
        arith::CmpIOp::create(b, arith::CmpIPredicate::uge, block, blocks);
    emitIf(b, arith.both(valid, outside), [&] { LLVM::Trap::create(b); });
  }
  return {arith.toI32(block),
          arith.toI32(arith.rem(slot, layout.getPageSize()))};
}

SlotSource::Place SlotSource::at(Value token) {
  Arith arith(b);
  Place place;
  Value inside = arith.minimum(token, arith.sub(end, arith.i32(1)));
  if (!lists.empty()) {
    place.valid = arith.less(token, end);
    std::tie(place.block, place.slot) = physical(0, inside, place.valid);
    std::tie(place.scaleBlock, place.scaleSlot) =
        std::pair(place.block, place.slot);
    if (lists.size() > 1)
      std::tie(place.scaleBlock, place.scaleSlot) =
          physical(1, inside, place.valid);
    return place;
  }
  Value page = arith.toIndex(arith.div(inside, layout.getPageSize()));
  place.slot = place.scaleSlot = arith.rem(inside, layout.getPageSize());
  place.block = place.scaleBlock = BlockIdOp::create(
      b, operandOf(b, cache, Pool::values), batch, page, policy);
  if (looksUpScales)
    place.scaleBlock = BlockIdOp::create(b, operandOf(b, cache, Pool::scales),
                                         batch, page, policy);
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
  Value codes = LoadInPageOp::create(
      b, VectorType::get({lanes}, shape.storageType),
      operandOf(b, cache, Pool::values), block, arith.toIndex(slot),
      arith.index(0), arith.toIndex(arith.mul(chunk, lanes)),
      /*tail=*/UnitAttr(),
      b.getI64IntegerAttr(std::gcd(rowAlignmentOf(shape), maxAccessBytes)));
  Words registers(b);
  return registers.of(registers.whole(registers.vectorOf(codes)));
}

SmallVector<Value> SlotSource::load(Value tile) {
  Arith arith(b);
  Value first = arith.mul(tile, tokens);
  Value thread = arith.add(arith.mul(warp.number, Warp::lanes), warp.lane);
  auto apart = [&] {
    SmallVector<Value> words;
    for (int64_t i = 0; i < perThread; ++i) {
      Value piece = arith.add(thread, i * threads);
      Place place = at(arith.add(first, arith.div(piece, perToken)));
      SmallVector<Value> loaded =
          loadPiece(place.block, place.slot, arith.rem(piece, perToken));
      for (Value word : loaded)
        words.push_back(place.valid ? Value(arith::SelectOp::create(
                                          b, place.valid, word, arith.i32(0)))
                                    : word);
    }
    return words;
  };
  if (!isContiguous)
    return apart();
  Value isWhole = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                        arith.add(first, tokens), end);
  SmallVector<Type> types(wordCount(), b.getI32Type());
  auto check = scf::IfOp::create(b, types, isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.thenBlock());
  Place place = at(first);
  SmallVector<Value> words;
  for (int64_t i = 0; i < perThread; ++i) {
    int64_t lanes = maxAccessBytes / shape.storageBytes;
    Value element = arith.add(arith.mul(thread, lanes), i * threads * lanes);
    Value codes = LoadInPageOp::create(
        b, VectorType::get({lanes}, shape.storageType),
        operandOf(b, cache, Pool::values), place.block,
        arith.toIndex(place.slot), arith.index(0), arith.toIndex(element),
        /*tail=*/UnitAttr(),
        b.getI64IntegerAttr(std::gcd(rowAlignmentOf(shape), maxAccessBytes)));
    Words registers(b);
    llvm::append_range(
        words, registers.of(registers.whole(registers.vectorOf(codes))));
  }
  scf::YieldOp::create(b, words);
  b.setInsertionPointToStart(check.elseBlock());
  scf::YieldOp::create(b, apart());
  return llvm::to_vector_of<Value>(check.getResults());
}
