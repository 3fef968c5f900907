//===- ScoreTile.cpp - Scores of a tile on tensor cores -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScoreTile.h"

#include "../KernelBuilder.h"
#include "FastMath.h"
#include "Mma.h"

using namespace mlir;
using namespace mlir::kvcache;

Value ScoreLanes::rowInTile(ImplicitLocOpBuilder &b, const Warp &warp,
                            int64_t row) const {
  Arith arith(b);
  if (transposed)
    return arith.add(arith.mul(warp.column, 2), row / 2 * 8 + row % 2);
  return arith.add(warp.row, 8 * row);
}

Value ScoreLanes::tokenInTile(ImplicitLocOpBuilder &b, const Warp &warp,
                              int64_t token) const {
  Arith arith(b);
  if (transposed)
    return arith.add(warp.row, 8 * token);
  return arith.add(arith.mul(warp.column, 2), token / 2 * 8 + token % 2);
}

ScoreTile::ScoreTile(ImplicitLocOpBuilder &b, ScoreLanes lanes, Type element,
                     int64_t chains)
    : b(b), lanes(lanes), element(element) {
  int64_t products = lanes.transposed ? lanes.tokenGroups / 2 * lanes.rowGroups
                                      : lanes.tokenGroups;
  assert((!hasOneGroup() || chains == 1) && "one group of rows has its chains");
  SmallVector<Values> zeros(products, Values(4, FastMath(b).number(0)));
  sums.assign(hasOneGroup() ? 2 : chains, zeros);
}

void ScoreTile::add(ArrayRef<Values> queries, ArrayRef<Values> keys) {
  assert(!hasOneGroup() && "two steps share a fragment");
  add(step++ % sums.size(), queries, keys);
}

void ScoreTile::addTwo(const Values &queries, ArrayRef<Values> first,
                       ArrayRef<Values> second) {
  assert(hasOneGroup() && "a step has the whole fragment");
  add(0, queries, first);
  add(1, queries, second);
}

void ScoreTile::add(int64_t number, ArrayRef<Values> queries,
                    ArrayRef<Values> keys) {
  auto chain = MutableArrayRef(sums[number]);
  for (const Values &ofKeys : keys)
    for (const Values &ofQueries : queries) {
      Values &sum = chain.front();
      chain = chain.drop_front();
      sum = lanes.transposed ? emitMma(b, element, ofKeys, ofQueries, sum)
                             : emitMma(b, element, ofQueries, ofKeys, sum);
    }
}

Value ScoreTile::sum(int64_t row, int64_t token) const {
  FastMath math(b);
  // First steps have the upper rows of their products, second ones the lower.
  if (hasOneGroup())
    return math.add(sums[0][token / 2][token % 2],
                    sums[1][token / 2][2 + token % 2]);
  int64_t product =
      lanes.transposed ? token / 2 * lanes.rowGroups + row / 2 : token / 2;
  int64_t place =
      lanes.transposed ? 2 * (token % 2) + row % 2 : 2 * row + token % 2;
  Value total;
  for (const SmallVector<Values> &chain : sums) {
    Value part = chain[product][place];
    total = total ? math.add(total, part) : part;
  }
  return total;
}

void ScoreTile::scale(ValueRange scales) {
  FastMath math(b);
  bool isFirst = scaled.empty();
  scaled.resize(lanes.rowsPerLane(), Values(lanes.tokensPerLane()));
  for (auto [row, ofRow] : llvm::enumerate(scaled))
    for (auto [token, score] : llvm::enumerate(ofRow)) {
      Value part = sum(row, token), scale = scales[token];
      score = isFirst ? math.mul(part, scale) : math.fma(part, scale, score);
    }
  Value zero = math.number(0);
  step = 0;
  for (SmallVector<Values> &chain : sums)
    for (Values &sum : chain)
      sum.assign(4, zero);
}

SmallVector<ScoreTile::Values> ScoreTile::scores() const {
  if (!scaled.empty())
    return scaled;
  SmallVector<Values> scores(lanes.rowsPerLane());
  for (auto [row, ofRow] : llvm::enumerate(scores))
    for (int64_t token = 0; token < lanes.tokensPerLane(); ++token)
      ofRow.push_back(sum(row, token));
  return scores;
}
