//===- ExpandCheckRows.cpp - The kernel of kvcache.check_rows ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread a row: it checks its own destination, and that no row before has the
// same. Numbers are printed before the assertion that stops the program.
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "ExpandKernels.h"
#include "RowUnits.h"

#include "../Instrument.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

class CheckRowsKernel {
public:
  CheckRowsKernel(ImplicitLocOpBuilder &host, CheckRowsOp op, Tuning tuning)
      : host(host), op(op), tuning(tuning) {}
  void emit();

private:
  /// Prints `format` with `numbers`, and stops, where `wrong` holds.
  void report(Value wrong, const Twine &format, ValueRange numbers);
  void checkBlock(Value row, Destination to, Pool pool);
  void checkUnique(RowMap &map, Value row, Destinations to, bool scales);

  ImplicitLocOpBuilder &host;
  CheckRowsOp op;
  Tuning tuning;
  ImplicitLocOpBuilder *b = nullptr;
  Value cache;
};

void CheckRowsKernel::report(Value wrong, const Twine &format,
                             ValueRange numbers) {
  std::string where = locationText(op.getLoc());
  emitIf(*b, wrong, [&] {
    gpu::PrintfOp::create(*b, (where + ": error: " + format + "\n").str(),
                          numbers);
    Value never = arith::ConstantOp::create(*b, b->getBoolAttr(false));
    cf::AssertOp::create(*b, never,
                         where + ": a row cannot go where it is told to");
  });
}

void CheckRowsKernel::checkBlock(Value row, Destination to, Pool pool) {
  Arith arith(*b);
  Value operand = operandOf(*b, cache, pool);
  Value blocks = NumBlocksOp::create(*b, operand);
  Value outside = arith::CmpIOp::create(*b, arith::CmpIPredicate::uge,
                                        arith.toIndex(to.block), blocks);
  report(arith.both(to.valid, outside),
         "row %llu goes to block %u, but the " +
             Twine(pool == Pool::scales ? "scales" : "value") +
             " pool has %llu",
         ValueRange{row, to.block, blocks});
}

void CheckRowsKernel::checkUnique(RowMap &map, Value row, Destinations to,
                                  bool scales) {
  Arith arith(*b);
  auto loop = scf::ForOp::create(*b, arith.index(0), row, arith.index(1));
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(loop.getBody());
  Value other = loop.getInductionVar();
  auto compare = [&](Destination mine, Destination its, StringRef pool) {
    Value same = arith.both(arith.equal(mine.block, its.block),
                            arith.equal(mine.slot, its.slot));
    same = arith.both(same, arith.both(mine.valid, its.valid));
    report(same,
           "rows %llu and %llu both go to slot %u of block %u of the " + pool +
               " pool",
           ValueRange{other, row, mine.slot, mine.block});
  };
  map.at(other, cache, scales, [&](Destinations its) {
    compare(to.values, its.values, "value");
    if (scales)
      compare(to.scales, its.scales, "scales");
  });
}

void CheckRowsKernel::emit() {
  Arith hostArith(host);
  SmallVector<Value> lead(op.getSizes());
  Value rows = lead[0];
  if (lead.size() == 2)
    rows = hostArith.mul(lead[0], lead[1]);
  RowUnits units(/*width=*/1, tuning.threads);
  KernelBuilder builder(host, op, units.threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  b = &builder.body();
  LayoutAttr layout = getLayout(op.getTargets().front().getType());
  SmallVector<Value> caches;
  for (Value target : op.getTargets())
    caches.push_back(builder.take(target));
  // Those of one collection have their blocks in common.
  if (RowMap::areTogether(op.getTargets()))
    caches.resize(1);
  bool scales = layout.isQuantized() && layout.hasSeparatePools();
  OutOfRange policy = op.getPolicy();
  RowMap map(builder, op.getForm(), op.getRows(), lead,
             policy == OutOfRange::skip ? policy : OutOfRange::assume);
  auto checkToken = [&](Value row, Value batch, Value page) {
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
    for (Value target : caches) {
      cache = target;
      if (policy != OutOfRange::skip)
        map.onToken = checkToken;
      map.at(row, cache, scales, [&](Destinations to) {
        if (policy != OutOfRange::skip) {
          checkBlock(row, to.values, Pool::values);
          if (scales)
            checkBlock(row, to.scales, Pool::scales);
        }
        map.onToken = nullptr;
        checkUnique(map, row, to, scales);
      });
    }
  });
  builder.launch(units.blocks(host, rows));
}

} // namespace

LogicalResult mlir::kvcache::expandCheckRows(CheckRowsOp op, Tuning tuning) {
  ImplicitLocOpBuilder host(op.getLoc(), op);
  CheckRowsKernel(host, op, tuning).emit();
  return success();
}
