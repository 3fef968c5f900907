//===- PagedOutput.cpp - What rows become ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../Destinations.h"
#include "../Tiles/FastMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvcache;

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

/// Of values of 8 bits a lane knows the maxima and weights of the rows whose
/// sums it has.
void PagedAttentionKernel::storeOwn(const SoftmaxState &sums,
                                    const QueryTile &rows, Value head,
                                    Value part) {
  assert(is8Bit && "others have other rows of weights than of sums");
  Arith arith(*b);
  FastMath math(*b);
  int64_t perGroup = sums.output.size() / rowGroups;
  for (int64_t place = 0; place < lanes().rowsPerLane(); ++place) {
    int64_t inLane = place % 2, g = place / 2;
    Value weight = sums.total(place);
    Value inTile = lanes().rowInTile(*b, *warp, place);
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
  Value first = is8Bit ? warp->row : warp->column;
  emitIf(*b, arith.equal(first, arith.i32(0)), [&] {
    for (auto [place, maximum] : llvm::enumerate(sums.maximum)) {
      Value at = arith.add(mine, lanes().rowInTile(*b, *warp, place));
      put(maximum, maximaAt, at);
      put(weights[place], sumsAt, at);
    }
  });
  Value columnRow[] = {arith.mul(warp->column, 2),
                       arith.add(arith.mul(warp->column, 2), 1)};

  // Elements of a piece, a row and a group of rows are a unit: `perLane`
  // numbers of each lane, number after number.
  Value ofLane =
      arith.add(arith.mul(warp->number, rowCount * headSize), warp->lane);
  int64_t at = 0;
  for (int64_t g = 0; g < rowGroups; ++g) {
    int64_t firstStep = 0;
    for (const HeadPiece &piece : cut.pieces) {
      for (int64_t i = 0; i < 2; ++i)
        for (int64_t element = 0; element < piece.perLane; ++element) {
          int64_t step = firstStep + element / 2;
          put(sums.output[g * perGroup + 4 * step + 2 * (element % 2) + i],
              outputsAt, arith.add(ofLane, at));
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
