//===- PagedOutput.cpp - What rows become ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../ControlFlow.h"
#include "../Destinations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

void PagedAttentionKernel::store(const QueryTile &rows, Value inTile,
                                 Value head, Value part, Value maximum,
                                 Value sum, ArrayRef<RowRun> runs) {
  Arith arith(*b);
  Value row = arith.add(rows.begin, inTile);
  Value token = arith.add(rows.firstRow, arith.toIndex(arith.div(row, group)));
  Value queryHead =
      arith.add(arith.mul(head, group), arith.toIndex(arith.rem(row, group)));
  Value isFirst = arith.equal(runs.front().first, arith.i32(0));
  results->store(*b, token, queryHead, part, maximum, sum, runs, isFirst);
}

/// Of values of 8 bits a lane knows the maxima and weights of the rows whose
/// sums it has.
void PagedAttentionKernel::storeOwn(const SoftmaxState &sums,
                                    const QueryTile &rows, Value head,
                                    Value part) {
  assert(is8Bit && "others have other rows of weights than of sums");
  Arith arith(*b);
  int64_t perGroup = sums.output.size() / rowGroups;
  Values weights = sums.totals();
  for (int64_t place = 0; place < lanes().rowsPerLane(); ++place) {
    int64_t inLane = place % 2, g = place / 2;
    Value inTile = lanes().rowInTile(*b, *warp, place);
    Value exists = arith.less(arith.add(rows.begin, inTile), rows.end);
    emitIf(*b, exists, [&] {
      int64_t firstStep = 0;
      SmallVector<RowRun> runs;
      for (const HeadPiece &piece : tiles->cutOf(Side::value).pieces) {
        Value first =
            arith.add(arith.mul(warp->row, piece.perLane), piece.first);
        RowRun &run = runs.emplace_back(RowRun{first, {}});
        for (int64_t element = 0; element < piece.perLane; ++element) {
          int64_t step = firstStep + element / 2;
          run.elements.push_back(sums.output[g * perGroup + 4 * step +
                                             2 * (element % 2) + inLane]);
        }
        firstStep += piece.steps();
      }
      store(rows, inTile, head, part, sums.maximum[place], weights[place],
            runs);
    });
  }
}

void PagedAttentionKernel::merge(const SoftmaxState &sums,
                                 const QueryTile &rows, Value head,
                                 Value part) {
  Arith arith(*b);
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
  Values weights = sums.totals();
  Value first = is8Bit ? warp->row : warp->column;
  emitIf(*b, arith.equal(first, arith.i32(0)), [&] {
    for (auto [place, maximum] : llvm::enumerate(sums.maximum)) {
      Value at = arith.add(mine, lanes().rowInTile(*b, *warp, place));
      put(maximum, maximaAt, at);
      put(weights[place], sumsAt, at);
    }
  });

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

  // Warps share the units, in a loop over pieces of one size.
  ArrayRef<HeadPiece> pieces = cut.pieces;
  while (!pieces.empty()) {
    HeadPiece like = pieces.front();
    int64_t count = llvm::find_if(pieces,
                                  [&](const HeadPiece &piece) {
                                    return piece.perLane != like.perLane;
                                  }) -
                    pieces.begin();
    pieces = pieces.drop_front(count);
    auto loop = scf::ForOp::create(
        *b, warp->number, arith.i32(rowGroups * count * 2), arith.i32(warps));
    OpBuilder::InsertionGuard guard(*b);
    b->setInsertionPointToStart(loop.getBody());
    Value unit = loop.getInductionVar();
    Value ofPiece = arith.rem(unit, 2 * count);
    Value g = arith.div(unit, 2 * count), i = arith.rem(ofPiece, 2);
    Value number = arith.div(ofPiece, 2);
    Value inTile =
        arith.add(arith.add(arith.mul(warp->column, 2), i), arith.mul(g, 8));
    Value exists = arith.less(arith.add(rows.begin, inTile), rows.end);
    emitIf(*b, exists, [&] {
      auto ofWarps = [&](Value memory, Value first, int64_t perWarp) {
        Values numbers;
        for (int64_t w = 0; w < warps; ++w)
          numbers.push_back(get(memory, arith.add(first, w * perWarp)));
        return numbers;
      };
      SoftmaxMerge merge(*b, ofWarps(maximaAt, inTile, rowCount));
      Value sum = merge.sum(ofWarps(sumsAt, inTile, rowCount));
      // Before a piece lie the elements of eight rows that come before it.
      Value outputs =
          arith.add(arith.add(warp->lane, arith.mul(g, 8 * headSize)),
                    arith.add(arith.mul(ofPiece, like.perLane * Warp::lanes),
                              8 * like.first));
      Value first = arith.add(arith.add(arith.mul(warp->row, like.perLane),
                                        arith.mul(number, like.span())),
                              like.first);
      RowRun run{first, {}};
      for (int64_t element = 0; element < like.perLane; ++element)
        run.elements.push_back(merge.sum(
            ofWarps(outputsAt, arith.add(outputs, element * Warp::lanes),
                    rowCount * headSize)));
      store(rows, inTile, head, part, merge.maximum(), sum, run);
    });
  }
}
