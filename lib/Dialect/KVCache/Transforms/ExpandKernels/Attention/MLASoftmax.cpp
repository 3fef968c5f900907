//===- MLASoftmax.cpp - Scores and weights of a tile of latents -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLADecodeKernel.h"

#include "../Destinations.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Puts scores of the warp's eight tokens, times the scales of these, to shared
/// memory, and logarithms of the scales.
void MLADecodeKernel::storeScores(Value tile, Values sums, bool isWhole) {
  Arith arith(*b);
  FastMath math(*b);
  Value first =
      arith.add(arith.mul(warp->number, 8), arith.mul(warp->column, 2));
  Values logs, scales, valid;
  if (isSparse) {
    for (int64_t i = 0; i < 2; ++i) {
      SlotSource::Place place = source->at(tile, arith.add(first, i), isWhole);
      valid.push_back(place.valid);
      if (layout.isQuantized())
        scales.push_back(source->scale(place));
    }
  } else if (layout.isQuantized()) {
    // One load for both: rows of lanes take turns.
    Value isOdd = arith.equal(arith.rem(warp->row, 2), arith.i32(1));
    Value mine = arith.add(first, arith.rem(warp->row, 2));
    Value scale = source->scale(source->at(tile, mine, isWhole));
    Value other = warp->exchange(scale, 4);
    scales = {math.select(isOdd, other, scale),
              math.select(isOdd, scale, other)};
  }
  for (int64_t i = 0; i < 2; ++i) {
    Value log = math.number(0);
    if (layout.isQuantized()) {
      sums[i] = math.mul(sums[i], scales[i]);
      sums[2 + i] = math.mul(sums[2 + i], scales[i]);
      log = emitScaleLog(*b, scales[i]);
    }
    if (isSparse) {
      Value none = math.number(-infinity);
      for (int64_t row = 0; row < 2; ++row)
        sums[2 * row + i] = math.select(valid[i], sums[2 * row + i], none);
      log = math.select(valid[i], log, none);
    }
    logs.push_back(log);
  }
  auto put = [&](Value a, Value c, Value at) {
    Value pair = vector::FromElementsOp::create(
        *b, VectorType::get({2}, b->getF32Type()), ValueRange{a, c});
    LLVM::StoreOp::create(*b, pair, at, 8);
  };
  Value at = arith.add(arith.mul(warp->row, scoreStride), first);
  put(sums[0], sums[1], sharedFloats(scoresAt, at));
  put(sums[2], sums[3], sharedFloats(scoresAt + 8 * scoreStride * 4, at));
  if (layout.isQuantized())
    // All rows of lanes write the same.
    put(logs[0], logs[1], sharedFloats(logsAt, first));
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
  Value first = arith.add(arith.mul(tile, tokens), pairAt);
  Value none = math.number(-infinity);
  for (int64_t row = 0; row < 2; ++row)
    for (auto [i, score] : llvm::enumerate(scores[row])) {
      Value token = arith.add(first, i / 2 * 8 + i % 2);
      score = math.select(arith.less(token, ends[row]), score, none);
    }
  return result;
}

MLADecodeKernel::Values MLADecodeKernel::scores() {
  Arith arith(*b);
  FastMath math(*b);
  Words registers(*b);
  // Two chains: a product waits for the one before.
  SmallVector<Values> chains(2, Values(4, math.number(0)));
  Value lane = arith.mul(warp->lane, 16);
  auto quad = VectorType::get({4}, b->getI32Type());
  for (int64_t pair = 0; pair < steps() / 2; ++pair) {
    Values keys = emitLoadMatrices(*b, shared->keyMatrix(pair),
                                   /*transposed=*/false);
    for (int64_t i = 0; i < 2; ++i) {
      int64_t step = 2 * pair + i;
      Value fragment = LLVM::LoadOp::create(
          *b, quad, shared->at(lane, queriesAt + step * Warp::lanes * 16), 16);
      chains[i] =
          emitMma(*b, product, registers.of(fragment),
                  ValueRange(ArrayRef<Value>(keys).slice(2 * i, 2)), chains[i]);
    }
  }
  Values sums;
  for (int64_t i = 0; i < 4; ++i)
    sums.push_back(math.add(chains[0][i], chains[1][i]));
  return sums;
}

void MLADecodeKernel::addValues(MutableArrayRef<Value> sums,
                                ArrayRef<Values> weights) {
  // By row, pair of tokens and term of a sum.
  SmallVector<SmallVector<Values>> words(2);
  for (auto [ofRow, numbers] : llvm::zip(words, weights))
    for (int64_t i = 0; i < tokens / 4; i += 2)
      ofRow.push_back(emitWeightTerms(*b, numbers[i], numbers[i + 1], product));
  int64_t terms = words.front().front().size();
  for (int64_t half = 0; half < tokens / 16; ++half)
    for (int64_t pair = 0; pair < outputSteps() / 2; ++pair) {
      Values values = emitLoadMatrices(*b, shared->valueMatrix(pair, half),
                                       /*transposed=*/true);
      for (int64_t term = 0; term < terms; ++term)
        for (int64_t i = 0; i < 2; ++i) {
          Values fragment;
          for (int64_t place : {2 * half, 2 * half + 1})
            for (const SmallVector<Values> &ofRow : words)
              fragment.push_back(ofRow[place][term]);
          auto output = sums.slice(4 * (2 * pair + i), 4);
          llvm::copy(
              emitMma(*b, product, fragment,
                      ValueRange(ArrayRef<Value>(values).slice(2 * i, 2)),
                      ValueRange(ArrayRef<Value>(output))),
              output.begin());
        }
    }
}

void MLADecodeKernel::multiplyTile(SoftmaxState &state, Value tile,
                                   ValueRange codes,
                                   function_ref<void()> loadNext,
                                   bool isWhole) {
  shared->store(codes);
  gpu::BarrierOp::create(*b);
  loadNext();
  storeScores(tile, scores(), isWhole);
  gpu::BarrierOp::create(*b);
  SmallVector<SmallVector<Values>> weights =
      state.add(loadScores(tile, isWhole));
  addValues(state.output, weights.front());
  gpu::BarrierOp::create(*b);
}
