//===- LatentProducts.cpp - Products of rows with a tile of latents -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LatentProducts.h"

#include "../KernelBuilder.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

void LatentProducts::storeQueries(int64_t step, ValueRange fragment) {
  Arith arith(b);
  Value lane = arith.add(arith.mul(warp.number, fragmentBytes),
                         arith.mul(warp.lane, laneBytes));
  LLVM::StoreOp::create(b, Words(b).vector(fragment),
                        shared.at(lane, queriesAt + step * fragmentBytes),
                        laneBytes);
}

SmallVector<LatentProducts::Values> LatentProducts::scores(ValueRange scales) {
  Value lane = Arith(b).mul(warp.lane, laneBytes);
  auto quad = VectorType::get({4}, b.getI32Type());
  ScoreTile tile(b, scoreLanes(), product, /*chains=*/2);
  for (int64_t pair = 0; pair < stepsOf(size) / 2; ++pair) {
    Values keys = emitLoadMatrices(b, shared.keyMatrix(pair),
                                   /*transposed=*/false);
    for (int64_t i = 0; i < 2; ++i) {
      int64_t at = queriesAt + (2 * pair + i) * fragmentBytes;
      Value fragment =
          LLVM::LoadOp::create(b, quad, shared.at(lane, at), laneBytes);
      tile.add(Words(b).of(fragment), Values(ArrayRef(keys).slice(2 * i, 2)));
    }
  }
  if (!scales.empty())
    tile.scale(scales);
  return tile.scores();
}

void LatentProducts::storeWeights(ArrayRef<Values> weights) {
  Arith arith(b);
  Value place = arith.add(arith.mul(warp.row, weightStride(tokens)),
                          arith.add(arith.mul(warp.number, 2 * warpTokens),
                                    arith.mul(warp.column, 4)));
  for (auto [row, ofRow] : llvm::enumerate(weights)) {
    Values words = Words(b).packTerms(ofRow[0], ofRow[1], product, weightTerms);
    for (auto [term, word] : llvm::enumerate(words))
      LLVM::StoreOp::create(
          b, word,
          shared.at(place,
                    weightsAt + (term * rows + 8 * row) * weightStride(tokens)),
          4);
  }
}

void LatentProducts::addValues(MutableArrayRef<Value> sums) {
  Arith arith(b);
  // What ldmatrix takes: a half of the rows, then the other one, of eight
  // tokens, then of the next ones.
  Value row = arith.rem(warp.lane, rows), half = arith.div(warp.lane, rows);
  Value place = arith.add(arith.mul(row, weightStride(tokens)),
                          arith.mul(half, 2 * warpTokens));
  SmallVector<SmallVector<Values>> fragments(tokens / 16);
  for (int64_t step = 0; step < tokens / 16; ++step)
    for (int64_t term = 0; term < weightTerms; ++term)
      fragments[step].push_back(emitLoadMatrices(
          b,
          shared.at(place,
                    weightsAt + term * rows * weightStride(tokens) + 32 * step),
          /*transposed=*/false));
  OutputTile tile(b, product, fragments);
  for (int64_t step = 0; step < tokens / 16; ++step)
    for (int64_t pair = 0; pair < slice / 16; ++pair) {
      Values values = emitLoadMatrices(b, shared.valueMatrix(pair, step),
                                       /*transposed=*/true);
      for (int64_t i = 0; i < 2; ++i)
        tile.add(sums.slice(4 * (2 * pair + i), 4), /*rows=*/0, step,
                 ValueRange(ArrayRef<Value>(values).slice(2 * i, 2)));
    }
}
