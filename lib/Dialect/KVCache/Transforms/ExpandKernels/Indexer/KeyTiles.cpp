//===- KeyTiles.cpp - Keys of a sequence, 32 tokens at a time -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeyTiles.h"

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../PageRows.h"
#include "../Tiles/Words.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// Calls `body` with the first byte and the bytes of a lane of each stretch of
/// a head: 16 bytes of 64 elements, 8 of 32, 4 of 16, as long as there are any.
void mlir::kvcache::forStretches(
    int64_t headSize, function_ref<void(int64_t first, int64_t bytes)> body) {
  int64_t first = 0;
  for (int64_t bytes : {16, 8, 4})
    for (; headSize - first >= 4 * bytes; first += 4 * bytes)
      body(first, bytes);
}

KeyTiles::KeyTiles(ImplicitLocOpBuilder &b, Warp &warp, Value cache,
                   OutOfRange policy)
    : b(b), warp(warp), cache(cache), policy(policy),
      layout(kvcache::getLayout(cache.getType())),
      headSize(layout.getHeadSize()),
      unit(std::gcd(layout.getPageSize(), tokens)),
      ownBlocks(layout.hasOwnScalesTable()) {
  if (unit < 8)
    unit = 1;
}

void KeyTiles::setRow(Value batch, Value live) {
  this->batch = batch;
  this->live = readable = live;
  if (!checksBlocks())
    return;
  // A pool without blocks is never read.
  Arith arith(b);
  Value blocks = NumBlocksOp::create(b, operandOf(b, cache, Pool::values));
  blocks = arith.minimum(
      blocks, NumBlocksOp::create(b, operandOf(b, cache, Pool::scales)));
  Value none = arith.equal(blocks, arith.index(0));
  readable = arith::SelectOp::create(b, none, arith.i32(0), readable);
}

void KeyTiles::limit(Value end) { readable = Arith(b).minimum(readable, end); }

Value KeyTiles::tokenOf(Value start) {
  Arith arith(b);
  return arith.add(start, arith.add(arith.mul(warp.column, 8), warp.row));
}

Value KeyTiles::pagedToken(Value start, int64_t group) {
  Arith arith(b);
  Value last = arith.sub(live, arith.i32(1));
  if (unit == 1)
    return arith.minimum(arith.add(arith.add(start, 8 * group), warp.row),
                         last);
  Value token = arith.add(start, 8 * group / unit * unit);
  if (8 * group < unit)
    return token;
  return arith.minimum(token, arith.mul(arith.div(last, unit), unit));
}

Value KeyTiles::chooseByColumn(ArrayRef<Value> ofGroups) {
  Arith arith(b);
  Value chosen = ofGroups[0];
  for (int64_t group = 1; group < groups; ++group)
    if (ofGroups[group] != ofGroups[group - 1])
      chosen =
          arith::SelectOp::create(b, arith.less(warp.column, arith.i32(group)),
                                  chosen, ofGroups[group]);
  return chosen;
}

/// Zeros of `types`, or values that mean nothing.
static SmallVector<Value> nothing(ImplicitLocOpBuilder &b, TypeRange types,
                                  bool orPoison) {
  if (!orPoison)
    return emitZeros(b, types);
  return llvm::map_to_vector(types, [&](Type type) -> Value {
    return LLVM::PoisonOp::create(b, type);
  });
}

SmallVector<Value> KeyTiles::lookUp(Value start, ValueRange before,
                                    bool orPoison) {
  Arith arith(b);
  SmallVector<Pool> pools = {Pool::values};
  if (ownBlocks)
    pools.push_back(Pool::scales);
  int64_t perPool = unit == 1 ? groups : std::max<int64_t>(1, tokens / unit);
  SmallVector<Type> types(pools.size() * perPool, b.getI32Type());
  auto find = [&] {
    SmallVector<Value> blocks;
    for (Pool pool : pools)
      for (int64_t i = 0; i < perPool; ++i) {
        Value token = pagedToken(start, i * groups / perPool);
        Value page = arith.toIndex(arith.div(token, layout.getPageSize()));
        Value block = BlockIdOp::create(b, operandOf(b, cache, pool), batch,
                                        page, policy);
        blocks.push_back(block);
        if (policy != OutOfRange::trap || ownBlocks ||
            !layout.hasSeparatePools())
          continue;
        // The same block of a pool of another size.
        Value count = NumBlocksOp::create(b, operandOf(b, cache, Pool::scales));
        emitTrapUnless(b, /*when=*/Value(),
                       {{"scales block", arith.toIndex(block), count}});
      }
    return blocks;
  };
  Value isThere = arith.less(start, readable);
  if (!checksBlocks()) {
    if (before.empty() || layout.getPageSize() % (2 * tokens) != 0)
      return emitIfElse(b, isThere, types, find,
                        [&] { return nothing(b, types, orPoison); });
    // Tiles of one page follow one another. Where a page begins the lowest bit
    // of its size changes, if not only there: sizes may be no power of two.
    int64_t pageSize = layout.getPageSize();
    Value previous = arith.sub(start, arith.i32(tokens));
    Value isFirst = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, arith::XOrIOp::create(b, start, previous),
                              arith.i32(pageSize & -pageSize)),
        arith.i32(0));
    return emitIfElse(b, arith.both(isThere, isFirst), types, find,
                      [&] { return llvm::to_vector_of<Value>(before); });
  }
  return emitIfElse(b, isThere, types, find, [&] {
    return SmallVector<Value>(types.size(), arith.i32(-1));
  });
}

std::function<SmallVector<Value>()>
KeyTiles::placeKey(Value block, Value slot, Value row, int64_t slotAfter) {
  Arith arith(b);
  PoolLayout pool = PoolLayout::get(layout, Pool::values);
  PageRows page(b, operandOf(b, cache, Pool::values), pool, block);
  // Places of each number of bytes a lane, so that constants come last.
  llvm::SmallMapVector<int64_t, Value, 4> lanes;
  forStretches(headSize, [&](int64_t, int64_t bytes) {
    Value &lane = lanes[bytes];
    if (lane)
      return;
    // What is the lane's alone does not change from tile to tile.
    Value inRow = arith.mul(warp.column, bytes);
    if (row)
      inRow = arith.add(inRow, arith.mul(row, pool.slotBytes));
    lane = page.at(inRow, slot);
  });
  return [=] {
    SmallVector<Value> words;
    forStretches(headSize, [&](int64_t first, int64_t bytes) {
      int64_t piece = std::min(bytes, pool.slotAlignment());
      auto type = VectorType::get({piece}, layout.getDtype());
      SmallVector<Value> codes;
      for (int64_t at = 0; at < bytes; at += piece)
        codes.push_back(page.load(lanes.lookup(bytes), /*slot=*/Value(),
                                  slotAfter * pool.slotBytes + first + at, type,
                                  piece));
      // As a vector: words that go their ways would be loaded one by one.
      words.push_back(Words(b).vector(Words(b).join(codes)));
    });
    return words;
  };
}

SmallVector<Value> KeyTiles::load(Value start, ValueRange blocks,
                                  Value otherScale, bool orPoison) {
  Arith arith(b);
  int64_t pageSize = layout.getPageSize();
  int64_t perPool = ownBlocks ? blocks.size() / 2 : blocks.size();
  SmallVector<Value> ofValues, ofScales;
  for (int64_t group = 0; group < groups; ++group) {
    ofValues.push_back(blocks[group * perPool / groups]);
    ofScales.push_back(
        blocks[(ownBlocks ? perPool : 0) + group * perPool / groups]);
  }
  Value scaleBlock = chooseByColumn(ofScales), valid;
  if (checksBlocks()) {
    auto isThere = [&](Value block) -> Value {
      return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block,
                                   arith.i32(-1));
    };
    valid = isThere(chooseByColumn(ofValues));
    Value scaleIsThere = isThere(scaleBlock);
    if (!ownBlocks && layout.hasSeparatePools()) {
      // The same block of a pool of another size.
      Value count = NumBlocksOp::create(b, operandOf(b, cache, Pool::scales));
      scaleIsThere = arith.less(arith.toIndex(scaleBlock), count);
    }
    valid = arith.both(valid, scaleIsThere);
    auto orFirst = [&](Value block, Value isThere) -> Value {
      return arith::SelectOp::create(b, isThere, block, arith.i32(0));
    };
    for (Value &block : ofValues)
      block = orFirst(block, isThere(block));
    scaleBlock = orFirst(scaleBlock, scaleIsThere);
  }

  // Only keys that there are: a lane has one of each group.
  SmallVector<Value> result;
  SmallVector<Type> types;
  forStretches(headSize, [&](int64_t, int64_t bytes) {
    types.push_back(VectorType::get({bytes / 4}, b.getI32Type()));
  });
  Value left = arith::SubIOp::create(
      b, arith::SubIOp::create(b, readable, warp.row), start);
  for (int64_t group = 0; group < groups; ++group) {
    // The unit's first token and what is added to it lie in one page.
    int64_t first = unit == 1 ? 8 * group : 8 * group / unit * unit;
    Value token = arith.add(start, first), row = warp.row;
    if (unit == 1) {
      token = arith.add(token, row);
      row = Value();
    }
    auto read = placeKey(ofValues[group], arith.rem(token, pageSize), row,
                         unit > 1 ? 8 * group - first : 0);
    // Signed: there may be none left.
    Value isKey = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, left,
                                        arith.i32(8 * group));
    llvm::append_range(result, emitIfElse(b, isKey, types, read, [&] {
                         return nothing(b, types, orPoison);
                       }));
  }
  Value token = tokenOf(start);
  SmallVector<Value> scale = emitIfElse(
      b, arith.less(token, readable), {b.getF32Type()},
      [&] {
        Value scale = LoadInPageOp::create(
            b, layout.getScaleDtype(), operandOf(b, cache, Pool::scales),
            scaleBlock, arith.toIndex(arith.rem(token, pageSize)),
            arith.index(0), arith.index(0), /*tail=*/UnitAttr(),
            /*alignment=*/IntegerAttr());
        return SmallVector<Value>{convertFloat(b, scale, b.getF32Type())};
      },
      [&] { return SmallVector<Value>{otherScale}; });
  result.append(scale);
  if (checksBlocks())
    result.push_back(valid);
  return result;
}

SmallVector<SmallVector<Value>> KeyTiles::convert(ValueRange vectors) {
  int64_t stretches = vectors.size() / groups;
  Words words(b);
  SmallVector<SmallVector<Value>> keys;
  for (int64_t group = 0; group < groups; ++group) {
    SmallVector<Value> registers;
    for (Value vector : vectors.slice(group * stretches, stretches))
      for (Value word : words.of(vector))
        llvm::append_range(registers,
                           words.decodeScaled(word, layout.getDtype()));
    // All of them are of one key.
    registers.back() =
        words.restoreNaN(registers.back(), registers, layout.getDtype());
    keys.push_back(registers);
  }
  return keys;
}
