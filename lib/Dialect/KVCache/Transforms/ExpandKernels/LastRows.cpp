//===- LastRows.cpp - The last of the rows that go to a slot --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread a row: one kernel clears the entries of all slots that are named, so
// that a workspace as large as the pools costs nothing where few rows come;
// another one keeps the largest number of a row in each. What appends then asks
// of each row whether it is its slot's.
//
//===----------------------------------------------------------------------===//

#include "LastRows.h"

#include "ControlFlow.h"
#include "PairOrder.h"
#include "RowUnits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

LastRows::LastRows(ImplicitLocOpBuilder &host, const AppendedRows &rows)
    : host(host), rows(rows) {
  if (!rows.workspace)
    return;
  Arith arith(host);
  LayoutAttr layout = getLayout(rows.targets.front().getType());
  count = arith.index(0);
  auto addPool = [&](Value target, Pool pool) {
    Value first = count;
    Value blocks = NumBlocksOp::create(host, operandOf(host, target, pool));
    count = arith.add(count, arith.mul(blocks, layout.getPageSize()));
    return first;
  };
  bool isApart = rows.scales && layout.hasOwnScalesTable();
  unsigned number = RowMap::areTogether(rows.targets) ? 1 : rows.targets.size();
  for (Value target : rows.targets.take_front(number)) {
    Part part{target, Value(), Value()};
    if (rows.values)
      part.values = addPool(target, Pool::values);
    if (isApart || (rows.scales && !rows.values))
      part.scales = addPool(target, Pool::scales);
    parts.push_back(part);
  }
}

/// The entry of a workspace for a slot, `first` being that of the pool's first.
static Value viewSlot(ImplicitLocOpBuilder &b, const Tensor &workspace,
                      Value first, Destination to, int64_t pageSize) {
  Arith arith(b);
  Value slot = arith.add(arith.mul(arith.toIndex(to.block), pageSize),
                         arith.toIndex(to.slot));
  return viewEntry(b, workspace, arith.add(first, slot));
}

void LastRows::emitPass(Tuning tuning, bool clear) {
  SmallVector<Value> lead = rows.lead(host);
  Value all = AppendedRows::count(host, lead);

  RowUnits units(/*width=*/1, tuning.threads);
  KernelBuilder builder(host, rows.op, units.threads, /*blocksPerSM=*/0,
                        tuning.maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();
  Tensor workspace = builder.takeTensor(rows.workspace, /*readOnly=*/false);
  // The kernel that writes the rows is the one that traps.
  OutOfRange policy =
      rows.policy == OutOfRange::assume ? rows.policy : OutOfRange::skip;
  RowMap map(builder, rows.form, rows.lists, lead, policy);
  // What is left out for its position is no last row.
  std::optional<RopeNorm> ropeNorm;
  if (rows.ropeNorm.cos && rows.policy == OutOfRange::skip)
    ropeNorm.emplace(host, builder, rows.turns(), policy);
  SmallVector<Part> inKernel;
  for (const Part &part : parts)
    inKernel.push_back({builder.take(part.target),
                        part.values ? builder.take(part.values) : Value(),
                        part.scales ? builder.take(part.scales) : Value()});
  units.forEachRow(builder, all, [&](Value row, Value) {
    for (const Part &part : inKernel) {
      int64_t pageSize = getLayout(part.target.getType()).getPageSize();
      auto mark = [&](Value first, Destination to) {
        if (!first)
          return;
        emitIf(b, to.valid, [&] {
          Arith arith(b);
          memref::AtomicRMWOp::create(
              b,
              clear ? arith::AtomicRMWKind::assign : arith::AtomicRMWKind::maxu,
              clear ? arith.i32(0) : arith.toI32(row),
              viewSlot(b, workspace, first, to, pageSize), ValueRange());
        });
      };
      auto markAll = [&](Destinations to) {
        mark(part.values, to.values);
        mark(part.scales, to.scales);
      };
      map.at(
          row, part.target, /*needScales=*/static_cast<bool>(part.scales),
          [&](Destinations to) {
            if (!ropeNorm)
              return markAll(to);
            ropeNorm->at(map.indices(row), to, [&](Value) { markAll(to); });
          },
          /*needValues=*/static_cast<bool>(part.values));
    }
  });
  builder.launch(units.blocks(host, all));
}

void LastRows::emitFind(Tuning tuning) {
  if (!rows.workspace)
    return;
  emitPass(tuning, /*clear=*/true);
  emitPass(tuning, /*clear=*/false);
}

void LastRows::restrict(KernelBuilder &builder, RowMap &map) const {
  if (!rows.workspace)
    return;
  ImplicitLocOpBuilder &b = builder.body();
  Tensor workspace = builder.takeTensor(rows.workspace, /*readOnly=*/true);
  llvm::SmallDenseMap<Value, Part> inKernel;
  for (Value target : rows.targets) {
    // Targets of one collection go by the first one's part.
    const Part &part = parts.size() == 1
                           ? parts.front()
                           : *llvm::find_if(parts, [&](const Part &part) {
                               return part.target == target;
                             });
    inKernel[builder.take(target)] = {
        target, part.values ? builder.take(part.values) : Value(),
        part.scales ? builder.take(part.scales) : Value()};
  }
  map.choose = [=, &b](Value row, Value cache, Destinations to) {
    const Part &part = inKernel.at(cache);
    int64_t pageSize = getLayout(cache.getType()).getPageSize();
    auto isLast = [&](Value first, Destination place) -> Value {
      auto ask = [&](OpBuilder &builder, Location loc) -> Value {
        ImplicitLocOpBuilder b(loc, builder);
        Arith arith(b);
        Value last = memref::LoadOp::create(
            b, viewSlot(b, workspace, first, place, pageSize), ValueRange());
        return arith.equal(last, arith.toI32(row));
      };
      if (!place.valid)
        return ask(b, b.getLoc());
      // A slot that is none has no entry.
      return scf::IfOp::create(
                 b, place.valid,
                 [&](OpBuilder &builder, Location loc) {
                   scf::YieldOp::create(builder, loc, ask(builder, loc));
                 },
                 [&](OpBuilder &builder, Location loc) {
                   Value no = arith::ConstantOp::create(
                       builder, loc, builder.getBoolAttr(false));
                   scf::YieldOp::create(builder, loc, no);
                 })
          .getResult(0);
    };
    if (part.values)
      to.values.valid = isLast(part.values, to.values);
    if (part.scales)
      to.scales.valid = isLast(part.scales, to.scales);
    else if (to.scales.block)
      // They share their slots with the values.
      to.scales.valid = to.values.valid;
    return to;
  };
}
