//===- PagedSoftmax.cpp - Weights of a tile of tokens ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../Tiles/FastMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

SoftmaxLanes PagedAttentionKernel::softmaxLanes() const {
  SoftmaxLanes result{rowGroups * lanes->rowsPerLane(), /*tokensOnRows=*/isCode,
                      /*outputRows=*/{}, /*turned=*/!isCode};
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t i = 0; i < 4 * valueSteps(); ++i)
      result.outputRows.push_back(2 * rows + i % 2);
  return result;
}

void PagedAttentionKernel::maskEdges(SmallVector<Values> &scores, Value tile) {
  Arith arith(*b);
  FastMath math(*b);
  Value first = arith.mul(tile, CacheTiles::tokens);
  Value none = math.number(-infinity);
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (auto [i, score] : llvm::enumerate(scores[rows])) {
      int64_t row = rows * lanes->rowsPerLane() + lanes->rowOf(i);
      Value token = arith.add(first, lanes->tokenInTile(lanes->tokenOf(i)));
      Value sees = arith.less(token, ends[row]);
      if (op.getWindow())
        sees = arith.both(sees,
                          arith::CmpIOp::create(*b, arith::CmpIPredicate::ule,
                                                begins[row], token));
      score = math.select(sees, score, none);
    }
}

SmallVector<SmallVector<PagedAttentionKernel::Values>>
PagedAttentionKernel::weights(SoftmaxState &sums, SmallVector<Values> &scores,
                              ValueRange valueScales) {
  FastMath math(*b);
  SoftmaxTile tile;
  if (tiles->isQuantized()) {
    int64_t granules = tiles->cutOf(Side::value).granules;
    for (int64_t granule = 0; granule < granules; ++granule) {
      Values &logs = tile.logs.emplace_back(),
             &signs = tile.signs.emplace_back();
      for (int64_t token = 0; token < lanes->tokensPerLane(); ++token) {
        signs.push_back(valueScales[token * granules + granule]);
        logs.push_back(emitScaleLog(*b, math.absolute(signs.back())));
      }
    }
  }

  // Exponents are `score * factor` or, where a cap bends them, the score.
  if (op.getSoftcap()) {
    double cap = op.getSoftcap()->convertToDouble();
    for (int64_t rows = 0; rows < rowGroups; ++rows)
      for (auto [i, score] : llvm::enumerate(scores[rows])) {
        Value factor = factors[rows * lanes->rowsPerLane() + lanes->rowOf(i)];
        Value bent = math.mul(math.tanh(math.mul(score, factor)),
                              math.number(cap * log2e));
        // What is masked stays so.
        Value isMasked = arith::CmpFOp::create(*b, arith::CmpFPredicate::OEQ,
                                               score, math.number(-infinity));
        score = math.select(isMasked, score, bent);
      }
  } else {
    tile.factors = factors;
  }
  tile.scores.resize(rowGroups * lanes->rowsPerLane());
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t i = 0; i < ScoreLanes::scoresPerLane; ++i)
      tile.scores[rows * lanes->rowsPerLane() + lanes->rowOf(i)].push_back(
          scores[rows][i]);

  return sums.add(tile);
}
