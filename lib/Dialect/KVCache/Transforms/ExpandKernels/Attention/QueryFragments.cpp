//===- QueryFragments.cpp - Queries as fragments of a product ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryFragments.h"

#include "../Tiles/FastMath.h"

using namespace mlir;
using namespace mlir::kvcache;

QueryFragments::QueryFragments(KernelBuilder &builder, Value tensor,
                               const HeadCut &cut, Type product, int64_t group)
    : b(builder.body()), cut(cut), group(group),
      rows(builder, tensor, product) {}

void QueryFragments::load(Warp &warp, Value firstRow, Value head,
                          ArrayRef<Value> chosen) {
  Arith arith(b);
  FastMath math(b);
  words.clear();
  factors.clear();
  for (Value row : chosen) {
    Value token = arith.add(firstRow, arith.toIndex(arith.div(row, group)));
    Value queryHead =
        arith.add(arith.mul(head, group), arith.toIndex(arith.rem(row, group)));
    Value place = rows.at(token, queryHead);
    SmallVector<SmallVector<Value>> ofRow;
    for (const HeadPiece &piece : cut.pieces) {
      Value element =
          arith.add(arith.mul(warp.column, piece.perLane), piece.first);
      ofRow.push_back(rows.load(place, element, piece.perLane));
      rows.flipSigns(factor, ofRow.back());
    }
    Value rowFactor = factor.magnitude;
    if (rows.isScaled()) {
      // Powers of two: what a number is multiplied by, and what takes it back.
      Value largest;
      for (ArrayRef<Value> ofPiece : ofRow) {
        Value most = rows.largest(ofPiece);
        largest = largest ? math.max(largest, most) : most;
      }
      largest = warp.reduceRow(
          largest, [&](Value x, Value y) { return math.max(x, y); });
      auto [up, down] = math.powersTo16Bits(largest);
      for (SmallVector<Value> &ofPiece : ofRow)
        rows.scale(ofPiece, up);
      rowFactor = rows.takeBack(rowFactor, down);
    }
    words.push_back(ofRow);
    factors.push_back(rowFactor);
  }
}

SmallVector<Value> QueryFragments::fragmentB(int64_t rowGroup, int64_t piece,
                                             int64_t step) {
  ArrayRef<Value> ofPiece = words[rowGroup][piece];
  return llvm::to_vector(ofPiece.slice(2 * step, 2));
}

SmallVector<Value> QueryFragments::fragmentA(int64_t piece, int64_t step) {
  SmallVector<Value> upper = fragmentB(0, piece, step);
  SmallVector<Value> lower = fragmentB(1, piece, step);
  return {upper[0], lower[0], upper[1], lower[1]};
}

SmallVector<Value>
QueryFragments::fragmentOfTwo(std::pair<int64_t, int64_t> first,
                              std::pair<int64_t, int64_t> second) {
  SmallVector<Value> upper = fragmentB(0, first.first, first.second);
  SmallVector<Value> lower = fragmentB(0, second.first, second.second);
  return {upper[0], lower[0], upper[1], lower[1]};
}

SmallVector<Value> QueryFragments::scoreFactors(Warp &warp, bool byColumn) {
  if (!byColumn)
    return factors;
  Arith arith(b);
  SmallVector<Value> result;
  Value even = arith.mul(warp.column, 8), odd = arith.add(even, 4);
  for (Value factor : factors)
    for (Value lane : {even, odd})
      result.push_back(warp.from(factor, lane));
  return result;
}
