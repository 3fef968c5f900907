//===- PagedSoftmax.cpp - Scores and weights of a tile of tokens ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../Tiles/Branch.h"
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

Value PagedAttentionKernel::reduce(Value value,
                                   function_ref<Value(Value, Value)> combine) {
  return isCode ? warp->reduceColumn(value, combine)
                : warp->reduceRow(value, combine);
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
PagedAttentionKernel::scoresOfCodes(ValueRange keys) {
  FastMath math(*b);
  Words registers(*b);
  const HeadCut &cut = tiles->cutOf(Side::key);
  ValueRange scales = keys.drop_front(tiles->vectors(Side::key));
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

void PagedAttentionKernel::rescale(Sums &sums, ArrayRef<Value> largest) {
  Arith arith(*b);
  FastMath math(*b);
  Value needed;
  for (auto [maximum, now] : llvm::zip(sums.maximum, largest)) {
    Value more =
        arith::CmpFOp::create(*b, arith::CmpFPredicate::OGT, now,
                              math.add(maximum, math.number(maximumLag)));
    needed = needed ? Value(arith::OrIOp::create(*b, needed, more)) : more;
  }
  Values old = flatten(sums);
  Values fresh = emitIfElse(
      *b, warp->any(needed), ValueRange(old).getTypes(),
      [&] {
        Sums scaled;
        Values factors;
        for (auto [maximum, weight, now] :
             llvm::zip(sums.maximum, sums.weight, largest)) {
          scaled.maximum.push_back(math.max(maximum, now));
          factors.push_back(
              math.exp2(math.sub(maximum, scaled.maximum.back())));
          scaled.weight.push_back(math.mul(weight, factors.back()));
        }
        // Sums of values are of rows `2 column` and the next one.
        Value even = arith.mul(warp->column, 8), odd = arith.add(even, 4);
        int64_t perGroup = sums.output.size() / rowGroups;
        for (int64_t rows = 0; rows < rowGroups; ++rows) {
          Values ofColumns(
              ArrayRef(factors).slice(rows * rowsPerLane(), rowsPerLane()));
          if (!isCode)
            ofColumns = {warp->from(factors[rows], even),
                         warp->from(factors[rows], odd)};
          for (int64_t i = 0; i < perGroup; ++i)
            scaled.output.push_back(
                math.mul(sums.output[rows * perGroup + i], ofColumns[i % 2]));
        }
        return flatten(scaled);
      },
      [&] { return old; });
  sums = unflatten(fresh);
}

/// Fragments B of P^T of the lane's four weights: one, or two whose sum is
/// nearer to them where one has the 8 bits of bf16 only.
SmallVector<PagedAttentionKernel::Values>
PagedAttentionKernel::fragments(ArrayRef<Value> weights) {
  FastMath math(*b);
  Words registers(*b);
  SmallVector<Values> terms(product.isBF16() ? 2 : 1);
  for (int64_t pair = 0; pair < 2; ++pair) {
    Value low = weights[2 * pair], high = weights[2 * pair + 1];
    for (Values &term : terms) {
      Value word = registers.pack(low, high, product);
      if (&term != &terms.back()) {
        auto [roundedLow, roundedHigh] = registers.unpack(word, product);
        low = math.sub(low, roundedLow);
        high = math.sub(high, roundedHigh);
      }
      term.push_back(isCode ? emitTranspose(*b, word) : word);
    }
  }
  return terms;
}

PagedAttentionKernel::Weights
PagedAttentionKernel::weights(Sums &sums, SmallVector<Values> &scores,
                              ValueRange valueScales) {
  FastMath math(*b);
  int64_t granules =
      tiles->isQuantized() ? tiles->cutOf(Side::value).granules : 1;

  // Logarithms of the scales, and the larger ones of each token.
  Values logs, tokenLogs;
  if (tiles->isQuantized())
    for (int64_t token = 0; token < tokensPerLane(); ++token) {
      Value most;
      for (int64_t granule = 0; granule < granules; ++granule) {
        Value scale = math.absolute(valueScales[token * granules + granule]);
        Value log = math.maxOrNaN(math.log2(scale), math.number(leastScaleLog));
        logs.push_back(log);
        most = most ? math.max(most, log) : log;
      }
      tokenLogs.push_back(most);
    }

  // Exponents are `score * factor` or, where a cap bends them, the score.
  bool isBent = op.getSoftcap().has_value();
  if (isBent) {
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
  }
  auto exponent = [&](int64_t rows, int64_t i, Value addend) {
    Value score = scores[rows][i];
    if (isBent)
      return addend ? math.add(score, addend) : score;
    Value factor = factors[rows * rowsPerLane() + rowOf(i)];
    return addend ? math.fma(score, factor, addend) : math.mul(score, factor);
  };
  Values largest;
  for (int64_t rows = 0; rows < rowGroups; ++rows)
    for (int64_t row = 0; row < rowsPerLane(); ++row) {
      Value most;
      for (int64_t i = 0; i < scoresPerLane; ++i) {
        if (rowOf(i) != row)
          continue;
        // Without logarithms the factor, which is positive, comes after.
        Value x = tokenLogs.empty() ? scores[rows][i]
                                    : exponent(rows, i, tokenLogs[tokenOf(i)]);
        most = most ? math.max(most, x) : x;
      }
      most = reduce(most, [&](Value x, Value y) { return math.max(x, y); });
      if (tokenLogs.empty() && !isBent)
        most = math.mul(most, factors[rows * rowsPerLane() + row]);
      largest.push_back(most);
    }
  rescale(sums, largest);

  Weights result(product.isBF16() ? 2 : 1);
  for (auto &term : result)
    term.resize(granules);
  Values less;
  for (Value maximum : sums.maximum)
    less.push_back(math.negate(maximum));
  for (int64_t rows = 0; rows < rowGroups; ++rows) {
    Values plain;
    for (int64_t i = 0; i < scoresPerLane; ++i) {
      int64_t row = rows * rowsPerLane() + rowOf(i);
      plain.push_back(math.exp2(exponent(rows, i, less[row])));
      sums.weight[row] = math.add(sums.weight[row], plain.back());
    }
    for (int64_t granule = 0; granule < granules; ++granule) {
      Values scaled = plain;
      for (int64_t i = 0; !logs.empty() && i < scoresPerLane; ++i) {
        int64_t at = tokenOf(i) * granules + granule;
        Value addend =
            math.add(logs[at], less[rows * rowsPerLane() + rowOf(i)]);
        // The sign is that of the scale.
        scaled[i] = math.withSign(math.exp2(exponent(rows, i, addend)),
                                  valueScales[at]);
      }
      for (auto [term, fragment] : llvm::zip(result, fragments(scaled)))
        term[granule].push_back(fragment);
    }
  }
  return result;
}
