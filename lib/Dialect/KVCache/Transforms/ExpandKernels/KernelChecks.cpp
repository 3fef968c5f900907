//===- KernelChecks.cpp - Checks of what kernels are given ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelChecks.h"

#include "../RuntimeChecks.h"
#include "ControlFlow.h"
#include "Destinations.h"
#include "OverlapChecks.h"
#include "PairOrder.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

static constexpr int64_t nobody = -1;

void mlir::kvcache::emitStopIf(ImplicitLocOpBuilder &b, Value wrong,
                               const Twine &format, ValueRange numbers,
                               const Twine &summary) {
  emitIf(b, wrong, [&] {
    emitReport(b, format, numbers);
    Value never = arith::ConstantOp::create(b, b.getBoolAttr(false));
    cf::AssertOp::create(b, never,
                         (locationText(b.getLoc()) + ": " + summary).str());
  });
}

//===----------------------------------------------------------------------===//
// Claims
//===----------------------------------------------------------------------===//

Claims::Claims(ImplicitLocOpBuilder &host, Operation *op, Value places,
               Tuning tuning) {
  memory =
      gpu::AllocOp::create(
          host, MemRefType::get({ShapedType::kDynamic}, host.getI32Type()),
          /*asyncToken=*/Type(), /*asyncDependencies=*/ValueRange(),
          /*dynamicSizes=*/ValueRange{places}, /*symbolOperands=*/ValueRange())
          .getMemref();
  KernelBuilder builder(host, op, tuning.threads, /*blocksPerSM=*/0,
                        tuning.maxBlocks);
  Tensor claims = take(builder);
  ImplicitLocOpBuilder &b = builder.body();
  launchThreads(host, builder, places, tuning.threads, [&](Value place) {
    memref::StoreOp::create(b, Arith(b).i32(nobody),
                            viewEntry(b, claims, place), ValueRange());
  });
}

void Claims::free(ImplicitLocOpBuilder &host) {
  gpu::DeallocOp::create(host, /*asyncToken=*/Type(),
                         /*asyncDependencies=*/ValueRange(), memory);
}

Tensor Claims::take(KernelBuilder &builder) const {
  return builder.takeTensor(memory, /*readOnly=*/false);
}

Value Claims::claim(ImplicitLocOpBuilder &b, const Tensor &claims, Value place,
                    Value mine) {
  return memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::minu, mine,
                                     viewEntry(b, claims, place), ValueRange());
}

Value Claims::claimant(ImplicitLocOpBuilder &b, const Tensor &claims,
                       Value place) {
  return memref::LoadOp::create(b, viewEntry(b, claims, place), ValueRange());
}

Value Claims::isClaimed(ImplicitLocOpBuilder &b, Value claimant) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, claimant,
                               Arith(b).i32(nobody));
}

//===----------------------------------------------------------------------===//
// Ids and pairs
//===----------------------------------------------------------------------===//

void mlir::kvcache::emitCheckIds(ImplicitLocOpBuilder &host, Operation *op,
                                 const PageScope &scope, ArrayRef<Value> lists,
                                 Tuning tuning) {
  KernelBuilder builder(host, op, tuning.threads, /*blocksPerSM=*/0,
                        tuning.maxBlocks);
  PageKernel kernel(builder, scope);
  IdList ids(builder, lists, scope);
  launchThreads(host, builder, sizeOf(host, lists[0], 0), tuning.threads,
                [&](Value item) {
                  ids.areInside(kernel, ids.read(item), OutOfRange::trap);
                });
}

void mlir::kvcache::emitCheckDisjoint(ImplicitLocOpBuilder &host, Operation *op,
                                      const PageScope &scope,
                                      ArrayRef<Value> lists, Tuning tuning) {
  Arith onHost(host);
  Pool pool = scope.values ? Pool::values : Pool::scales;
  Value keys = GetKeyCacheOp::create(host, scope.source, onHost.index(0));
  Value items = NumBlocksOp::create(host, operandOf(host, keys, pool));
  if (scope.tokens)
    items = onHost.mul(items, scope.sourceLayout().getPageSize());
  Value count = sizeOf(host, lists[0], 0);
  Claims claims(host, op, items, tuning);
  std::string name = pool == Pool::scales ? "scales " : "";
  name += scope.tokens ? "slot" : "block";
  // Destinations claim, then sources ask.
  for (unsigned place : {1, 0}) {
    KernelBuilder builder(host, op, tuning.threads, /*blocksPerSM=*/0,
                          tuning.maxBlocks);
    ImplicitLocOpBuilder &b = builder.body();
    PageKernel kernel(builder, scope);
    IdList ids(builder, lists, scope);
    Tensor list = claims.take(builder);
    launchThreads(host, builder, count, tuning.threads, [&](Value pair) {
      Arith arith(b);
      SmallVector<Value> mine = ids.read(pair);
      // Under `assume` too: an id that is out of range claims nothing.
      Value inside = ids.areInside(kernel, mine, OutOfRange::skip);
      emitIf(b, inside, [&] {
        Value id = mine[place], number = arith.toI32(pair);
        if (id.getType().isInteger(64))
          id = arith::IndexCastOp::create(b, b.getIndexType(), id);
        id = arith.toIndex(id);
        Value other = place == 1 ? Claims::claim(b, list, id, number)
                                 : Claims::claimant(b, list, id);
        auto wrong = [&](const Twine &format, ValueRange numbers) {
          emitStopIf(b, Claims::isClaimed(b, other), format, numbers,
                     "pairs are not disjoint");
        };
        if (place == 1)
          wrong("pairs %llu and %llu both go to " + name +
                    " %llu, but are said to be disjoint",
                ValueRange{arith.minimum(other, number),
                           b.createOrFold<arith::MaxUIOp>(other, number), id});
        else
          wrong("pair %llu comes from " + name +
                    " %llu, to which pair %llu goes, but they are said to be "
                    "disjoint",
                ValueRange{pair, id, other});
      });
    });
  }
  claims.free(host);
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

namespace {

/// A check of `count` (`index`) entries of a list, a thread each.
class ListCheck {
public:
  ListCheck(Operation *op, Tuning tuning)
      : host(op->getLoc(), op), tuning(tuning),
        builder(host, op, tuning.threads, /*blocksPerSM=*/0, tuning.maxBlocks),
        b(builder.body()) {}

  /// With `fromZero` no row lies before the first offset.
  void checkOffsets(Value offsets, Value rows, bool fromZero);
  void checkLengths(Value lengths, Value rows);
  void checkColumns(Value cache);
  void checkCacheLengths(Value cache);
  void checkPositions(RopeOp op);

private:
  Value entry(Value list, Value index) {
    Arith arith(b);
    return arith.toIndex(
        TableReadOp::create(b, b.getI32Type(), list, arith.toI32(index),
                            /*alignment=*/IntegerAttr(), /*invariant=*/true));
  }
  Value greater(Value a, Value c) {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, a, c);
  }
  void stopIf(Value wrong, const Twine &format, ValueRange numbers) {
    emitStopIf(b, wrong, format, numbers, "inputs do not fit");
  }

  ImplicitLocOpBuilder host;
  Tuning tuning;
  KernelBuilder builder;
  ImplicitLocOpBuilder &b;
};

void ListCheck::checkOffsets(Value offsets, Value rows, bool fromZero) {
  Arith arith(b);
  Value entries = sizeOf(host, offsets, 0), list = builder.takeList(offsets);
  Value count = builder.take(entries), all = builder.take(rows);
  launchThreads(host, builder, entries, tuning.threads, [&](Value place) {
    Value mine = entry(list, place), next = arith.add(place, 1);
    if (fromZero) {
      Value zero = arith.index(0);
      stopIf(arith.both(arith.equal(place, zero), greater(mine, zero)),
             "offset %llu is %llu, but offsets ascend from 0",
             ValueRange{place, mine});
    }
    stopIf(greater(mine, all), "offset %llu is %llu, but there are %llu rows",
           ValueRange{place, mine, all});
    emitIf(b, arith.less(next, count), [&] {
      Value after = entry(list, next);
      stopIf(greater(mine, after),
             "offset %llu is %llu, but the one before is %llu",
             ValueRange{next, after, mine});
    });
  });
}

void ListCheck::checkLengths(Value lengths, Value rows) {
  Value entries = sizeOf(host, lengths, 0), list = builder.takeList(lengths);
  Value all = builder.take(rows);
  launchThreads(host, builder, entries, tuning.threads, [&](Value place) {
    Value mine = entry(list, place);
    stopIf(greater(mine, all),
           "sequence %llu has %llu new rows, but the source has %llu",
           ValueRange{place, mine, all});
  });
}

void ListCheck::checkColumns(Value hostCache) {
  Arith onHost(host), arith(b);
  Value cache = builder.take(hostCache);
  int64_t pageSize = getLayout(hostCache.getType()).getPageSize();
  launchThreads(host, builder, onHost.index(1), /*threads=*/1, [&](Value) {
    Value longest = MaxContextLengthOp::create(b, cache);
    Value needed = arith.ceilDiv(longest, pageSize);
    Value columns = TableColumnsOp::create(b, cache);
    stopIf(greater(needed, columns),
           "max_cache_length %llu needs %llu table columns, but the table has "
           "%llu",
           ValueRange{longest, needed, columns});
  });
}

void ListCheck::checkCacheLengths(Value hostCache) {
  Arith arith(b);
  Value cache = builder.take(hostCache);
  int64_t pageSize = getLayout(hostCache.getType()).getPageSize();
  Value sequences = host.createOrFold<BatchSizeOp>(hostCache);
  launchThreads(host, builder, sequences, tuning.threads, [&](Value batch) {
    Value length = CacheLengthOp::create(b, cache, batch);
    Value tokens = arith.mul(TableColumnsOp::create(b, cache), pageSize);
    stopIf(greater(length, tokens),
           "sequence %llu has %llu tokens in the cache, but the columns of the "
           "table hold %llu",
           ValueRange{batch, length, tokens});
  });
}

void ListCheck::checkPositions(RopeOp op) {
  Arith arith(b);
  Value entries = sizeOf(host, op.getPositions(), 0),
        list = builder.takeList(op.getPositions());
  Value rows = builder.take(sizeOf(host, op.getCos(), 0));
  launchThreads(host, builder, entries, tuning.threads, [&](Value row) {
    Value position = entry(list, row);
    stopIf(arith::CmpIOp::create(b, arith::CmpIPredicate::uge, position, rows),
           "row %llu has position %llu, but the tables have %llu",
           ValueRange{row, position, rows});
  });
}

/// Asserts on the host that the table has the positions of a window; where its
/// type says how many these are, it is checked as the operation is expanded.
void checkWindow(ImplicitLocOpBuilder &host, PagedAttentionOp op) {
  if (!op.getWindow())
    return;
  Arith arith(host);
  Value window = arith.index(*op.getWindow());
  Value positions =
      arith.mul(TableColumnsOp::create(host, op.getKeys()),
                kvcache::getLayout(op.getKeys().getType()).getPageSize());
  std::string text = reportedName(op) + " expected 'window' to be at most the ";
  // Nothing is asked of a table of no sequence.
  Value fits = host.createOrFold<arith::OrIOp>(
      arith.equal(host.createOrFold<BatchSizeOp>(op.getKeys()), arith.index(0)),
      host.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ule, window,
                                       positions));
  emitAssert(
      host, fits,
      locationText(op->getLoc()) + ": " + text + "positions of the table",
      text + "%llu positions of the table, got %llu; leave it out where rows "
             "see all keys",
      [&] { return SmallVector<Value>{positions, window}; });
}

} // namespace

void mlir::kvcache::emitInputChecks(Operation *op, Tuning tuning) {
  ImplicitLocOpBuilder host(op->getLoc(), op);
  emitOverlapChecks(op);
  bool skips = false;
  if (auto policy = dyn_cast_if_present<OutOfRangeAttr>(
          op->getInherentAttr("policy").value_or(Attribute())))
    skips = policy.getValue() == OutOfRange::skip;
  // Keys and values are of one collection as a rule. What is out of range under
  // `skip` is left out, which is no fault, and slots and positions need no
  // lengths.
  llvm::SmallPtrSet<Operation *, 2> collections;
  auto tables = [&](Value cache) {
    Operation *collection = getPoolsOp(cache);
    if (skips || isa_and_nonnull<GetPagePoolsOp>(collection) ||
        (collection && !collections.insert(collection).second))
      return;
    ListCheck(op, tuning).checkColumns(cache);
    ListCheck(op, tuning).checkCacheLengths(cache);
  };
  auto needsLengths = [](auto op) {
    return op.getForm() == RowForm::ragged || op.getForm() == RowForm::padded;
  };
  bool needsTables =
      TypeSwitch<Operation *, bool>(op)
          .Case<AppendOp, AppendScalesOp, QuantizeAppendOp,
                RopeQuantizeAppendOp>(needsLengths)
          // Slots are all that it reads of a table then.
          .Case([](MLADecodeOp op) { return op.getSlots().empty(); })
          .Default(true);
  for (Value operand : op->getOperands())
    if (needsTables && isa<CacheType>(operand.getType()))
      tables(operand);

  auto offsets = [&](Value list, Value tensor, bool fromZero = false) {
    if (list)
      ListCheck(op, tuning)
          .checkOffsets(list, sizeOf(host, tensor, 0), fromZero);
  };
  auto rows = [&](auto op, Value tensor) {
    if (op.getForm() == RowForm::ragged)
      offsets(op.getRows()[0], tensor);
    if (op.getForm() == RowForm::padded)
      ListCheck(op, tuning)
          .checkLengths(op.getRows()[0], sizeOf(host, tensor, 1));
  };
  TypeSwitch<Operation *>(op)
      .Case<AppendOp, QuantizeAppendOp, RopeQuantizeAppendOp>(
          [&](auto op) { rows(op, op.getSources().front()); })
      .Case([&](AppendScalesOp op) { rows(op, op.getScales().front()); })
      .Case([&](RopeOp op) {
        if (!skips)
          ListCheck(op, tuning).checkPositions(op);
      })
      .Case([&](CompactOp op) {
        tables(GetKeyCacheOp::create(host, op.getCollection(),
                                     Arith(host).index(0)));
      })
      // It writes every row.
      .Case([&](GatherOp op) {
        offsets(op.getOffsets(), op.getOut(), /*fromZero=*/true);
      })
      .Case([&](PagedAttentionOp op) {
        checkWindow(host, op);
        offsets(op.getRowOffsets(), op.getQ());
      })
      .Case([&](MLADecodeOp op) { offsets(op.getRowOffsets(), op.getQ()); })
      .Case<IndexerScoresOp, IndexerTopKOp>(
          [&](auto op) { offsets(op.getOffsets(), op.getQueries()); })
      .Case([&](RemapIndicesOp op) {
        offsets(op.getOffsets(), op.getIndices());
      });
}
