//===- ExpandTopK.cpp - The kernel of kvcache.topk -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../RowUnits.h"
#include "ExpandIndexer.h"
#include "TokenRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

class BestKernel {
public:
  /// Rows of scores start at multiples of `alignment` bytes.
  BestKernel(ImplicitLocOpBuilder &host, Operation *op, Value allScores,
             Tuning tuning, int64_t alignment)
      : host(host), allScores(allScores),
        threads(getBlockThreads(tuning.threads)), lanes(alignment / 4),
        builder(host, op, threads, tuning.blocksPerSM, tuning.maxBlocks),
        b(builder.body()) {}
  void emit(Value indices, Value values,
            function_ref<RowLengths(KernelBuilder &)> makeLengths);

private:
  /// The scores of a thread from `column` (i32) on, as far as there are `live`.
  SmallVector<Value> load(Value row, Value column, Value live);

  ImplicitLocOpBuilder &host;
  Value allScores;
  int64_t threads, lanes;
  KernelBuilder builder;
  ImplicitLocOpBuilder &b;
  Tensor scores;
};

SmallVector<Value> BestKernel::load(Value row, Value column, Value live) {
  Arith arith(b);
  auto at = [&](Value place) {
    return viewElement(b, scores, row, arith.toIndex(place));
  };
  auto zero = b.getZeroAttr(b.getF32Type());
  if (lanes == 1)
    return {emitChoice(
        b, arith.less(column, live),
        [&]() -> Value {
          return memref::LoadOp::create(b, at(column), ValueRange());
        },
        arith::ConstantOp::create(b, zero))};
  auto vectorType = VectorType::get({lanes}, b.getF32Type());
  Value whole = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                      arith.add(column, lanes), live);
  SmallVector<Value> vector = emitIfElse(
      b, whole, TypeRange(vectorType),
      [&] {
        Value start = arith.mul(row, scores.strides[0]);
        Value offset =
            arith.mul(arith.add(start, arith.toIndex(column)), int64_t(4));
        Value view = ByteViewOp::create(
            b, MemRefType::get({lanes}, b.getF32Type()), scores.base, offset);
        return SmallVector<Value>{vector::LoadOp::create(
            b, vectorType, view, ValueRange{arith.index(0)},
            /*nontemporal=*/false, llvm::MaybeAlign(4 * lanes))};
      },
      [&] {
        // Nothing behind the last one is read.
        SmallVector<Value> parts;
        for (int64_t i = 0; i < lanes; ++i) {
          Value place = arith.add(column, i);
          parts.push_back(emitChoice(
              b, arith.less(place, live),
              [&]() -> Value {
                return memref::LoadOp::create(b, at(place), ValueRange());
              },
              arith::ConstantOp::create(b, zero)));
        }
        return SmallVector<Value>{
            vector::FromElementsOp::create(b, vectorType, parts)};
      });
  SmallVector<Value> result;
  for (int64_t i = 0; i < lanes; ++i)
    result.push_back(vector::ExtractOp::create(b, vector[0], i));
  return result;
}

void BestKernel::emit(Value indices, Value values,
                      function_ref<RowLengths(KernelBuilder &)> makeLengths) {
  Arith onHost(host);
  Value rows = sizeOf(host, indices, 0);
  Value hostColumns = sizeOf(host, allScores, 1);

  scores = builder.takeTensor(allScores, /*readOnly=*/true);
  RowLengths lengths = makeLengths(builder);
  BestRows best(builder, indices, values);
  Value columns = builder.take(hostColumns);

  Arith arith(b);
  Value row = builder.enterBlock(rows);
  Value live = arith.toI32(arith.minimum(lengths(row), columns));
  int64_t step = threads * lanes;
  Candidates candidates(builder, best.k(), threads, step);
  Value first = arith.mul(
      arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x)), lanes);

  // The scores of the next step are on their way.
  SmallVector<Value> carried = {candidates.begin()};
  llvm::append_range(carried, load(row, first, live));
  auto loop =
      scf::ForOp::create(b, arith.i32(0), live, arith.i32(step), carried);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value column = arith.add(loop.getInductionVar(), first);
    SmallVector<Value> next = load(row, arith.add(column, step), live);
    ValueRange now = loop.getRegionIterArgs();
    Value limit = candidates.makeRoom(now[0]);
    SmallVector<Candidates::Item> items;
    for (auto [i, score] : llvm::enumerate(now.drop_front())) {
      Value place = arith.add(column, i);
      items.push_back({emitRank(b, score), place, arith.less(place, live)});
    }
    candidates.append(items, limit);
    next.insert(next.begin(), limit);
    scf::YieldOp::create(b, next);
  }
  best.store(candidates, row);
  builder.launch(rows);
}

} // namespace

void mlir::kvcache::expandBest(
    ImplicitLocOpBuilder &host, Operation *op, Value scores, Value indices,
    Value values, Tuning tuning,
    function_ref<RowLengths(KernelBuilder &)> makeLengths) {
  emitForAlignment(host, {scores}, [&](int64_t alignment) {
    BestKernel(host, op, scores, tuning, alignment)
        .emit(indices, values, makeLengths);
  });
}

LogicalResult mlir::kvcache::expandTopK(TopKOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  expandBest(host, op, op.getScores(), op.getIndices(), op.getValues(), tuning,
             [&](KernelBuilder &builder) {
               ImplicitLocOpBuilder &b = builder.body();
               Value list = builder.takeList(op.getLive());
               return RowLengths([&b, list](Value row) {
                 Arith arith(b);
                 return arith.toIndex(TableReadOp::create(
                     b, b.getI32Type(), list, arith.toI32(row),
                     /*alignment=*/IntegerAttr(), /*invariant=*/true));
               });
             });
  return success();
}
