//===- ScoreTiles.cpp - Scores of keys, a tile of tokens at a time -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreTiles.h"

#include "../Destinations.h"
#include "../PairOrder.h"
#include "../Tiles/Branch.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Wgmma.h"
#include "../Tiles/Words.h"
#include "TokenRows.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// Tiles of 8 heads whose weights fit registers beside everything else.
static constexpr int64_t mostTilesInRegisters = 8;

/// Warps that wgmma takes together.
static constexpr int64_t warpgroup = 4;

/// Heads whose products by wgmma a lane has at once: a register for two.
static constexpr int64_t mostHeadsAtOnce = 64;

/// Calls `body` with the first byte and the bytes of a lane of each stretch of
/// a head: 16 bytes of 64 elements, 8 of 32, 4 of 16, as long as there are any.
static void
forStretches(int64_t headSize,
             function_ref<void(int64_t first, int64_t bytes)> body) {
  int64_t first = 0;
  for (int64_t bytes : {16, 8, 4})
    for (; headSize - first >= 4 * bytes; first += 4 * bytes)
      body(first, bytes);
}

/// Words of a vector of shared memory.
static int64_t vectorWords(int64_t headSize) {
  return headSize % 32 == 0 ? 4 : 2;
}

/// The words of codes that follow one another, a vector of a power of two of
/// them each.
static SmallVector<Value> joinWords(ImplicitLocOpBuilder &b,
                                    ArrayRef<Value> vectors) {
  int64_t codes = cast<VectorType>(vectors[0].getType()).getNumElements();
  SmallVector<Value> words;
  for (Value vector : vectors)
    llvm::append_range(words, Words(b).of(vector));
  Arith arith(b);
  while (codes < 4) {
    // Two of fewer bytes are one of more.
    SmallVector<Value> joined;
    for (size_t i = 0; i < words.size(); i += 2)
      joined.push_back(arith::OrIOp::create(
          b, words[i],
          arith::ShLIOp::create(b, words[i + 1], arith.i32(8 * codes))));
    words = joined;
    codes *= 2;
  }
  return words;
}

int64_t ScoreTiles::sharedBytes(int64_t heads, int64_t headSize) {
  int64_t padded = llvm::alignTo(heads, 8);
  return padded * (2 * headSize + 4);
}

ScoreTiles::ScoreTiles(KernelBuilder &builder, const ScoreInputs &inputs,
                       int64_t warps, int64_t alignment)
    : b(builder.body()), inputs(inputs), layout(inputs.layout()), warps(warps),
      alignment(alignment), headSize(layout.getHeadSize()),
      warp(builder.body()) {
  int64_t pageSize = layout.getPageSize();
  unit = std::gcd(pageSize, tokens);
  if (unit < 8)
    unit = 1;
  ownBlocks = layout.hasOwnScalesTable();
  checksBlocks = inputs.policy == OutOfRange::skip;
  cache = builder.take(inputs.source);
  offsets = builder.takeList(inputs.offsets);
  queries = builder.takeTensor(inputs.queries, /*readOnly=*/true);
  weights = builder.takeTensor(inputs.weights, /*readOnly=*/true);
  int64_t heads = 8 * numTiles();
  sharedQueries = builder.shareMemory(b.getI32Type(), heads * headSize / 2, 16);
  sharedWeights = builder.shareMemory(b.getF32Type(), heads, 16);
  if (warps % warpgroup == 0)
    hasWgmma = HasWgmmaOp::create(b, b.getI1Type());
}

void ScoreTiles::require(ImplicitLocOpBuilder &host, const ScoreInputs &inputs,
                         ArrayRef<Value> tensors) {
  Value rows = sizeOf(host, inputs.queries, 0);
  requireSame(host, sizeOf(host, inputs.weights, 0), rows,
              "as many rows of weights as of 'queries'");
  for (Value tensor : tensors)
    requireSame(host, sizeOf(host, tensor, 0), rows,
                "as many rows of results as of 'queries'");
  requireTokenRows(host, inputs.source, inputs.offsets, rows);
}

Value ScoreTiles::begin(Value row, Value most) {
  Arith arith(b);
  this->row = row;
  TokenRow tokens = emitTokenRow(b, cache, offsets, row,
                                 inputs.causal ? Sees::causal : Sees::all);
  batch = tokens.batch;
  live = arith.toI32(arith.minimum(tokens.live, most));
  readable = live;
  if (checksBlocks) {
    // A pool without blocks is never read.
    Value blocks = NumBlocksOp::create(b, operandOf(b, cache, Pool::values));
    blocks = arith.minimum(
        blocks, NumBlocksOp::create(b, operandOf(b, cache, Pool::scales)));
    Value none = arith.equal(blocks, arith.index(0));
    readable = arith::SelectOp::create(b, none, arith.i32(0), readable);
  }
  return live;
}

SmallVector<Value> ScoreTiles::convert(ValueRange words) {
  SmallVector<Value> registers;
  for (Value word : words)
    llvm::append_range(registers, Words(b).codesToF16(word, layout.getDtype()));
  return registers;
}

void ScoreTiles::stage() {
  Arith arith(b);
  int64_t heads = inputs.heads();
  Type code = layout.getDtype();
  auto forHeadTile = [&](Value number) {
    Value head = arith.add(arith.mul(number, 8), warp.row);
    SmallVector<Value> words;
    auto read = [&] {
      SmallVector<Value> result;
      Value start =
          arith.add(arith.mul(row, queries.strides[0]),
                    arith.mul(arith.toIndex(head), queries.strides[1]));
      forStretches(headSize, [&](int64_t first, int64_t bytes) {
        int64_t piece = std::min(bytes, alignment);
        SmallVector<Value> codes;
        for (int64_t at = 0; at < bytes; at += piece) {
          Value place = arith.add(arith.mul(warp.column, bytes), first + at);
          auto type = VectorType::get({piece}, code);
          Value view = ByteViewOp::create(
              b, MemRefType::get({piece}, code), queries.base,
              arith.add(start, arith.toIndex(place)));
          codes.push_back(vector::LoadOp::create(
              b, type, view, ValueRange{arith.index(0)},
              /*nontemporal=*/false, llvm::MaybeAlign(piece)));
        }
        llvm::append_range(result, joinWords(b, codes));
      });
      return result;
    };
    if (heads % 8 == 0) {
      words = read();
    } else {
      SmallVector<Type> types(headSize / 16, b.getI32Type());
      auto check =
          scf::IfOp::create(b, types, arith.less(head, arith.i32(heads)),
                            /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(check.thenBlock());
      scf::YieldOp::create(b, read());
      b.setInsertionPointToStart(check.elseBlock());
      scf::YieldOp::create(b, SmallVector<Value>(types.size(), arith.i32(0)));
      words = check.getResults();
    }
    SmallVector<Value> registers = convert(words);
    auto storeFragments = [&](int64_t words) {
      int64_t vectors = registers.size() / words;
      for (int64_t i = 0; i < vectors; ++i) {
        Value vector =
            Words(b).vector(ArrayRef(registers).slice(i * words, words));
        Value place = arith.add(
            arith.mul(arith.add(arith.mul(number, vectors), i), Warp::lanes),
            warp.lane);
        vector::StoreOp::create(
            b, vector, sharedQueries,
            ValueRange{arith.toIndex(arith.mul(place, words))},
            /*nontemporal=*/false, llvm::MaybeAlign(4 * words));
      }
      return SmallVector<Value>();
    };
    emitIfElse(
        b, hasWgmma, {},
        [&] {
          storeFragments(1);
          emitFenceForWgmma(b);
          return SmallVector<Value>();
        },
        [&] { return storeFragments(vectorWords(headSize)); });
  };
  for (int64_t first = 0; first < numTiles(); first += warps) {
    Value number = arith.add(warp.number, first);
    Value inside = first + warps <= numTiles()
                       ? Value()
                       : arith.less(number, arith.i32(numTiles()));
    emitIf(b, inside, [&] { forHeadTile(number); });
  }
  // A head that there is not weighs nothing. The unit of the decoded keys goes
  // into the weights.
  Value unit = Words(b).decodedUnit(code);
  Value thread = arith.add(arith.mul(warp.number, 32), warp.lane);
  for (int64_t first = 0; first < 8 * numTiles(); first += 32 * warps) {
    Value head = arith.add(thread, first);
    emitIf(b, arith.less(head, arith.i32(8 * numTiles())), [&] {
      Value weight = emitChoice(
          b, arith.less(head, arith.i32(heads)),
          [&]() -> Value {
            return memref::LoadOp::create(
                b, viewElement(b, weights, row, arith.toIndex(head)),
                ValueRange());
          },
          FastMath(b).number(0));
      weight = FastMath(b).mul(weight, unit);
      memref::StoreOp::create(b, weight, sharedWeights,
                              ValueRange{arith.toIndex(head)});
    });
  }
  gpu::BarrierOp::create(b);
  if (numTiles() <= mostTilesInRegisters)
    for (int64_t tile = 0; tile < numTiles(); ++tile)
      llvm::append_range(laneWeights, weightsOf(tile));
}

SmallVector<Value> ScoreTiles::weightsOf(int64_t tile) {
  Arith arith(b);
  Value place = arith.add(arith.mul(warp.column, 2), 8 * tile);
  auto type = VectorType::get({2}, b.getF32Type());
  Value pair = vector::LoadOp::create(
      b, type, sharedWeights, ValueRange{arith.toIndex(place)},
      /*nontemporal=*/false, llvm::MaybeAlign(8));
  return {vector::ExtractOp::create(b, pair, 0),
          vector::ExtractOp::create(b, pair, 1)};
}

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

Value ScoreTiles::tokenOf(Value start) {
  Arith arith(b);
  return arith.add(start, arith.add(arith.mul(warp.column, 8), warp.row));
}

Value ScoreTiles::pagedToken(Value start, int64_t group) {
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

Value ScoreTiles::chooseByColumn(ArrayRef<Value> ofGroups) {
  Arith arith(b);
  Value chosen = ofGroups[0];
  for (int64_t group = 1; group < groups; ++group)
    if (ofGroups[group] != ofGroups[group - 1])
      chosen =
          arith::SelectOp::create(b, arith.less(warp.column, arith.i32(group)),
                                  chosen, ofGroups[group]);
  return chosen;
}

SmallVector<Value> ScoreTiles::onlyIf(Value condition, TypeRange types,
                                      function_ref<SmallVector<Value>()> then) {
  return emitIfElse(b, condition, types, then, [&] {
    SmallVector<Value> nothing;
    for (Type type : types)
      nothing.push_back(
          zerosElse
              ? arith::ConstantOp::create(b, b.getZeroAttr(type)).getResult()
              : LLVM::PoisonOp::create(b, type).getResult());
    return nothing;
  });
}

SmallVector<Value> ScoreTiles::lookUp(Value start, ValueRange before) {
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
                                        page, inputs.policy);
        blocks.push_back(block);
        if (inputs.policy != OutOfRange::trap || ownBlocks ||
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
  if (!checksBlocks) {
    if (before.empty() || layout.getPageSize() % (2 * tokens) != 0)
      return onlyIf(isThere, types, find);
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
ScoreTiles::placeKey(Value block, Value slot, Value row, int64_t slotAfter) {
  Arith arith(b);
  PoolLayout pool = PoolLayout::get(layout, Pool::values);
  int64_t rowAlignment = std::gcd(pool.baseAlignment(), pool.slotBytes);
  Type code = layout.getDtype();
  auto one = MemRefType::get({}, b.getI8Type());
  Value page =
      PagePtrOp::create(b, one, operandOf(b, cache, Pool::values), block);
  // Places of each number of bytes a lane, so that constants come last.
  llvm::SmallMapVector<int64_t, Value, 4> lanes;
  forStretches(headSize, [&](int64_t, int64_t bytes) {
    Value &lane = lanes[bytes];
    if (lane)
      return;
    // What is the lane's alone does not change from tile to tile.
    Value place = arith.mul(warp.column, bytes);
    if (row)
      place = arith.add(place, arith.mul(row, pool.slotBytes));
    place = arith.add(arith.mul(slot, pool.slotBytes), place);
    lane = ByteViewOp::create(b, one, page, arith.toIndex(place));
  });
  int64_t start = pool.firstByte + slotAfter * pool.slotBytes;
  return [=] {
    SmallVector<Value> words;
    forStretches(headSize, [&](int64_t first, int64_t bytes) {
      int64_t piece = std::min(bytes, rowAlignment);
      SmallVector<Value> codes;
      for (int64_t at = 0; at < bytes; at += piece) {
        Value view = ByteViewOp::create(b, MemRefType::get({piece}, code),
                                        lanes.lookup(bytes),
                                        Arith(b).index(start + first + at));
        codes.push_back(vector::LoadOp::create(
            b, VectorType::get({piece}, code), view,
            ValueRange{Arith(b).index(0)}, /*nontemporal=*/false,
            llvm::MaybeAlign(piece)));
      }
      // As a vector: words that go their ways would be loaded one by one.
      words.push_back(Words(b).vector(joinWords(b, codes)));
    });
    return words;
  };
}

SmallVector<Value> ScoreTiles::load(Value start, ValueRange blocks,
                                    Value otherScale) {
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
  if (checksBlocks) {
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
    llvm::append_range(result, onlyIf(isKey, types, read));
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
        if (!scale.getType().isF32())
          scale = arith::ExtFOp::create(b, b.getF32Type(), scale);
        return SmallVector<Value>{scale};
      },
      [&] { return SmallVector<Value>{otherScale}; });
  result.append(scale);
  if (checksBlocks)
    result.push_back(valid);
  return result;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<Value>> ScoreTiles::convertKeys(ValueRange vectors) {
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

void ScoreTiles::addPositive(ValueRange products, int64_t tile,
                             MutableArrayRef<Value> sums) {
  FastMath math(b);
  Value zero = math.number(0);
  SmallVector<Value> weight =
      laneWeights.empty()
          ? weightsOf(tile)
          : SmallVector<Value>(ArrayRef(laneWeights).slice(2 * tile, 2));
  for (int64_t i = 0; i < 4; ++i) {
    Value positive = arith::MaximumFOp::create(b, products[i], zero);
    sums[i / 2] = math.fma(positive, weight[i % 2], sums[i / 2]);
  }
}

/// Registers of A, step by step, of the keys of two groups.
static SmallVector<Value> rowsOf(ArrayRef<Value> upper, ArrayRef<Value> lower) {
  SmallVector<Value> registers;
  for (size_t i = 0; i < upper.size(); ++i)
    registers.append({upper[i], lower[i]});
  return registers;
}

SmallVector<Value> ScoreTiles::sumByWarp(ArrayRef<SmallVector<Value>> keys) {
  Arith arith(b);
  int64_t steps = headSize / 16;
  Value zero = FastMath(b).number(0);
  int64_t perVector = vectorWords(headSize);
  auto vectorType = VectorType::get({perVector}, b.getI32Type());
  SmallVector<Value> sums(groups, zero);
  for (int64_t tile = 0; tile < numTiles(); ++tile) {
    SmallVector<Value> query;
    for (int64_t i = 0; i < headSize / 8 / perVector; ++i) {
      int64_t first = (tile * headSize / 8 / perVector + i) * Warp::lanes;
      Value place = arith.mul(arith.add(warp.lane, first), perVector);
      Value vector = vector::LoadOp::create(
          b, vectorType, sharedQueries, ValueRange{arith.toIndex(place)},
          /*nontemporal=*/false, llvm::MaybeAlign(4 * perVector));
      for (int64_t j = 0; j < perVector; ++j)
        query.push_back(vector::ExtractOp::create(b, vector, j));
    }
    for (int64_t pair = 0; pair < groups; pair += 2) {
      SmallVector<Value> rows = rowsOf(keys[pair], keys[pair + 1]);
      SmallVector<Value> products(4, zero);
      for (int64_t step = 0; step < steps; ++step)
        products = emitMma(b, b.getF16Type(), ArrayRef(rows).slice(4 * step, 4),
                           {query[2 * step], query[2 * step + 1]}, products);
      addPositive(products, tile, MutableArrayRef(sums).slice(pair, 2));
    }
  }
  return sums;
}

SmallVector<Value>
ScoreTiles::sumByWarpgroup(ArrayRef<SmallVector<Value>> keys) {
  int64_t heads = 8 * numTiles();
  SmallVector<Value> sums(groups, FastMath(b).number(0));
  for (int64_t pair = 0; pair < groups; pair += 2)
    for (int64_t first = 0; first < heads; first += mostHeadsAtOnce) {
      int64_t columns = std::min(mostHeadsAtOnce, heads - first);
      Value queries =
          emitMatrixDescriptor(b, sharedQueries, first, headSize / 16);
      SmallVector<Value> products =
          emitWgmma(b, rowsOf(keys[pair], keys[pair + 1]), queries, columns);
      for (int64_t tile = 0; tile < columns / 8; ++tile)
        addPositive(ArrayRef(products).slice(4 * tile, 4), first / 8 + tile,
                    MutableArrayRef(sums).slice(pair, 2));
    }
  return sums;
}

Value ScoreTiles::score(ArrayRef<SmallVector<Value>> keys, Value scale) {
  Arith arith(b);
  FastMath math(b);
  SmallVector<Type> types(groups, b.getF32Type());
  SmallVector<Value> sums = emitIfElse(
      b, hasWgmma, types, [&] { return sumByWarpgroup(keys); },
      [&] { return sumByWarp(keys); });

  // Lanes of a row have its tokens' sums over different heads. Each keeps those
  // of one group and gives the others away.
  auto fold = [&](ValueRange mine, int64_t distance) {
    Value isUpper = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ne,
        arith::AndIOp::create(b, warp.column, arith.i32(distance)),
        arith.i32(0));
    Value keep = math.select(isUpper, mine[1], mine[0]);
    Value give = math.select(isUpper, mine[0], mine[1]);
    return math.add(keep, warp.exchange(give, distance));
  };
  Value low = fold({sums[0], sums[1]}, 1);
  Value high = fold({sums[2], sums[3]}, 1);
  Value sum = fold({low, high}, 2);
  return math.mul(sum, scale);
}

SmallVector<Value> ScoreTiles::forTiles(
    TileOrder order, Value first, Value end, ValueRange initial,
    function_ref<SmallVector<Value>(Value, Value, ValueRange)> body) {
  Arith arith(b);
  Value turns = arith.ceilDiv(arith.sub(end, first), warps);
  Value start = arith.mul(first, tokens), limit, step;
  if (order == TileOrder::rising) {
    step = arith.i32(warps * tokens);
    limit = arith.add(start, arith.mul(turns, warps * tokens));
    start = arith.add(start, arith.mul(warp.number, tokens));
    // Nothing is read behind `end`.
    readable = arith.minimum(readable, arith.mul(end, tokens));
  } else {
    turns = arith.mul(turns, tokens);
    step = arith.i32(tokens);
    start = arith.add(start, arith.mul(warp.number, turns));
    limit = arith.add(start, turns);
    // What is behind is another warp's.
    readable = arith.minimum(readable, limit);
  }
  // The keys of the next tile and the blocks of that after it are on their way.
  zerosElse = true;
  SmallVector<Value> carried =
      load(start, lookUp(start, {}), FastMath(b).number(0));
  int64_t ofKeys = carried.size();
  Value second = arith.add(start, step);
  llvm::append_range(carried, lookUp(second, {}));
  int64_t ofTiles = carried.size();
  llvm::append_range(carried, initial);
  auto loop = scf::ForOp::create(b, start, limit, step, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  // Registers that are not loaded hold what they held.
  zerosElse = false;
  start = loop.getInductionVar();
  ValueRange now = loop.getRegionIterArgs();
  Value next = arith.add(start, step);
  ValueRange blocks = now.slice(ofKeys, ofTiles - ofKeys);
  ValueRange keys = now.take_front(checksBlocks ? ofKeys - 2 : ofKeys - 1);
  Value score = this->score(convertKeys(keys), now[keys.size()]);
  // Last, so that the next keys take the registers of these: earlier they would
  // spill some. Other warps fill the time.
  SmallVector<Value> results = load(next, blocks, now[keys.size()]);
  SmallVector<Value> found =
      lookUp(arith.add(next, step),
             order == TileOrder::byWarp ? blocks : ValueRange());
  llvm::append_range(results, found);
  if (checksBlocks) {
    Value lowest = FastMath(b).number(-std::numeric_limits<double>::infinity());
    score = arith::SelectOp::create(b, now[ofKeys - 1], score, lowest);
  }
  llvm::append_range(results,
                     body(tokenOf(start), score, now.drop_front(ofTiles)));
  // Keeps lanes together, and what lies in shared memory out of registers.
  warp.wait();
  scf::YieldOp::create(b, results);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front(ofTiles));
}
