//===- ExpandCheckRows.cpp - The kernels of kvcache.check_rows -----------===//
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

#include "Destinations.h"
#include "ExpandKernels.h"
#include "KernelChecks.h"
#include "RowUnits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

class CheckRowsKernel {
public:
  CheckRowsKernel(ImplicitLocOpBuilder &host, CheckRowsOp op, Tuning tuning)
      : host(host), op(op), tuning(tuning),
        layout(getLayout(op.getTargets().front().getType())) {}
  void emit();

private:
  /// A pool whose rows are checked, and the claims of its slots; none where the
  /// other pool's slots say the same.
  struct Checked {
    Pool pool;
    std::optional<Claims> claims;
  };
  Claims makeClaims(Pool pool);

  /// Prints `format` with `numbers`, and stops, where `wrong` holds.
  void report(Value wrong, const Twine &format, ValueRange numbers);
  void checkBlock(Value row, Destination to, Pool pool);
  void claim(Value row, Destination to, Pool pool, Tensor claims);

  ImplicitLocOpBuilder &host;
  CheckRowsOp op;
  Tuning tuning;
  LayoutAttr layout;
  ImplicitLocOpBuilder *b = nullptr;
  Value cache;
};

StringRef nameOf(Pool pool) {
  return pool == Pool::scales ? "scales" : "value";
}

Claims CheckRowsKernel::makeClaims(Pool pool) {
  Value blocks =
      NumBlocksOp::create(host, operandOf(host, op.getTargets().front(), pool));
  return Claims(host, op, Arith(host).mul(blocks, layout.getPageSize()),
                tuning);
}

void CheckRowsKernel::report(Value wrong, const Twine &format,
                             ValueRange numbers) {
  emitStopIf(*b, wrong, format, numbers, "a row cannot go where it is told to");
}

void CheckRowsKernel::checkBlock(Value row, Destination to, Pool pool) {
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

void CheckRowsKernel::claim(Value row, Destination to, Pool pool,
                            Tensor claims) {
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

void CheckRowsKernel::emit() {
  SmallVector<Value> lead(op.getSizes());
  Value rows = lead[0];
  if (lead.size() == 2)
    rows = Arith(host).mul(lead[0], lead[1]);
  bool values = !op.getNoValues();
  bool scales =
      !op.getNoScales() && layout.isQuantized() && layout.hasSeparatePools();
  SmallVector<Checked> pools;
  if (values)
    pools.push_back({Pool::values, makeClaims(Pool::values)});
  // Where the pools share blocks one list speaks for both.
  if (scales && values && !layout.hasOwnScalesTable())
    pools.push_back({Pool::scales, std::nullopt});
  else if (scales)
    pools.push_back({Pool::scales, makeClaims(Pool::scales)});

  RowUnits units(/*width=*/1, tuning.threads);
  KernelBuilder builder(host, op, units.threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  b = &builder.body();
  cache = builder.take(op.getTargets().front());
  SmallVector<std::optional<Tensor>> claims;
  for (const Checked &checked : pools)
    claims.push_back(checked.claims
                         ? std::optional(checked.claims->take(builder))
                         : std::nullopt);
  OutOfRange policy = op.getPolicy();
  RowMap map(builder, op.getForm(), op.getRows(), lead,
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
  units.forEachRow(builder, rows, [&](Value row, Value) {
    map.at(
        row, cache, scales,
        [&](Destinations to) {
          for (auto [checked, list] : llvm::zip_equal(pools, claims)) {
            Destination place =
                checked.pool == Pool::values ? to.values : to.scales;
            if (policy != OutOfRange::skip)
              checkBlock(row, place, checked.pool);
            if (list)
              claim(row, place, checked.pool, *list);
          }
        },
        values);
  });
  builder.launch(units.blocks(host, rows));
  for (Checked &checked : pools)
    if (checked.claims)
      checked.claims->free(host);
}

} // namespace

LogicalResult mlir::kvcache::expandCheckRows(CheckRowsOp op, Tuning tuning) {
  ImplicitLocOpBuilder host(op.getLoc(), op);
  CheckRowsKernel(host, op, tuning).emit();
  return success();
}
