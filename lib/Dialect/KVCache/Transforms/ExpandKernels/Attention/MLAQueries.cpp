//===- MLAQueries.cpp - Rows of queries in shared memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLADecodeKernel.h"

#include "../Tiles/FastMath.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Rows as fragments A in shared memory, sixteen bytes a lane and step. Rows of
/// bf16 become f16 by a power of two each.
void MLADecodeKernel::loadQueries(const QueryTile &rows) {
  Arith arith(*b);
  FastMath math(*b);
  Words registers(*b);
  Value last = arith.sub(rows.end, arith.i32(1));
  Values places, known;
  if (is8Bit)
    known.push_back(registers.decodedUnit(dtype));
  if (globalScale)
    known.push_back(globalScale);
  factors.clear();
  SmallVector<RowFactor> rowFactors;
  for (int64_t half = 0; half < 2; ++half) {
    Value row = arith.minimum(
        arith.add(arith.add(rows.begin, warp->row), 8 * half), last);
    Value token =
        arith.add(rows.firstRow, arith.toIndex(arith.div(row, heads)));
    Value head = arith.toIndex(arith.rem(row, heads));
    places.push_back(queries->at(token, head));
    Values numbers = known;
    if (op.getQScales()) {
      Value scales = queryScales.row(*b, token, heads);
      numbers.push_back(memref::LoadOp::create(*b, scales, head));
    }
    rowFactors.push_back(queries->factor(factor, numbers));
    factors.push_back(rowFactors.back().magnitude);
  }
  // Each warp has every fourth step. By row: halves of steps.
  SmallVector<Values> words(2);
  for (int64_t step = 0; step < steps(); step += warps) {
    Value start = arith.add(arith.mul(warp->number, 16), arith.i32(16 * step));
    int64_t count = shared->hasNeighbours() ? 4 : 2;
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t pair = 0; pair < 2; pair += count / 2) {
        Value element = arith.add(start, shared->pairAt(warp->column, pair));
        Values loaded = queries->load(places[row], element, count);
        queries->flipSigns(rowFactors[row], loaded);
        llvm::append_range(words[row], loaded);
      }
  }
  if (queries->isScaled()) {
    // The largest magnitudes of both rows, of all warps.
    for (int64_t half = 0; half < 2; ++half) {
      Value largest = queries->largest(words[half]);
      largest = warp->reduceRow(
          largest, [&](Value x, Value y) { return math.max(x, y); });
      Value mine = arith.add(
          arith.add(arith.mul(warp->number, rowCount), warp->row), 8 * half);
      LLVM::StoreOp::create(*b, largest, sharedFloats(largestAt, mine), 4);
    }
    gpu::BarrierOp::create(*b);
    for (int64_t half = 0; half < 2; ++half) {
      Value largest;
      for (int64_t w = 0; w < warps; ++w) {
        Value at = arith.add(warp->row, w * rowCount + 8 * half);
        Value most = LLVM::LoadOp::create(*b, b->getF32Type(),
                                          sharedFloats(largestAt, at), 4);
        largest = largest ? math.max(largest, most) : most;
      }
      auto [up, down] = math.powersTo16Bits(largest);
      factors[half] = queries->takeBack(factors[half], down);
      queries->scale(words[half], up);
    }
  }
  for (int64_t number = 0; number < steps() / warps; ++number) {
    Values fragment;
    for (int64_t half = 0; half < 2; ++half)
      for (const Values &ofRow : words)
        fragment.push_back(ofRow[2 * number + half]);
    products->storeQueries(number * warps, fragment);
  }
}
