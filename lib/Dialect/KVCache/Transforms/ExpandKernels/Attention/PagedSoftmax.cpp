//===- PagedSoftmax.cpp - Scores and weights of a tile of tokens ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

Value PagedAttentionKernel::rowInGroup(int64_t row) {
  Arith arith(*b);
  return isCode ? arith.add(arith.mul(warp->column, 2), row) : warp->row;
}

Value PagedAttentionKernel::tokenInTile(int64_t token) {
  Arith arith(*b);
  if (isCode)
    return arith.add(warp->row, 8 * token);
  return arith.add(arith.mul(warp->column, 2), token / 2 * 8 + token % 2);
}

/// Numbers of 16 bits are fragment B as they lie in memory, queries are A.
/// Where there is one group of rows, half of that is for another step, whose
/// sums are in the other half of the result.
SmallVector<PagedAttentionKernel::Values>
PagedAttentionKernel::scoresOfNumbers(ValueRange keys) {
  FastMath math(*b);
  const HeadCut &cut = tiles->cutOf(Side::key);
  SmallVector<std::pair<int64_t, int64_t>> steps;
  for (auto [number, piece] : llvm::enumerate(cut.pieces))
    for (int64_t step = 0; step < piece.steps(); ++step)
      steps.push_back({number, step});
  bool isOne = rowGroups == 1;
  SmallVector<Values> scores(rowGroups);
  for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token) {
    SmallVector<Values> chains(isOne ? 2 : 1, Values(4, math.number(0)));
    for (size_t i = 0; i < steps.size(); ++i) {
      auto [piece, step] = steps[i];
      Values words = tiles->wordsOf(Side::key, keys, token, piece);
      size_t even = i / 2 * 2, odd = std::min(even + 1, steps.size() - 1);
      Values fragment = isOne ? queries->fragmentOfTwo(steps[even], steps[odd])
                              : queries->fragmentA(piece, step, 0);
      Values &chain = chains[isOne ? i % 2 : 0];
      chain = emitMma(*b, product, fragment,
                      {words[2 * step], words[2 * step + 1]}, chain);
    }
    for (int64_t i = 0; i < 2; ++i) {
      if (isOne) {
        scores[0].push_back(math.add(chains[0][i], chains[1][2 + i]));
        continue;
      }
      for (int64_t rows = 0; rows < rowGroups; ++rows)
        scores[rows].push_back(chains[0][2 * rows + i]);
    }
  }
  return scores;
}

/// Codes become fragment A, which costs half the products and leaves the scores
/// transposed.
SmallVector<PagedAttentionKernel::Values>
PagedAttentionKernel::scoresOfCodes(ValueRange keys, ValueRange scales) {
  FastMath math(*b);
  Words registers(*b);
  const HeadCut &cut = tiles->cutOf(Side::key);
  // By granule and group of rows: four sums.
  SmallVector<SmallVector<Values>> sums(
      cut.granules, SmallVector<Values>(rowGroups, Values(4, math.number(0))));
  // All numbers of a token end in its score: one NaN is as good as another.
  SmallVector<Values> decoded(CacheTiles::keysPerLane);
  for (auto [number, piece] : llvm::enumerate(cut.pieces)) {
    SmallVector<Values> words;
    for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token)
      words.push_back(tiles->wordsOf(Side::key, keys, token, number));
    auto [first, last] = cut.granulesOf(piece);
    for (int64_t step = 0; step < piece.steps(); ++step) {
      // By token and half of the step, as fragment A has them.
      Values fragment(4);
      bool isLast =
          number + 1 == cut.pieces.size() && step + 1 == piece.steps();
      for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token) {
        Values pairs = registers.decodeScaled(words[token][step], dtype);
        llvm::append_range(decoded[token], pairs);
        if (isLast)
          pairs[1] = registers.restoreNaN(pairs[1], decoded[token], dtype);
        fragment[token] = pairs[0];
        fragment[2 + token] = pairs[1];
      }
      for (int64_t granule = first; granule <= last; ++granule)
        for (int64_t rows = 0; rows < rowGroups; ++rows)
          sums[granule][rows] =
              emitMma(*b, product, fragment,
                      queries->fragmentB(rows, number, step, granule),
                      sums[granule][rows]);
    }
  }
  SmallVector<Values> scores(rowGroups);
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t i = 0; i < scoresPerLane; ++i) {
      Value score;
      for (int64_t granule = 0; granule < cut.granules; ++granule) {
        Value part = sums[granule][rows][i];
        if (tiles->isQuantized()) {
          Value scale = scales[tokenOf(i) * cut.granules + granule];
          part = score ? math.fma(part, scale, score) : math.mul(part, scale);
        }
        score = part;
      }
      scores[rows].push_back(score);
    }
  return scores;
}

void PagedAttentionKernel::maskEdges(SmallVector<Values> &scores, Value tile) {
  Arith arith(*b);
  FastMath math(*b);
  Value first = arith.mul(tile, CacheTiles::tokens);
  Value none = math.number(-infinity);
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (auto [i, score] : llvm::enumerate(scores[rows])) {
      int64_t row = rows * rowsPerLane() + rowOf(i);
      Value token = arith.add(first, tokenInTile(tokenOf(i)));
      Value sees = arith.less(token, ends[row]);
      if (op.getWindow())
        sees = arith.both(sees,
                          arith::CmpIOp::create(*b, arith::CmpIPredicate::ule,
                                                begins[row], token));
      score = math.select(sees, score, none);
    }
}

SoftmaxLanes PagedAttentionKernel::lanes() const {
  SoftmaxLanes lanes{rowGroups * rowsPerLane(), /*tokensOnRows=*/isCode,
                     /*outputRows=*/{}, /*turned=*/!isCode};
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t i = 0; i < 4 * valueSteps(); ++i)
      lanes.outputRows.push_back(2 * rows + i % 2);
  return lanes;
}

/// Fragments B of P^T, by term, of the lane's weights of a group of rows: pairs
/// of a row's tokens or, where these are transposed, of a token's rows.
SmallVector<PagedAttentionKernel::Values>
PagedAttentionKernel::fragments(ArrayRef<Values> rows) {
  SmallVector<Values> result;
  for (int64_t pair = 0; pair < 2; ++pair) {
    Values terms =
        isCode ? emitWeightTerms(*b, rows[0][pair], rows[1][pair], product)
               : emitWeightTerms(*b, rows[0][2 * pair], rows[0][2 * pair + 1],
                                 product);
    result.resize(terms.size());
    for (auto [fragment, word] : llvm::zip(result, terms))
      fragment.push_back(isCode ? emitTranspose(*b, word) : word);
  }
  return result;
}

PagedAttentionKernel::Weights
PagedAttentionKernel::weights(SoftmaxState &sums, SmallVector<Values> &scores,
                              ValueRange valueScales) {
  FastMath math(*b);
  SoftmaxTile tile;
  if (tiles->isQuantized()) {
    int64_t granules = tiles->cutOf(Side::value).granules;
    for (int64_t granule = 0; granule < granules; ++granule) {
      Values &logs = tile.logs.emplace_back(),
             &signs = tile.signs.emplace_back();
      for (int64_t token = 0; token < tokensPerLane(); ++token) {
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
        Value factor = factors[rows * rowsPerLane() + rowOf(i)];
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
  tile.scores.resize(rowGroups * rowsPerLane());
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t i = 0; i < scoresPerLane; ++i)
      tile.scores[rows * rowsPerLane() + rowOf(i)].push_back(scores[rows][i]);

  Weights result;
  for (auto [granule, weights] : llvm::enumerate(sums.add(tile)))
    for (int64_t rows = 0; rows < rowGroups; ++rows) {
      SmallVector<Values> terms = fragments(
          ArrayRef(weights).slice(rows * rowsPerLane(), rowsPerLane()));
      result.resize(terms.size());
      for (auto [term, fragment] : llvm::zip(result, terms)) {
        term.resize(granule + 1);
        term[granule].push_back(fragment);
      }
    }
  return result;
}
