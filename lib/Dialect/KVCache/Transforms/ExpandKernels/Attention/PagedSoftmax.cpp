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
  SoftmaxLanes result{lanes().rowsPerLane(),
                      /*tokensOnRows=*/lanes().transposed,
                      /*outputRows=*/{},
                      /*transposesOutputs=*/!lanes().transposed};
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
  for (auto [row, ofRow] : llvm::enumerate(scores))
    for (auto [i, score] : llvm::enumerate(ofRow)) {
      Value token = arith.add(first, lanes().tokenInTile(*b, *warp, i));
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
  int64_t granules = valueScales.size() / lanes().tokensPerLane();
  for (int64_t granule = 0; granule < granules; ++granule) {
    Values &logs = tile.logs.emplace_back();
    // Powers of two have the sign of none of their elements.
    bool isSigned = !tiles->hasElementScales();
    Values *signs = isSigned ? &tile.signs.emplace_back() : nullptr;
    for (int64_t token = 0; token < lanes().tokensPerLane(); ++token) {
      Value scale = valueScales[token * granules + granule];
      if (!isSigned) {
        logs.push_back(emitScaleLog(*b, scale));
        continue;
      }
      signs->push_back(scale);
      logs.push_back(emitScaleLog(*b, math.absolute(scale)));
    }
  }

  // Exponents are `score * factor` or, of softcapped scores, the score.
  if (op.getSoftcap()) {
    double cap = op.getSoftcap()->convertToDouble();
    for (auto [ofRow, factor] : llvm::zip(scores, factors))
      for (Value &score : ofRow) {
        Value capped = math.mul(math.tanh(math.mul(score, factor)),
                                math.number(cap * log2e));
        // What is masked stays so.
        Value isMasked = arith::CmpFOp::create(*b, arith::CmpFPredicate::OEQ,
                                               score, math.number(-infinity));
        score = math.select(isMasked, score, capped);
      }
  } else {
    tile.factors = factors;
  }
  tile.scores = scores;
  return sums.add(tile);
}
