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
    Values fragment;
    for (int64_t place = 0; place < 4; ++place) {
      Value element = arith.add(
          arith.add(arith.mul(warp->number, 16), arith.mul(warp->column, 2)),
          16 * step + place / 2 * 8);
      Value at =
          arith.mul(arith.add(bases[place % 2], arith.toIndex(element)), 2);
      Value view =
          ByteViewOp::create(*b, MemRefType::get({2}, queryType), q.base, at);
      int64_t alignment =
          areRowsAligned({op.getQ()}, 4).value_or(false) ? 4 : 2;
      Value pair = vector::LoadOp::create(
          *b, VectorType::get({2}, queryType), view, ValueRange{arith.index(0)},
          /*nontemporal=*/false, llvm::MaybeAlign(alignment));
      fragment.push_back(registers.of(pair).front());
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
