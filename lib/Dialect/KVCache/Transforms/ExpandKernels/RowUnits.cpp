//===- RowUnits.cpp - How the rows of a cache are cut into threads -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowUnits.h"

#include "Destinations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

bool mlir::kvcache::hasPackedRows(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<int64_t> strides;
  int64_t offset, rank = type.getRank();
  return succeeded(type.getStridesAndOffset(strides, offset)) &&
         (type.getDimSize(rank - 2) == 1 ||
          strides[rank - 2] == type.getDimSize(rank - 1));
}

int64_t mlir::kvcache::rowAlignmentOf(const PoolLayout &pool) {
  int64_t alignment = std::gcd(pool.baseAlignment(), pool.slotBytes);
  return pool.heads == 1 ? alignment : std::gcd(alignment, pool.headBytes);
}

RowVectors::RowVectors(const PoolLayout &pool, ValueRange tensors,
                       int64_t rowAlignment)
    : inner(pool.inner), storageBytes(pool.storageBytes) {
  flat = pool.hasContiguousHeads() && llvm::all_of(tensors, hasPackedRows);
  int64_t length = flat ? pool.rowSize() : pool.inner;
  // Rows and, where vectors stay inside them, heads of both sides must start
  // where a vector may.
  lanes = maxAccessBytes / storageBytes;
  auto fits = [&](int64_t lanes) {
    if (length % lanes != 0 ||
        rowAlignmentOf(pool) % (lanes * storageBytes) != 0)
      return false;
    return llvm::all_of(tensors, [&](Value tensor) {
      auto type = cast<MemRefType>(tensor.getType());
      int64_t bytes = lanes * (type.getElementTypeBitWidth() / 8);
      return rowAlignment % std::min(bytes, maxAccessBytes) == 0;
    });
  };
  while (lanes > 1 && !fits(lanes))
    lanes /= 2;
  alignment = rowAlignment;
  count = length / lanes * (flat ? 1 : pool.heads);
}

std::pair<Value, Value> RowVectors::place(Arith &arith, Value unit) const {
  if (flat)
    return {arith.i32(0), arith.mul(unit, lanes)};
  int64_t perHead = inner / lanes;
  return {arith.div(unit, perHead), arith.mul(arith.rem(unit, perHead), lanes)};
}

RowUnits::RowUnits(int64_t width, int64_t wantedThreads, int64_t chunks)
    : width(width) {
  constexpr int64_t warp = 32;
  chunks = std::max<int64_t>(1, std::min(chunks, width / warp));
  perRow = std::min<int64_t>(llvm::divideCeil(width, chunks), wantedThreads);
  rowsPerBlock = wantedThreads / perRow;
  threads = rowsPerBlock * perRow;
}

Value RowUnits::blocks(ImplicitLocOpBuilder &host, Value rows) const {
  return Arith(host).ceilDiv(rows, rowsPerBlock);
}

void RowUnits::forEachRow(KernelBuilder &builder, Value rows,
                          function_ref<void(Value, Value)> body) const {
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  if (rowsPerBlock == 1)
    return body(block, thread);
  Value row = arith.add(arith.mul(block, rowsPerBlock),
                        arith.toIndex(arith.div(thread, perRow)));
  emitIf(b, arith.less(row, builder.take(rows)),
         [&] { body(row, arith.rem(thread, perRow)); });
}

void RowUnits::forEach(ImplicitLocOpBuilder &b, Value thread, int64_t count,
                       function_ref<void(Value)> body) const {
  Arith arith(b);
  int64_t steps = llvm::divideCeil(count, perRow);
  auto step = [&](Value unit, bool isWhole) {
    emitIf(b, isWhole ? Value() : arith.less(unit, arith.i32(count)),
           [&] { body(unit); });
  };
  if (steps <= maxUnrolled) {
    for (int64_t i = 0; i < steps; ++i)
      step(arith.add(thread, i * perRow), (i + 1) * perRow <= count);
    return;
  }
  auto loop =
      scf::ForOp::create(b, arith.i32(0), arith.i32(steps), arith.i32(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  step(arith.add(thread, arith.mul(loop.getInductionVar(), perRow)),
       count % perRow == 0);
}

void mlir::kvcache::emitForAlignment(ImplicitLocOpBuilder &host,
                                     ArrayRef<Value> tensors,
                                     function_ref<void(int64_t)> emit) {
  // The best that types allow or leave open; below, elements' own alignment.
  int64_t natural = maxAccessBytes;
  for (Value tensor : tensors)
    natural = std::min<int64_t>(
        natural,
        cast<MemRefType>(tensor.getType()).getElementTypeBitWidth() / 8);
  for (int64_t bytes = maxAccessBytes; bytes > natural; bytes /= 2) {
    std::optional<bool> known = areRowsAligned(tensors, bytes);
    if (known && !*known)
      continue;
    if (known)
      return emit(bytes);
    Value aligned = emitAreRowsAligned(host, tensors, bytes);
    auto branch = scf::IfOp::create(host, aligned, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(host);
    host.setInsertionPointToStart(branch.thenBlock());
    emit(bytes);
    host.setInsertionPointToStart(branch.elseBlock());
    return emit(natural);
  }
  emit(natural);
}
