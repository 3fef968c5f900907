//===- PagedOutput.cpp - Values times weights, and what rows become -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../Destinations.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvcache;

PagedAttentionKernel::Values
PagedAttentionKernel::valueFragment(ValueRange values, int64_t number,
                                    int64_t step, int64_t granule) {
  Words registers(*b);
  const HeadCut &cut = tiles->cutOf(Side::value);
  const HeadPiece &piece = cut.pieces[number];
  // Of a step a lane has two elements: rows `row` and `row + 8` of V^T.
  Values fragment;
  for (int64_t pair = 0; pair < 2; ++pair) {
    auto word = [&](int64_t token) {
      return tiles->wordsOf(Side::value, values, 2 * pair + token,
                            number)[isCode ? step / 2 : step];
    };
    Value low = word(0), high = word(1);
    if (isCode) {
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
  for (int64_t i = 0; isCode && i < 2; ++i)
    fragment[i] = registers.restoreNaN(fragment[i],
                                       {fragment[i], fragment[2 + i]}, dtype);
  auto [first, last] = cut.granulesOf(piece);
  if (first == last)
    return fragment;
  // Only what has this scale.
  Arith arith(*b);
  Value zero = arith.i32(0);
  for (auto [place, word] : llvm::enumerate(fragment)) {
    Value element = arith.add(arith.mul(warp->row, piece.perLane),
                              piece.first + 2 * step + place % 2);
    Value isOf =
        arith.equal(arith.div(element, cut.granularity), arith.i32(granule));
    word = arith::SelectOp::create(*b, isOf, word, zero);
  }
  return fragment;
}

void PagedAttentionKernel::multiplyValues(SoftmaxState &sums, ValueRange values,
                                          const Weights &weights) {
  const HeadCut &cut = tiles->cutOf(Side::value);
  int64_t perGroup = sums.output.size() / rowGroups;
  int64_t at = 0;
  for (auto [number, piece] : llvm::enumerate(cut.pieces)) {
    auto [first, last] = cut.granulesOf(piece);
    for (int64_t step = 0; step < piece.steps(); ++step, at += 4)
      for (int64_t granule = first; granule <= last; ++granule) {
        Values fragment = valueFragment(values, number, step, granule);
        for (const auto &term : weights)
          for (int64_t rows = 0; rows < rowGroups; ++rows) {
            auto output =
                MutableArrayRef(sums.output).slice(rows * perGroup + at, 4);
            const Values &weight =
                term[tiles->isQuantized() ? granule : 0][rows];
            llvm::copy(emitMma(*b, product, fragment, weight,
                               ValueRange(ArrayRef<Value>(output))),
                       output.begin());
          }
      }
  }
}

void PagedAttentionKernel::store(const QueryTile &rows, Value inTile,
                                 Value head, Value part, const HeadPiece &piece,
                                 Value maximum, Value sum,
                                 ArrayRef<Value> elements) {
  Arith arith(*b);
  Value row = arith.add(rows.begin, inTile);
  Value token = arith.add(rows.firstRow, arith.toIndex(arith.div(row, group)));
  Value queryHead =
      arith.add(arith.mul(head, group), arith.toIndex(arith.rem(row, group)));
  Value first = arith.add(arith.mul(warp->row, piece.perLane), piece.first);
  Value isFirst = arith.equal(first, arith.i32(0));
  results->store(*b, token, queryHead, part, maximum, sum,
                 {RowRun{first, llvm::to_vector(elements)}}, isFirst);
}

/// Of codes a lane knows the maxima and weights of the rows whose sums it has.
void PagedAttentionKernel::storeOwn(const SoftmaxState &sums,
                                    const QueryTile &rows, Value head,
                                    Value part) {
  assert(isCode && "others have other rows of weights than of sums");
  Arith arith(*b);
  FastMath math(*b);
  int64_t perGroup = sums.output.size() / rowGroups;
  for (int64_t place = 0; place < rowGroups * rowsPerLane(); ++place) {
    int64_t inLane = place % rowsPerLane(), g = place / rowsPerLane();
    Value weight = sums.total(place);
    Value inTile = arith.add(rowInGroup(inLane), arith.i32(8 * g));
    Value exists = arith.less(arith.add(rows.begin, inTile), rows.end);
    emitIf(*b, exists, [&] {
      int64_t firstStep = 0;
      for (const HeadPiece &piece : tiles->cutOf(Side::value).pieces) {
        Values elements;
        for (int64_t element = 0; element < piece.perLane; ++element) {
          int64_t step = firstStep + element / 2;
          elements.push_back(sums.output[g * perGroup + 4 * step +
                                         2 * (element % 2) + inLane]);
        }
        store(rows, inTile, head, part, piece, sums.maximum[place], weight,
              elements);
        firstStep += piece.steps();
      }
    });
  }
}

void PagedAttentionKernel::merge(const SoftmaxState &sums,
                                 const QueryTile &rows, Value head,
                                 Value part) {
  Arith arith(*b);
  FastMath math(*b);
  const HeadCut &cut = tiles->cutOf(Side::value);
  int64_t perGroup = sums.output.size() / rowGroups;
  int64_t rowCount = 8 * rowGroups;
  Value maximaAt = builder->shareMemory(b->getF32Type(), warps * rowCount, 16);
  Value sumsAt = builder->shareMemory(b->getF32Type(), warps * rowCount, 16);
  Value outputsAt =
      builder->shareMemory(b->getF32Type(), warps * rowCount * headSize, 16);
  auto put = [&](Value number, Value memory, Value at) {
    memref::StoreOp::create(*b, number, memory, ValueRange{arith.toIndex(at)});
  };
  auto get = [&](Value memory, Value at) -> Value {
    return memref::LoadOp::create(*b, memory, ValueRange{arith.toIndex(at)});
  };

  // What rows have once, by one of the lanes that know it.
  Value mine = arith.mul(warp->number, rowCount);
  Values weights;
  for (size_t place = 0; place < sums.weight.size(); ++place)
    weights.push_back(sums.total(place));
  Value first = isCode ? warp->row : warp->column;
  emitIf(*b, arith.equal(first, arith.i32(0)), [&] {
    for (auto [place, maximum] : llvm::enumerate(sums.maximum)) {
      Value at = arith.add(arith.add(mine, rowInGroup(place % rowsPerLane())),
                           place / rowsPerLane() * 8);
      put(maximum, maximaAt, at);
      put(weights[place], sumsAt, at);
    }
  });
  Value columnRow[] = {arith.mul(warp->column, 2),
                       arith.add(arith.mul(warp->column, 2), 1)};

  // Elements of a piece, a row and a group of rows are a unit: `perLane`
  // numbers of each lane, number after number.
  Value lanes =
      arith.add(arith.mul(warp->number, rowCount * headSize), warp->lane);
  int64_t at = 0;
  for (int64_t g = 0; g < rowGroups; ++g) {
    int64_t firstStep = 0;
    for (const HeadPiece &piece : cut.pieces) {
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t element = 0; element < piece.perLane; ++element) {
          int64_t step = firstStep + element / 2;
          put(sums.output[g * perGroup + 4 * step + 2 * (element % 2) + i],
              outputsAt, arith.add(lanes, at));
          at += Warp::lanes;
        }
      firstStep += piece.steps();
    }
  }
  gpu::BarrierOp::create(*b);

  at = 0;
  int64_t unit = 0;
  for (int64_t g = 0; g < rowGroups; ++g)
    for (const HeadPiece &piece : cut.pieces)
      for (int64_t i = 0; i < 2;
           ++i, ++unit, at += piece.perLane * Warp::lanes) {
        Value inTile = arith.add(columnRow[i], 8 * g);
        Value row = arith.add(rows.begin, inTile);
        Value isMine =
            arith.both(arith.equal(warp->number, arith.i32(unit % warps)),
                       arith.less(row, rows.end));
        emitIf(*b, isMine, [&] {
          auto ofWarps = [&](Value memory, Value first, int64_t perWarp) {
            Values numbers;
            for (int64_t w = 0; w < warps; ++w)
              numbers.push_back(get(memory, arith.add(first, w * perWarp)));
            return numbers;
          };
          SoftmaxMerge merge(*b, ofWarps(maximaAt, inTile, rowCount));
          Value sum = merge.sum(ofWarps(sumsAt, inTile, rowCount));
          Values elements;
          for (int64_t element = 0; element < piece.perLane; ++element)
            elements.push_back(merge.sum(ofWarps(
                outputsAt, arith.add(warp->lane, at + element * Warp::lanes),
                rowCount * headSize)));
          store(rows, inTile, head, part, piece, merge.maximum(), sum,
                elements);
        });
      }
}
