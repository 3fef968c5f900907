//===- ScoreTile.cpp - Scores of a tile of tokens -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreTile.h"

#include "../KernelBuilder.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

using namespace mlir;
using namespace mlir::kvcache;

Value ScoreLanes::rowInGroup(int64_t row) const {
  Arith arith(b);
  return isCode ? arith.add(arith.mul(warp.column, 2), row) : warp.row;
}

Value ScoreLanes::tokenInTile(int64_t token) const {
  Arith arith(b);
  if (isCode)
    return arith.add(warp.row, 8 * token);
  return arith.add(arith.mul(warp.column, 2), token / 2 * 8 + token % 2);
}

/// Numbers of 16 bits are fragment B as they lie in memory, queries are A.
/// Where there is one group of rows, half of that is for another step, whose
/// sums are in the other half of the result.
SmallVector<ScoreTile::Values> ScoreTile::scoresOfNumbers(ValueRange keys) {
  FastMath math(b);
  const HeadCut &cut = tiles.cutOf(Side::key);
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
      Values words = tiles.wordsOf(Side::key, keys, token, piece);
      size_t even = i / 2 * 2, odd = std::min(even + 1, steps.size() - 1);
      Values fragment = isOne ? queries.fragmentOfTwo(steps[even], steps[odd])
                              : queries.fragmentA(piece, step, 0);
      Values &chain = chains[isOne ? i % 2 : 0];
      chain = emitMma(b, product, fragment,
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
SmallVector<ScoreTile::Values> ScoreTile::scoresOfCodes(ValueRange keys,
                                                        ValueRange scales) {
  FastMath math(b);
  Words registers(b);
  const HeadCut &cut = tiles.cutOf(Side::key);
  // By granule and group of rows: four sums.
  SmallVector<SmallVector<Values>> sums(
      cut.granules, SmallVector<Values>(rowGroups, Values(4, math.number(0))));
  // All numbers of a token end in its score: one NaN is as good as another.
  SmallVector<Values> decoded(CacheTiles::keysPerLane);
  for (auto [number, piece] : llvm::enumerate(cut.pieces)) {
    SmallVector<Values> words;
    for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token)
      words.push_back(tiles.wordsOf(Side::key, keys, token, number));
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
              emitMma(b, product, fragment,
                      queries.fragmentB(rows, number, step, granule),
                      sums[granule][rows]);
    }
  }
  SmallVector<Values> scores(rowGroups);
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t i = 0; i < ScoreLanes::scoresPerLane; ++i) {
      Value score;
      for (int64_t granule = 0; granule < cut.granules; ++granule) {
        Value part = sums[granule][rows][i];
        if (tiles.isQuantized()) {
          Value scale = scales[lanes.tokenOf(i) * cut.granules + granule];
          part = score ? math.fma(part, scale, score) : math.mul(part, scale);
        }
        score = part;
      }
      scores[rows].push_back(score);
    }
  return scores;
}
