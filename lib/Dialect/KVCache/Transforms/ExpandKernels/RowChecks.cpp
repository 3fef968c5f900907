//===- RowChecks.cpp - Checks of where rows would go ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread a row: it checks its own destination and claims it, in a list of all
// slots of the pool that another kernel has cleared before. Who finds a slot
// claimed shares it with the row that the list names. Numbers are printed
// before the assertion that stops the program.
//
//===----------------------------------------------------------------------===//

#include "AppendedRows.h"
#include "ControlFlow.h"
#include "Destinations.h"
#include "KernelChecks.h"
#include "RowUnits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

class RowChecks {
public:
  /// Of the rows that go to `target`.
  RowChecks(const AppendedRows &rows, Value target, Tuning tuning)
      : host(rows.op->getLoc(), rows.op), rows(rows), target(target),
        tuning(tuning), layout(getLayout(target.getType())) {}
  void emit();

private:
  /// A pool whose rows are checked, and the claims of its slots; none where the
  /// other pool's slots say the same, or where rows may share slots.
  struct Checked {
    Pool pool;
    std::optional<Claims> claims;
  };
  Claims makeClaims(Pool pool);

  /// Prints `format` with `numbers`, and stops, where `wrong` holds.
  void report(Value wrong, const Twine &format, ValueRange numbers);
  void checkBlock(Value row, Destination to, Pool pool);
  void claim(Value row, Destination to, Pool pool, Tensor claims);

  ImplicitLocOpBuilder host;
  AppendedRows rows;
  Value target;
  Tuning tuning;
  LayoutAttr layout;
  ImplicitLocOpBuilder *b = nullptr;
  Value cache;
};

StringRef nameOf(Pool pool) {
  return pool == Pool::scales ? "scales" : "value";
}

Claims RowChecks::makeClaims(Pool pool) {
  Value blocks = NumBlocksOp::create(host, operandOf(host, target, pool));
  return Claims(host, rows.op, Arith(host).mul(blocks, layout.getPageSize()),
                tuning);
}

void RowChecks::report(Value wrong, const Twine &format, ValueRange numbers) {
  emitStopIf(*b, wrong, format, numbers, "a row cannot go where it is told to");
}

void RowChecks::checkBlock(Value row, Destination to, Pool pool) {
  Arith arith(*b);
  Value operand = operandOf(*b, cache, pool);
  Value blocks = NumBlocksOp::create(*b, operand);
  Value block = to.wideBlock ? to.wideBlock : arith.toIndex(to.block);
  Value outside =
      arith::CmpIOp::create(*b, arith::CmpIPredicate::uge, block, blocks);
  report(arith.both(to.valid, outside),
         "row %llu goes to block %llu, but the " + nameOf(pool) +
             " pool has %llu",
         ValueRange{row, block, blocks});
}

void RowChecks::claim(Value row, Destination to, Pool pool, Tensor claims) {
  emitIf(*b, to.valid, [&] {
    Arith arith(*b);
    Value slot =
        arith.add(arith.mul(arith.toIndex(to.block), layout.getPageSize()),
                  arith.toIndex(to.slot));
    Value mine = arith.toI32(row);
    Value other = Claims::claim(*b, claims, slot, mine);
    report(Claims::isClaimed(*b, other),
           "rows %llu and %llu both go to slot %llu of block %llu of the " +
               nameOf(pool) + " pool",
           ValueRange{arith.minimum(other, mine),
                      b->createOrFold<arith::MaxUIOp>(other, mine), to.slot,
                      to.block});
  });
}

void RowChecks::emit() {
  SmallVector<Value> lead = rows.lead(host);
  Value count = AppendedRows::count(host, lead);
  bool scales =
      rows.scales && layout.isQuantized() && layout.hasSeparatePools();
  // Scales beside values share their slots.
  bool values = rows.values || (rows.scales && !scales);
  SmallVector<Checked> pools;
  auto addPool = [&](Pool pool, bool isClaimed) {
    pools.push_back({pool, isClaimed && !rows.workspace
                               ? std::optional(makeClaims(pool))
                               : std::nullopt});
  };
  if (values)
    addPool(Pool::values, /*isClaimed=*/true);
  // Where the pools share blocks one list speaks for both.
  if (scales)
    addPool(Pool::scales, !values || layout.hasOwnScalesTable());

  RowUnits units(/*width=*/1, tuning.threads);
  KernelBuilder builder(host, rows.op, units.threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  b = &builder.body();
  cache = builder.take(target);
  SmallVector<std::optional<Tensor>> claims;
  for (const Checked &checked : pools)
    claims.push_back(checked.claims
                         ? std::optional(checked.claims->take(builder))
                         : std::nullopt);
  OutOfRange policy = rows.policy;
  RowMap map(builder, rows.form, rows.lists, lead,
             policy == OutOfRange::skip ? policy : OutOfRange::assume);
  if (policy != OutOfRange::skip)
    map.onToken = [&](Value row, Value batch, Value page) {
      Value batches = BatchSizeOp::create(*b, cache);
      Value columns = TableColumnsOp::create(*b, cache);
      auto atLeast = [&](Value value, Value size) {
        return arith::CmpIOp::create(*b, arith::CmpIPredicate::uge, value, size)
            .getResult();
      };
      report(atLeast(batch, batches),
             "row %llu goes to sequence %llu, but the table has %llu",
             ValueRange{row, batch, batches});
      report(atLeast(page, columns),
             "row %llu goes to page %llu of its sequence, but the table has "
             "%llu columns",
             ValueRange{row, page, columns});
    };
  // Tables have the positions by which rows turn; what is left out for its
  // position goes nowhere.
  std::optional<RopeNorm> ropeNorm;
  if (rows.ropeNorm.cos)
    ropeNorm.emplace(host, builder, rows.turns(),
                     policy == OutOfRange::skip ? policy : OutOfRange::trap);
  units.forEachRow(builder, count, [&](Value row, Value) {
    map.at(
        row, cache, scales,
        [&](Destinations to) {
          auto check = [&](Value) {
            for (auto [checked, list] : llvm::zip_equal(pools, claims)) {
              Destination place =
                  checked.pool == Pool::values ? to.values : to.scales;
              if (policy != OutOfRange::skip)
                checkBlock(row, place, checked.pool);
              if (list)
                claim(row, place, checked.pool, *list);
            }
          };
          if (!ropeNorm)
            return check(Value());
          ropeNorm->at(map.indices(row), to, check);
        },
        values);
  });
  builder.launch(units.blocks(host, count));
  for (Checked &checked : pools)
    if (checked.claims)
      checked.claims->free(host);
}

} // namespace

void mlir::kvcache::emitRowChecks(Operation *op, Tuning tuning) {
  auto check = [&](auto op) {
    AppendedRows rows = AppendedRows::of(op);
    // Keys and values of a collection have their blocks in common.
    llvm::SmallPtrSet<Operation *, 2> seen;
    for (Value target : rows.targets) {
      Operation *collection = getPoolsOp(target);
      if (!collection || seen.insert(collection).second)
        RowChecks(rows, target, tuning).emit();
    }
  };
  TypeSwitch<Operation *>(op)
      .Case<AppendOp, AppendScalesOp, QuantizeAppendOp, RopeQuantizeAppendOp>(
          check);
}
