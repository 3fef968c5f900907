//===- PairOrder.cpp - The order in which pairs are carried out ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairOrder.h"

#include "ControlFlow.h"
#include "Destinations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

/// A signed comparison of pairs, which `none` and `idle` are less than.
static Value compare(ImplicitLocOpBuilder &b, arith::CmpIPredicate predicate,
                     Value lhs, Value rhs) {
  return arith::CmpIOp::create(b, predicate, lhs, rhs);
}

static Value isPair(ImplicitLocOpBuilder &b, Value pair) {
  return compare(b, arith::CmpIPredicate::sge, pair, Arith(b).i32(0));
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

PairOrder::PairOrder(KernelBuilder &builder, const Tensor &workspace,
                     Value first, Value count)
    : b(builder.body()), workspace(workspace),
      first(first ? builder.take(first) : Value()), count(builder.take(count)) {
}

Value mlir::kvcache::viewEntry(ImplicitLocOpBuilder &b, const Tensor &list,
                               Value index) {
  return ByteViewOp::create(b, MemRefType::get({}, b.getI32Type()), list.base,
                            Arith(b).mul(index, list.elementBytes()));
}

Value PairOrder::view(Column column, Value pair) {
  Arith arith(b);
  Value entry = arith.toIndex(pair);
  if (column != 0)
    entry = arith.add(entry, arith.mul(count, column));
  if (first)
    entry = arith.add(entry, first);
  return viewEntry(b, workspace, entry);
}

Value PairOrder::get(Column column, Value pair) {
  return memref::LoadOp::create(b, view(column, pair), ValueRange());
}

void PairOrder::set(Column column, Value pair, Value value) {
  memref::StoreOp::create(b, value, view(column, pair), ValueRange());
}

Value PairOrder::passLeader(Value pair, Value leader) {
  return emitChoice(
      b, Arith(b).equal(pair, leader), [&] { return get(sibling, pair); },
      pair);
}

Value PairOrder::leaf(Value pair, Value leader) {
  SmallVector<Value> found = emitWhile(
      b, {pair, passLeader(get(child, pair), leader)},
      [&](ValueRange at) { return isPair(b, at[1]); },
      [&](ValueRange at) -> SmallVector<Value> {
        return {at[1], passLeader(get(child, at[1]), leader)};
      });
  return found[0];
}

void PairOrder::walk(Value leader, Value firstPair,
                     function_ref<void(Value)> body) {
  Arith arith(b);
  emitWhile(
      b, {firstPair},
      [&](ValueRange at) {
        return compare(b, arith::CmpIPredicate::ne, at[0], leader);
      },
      [&](ValueRange at) -> SmallVector<Value> {
        Value pair = at[0];
        Value isIdle = arith.equal(get(child, pair), arith.i32(idle));
        Value counts = arith::XOrIOp::create(
            b, isIdle, arith::ConstantOp::create(b, b.getBoolAttr(true)));
        emitIf(b, counts, [&] { body(pair); });
        Value next = passLeader(get(sibling, pair), leader);
        Value up = get(parent, pair);
        return {emitChoice(
            b, isPair(b, next), [&] { return leaf(next, leader); }, up)};
      });
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

void mlir::kvcache::launchThreads(ImplicitLocOpBuilder &host,
                                  KernelBuilder &builder, Value count,
                                  int64_t threads,
                                  function_ref<void(Value)> body) {
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  Value blocks = Arith(host).ceilDiv(count, threads);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  builder.forBlock(blocks, [&](Value block) {
    Value number = arith.add(arith.mul(block, threads), thread);
    emitIf(b, arith.less(number, builder.take(count)), [&] { body(number); });
  });
  builder.launch(blocks);
}

void mlir::kvcache::emitOrderPairs(ImplicitLocOpBuilder &host, Operation *op,
                                   const PageScope &scope,
                                   ArrayRef<Value> lists, Value workspace,
                                   OutOfRange policy, Tuning tuning) {
  KernelBuilder builder(host, op, tuning.threads, /*blocksPerSM=*/0,
                        tuning.maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  Value count = sizeOf(host, lists[0], 0);
  PageKernel kernel(builder, scope);
  IdList ids(builder, lists, scope);
  PairOrder order(builder, builder.takeTensor(workspace, /*readOnly=*/false),
                  Value(), count);
  launchThreads(host, builder, count, tuning.threads, [&](Value pair) {
    SmallVector<Value> mine = ids.read(pair);
    Value counts = ids.areInside(kernel, mine, policy);
    Value none = arith.i32(PairOrder::none);
    Value limit = arith.toI32(builder.take(count)), me = arith.toI32(pair);
    // Of the pairs that count: the last that writes my source, the last that
    // writes my destination, the first that reads my destination, and the next
    // that reads my source.
    SmallVector<Value> initial = {none, none, none, none};
    auto loop =
        scf::ForOp::create(b, arith.i32(0), limit, arith.i32(1), initial);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value other = loop.getInductionVar();
      ValueRange found = loop.getRegionIterArgs();
      SmallVector<Value> its = ids.read(arith.toIndex(other));
      // Others trap for themselves.
      Value usable = policy == OutOfRange::skip
                         ? ids.areInside(kernel, its, policy)
                         : Value();
      auto choose = [&](ArrayRef<Value> conditions, Value otherwise) -> Value {
        Value all = usable;
        for (Value condition : conditions)
          all = arith.both(all, condition);
        return arith::SelectOp::create(b, all, other, otherwise);
      };
      auto isNone = [&](Value pair) { return arith.equal(pair, none); };
      Value readsMine = arith.equal(its[0], mine[0]);
      Value isLater = arith.less(me, other);
      SmallVector<Value> next = {
          choose({arith.equal(its[1], mine[0])}, found[0]),
          choose({arith.equal(its[1], mine[1])}, found[1]),
          choose({arith.equal(its[0], mine[1]), isNone(found[2])}, found[2]),
          choose({readsMine, isLater, isNone(found[3])}, found[3])};
      scf::YieldOp::create(b, next);
    }
    ValueRange found = loop.getResults();
    Value stands = arith.both(counts, arith.equal(found[1], me));
    order.set(PairOrder::parent, me, found[0]);
    order.set(PairOrder::child, me,
              arith::SelectOp::create(b, stands, found[2],
                                      arith.i32(PairOrder::idle)));
    order.set(PairOrder::sibling, me, found[3]);
  });
  emitFindStarts(host, op, workspace, Value(), count, count, tuning);
}

void mlir::kvcache::emitFindStarts(ImplicitLocOpBuilder &host, Operation *op,
                                   Value workspace, Value first, Value count,
                                   Value pairs, Tuning tuning) {
  KernelBuilder builder(host, op, tuning.threads, /*blocksPerSM=*/0,
                        tuning.maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();
  Arith arith(b);
  PairOrder order(builder, builder.takeTensor(workspace, /*readOnly=*/false),
                  first, count);
  launchThreads(host, builder, pairs, tuning.threads, [&](Value number) {
    Value pair = arith.toI32(number);
    Value none = arith.i32(PairOrder::none);
    Value limit = arith.toI32(builder.take(count));
    Value isIdle = arith.equal(order.get(PairOrder::child, pair),
                               arith.i32(PairOrder::idle));
    // Up the tree: to its root, to a pair of a larger number, which leads where
    // this is a cycle, or back. What hangs on a cycle would never come back.
    Value up = order.get(PairOrder::parent, pair);
    SmallVector<Value> end = emitWhile(
        b, {up, arith.i32(0)},
        [&](ValueRange at) {
          Value isBelow =
              arith.both(isPair(b, at[0]),
                         compare(b, arith::CmpIPredicate::slt, at[0], pair));
          return arith.both(isBelow, arith.less(at[1], limit));
        },
        [&](ValueRange at) -> SmallVector<Value> {
          return {order.get(PairOrder::parent, at[0]),
                  arith.add(at[1], arith.i32(1))};
        });
    Value isRoot = arith.equal(up, none);
    Value isBack = arith.equal(end[0], pair);
    Value leads = arith::OrIOp::create(b, isRoot, isBack);
    Value counts = arith::XOrIOp::create(
        b, isIdle, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    Value start = emitChoice(
        b, arith.both(leads, counts), [&] { return order.leaf(pair, pair); },
        none);
    order.set(PairOrder::start, pair, start);
  });
}

void mlir::kvcache::emitOrderedMoves(
    PageWork &work, PairOrder &order, Value leader,
    function_ref<std::pair<PageItem, PageItem>(Value)> itemsOf,
    function_ref<void(PageWork::OnUnits)> forUnits) {
  PageKernel &kernel = work.kernel();
  ImplicitLocOpBuilder &b = kernel.b;
  Value leader32 = Arith(b).toI32(leader);
  Value start = order.get(PairOrder::start, leader32);
  emitIf(b, isPair(b, start), [&] {
    std::pair<PageItem, PageItem> last = itemsOf(leader);
    forUnits([&](const PagePiece &piece, ArrayRef<SmallVector<Value>> places) {
      auto load = [&](PageItem item) {
        return llvm::map_to_vector(places, [&](ArrayRef<Value> place) {
          return piece.load(kernel, item, place);
        });
      };
      auto store = [&](PageItem item, ArrayRef<Value> values) {
        for (auto [place, value] : llvm::zip_equal(places, values))
          piece.store(kernel, item, place, value);
      };
      // Only the leader's source may be gone when its turn comes.
      SmallVector<Value> kept = load(last.first);
      order.walk(leader32, start, [&](Value pair) {
        std::pair<PageItem, PageItem> items = itemsOf(Arith(b).toIndex(pair));
        store(items.second, load(items.first));
      });
      store(last.second, kept);
    });
  });
}
