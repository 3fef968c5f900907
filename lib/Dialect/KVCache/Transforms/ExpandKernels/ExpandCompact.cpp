//===- ExpandCompact.cpp - The kernels of kvcache.compact ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The place of a live page is the first position of its block in the table. The
// pages whose places come first are counted through by one block of threads;
// the pairs (old block, new block) that follow are moved as those of
// kvcache.copy_pages are. A pair is numbered by its new block.
//
//===----------------------------------------------------------------------===//

#include "../Instrument.h"
#include "ControlFlow.h"
#include "Destinations.h"
#include "PairOrder.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// Threads of the block that counts, and positions that each looks at in a
/// step.
constexpr int64_t countingThreads = 512, positionsPerThread = 4, warp = 32;

/// The compaction of the pools of a scope by one table.
class Compaction {
public:
  Compaction(ImplicitLocOpBuilder &host, CompactOp op, const PageScope &scope,
             Value newTable, Tuning tuning);
  /// Traps where an entry in use names no block of the pool.
  void emitCheck();
  void emit();

private:
  /// The workspace: the new block of each block, the old block of each new one,
  /// the order's columns, the number of live pages, and the counts of warps.
  enum Part { newBlock, oldBlock, order, counts = order + PairOrder::columns };
  static_assert(counts == CompactOp::workspacePerBlock &&
                1 + countingThreads / warp <= CompactOp::workspaceMore);
  /// A kernel with what all of them need.
  struct Kernel {
    KernelBuilder builder;
    ImplicitLocOpBuilder &b;
    Value operand, columns, blocks;
    Tensor workspace;
    PairOrder order;
    Kernel(Compaction &of, int64_t threads);
  };

  Value entry(Kernel &kernel, int part, Value index);
  Value load(Kernel &kernel, int part, Value index);
  void store(Kernel &kernel, int part, Value index, Value value);
  /// What lies at a position of the table: its indices (`index`), the entry
  /// (`i32`), whether a token of the sequence is there, and whether it is, in a
  /// block that exists (`i1`).
  struct Entry {
    Value batch, page, block, inUse, live;
  };
  Entry at(Kernel &kernel, Value position);

  void emitClear();
  void emitFindFirst();
  void emitCount();
  void emitPairs();
  void emitTable();
  void emitMoves();

  ImplicitLocOpBuilder &host;
  CompactOp op;
  PageScope scope;
  Value newTable;
  Tuning tuning;
  /// On the host: blocks of the pool, entries of the table, and as many blocks
  /// as matter, none without entries.
  Value blocks, positions, used, orderStart;
};

Compaction::Compaction(ImplicitLocOpBuilder &host, CompactOp op,
                       const PageScope &scope, Value newTable, Tuning tuning)
    : host(host), op(op), scope(scope), newTable(newTable), tuning(tuning) {
  Arith arith(host);
  Value keys = GetKeyCacheOp::create(host, scope.source, arith.index(0));
  Pool pool = scope.values ? Pool::values : Pool::scales;
  blocks = NumBlocksOp::create(host, operandOf(host, keys, pool));
  positions = arith.mul(BatchSizeOp::create(host, scope.source),
                        TableColumnsOp::create(host, scope.source));
  used = arith.mul(blocks, arith.minimum(positions, arith.index(1)));
  orderStart = arith.mul(blocks, order);
}

Compaction::Kernel::Kernel(Compaction &of, int64_t threads)
    : builder(of.host, of.op, threads, /*blocksPerSM=*/0, of.tuning.maxBlocks),
      b(builder.body()),
      workspace(builder.takeTensor(of.op.getWorkspace(), /*readOnly=*/false)),
      order(builder, workspace, of.orderStart, of.blocks) {
  Arith arith(b);
  Value keys =
      GetKeyCacheOp::create(b, builder.take(of.scope.source), arith.index(0));
  operand = operandOf(b, keys, of.scope.values ? Pool::values : Pool::scales);
  columns = arith.toI32(TableColumnsOp::create(b, operand));
  blocks = builder.take(of.blocks);
}

Value Compaction::entry(Kernel &kernel, int part, Value index) {
  Arith arith(kernel.b);
  return viewEntry(
      kernel.b, kernel.workspace,
      arith.add(arith.mul(kernel.blocks, part), arith.toIndex(index)));
}

Value Compaction::load(Kernel &kernel, int part, Value index) {
  return memref::LoadOp::create(kernel.b, entry(kernel, part, index),
                                ValueRange());
}

void Compaction::store(Kernel &kernel, int part, Value index, Value value) {
  memref::StoreOp::create(kernel.b, value, entry(kernel, part, index),
                          ValueRange());
}

Compaction::Entry Compaction::at(Kernel &kernel, Value position) {
  ImplicitLocOpBuilder &b = kernel.b;
  Arith arith(b);
  // Positions of a table are promised to fit 32 bits.
  Value position32 = arith.toI32(position);
  Entry found;
  found.batch = arith.toIndex(arith.div(position32, kernel.columns));
  found.page = arith.toIndex(arith.rem(position32, kernel.columns));
  Value length = CacheLengthOp::create(b, kernel.operand, found.batch);
  found.inUse = arith.less(
      found.page, arith.ceilDiv(length, scope.sourceLayout().getPageSize()));
  found.block = BlockIdOp::create(b, kernel.operand, found.batch, found.page,
                                  OutOfRange::assume);
  found.live = found.inUse;
  if (op.getPolicy() == OutOfRange::skip)
    found.live = arith.both(
        found.live, arith.less(arith.toIndex(found.block), kernel.blocks));
  return found;
}

void Compaction::emitCheck() {
  Kernel kernel(*this, tuning.threads);
  launchThreads(
      host, kernel.builder, positions, tuning.threads, [&](Value position) {
        Entry found = at(kernel, position);
        emitTrapUnless(kernel.b, found.inUse,
                       {{scope.values ? "block" : "scales block",
                         Arith(kernel.b).toIndex(found.block), kernel.blocks}});
      });
}

/// Nothing is known of any block; `start` holds places until it is needed.
void Compaction::emitClear() {
  Kernel kernel(*this, tuning.threads);
  launchThreads(host, kernel.builder, used, tuning.threads, [&](Value block) {
    Value none = Arith(kernel.b).i32(PairOrder::none);
    store(kernel, newBlock, block, none);
    kernel.order.set(PairOrder::start, block, none);
  });
}

void Compaction::emitFindFirst() {
  Kernel kernel(*this, tuning.threads);
  ImplicitLocOpBuilder &b = kernel.b;
  launchThreads(
      host, kernel.builder, positions, tuning.threads, [&](Value position) {
        Arith arith(b);
        Entry found = at(kernel, position);
        emitIf(b, found.live, [&] {
          Value place = kernel.order.view(PairOrder::start, found.block);
          memref::AtomicRMWOp::create(b, arith::AtomicRMWKind::minu,
                                      arith.toI32(position), place,
                                      ValueRange());
        });
      });
}

void Compaction::emitCount() {
  Kernel kernel(*this, countingThreads);
  ImplicitLocOpBuilder &b = kernel.b;
  Arith arith(b);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value lane = arith.rem(thread, warp), warpId = arith.div(thread, warp);
  Value zero = arith.i32(0), one = arith.i32(1);
  Value total = kernel.builder.take(positions);
  auto loop = scf::ForOp::create(
      b, arith.index(0), total,
      arith.index(countingThreads * positionsPerThread), ValueRange{zero});
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value before = loop.getRegionIterArgs()[0];
    Value first =
        arith.add(loop.getInductionVar(),
                  arith.toIndex(arith.mul(thread, positionsPerThread)));
    // Which of the thread's positions are the first of a live page: the block
    // there, or -1.
    SmallVector<Value> found;
    Value mine = zero;
    for (int64_t i = 0; i < positionsPerThread; ++i) {
      Value position = arith.add(first, i);
      Value none = arith.i32(PairOrder::none);
      Value block = emitChoice(
          b, arith.less(position, total),
          [&]() -> Value {
            Entry at = this->at(kernel, position);
            return emitChoice(
                b, at.live,
                [&]() -> Value {
                  Value place = kernel.order.get(PairOrder::start, at.block);
                  return arith::SelectOp::create(
                      b, arith.equal(place, arith.toI32(position)), at.block,
                      none);
                },
                none);
          },
          none);
      found.push_back(block);
      Value isFound =
          arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block, none);
      mine = arith.add(mine, arith::SelectOp::create(b, isFound, one, zero));
    }
    // Up to and with each thread of the warp, then of the warps before.
    Value upTo = mine;
    for (int64_t step = 1; step < warp; step *= 2) {
      auto other = gpu::ShuffleOp::create(
          b, upTo, arith.i32(step), arith.i32(warp), gpu::ShuffleMode::UP);
      Value has = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, lane,
                                        arith.i32(step));
      upTo = arith.add(upTo, arith::SelectOp::create(
                                 b, has, other.getShuffleResult(), zero));
    }
    auto ofWarp = [&](Value number) {
      return entry(kernel, counts, arith.add(arith.toIndex(number), 1));
    };
    emitIf(b, arith.equal(lane, arith.i32(warp - 1)), [&] {
      memref::StoreOp::create(b, upTo, ofWarp(warpId), ValueRange());
    });
    gpu::BarrierOp::create(b);
    Value all = zero;
    Value rank = arith.add(before, arith.sub(upTo, mine));
    for (int64_t i = 0; i < countingThreads / warp; ++i) {
      Value count =
          memref::LoadOp::create(b, ofWarp(arith.i32(i)), ValueRange());
      Value isBefore = arith.less(arith.i32(i), warpId);
      rank = arith.add(rank, arith::SelectOp::create(b, isBefore, count, zero));
      all = arith.add(all, count);
    }
    gpu::BarrierOp::create(b);
    for (Value block : found) {
      Value isFound = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block,
                                            arith.i32(PairOrder::none));
      emitIf(b, isFound, [&] {
        store(kernel, newBlock, block, rank);
        store(kernel, oldBlock, rank, block);
      });
      rank = arith.add(rank, arith::SelectOp::create(b, isFound, one, zero));
    }
    scf::YieldOp::create(b, ValueRange{arith.add(before, all)});
  }
  emitIf(b, arith.equal(thread, zero),
         [&] { store(kernel, counts, arith.index(0), loop.getResult(0)); });
  kernel.builder.launch(Arith(host).minimum(used, Arith(host).index(1)));
}

/// A pair's parent moves the page that its own page replaces; there is one, and
/// no sibling.
void Compaction::emitPairs() {
  Kernel kernel(*this, tuning.threads);
  ImplicitLocOpBuilder &b = kernel.b;
  launchThreads(host, kernel.builder, used, tuning.threads, [&](Value number) {
    Arith arith(b);
    Value pair = arith.toI32(number), none = arith.i32(PairOrder::none);
    Value live = load(kernel, counts, arith.index(0));
    Value source = emitChoice(
        b, arith.less(pair, live), [&] { return load(kernel, oldBlock, pair); },
        pair);
    Value parent =
        arith::SelectOp::create(b, arith.less(source, live), source, none);
    // A page in its place does not move.
    Value child = emitChoice(
        b, arith.equal(source, pair),
        [&] { return arith.i32(PairOrder::idle); },
        load(kernel, newBlock, pair));
    kernel.order.set(PairOrder::parent, pair, parent);
    kernel.order.set(PairOrder::child, pair, child);
    kernel.order.set(PairOrder::sibling, pair, none);
  });
  emitFindStarts(host, op, op.getWorkspace(), orderStart, blocks, used, tuning);
}

void Compaction::emitTable() {
  Kernel kernel(*this, tuning.threads);
  Tensor table = kernel.builder.takeTensor(newTable, /*readOnly=*/false);
  ImplicitLocOpBuilder &b = kernel.b;
  launchThreads(
      host, kernel.builder, positions, tuning.threads, [&](Value position) {
        Arith arith(b);
        Entry found = at(kernel, position);
        Value now = emitChoice(
            b, found.live, [&] { return load(kernel, newBlock, found.block); },
            found.block);
        Value index =
            arith.add(arith.mul(found.batch, table.strides[0]), found.page);
        memref::StoreOp::create(b, now, viewEntry(b, table, index),
                                ValueRange());
      });
}

void Compaction::emitMoves() {
  Value pages = Arith(host).minimum(blocks, positions);
  emitForPieces(host, scope, [&](const PagePieces &pieces) {
    PageWork work(host, op, scope, pieces, tuning);
    Tensor workspace =
        work.builder().takeTensor(op.getWorkspace(), /*readOnly=*/true);
    PairOrder order(work.builder(), workspace, orderStart, blocks);
    ImplicitLocOpBuilder &b = work.kernel().b;
    Value count = work.builder().take(blocks);
    work.launch(pages, [&](Value leader, auto forUnits) {
      Arith arith(b);
      auto itemsOf = [&](Value pair) {
        Value index = arith.add(arith.mul(count, oldBlock), pair);
        Value source = memref::LoadOp::create(b, viewEntry(b, workspace, index),
                                              ValueRange());
        return std::pair(PageItem{source, Value()},
                         PageItem{arith.toI32(pair), Value()});
      };
      emitOrderedMoves(work, order, leader, itemsOf, forUnits);
    });
  });
}

void Compaction::emit() {
  emitClear();
  emitFindFirst();
  emitCount();
  emitPairs();
  emitTable();
  emitMoves();
}

} // namespace

LogicalResult mlir::kvcache::expandCompact(CompactOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  PageScope all(op.getCollection(), op.getCollection());
  auto forEachTable = [&](void (Compaction::*emit)()) {
    forEachScope(all, {op.getTables()},
                 [&](const PageScope &scope, ArrayRef<Value> tables) {
                   (Compaction(host, op, scope, tables[0], tuning).*emit)();
                 });
  };
  // All tables are checked before anything is written.
  if (op.getPolicy() == OutOfRange::trap ||
      (op->hasAttr(KVCacheDialect::getInstrumentAttrName()) &&
       op.getPolicy() != OutOfRange::skip))
    forEachTable(&Compaction::emitCheck);
  forEachTable(&Compaction::emit);
  return success();
}
