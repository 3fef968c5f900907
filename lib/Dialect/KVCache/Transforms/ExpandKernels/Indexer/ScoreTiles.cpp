//===- ScoreTiles.cpp - Scores of keys, a tile of tokens at a time -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreTiles.h"

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../RowUnits.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/ScoreTile.h"
#include "../Tiles/Wgmma.h"
#include "../Tiles/Words.h"
#include "TokenRows.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;
using namespace mlir::kvcache;

/// Tiles of 8 heads whose weights fit registers beside everything else.
static constexpr int64_t mostTilesInRegisters = 8;

/// Warps that wgmma takes together.
static constexpr int64_t warpgroup = 4;

/// Heads whose products by wgmma a lane has at once: a register for two.
static constexpr int64_t mostHeadsAtOnce = 64;

/// Products of mma.sync: heads of a tile by tokens of two groups.
static constexpr ScoreLanes ofPair = {/*transposed=*/true, /*rowGroups=*/1,
                                      /*tokenGroups=*/2};

/// Words of a vector of shared memory.
static int64_t vectorWords(int64_t headSize) {
  return headSize % 32 == 0 ? 4 : 2;
}

int64_t ScoreTiles::sharedBytes(int64_t heads, int64_t headSize) {
  int64_t padded = llvm::alignTo(heads, 8);
  return padded * (2 * headSize + 4);
}

ScoreTiles::ScoreTiles(KernelBuilder &builder, const ScoreInputs &inputs,
                       int64_t warps, bool isAlone)
    : b(builder.body()), inputs(inputs), layout(inputs.layout()), warps(warps),
      headSize(layout.getHeadSize()),
      tilesAtOnce(isAlone ? mostTilesInRegisters : mostTilesInRegisters / 2),
      warp(builder.body()) {
  cache = builder.take(inputs.source);
  keys.emplace(b, warp, cache, inputs.policy);
  offsets = builder.takeList(inputs.offsets);
  takeQueries(builder);
  weights = builder.takeTensor(inputs.weights, /*readOnly=*/true);
  globalScale = builder.takeNumber(inputs.globalScale);
  int64_t heads = 8 * numTiles();
  sharedQueries = builder.shareMemory(b.getI32Type(), heads * headSize / 2, 16);
  sharedWeights = builder.shareMemory(b.getF32Type(), heads, 16);
  if (warps % warpgroup == 0)
    hasWgmma = HasWgmmaOp::create(b, b.getI1Type());
}

void ScoreTiles::takeQueries(KernelBuilder &builder) {
  Value tensor = inputs.queries;
  ImplicitLocOpBuilder &host = builder.hostBuilder();
  RowAlignment rows =
      findRowAlignment(host.getLoc(), {tensor}, "two ways to read queries");
  queries.emplace(builder, tensor, b.getF16Type(), rows.certain);
  if (rows.isCertain())
    return;
  alignedQueries.emplace(builder, tensor, b.getF16Type(), rows.best);
  Value aligned =
      Arith(host).toIndex(emitAreRowsAligned(host, {tensor}, rows.best));
  Arith arith(b);
  areAligned = arith.equal(builder.take(aligned), arith.index(1));
}

Value ScoreTiles::begin(Value row, Value most) {
  Arith arith(b);
  this->row = row;
  TokenRow tokens = emitTokenRow(b, cache, offsets, row,
                                 inputs.causal ? Sees::causal : Sees::all);
  live = arith.toI32(arith.minimum(tokens.live, most));
  keys->setRow(tokens.batch, live);
  return live;
}

SmallVector<Value> ScoreTiles::convert(ValueRange words) {
  SmallVector<Value> registers;
  for (Value word : words)
    llvm::append_range(registers, Words(b).decode(word, layout.getDtype()));
  return registers;
}

void ScoreTiles::stage() {
  Arith arith(b);
  int64_t heads = inputs.heads();
  Type code = layout.getDtype();
  auto forHeadTile = [&](Value number) {
    Value head = arith.add(arith.mul(number, 8), warp.row);
    SmallVector<Value> words;
    SmallVector<Type> types(headSize / 16, b.getI32Type());
    auto readBy = [&](QueryRows &queries) {
      SmallVector<Value> result;
      Value place = queries.at(row, arith.toIndex(head));
      forStretches(headSize, [&](int64_t first, int64_t bytes) {
        llvm::append_range(
            result,
            queries.load(place, arith.add(arith.mul(warp.column, bytes), first),
                         bytes));
      });
      return result;
    };
    auto read = [&] {
      if (!alignedQueries)
        return readBy(*queries);
      return emitIfElse(
          b, areAligned, types, [&] { return readBy(*alignedQueries); },
          [&] { return readBy(*queries); });
    };
    if (heads % 8 == 0) {
      words = read();
    } else {
      words = emitIfElse(b, arith.less(head, arith.i32(heads)), types, read,
                         [&] { return emitZeros(b, types); });
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
    auto storeForMma = [&] { return storeFragments(vectorWords(headSize)); };
    if (!hasWgmma) {
      storeForMma();
      return;
    }
    emitIfElse(
        b, hasWgmma, {},
        [&] {
          storeFragments(1);
          emitFenceForWgmma(b);
          return SmallVector<Value>();
        },
        storeForMma);
  };
  for (int64_t first = 0; first < numTiles(); first += warps) {
    Value number = arith.add(warp.number, first);
    Value inside = first + warps <= numTiles()
                       ? Value()
                       : arith.less(number, arith.i32(numTiles()));
    emitIf(b, inside, [&] { forHeadTile(number); });
  }
  // A head that there is not weighs nothing. The unit of the decoded keys and
  // what multiplies their scales go into the weights.
  Value unit = Words(b).decodedUnit(code);
  if (globalScale)
    unit = FastMath(b).mul(unit, globalScale);
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
      llvm::append_range(laneWeights, loadWeights(Arith(b).i32(tile)));
}

SmallVector<Value> ScoreTiles::weightsOf(int64_t tile) {
  if (laneWeights.empty())
    return loadWeights(Arith(b).i32(tile));
  return SmallVector<Value>(ArrayRef(laneWeights).slice(2 * tile, 2));
}

SmallVector<Value> ScoreTiles::loadWeights(Value tile) {
  Arith arith(b);
  Value place = arith.add(arith.mul(warp.column, 2), arith.mul(tile, 8));
  auto type = VectorType::get({2}, b.getF32Type());
  Value pair = vector::LoadOp::create(
      b, type, sharedWeights, ValueRange{arith.toIndex(place)},
      /*nontemporal=*/false, llvm::MaybeAlign(8));
  return {vector::ExtractOp::create(b, pair, 0),
          vector::ExtractOp::create(b, pair, 1)};
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void ScoreTiles::addPositive(ArrayRef<SmallVector<Value>> scores,
                             ArrayRef<Value> weights,
                             MutableArrayRef<Value> sums) {
  FastMath math(b);
  Value zero = math.number(0);
  for (auto [token, sum] : llvm::enumerate(sums))
    for (auto [ofHead, weight] : llvm::zip_equal(scores, weights)) {
      Value positive = arith::MaximumFOp::create(b, ofHead[token], zero);
      sum = math.fma(positive, weight, sum);
    }
}

/// Registers of A, step by step, of the keys of two groups.
static SmallVector<Value> rowsOf(ArrayRef<Value> upper, ArrayRef<Value> lower) {
  SmallVector<Value> registers;
  for (size_t i = 0; i < upper.size(); ++i)
    registers.append({upper[i], lower[i]});
  return registers;
}

void ScoreTiles::addTile(ArrayRef<SmallVector<Value>> keys, Value tile,
                         ArrayRef<Value> weights, MutableArrayRef<Value> sums) {
  Arith arith(b);
  int64_t perVector = vectorWords(headSize), perLane = headSize / 8;
  auto vectorType = VectorType::get({perVector}, b.getI32Type());
  Value first = arith.mul(tile, perLane / perVector * Warp::lanes);
  SmallVector<Value> query;
  for (int64_t i = 0; i < perLane / perVector; ++i) {
    Value number = arith.add(warp.lane, arith.add(first, i * Warp::lanes));
    Value place = arith.mul(number, perVector);
    Value vector = vector::LoadOp::create(
        b, vectorType, sharedQueries, ValueRange{arith.toIndex(place)},
        /*nontemporal=*/false, llvm::MaybeAlign(4 * perVector));
    for (int64_t j = 0; j < perVector; ++j)
      query.push_back(vector::ExtractOp::create(b, vector, j));
  }
  for (int64_t pair = 0; pair < groups; pair += 2) {
    SmallVector<Value> rows = rowsOf(keys[pair], keys[pair + 1]);
    ScoreTile scores(b, ofPair, b.getF16Type());
    for (int64_t step = 0; step < headSize / 16; ++step)
      scores.add({{query[2 * step], query[2 * step + 1]}},
                 {SmallVector<Value>(ArrayRef(rows).slice(4 * step, 4))});
    addPositive(scores.scores(), weights, sums.slice(pair, 2));
  }
}

SmallVector<Value> ScoreTiles::sumByWarp(ArrayRef<SmallVector<Value>> keys) {
  Arith arith(b);
  SmallVector<Value> sums(groups, FastMath(b).number(0));
  if (numTiles() <= tilesAtOnce) {
    for (int64_t tile = 0; tile < numTiles(); ++tile)
      addTile(keys, arith.i32(tile), weightsOf(tile), sums);
    return sums;
  }
  // Of more tiles few are a turn of a loop: ptxas joins turns.
  int64_t perTurn = tilesAtOnce / 2;
  int64_t looped = llvm::alignDown(numTiles(), perTurn);
  auto loop = scf::ForOp::create(b, arith.i32(0), arith.i32(looped),
                                 arith.i32(perTurn), sums);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> now(loop.getRegionIterArgs());
    for (int64_t i = 0; i < perTurn; ++i) {
      Value tile = arith.add(loop.getInductionVar(), i);
      addTile(keys, tile, loadWeights(tile), now);
    }
    scf::YieldOp::create(b, now);
  }
  sums = llvm::to_vector_of<Value>(loop.getResults());
  for (int64_t tile = looped; tile < numTiles(); ++tile)
    addTile(keys, arith.i32(tile), weightsOf(tile), sums);
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
      for (int64_t tile = 0; tile < columns / 8; ++tile) {
        // A fragment C of tokens by heads.
        auto c = ArrayRef(products).slice(4 * tile, 4);
        addPositive({{c[0], c[2]}, {c[1], c[3]}}, weightsOf(first / 8 + tile),
                    MutableArrayRef(sums).slice(pair, 2));
      }
    }
  return sums;
}

Value ScoreTiles::score(ArrayRef<SmallVector<Value>> keys, Value scale) {
  Arith arith(b);
  FastMath math(b);
  SmallVector<Type> types(groups, b.getF32Type());
  auto byWarp = [&] { return sumByWarp(keys); };
  SmallVector<Value> sums =
      hasWgmma ? emitIfElse(
                     b, hasWgmma, types, [&] { return sumByWarpgroup(keys); },
                     byWarp)
               : byWarp();

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
    keys->limit(arith.mul(end, tokens));
  } else {
    turns = arith.mul(turns, tokens);
    step = arith.i32(tokens);
    start = arith.add(start, arith.mul(warp.number, turns));
    limit = arith.add(start, turns);
    // What is behind is another warp's.
    keys->limit(limit);
  }
  // The keys of the next tile and the blocks of that after it are on their way.
  SmallVector<Value> carried = keys->load(
      start, keys->lookUp(start, {}, /*orPoison=*/false), FastMath(b).number(0),
      /*orPoison=*/false);
  int64_t ofKeys = carried.size();
  Value second = arith.add(start, step);
  llvm::append_range(carried, keys->lookUp(second, {}, /*orPoison=*/false));
  int64_t ofTiles = carried.size();
  llvm::append_range(carried, initial);
  auto loop = scf::ForOp::create(b, start, limit, step, carried);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  start = loop.getInductionVar();
  ValueRange now = loop.getRegionIterArgs();
  Value next = arith.add(start, step);
  ValueRange blocks = now.slice(ofKeys, ofTiles - ofKeys);
  ValueRange vectors =
      now.take_front(keys->checksBlocks() ? ofKeys - 2 : ofKeys - 1);
  Value scale = now[vectors.size()];
  Value score = this->score(keys->convert(vectors), scale);
  // Last, so that the next keys take the registers of these: earlier they would
  // spill some. Other warps fill the time.
  // Registers that are not loaded hold what they held.
  SmallVector<Value> results =
      keys->load(next, blocks, scale, /*orPoison=*/true);
  SmallVector<Value> found = keys->lookUp(
      arith.add(next, step), order == TileOrder::byWarp ? blocks : ValueRange(),
      /*orPoison=*/true);
  llvm::append_range(results, found);
  if (keys->checksBlocks()) {
    Value lowest = FastMath(b).number(-std::numeric_limits<double>::infinity());
    score = arith::SelectOp::create(b, now[ofKeys - 1], score, lowest);
  }
  llvm::append_range(
      results, body(keys->tokenOf(start), score, now.drop_front(ofTiles)));
  // Keeps lanes together, and what lies in shared memory out of registers.
  warp.wait();
  scf::YieldOp::create(b, results);
  return llvm::to_vector_of<Value>(loop.getResults().drop_front(ofTiles));
}
