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

/// Scores of the lane's rows and tokens, and logarithms of the scales of these.
SoftmaxTile MLADecodeKernel::scores(Value tile, bool isWhole) {
  Arith arith(*b);
  FastMath math(*b);
  Value none = math.number(-infinity);
  TokenScales ofTokens = loadScales(tile, isWhole);
  SoftmaxTile result;
  result.factors = factors;
  result.scores = products->scores(ofTokens.scales);
  if (layout.isQuantized()) {
    Values &logs = result.logs.emplace_back();
    for (Value scale : ofTokens.scales)
      logs.push_back(emitScaleLog(*b, scale));
    if (isSparse)
      for (auto [log, valid] : llvm::zip(logs, ofTokens.valid))
        log = math.select(valid, log, none);
  }
  if (isWhole && !isSparse)
    return result;
  Value first = arith.add(arith.mul(tile, tokens), arith.mul(warp->number, 8));
  for (auto [row, ofRow] : llvm::enumerate(result.scores))
    for (auto [i, score] : llvm::enumerate(ofRow)) {
      Value valid;
      if (isSparse)
        valid = ofTokens.valid[i];
      else
        valid = arith.less(
            arith.add(first, products->scoreLanes().tokenInTile(*b, *warp, i)),
            ends[row]);
      score = math.select(valid, score, none);
    }
  return result;
}

MLADecodeKernel::Values
MLADecodeKernel::overWarps(ArrayRef<Value> ofRows,
                           SoftmaxLanes::Combine combine) {
  Arith arith(*b);
  // Those of a row lie side by side. All lanes of a row write the same.
  auto place = [&](int64_t row) {
    return arith.mul(arith.add(warp->row, 8 * row), warps);
  };
  for (auto [row, value] : llvm::enumerate(ofRows))
    LLVM::StoreOp::create(
        *b, value, sharedFloats(ofRowsAt, arith.add(place(row), warp->number)),
        4);
  gpu::BarrierOp::create(*b);
  auto type = VectorType::get({warps}, b->getF32Type());
  Values result;
  for (size_t row = 0; row < ofRows.size(); ++row) {
    Value all = LLVM::LoadOp::create(
        *b, type, sharedFloats(ofRowsAt, place(row)), 4 * warps);
    Value total;
    for (int64_t w = 0; w < warps; ++w) {
      Value value = vector::ExtractOp::create(*b, all, w);
      total = total ? combine(total, value) : value;
    }
    result.push_back(total);
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
  products->storeWeights(state.add(scores(tile, isWhole)).front());
  gpu::BarrierOp::create(*b);
  products->addValues(state.output);
  gpu::BarrierOp::create(*b);
}
