//===- MLAQueries.cpp - Rows of queries in shared memory ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MLADecodeKernel.h"

#include "../RowUnits.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

/// `count` elements of queries from element `at` on.
Value MLADecodeKernel::loadQuery(Value at, int64_t count) {
  int64_t alignment = 2;
  while (alignment < 2 * count &&
         areRowsAligned({op.getQ()}, 2 * alignment).value_or(false))
    alignment *= 2;
  Value view = ByteViewOp::create(*b, MemRefType::get({count}, queryType),
                                  q.base, Arith(*b).mul(at, 2));
  return vector::LoadOp::create(*b, VectorType::get({count}, queryType), view,
                                ValueRange{Arith(*b).index(0)},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(alignment));
}

/// Rows as fragments A in shared memory, sixteen bytes a lane and step. Rows of
/// bf16 become f16 by a power of two each.
void MLADecodeKernel::loadQueries(const QueryTile &rows) {
  Arith arith(*b);
  FastMath math(*b);
  Words registers(*b);
  Value last = arith.sub(rows.end, arith.i32(1));
  SmallVector<Value> bases;
  factors.clear();
  for (int64_t half = 0; half < 2; ++half) {
    Value row = arith.minimum(
        arith.add(arith.add(rows.begin, warp->row), 8 * half), last);
    Value token =
        arith.add(rows.firstRow, arith.toIndex(arith.div(row, heads)));
    Value head = arith.toIndex(arith.rem(row, heads));
    bases.push_back(arith.add(arith.mul(token, q.strides[0]),
                              arith.mul(head, q.strides[1])));
    Value rowFactor = math.number(factor);
    if (isCode)
      rowFactor = math.mul(rowFactor, registers.decodedUnit(dtype));
    if (op.getQScales()) {
      Value at = arith.add(arith.mul(token, queryScales.strides[0]), head);
      Value view = ByteViewOp::create(*b, MemRefType::get({1}, b->getF32Type()),
                                      queryScales.base, arith.mul(at, 4));
      Value scale =
          vector::LoadOp::create(*b, VectorType::get({1}, b->getF32Type()),
                                 view, ValueRange{arith.index(0)});
      rowFactor = math.mul(rowFactor, vector::ExtractOp::create(*b, scale, 0));
      // What is masked is infinite, which times zero would be NaN.
      rowFactor = math.maxOrNaN(rowFactor,
                                math.number(std::numeric_limits<float>::min()));
    }
    factors.push_back(rowFactor);
  }
  // Each warp has every fourth step.
  SmallVector<Values> fragments;
  for (int64_t step = 0; step < steps(); step += warps) {
    // By half of the step and row.
    Values fragment(4);
    Value start = arith.add(arith.mul(warp->number, 16), arith.i32(16 * step));
    int64_t count = shared->hasNeighbours() ? 4 : 2;
    for (int64_t row = 0; row < 2; ++row)
      for (int64_t pair = 0; pair < 2; pair += count / 2) {
        Value element = arith.add(start, shared->pairAt(warp->column, pair));
        Value words =
            loadQuery(arith.add(bases[row], arith.toIndex(element)), count);
        for (auto [i, word] : llvm::enumerate(registers.of(words)))
          fragment[2 * (pair + i) + row] = word;
      }
    fragments.push_back(fragment);
  }
  if (queryType != product) {
    // The largest magnitudes of both rows, of all warps.
    for (int64_t half = 0; half < 2; ++half) {
      Value largest;
      for (const Values &fragment : fragments)
        for (int64_t place = half; place < 4; place += 2) {
          auto [low, high] = registers.unpack(fragment[place], queryType);
          Value most = math.max(math.absolute(low), math.absolute(high));
          largest = largest ? math.max(largest, most) : most;
        }
      largest = warp->reduceRow(
          largest, [&](Value x, Value y) { return math.max(x, y); });
      Value mine = arith.add(
          arith.add(arith.mul(warp->number, rowCount), warp->row), 8 * half);
      LLVM::StoreOp::create(*b, largest, sharedFloats(scoresAt, mine), 4);
    }
    gpu::BarrierOp::create(*b);
    for (int64_t half = 0; half < 2; ++half) {
      Value largest;
      for (int64_t w = 0; w < warps; ++w) {
        Value at = arith.add(warp->row, w * rowCount + 8 * half);
        Value most = LLVM::LoadOp::create(*b, b->getF32Type(),
                                          sharedFloats(scoresAt, at), 4);
        largest = largest ? math.max(largest, most) : most;
      }
      auto [up, down] = math.powersTo16Bits(largest);
      factors[half] = math.mul(factors[half], down);
      for (Values &fragment : fragments)
        for (int64_t place = half; place < 4; place += 2) {
          auto [low, high] = registers.unpack(fragment[place], queryType);
          fragment[place] =
              registers.pack(math.mul(low, up), math.mul(high, up), product);
        }
    }
    // The loop writes scores there after a barrier of its own.
  }
  Value lane = arith.add(arith.mul(warp->number, Warp::lanes * 16),
                         arith.mul(warp->lane, 16));
  for (auto [number, fragment] : llvm::enumerate(fragments))
    LLVM::StoreOp::create(
        *b, registers.vector(fragment),
        shared->at(lane, queriesAt + number * warps * Warp::lanes * 16), 16);
}
