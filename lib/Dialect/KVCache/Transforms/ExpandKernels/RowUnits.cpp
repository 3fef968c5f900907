//===- RowUnits.cpp - How the rows of a cache are cut into threads -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowUnits.h"

#include "ControlFlow.h"
#include "WidthRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
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
        pool.headAlignment() % (lanes * storageBytes) != 0)
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

void mlir::kvcache::remarkRowWidth(Location location, StringRef subject,
                                   const PoolLayout &pool, ValueRange tensors) {
  RowVectors vectors(pool, tensors, maxAccessBytes);
  int64_t bytes = pool.storageBytes;
  int64_t length = (vectors.flat ? pool.rowSize() : pool.inner) * bytes;
  remarkWidth(
      location, subject, vectors.lanes * bytes,
      {{vectors.flat ? "a row has" : "a head has", length},
       {"rows of the pool start at multiples of", pool.headAlignment()}});
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

Value RowUnits::blocks(ImplicitLocOpBuilder &host, Value rows,
                       int64_t bundle) const {
  return Arith(host).ceilDiv(rows, rowsPerBlock * bundle);
}

/// What lane `lane` (`i32`) has as `value`, an i1 or `i32`.
static Value tellAll(ImplicitLocOpBuilder &b, Value value, Value lane) {
  if (!value)
    return value;
  Arith arith(b);
  Type i32 = b.getI32Type();
  bool isBit = value.getType().isInteger(1);
  if (isBit)
    value = arith::ExtUIOp::create(b, i32, value);
  value = NVVM::ShflOp::create(b, i32, arith.i32(-1), value, lane,
                               arith.i32(31), NVVM::ShflKind::idx,
                               /*return_value_and_is_valid=*/UnitAttr());
  if (isBit)
    value =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ne, value, arith.i32(0));
  return value;
}

static Destinations tellAll(ImplicitLocOpBuilder &b, const Destinations &to,
                            Value lane) {
  auto tell = [&](const Destination &one) {
    Destination all;
    all.valid = tellAll(b, one.valid, lane);
    all.block = tellAll(b, one.block, lane);
    all.slot = tellAll(b, one.slot, lane);
    return all;
  };
  Destinations all;
  all.values = tell(to.values);
  all.scales = tell(to.scales);
  // Slots of one token are one number.
  if (to.scales.slot == to.values.slot)
    all.scales.slot = all.values.slot;
  return all;
}

void RowUnits::forEachBundle(
    KernelBuilder &builder, Value rows, int64_t bundle,
    function_ref<Destinations(Value)> find,
    function_ref<void(Value, Value, Destinations)> body) const {
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value all = builder.take(rows);
  Value hostBlocks = blocks(builder.hostBuilder(), rows, bundle);
  builder.forBlock(hostBlocks, [&](Value block) {
    Value warp = arith.add(arith.mul(block, rowsPerBlock),
                           arith.toIndex(arith.div(thread, perRow)));
    Value first = arith.mul(warp, bundle);
    Value lane = arith.rem(thread, perRow);
    // Of the rows there are: a lane without one looks at the last.
    Value mine = arith.add(first, arith.toIndex(arith.rem(lane, bundle)));
    Destinations found =
        find(arith.minimum(mine, arith.sub(all, arith.index(1))));
    auto loop =
        scf::ForOp::create(b, arith.i32(0), arith.i32(bundle), arith.i32(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar();
    Value row = arith.add(first, arith.toIndex(number));
    Destinations to = tellAll(b, found, number);
    emitIf(b, arith.less(row, all), [&] { body(row, lane, to); });
  });
}

void RowUnits::forEachRow(KernelBuilder &builder, Value rows,
                          function_ref<void(Value, Value)> body) const {
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  builder.forBlock(blocks(builder.hostBuilder(), rows), [&](Value block) {
    if (rowsPerBlock == 1)
      return body(block, thread);
    Value row = arith.add(arith.mul(block, rowsPerBlock),
                          arith.toIndex(arith.div(thread, perRow)));
    emitIf(b, arith.less(row, builder.take(rows)),
           [&] { body(row, arith.rem(thread, perRow)); });
  });
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

RowAlignment mlir::kvcache::findRowAlignment(Location location,
                                             ArrayRef<Value> tensors,
                                             StringRef both, unsigned rowRank) {
  // The best that types allow or leave open; below, elements' own alignment.
  int64_t natural = maxAccessBytes;
  for (Value tensor : tensors)
    natural = std::min<int64_t>(
        natural,
        cast<MemRefType>(tensor.getType()).getElementTypeBitWidth() / 8);
  auto why = [&](int64_t bytes) {
    for (Value tensor : tensors)
      if (std::string reason = whyUnaligned(tensor, bytes, rowRank);
          !reason.empty())
        return reason;
    return std::string();
  };
  int64_t best = maxAccessBytes;
  std::optional<bool> known;
  for (; best > natural; best /= 2) {
    known = areRowsAligned(tensors, best, rowRank);
    if (known.value_or(true))
      break;
  }
  if (best > natural && !known) {
    emitRemark(location) << both << ", for rows at multiples of " << best
                         << " and of " << natural << " bytes: " << why(best);
    return {natural, best};
  }
  if (best < maxAccessBytes)
    emitRemark(location) << "rows of tensors start at multiples of " << best
                         << " bytes, not " << maxAccessBytes << ": "
                         << why(maxAccessBytes);
  return {best, best};
}

void mlir::kvcache::emitForAlignment(ImplicitLocOpBuilder &host,
                                     ArrayRef<Value> tensors,
                                     function_ref<void(int64_t)> emit,
                                     bool isFlat) {
  unsigned rowRank = isFlat ? 2 : 1;
  RowAlignment rows =
      findRowAlignment(host.getLoc(), tensors, "two kernels", rowRank);
  if (rows.isCertain())
    return emit(rows.best);
  Value aligned = emitAreRowsAligned(host, tensors, rows.best, rowRank);
  auto branch = scf::IfOp::create(host, aligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(host);
  host.setInsertionPointToStart(branch.thenBlock());
  emit(rows.best);
  host.setInsertionPointToStart(branch.elseBlock());
  emit(rows.certain);
}
