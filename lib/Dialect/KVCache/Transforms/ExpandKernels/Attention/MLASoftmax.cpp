//===- MLASoftmax.cpp - Scores and weights of a tile of latents -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLADecodeKernel.h"

#include "../Destinations.h"
#include "../Tiles/FastMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

MLADecodeKernel::TokenScales MLADecodeKernel::loadScales(Value tile,
                                                         bool isWhole) {
  Arith arith(*b);
  TokenScales result;
  Value first = arith.add(arith.mul(warp->number, 8),
                          products->scoreLanes().tokenInTile(*b, *warp, 0));
  if (!isSparse && !layout.isQuantized())
    return result;
  // One load for both: rows of lanes take turns.
  Value isOdd = arith.equal(arith.rem(warp->row, 2), arith.i32(1));
  Value mine = arith.add(first, arith.rem(warp->row, 2));
  SlotSource::Key key = source->at(tile, mine, isWhole);
  auto both = [&](Value value) -> Values {
    Value other = warp->exchange(value, 4);
    return {arith::SelectOp::create(*b, isOdd, other, value),
            arith::SelectOp::create(*b, isOdd, value, other)};
  };
  if (key.scale)
    result.scales = both(key.scale);
  if (key.valid)
    for (Value valid :
         both(arith::ExtUIOp::create(*b, b->getI32Type(), key.valid)))
      result.valid.push_back(arith.equal(valid, arith.i32(1)));
  return result;
}

/// Puts scores of the warp's eight tokens to shared memory, and logarithms of
/// the scales of these.
void MLADecodeKernel::storeScores(SmallVector<Values> scores,
                                  const TokenScales &tokens) {
  Arith arith(*b);
  FastMath math(*b);
  Values logs;
  for (int64_t i = 0; i < 2; ++i) {
    Value log = math.number(0);
    if (layout.isQuantized())
      log = emitScaleLog(*b, tokens.scales[i]);
    if (isSparse) {
      Value none = math.number(-infinity);
      for (Values &ofRow : scores)
        ofRow[i] = math.select(tokens.valid[i], ofRow[i], none);
      log = math.select(tokens.valid[i], log, none);
    }
    logs.push_back(log);
  }
  auto put = [&](ArrayRef<Value> numbers, Value at) {
    Value pair = vector::FromElementsOp::create(
        *b, VectorType::get({2}, b->getF32Type()), numbers);
    LLVM::StoreOp::create(*b, pair, at, 8);
  };
  Value first = arith.add(arith.mul(warp->number, 8),
                          products->scoreLanes().tokenInTile(*b, *warp, 0));
  Value at = arith.add(arith.mul(warp->row, scoreStride), first);
  for (auto [row, ofRow] : llvm::enumerate(scores))
    put(ofRow, sharedFloats(scoresAt + row * 8 * scoreStride * 4, at));
  if (layout.isQuantized())
    // All rows of lanes write the same.
    put(logs, sharedFloats(logsAt, first));
}

/// Scores of the lane's rows, by token of the lane: two of each eight.
SoftmaxTile MLADecodeKernel::loadScores(Value tile, bool isWhole) {
  Arith arith(*b);
  FastMath math(*b);
  SoftmaxTile result;
  result.factors = factors;
  auto pairType = VectorType::get({2}, b->getF32Type());
  Value pairAt = arith.mul(warp->column, 2);
  auto get = [&](int64_t byte, Value at, Values &into) {
    for (int64_t n = 0; n < tokens / 8; ++n) {
      Value pair = LLVM::LoadOp::create(*b, pairType,
                                        sharedFloats(byte + 8 * 4 * n, at), 8);
      for (int64_t i = 0; i < 2; ++i)
        into.push_back(vector::ExtractOp::create(*b, pair, i));
    }
  };
  SmallVector<Values> &scores = result.scores;
  scores.resize(2);
  Value at = arith.add(arith.mul(warp->row, scoreStride), pairAt);
  for (int64_t row = 0; row < 2; ++row)
    get(scoresAt + row * 8 * scoreStride * 4, at, scores[row]);
  if (layout.isQuantized())
    get(logsAt, pairAt, result.logs.emplace_back());
  // Of lists, what is no key is masked already.
  if (isSparse || isWhole)
    return result;
  Value first = arith.mul(tile, tokens);
  Value none = math.number(-infinity);
  for (int64_t row = 0; row < 2; ++row)
    for (auto [i, score] : llvm::enumerate(scores[row])) {
      Value token =
          arith.add(first, products->weightLanes().tokenInTile(*b, *warp, i));
      score = math.select(arith.less(token, ends[row]), score, none);
    }
  return result;
}

void MLADecodeKernel::multiplyTile(SoftmaxState &state, Value tile,
                                   ValueRange words,
                                   function_ref<void()> loadNext,
                                   bool isWhole) {
  shared->store(words);
  gpu::BarrierOp::create(*b);
  loadNext();
  TokenScales tokens = loadScales(tile, isWhole);
  storeScores(products->scores(tokens.scales), tokens);
  gpu::BarrierOp::create(*b);
  SmallVector<SmallVector<Values>> weights =
      state.add(loadScores(tile, isWhole));
  products->addValues(state.output, weights.front());
  gpu::BarrierOp::create(*b);
}
