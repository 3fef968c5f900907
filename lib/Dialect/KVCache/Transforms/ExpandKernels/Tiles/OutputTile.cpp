//===- OutputTile.cpp - Values of a tile times weights --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputTile.h"

#include "Mma.h"
#include "Words.h"

using namespace mlir;
using namespace mlir::kvcache;

OutputTile::OutputTile(ImplicitLocOpBuilder &b, ScoreLanes lanes, Type element,
                       ArrayRef<Values> weights)
    : b(b), element(element), transposed(true) {
  Words registers(b);
  // Terms of eight rows and eight tokens, as fragments have them: pairs of a
  // row's tokens. Of transposed scores a lane has pairs of a token's rows.
  auto block = [&](int64_t rows, int64_t tokens) {
    if (!lanes.transposed)
      return registers.packTerms(weights[rows][2 * tokens],
                                 weights[rows][2 * tokens + 1], element,
                                 weightTerms);
    Values words = registers.packTerms(weights[2 * rows][tokens],
                                       weights[2 * rows + 1][tokens], element,
                                       weightTerms);
    for (Value &word : words)
      word = emitTranspose(b, word);
    return words;
  };
  for (int64_t rows = 0; rows < lanes.rowGroups; ++rows) {
    auto &ofRows = fragments.emplace_back();
    // B is two blocks, of sixteen tokens.
    for (int64_t step = 0; step < lanes.tokenGroups / 2; ++step) {
      auto &ofStep = ofRows.emplace_back(weightTerms);
      for (int64_t half = 0; half < 2; ++half)
        for (auto [fragment, word] :
             llvm::zip(ofStep, block(rows, 2 * step + half)))
          fragment.push_back(word);
    }
  }
}

void OutputTile::add(MutableArrayRef<Value> sums, int64_t rows, int64_t step,
                     ValueRange values) const {
  for (const Values &weights : fragments[rows][step]) {
    ValueRange before = ArrayRef<Value>(sums);
    llvm::copy(transposed ? emitMma(b, element, values, weights, before)
                          : emitMma(b, element, weights, values, before),
               sums.begin());
  }
}
