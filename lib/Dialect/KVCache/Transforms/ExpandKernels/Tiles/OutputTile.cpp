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
                       bool transposed, ArrayRef<Values> weights)
    : b(b), element(element), transposed(transposed) {
  Words registers(b);
  int64_t terms = element.isBF16() ? 2 : 1;
  // Terms of eight rows and eight tokens, as fragments have them: pairs of a
  // row's tokens. Of transposed scores a lane has pairs of a token's rows.
  auto block = [&](int64_t rows, int64_t tokens) {
    if (!lanes.transposed)
      return registers.packTerms(weights[rows][2 * tokens],
                                 weights[rows][2 * tokens + 1], element, terms);
    Values words =
        registers.packTerms(weights[2 * rows][tokens],
                            weights[2 * rows + 1][tokens], element, terms);
    for (Value &word : words)
      word = emitTranspose(b, word);
    return words;
  };
  // B is two blocks, of sixteen tokens; A has sixteen rows as well.
  int64_t groups = transposed ? 1 : 2;
  for (int64_t rows = 0; rows < lanes.rowGroups; rows += groups) {
    auto &ofRows = fragments.emplace_back();
    for (int64_t step = 0; step < lanes.tokenGroups / 2; ++step) {
      auto &ofStep = ofRows.emplace_back(terms);
      for (int64_t half = 0; half < 2; ++half)
        for (int64_t group = 0; group < groups; ++group)
          for (auto [fragment, word] :
               llvm::zip(ofStep, block(rows + group, 2 * step + half)))
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
