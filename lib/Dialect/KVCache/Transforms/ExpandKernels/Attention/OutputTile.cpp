//===- OutputTile.cpp - Values of a tile times weights --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputTile.h"

#include "SoftmaxState.h"

#include "../KernelBuilder.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Fragments B of P^T, by term, of the lane's weights of a group of rows: pairs
/// of a row's tokens or, where these are transposed, of a token's rows.
SmallVector<OutputTile::Values> OutputTile::fragments(ArrayRef<Values> rows) {
  SmallVector<Values> result;
  for (int64_t pair = 0; pair < 2; ++pair) {
    Values terms =
        lanes.isCode ? emitWeightTerms(b, rows[0][pair], rows[1][pair], product)
                     : emitWeightTerms(b, rows[0][2 * pair],
                                       rows[0][2 * pair + 1], product);
    result.resize(terms.size());
    for (auto [fragment, word] : llvm::zip(result, terms))
      fragment.push_back(lanes.isCode ? emitTranspose(b, word) : word);
  }
  return result;
}

OutputTile::Values OutputTile::valueFragment(ValueRange values, int64_t number,
                                             int64_t step, int64_t granule) {
  Words registers(b);
  const HeadCut &cut = tiles.cutOf(Side::value);
  const HeadPiece &piece = cut.pieces[number];
  // Of a step a lane has two elements: rows `row` and `row + 8` of V^T.
  Values fragment;
  for (int64_t pair = 0; pair < 2; ++pair) {
    auto word = [&](int64_t token) {
      return tiles.wordsOf(Side::value, values, 2 * pair + token,
                           number)[lanes.isCode ? step / 2 : step];
    };
    Value low = word(0), high = word(1);
    if (lanes.isCode) {
      // Both tokens' first code, then both tokens' second one.
      Value codes =
          registers.permute(low, high, step % 2 == 0 ? 0x5140 : 0x7362);
      llvm::append_range(fragment, registers.decodeScaled(codes, dtype));
    } else {
      fragment.push_back(registers.permute(low, high, 0x5410));
      fragment.push_back(registers.permute(low, high, 0x7632));
    }
  }
  // Each row of V^T is a sum of its own.
  for (int64_t i = 0; lanes.isCode && i < 2; ++i)
    fragment[i] = registers.restoreNaN(fragment[i],
                                       {fragment[i], fragment[2 + i]}, dtype);
  auto [first, last] = cut.granulesOf(piece);
  if (first == last)
    return fragment;
  // Only what has this scale.
  Arith arith(b);
  Value zero = arith.i32(0);
  for (auto [place, word] : llvm::enumerate(fragment)) {
    Value element = arith.add(arith.mul(lanes.warp.row, piece.perLane),
                              piece.first + 2 * step + place % 2);
    Value isOf =
        arith.equal(arith.div(element, cut.granularity), arith.i32(granule));
    word = arith::SelectOp::create(b, isOf, word, zero);
  }
  return fragment;
}

void OutputTile::add(MutableArrayRef<Value> sums, ValueRange values,
                     ArrayRef<SmallVector<Values>> weights) {
  // By granule, group of rows and term.
  SmallVector<SmallVector<SmallVector<Values>>> all;
  int64_t perGroup = lanes.rowsPerLane();
  for (ArrayRef<Values> ofGranule : weights) {
    auto &groups = all.emplace_back();
    for (int64_t rows = 0; rows < rowGroups; ++rows)
      groups.push_back(fragments(ofGranule.slice(rows * perGroup, perGroup)));
  }
  const HeadCut &cut = tiles.cutOf(Side::value);
  int64_t sumsPerGroup = sums.size() / rowGroups, terms = all[0][0].size();
  int64_t at = 0;
  for (auto [number, piece] : llvm::enumerate(cut.pieces)) {
    auto [first, last] = cut.granulesOf(piece);
    for (int64_t step = 0; step < piece.steps(); ++step, at += 4)
      for (int64_t granule = first; granule <= last; ++granule) {
        Values fragment = valueFragment(values, number, step, granule);
        for (int64_t term = 0; term < terms; ++term)
          for (int64_t rows = 0; rows < rowGroups; ++rows) {
            auto output = sums.slice(rows * sumsPerGroup + at, 4);
            const Values &weight =
                all[tiles.isQuantized() ? granule : 0][rows][term];
            llvm::copy(emitMma(b, product, fragment, weight,
                               ValueRange(ArrayRef<Value>(output))),
                       output.begin());
          }
      }
  }
}
