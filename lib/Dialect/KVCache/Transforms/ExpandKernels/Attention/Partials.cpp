//===- Partials.cpp - Sums over a part of the keys -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Partials.h"
#include "QueryTiles.h"
#include "SoftmaxState.h"

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../RowUnits.h"
#include "../Tiles/FastMath.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// Blocks that keep a device busy: four of 128 threads on each of 132
/// multiprocessors.
static constexpr int64_t wantedBlocks = 528;
/// Keys of a part below which a part costs more than it saves.
static constexpr int64_t fewestTokens = 256;

RowResults::RowResults(Value out, Value sinks, Value lse, Value workspace,
                       int64_t queryHeads, int64_t size)
    : hostOut(out), hostSinks(sinks), hostLse(lse), hostWorkspace(workspace),
      queryHeads(queryHeads), size(size) {}

Value RowResults::parts(ImplicitLocOpBuilder &host, Value blocks,
                        Value tokens) const {
  Arith arith(host);
  Value one = arith.index(1);
  if (!hostWorkspace)
    return one;
  auto atLeastOne = [&](Value number) {
    return host.createOrFold<arith::MaxUIOp>(number, one);
  };
  Value rows = arith.mul(sizeOf(host, hostOut, 0), queryHeads);
  Value room = arith.div(sizeOf(host, hostWorkspace, 0),
                         atLeastOne(arith.mul(rows, size + 2)));
  Value wanted = arith.div(arith.index(wantedBlocks), atLeastOne(blocks));
  Value useful = arith.div(tokens, fewestTokens);
  return atLeastOne(arith.minimum(arith.minimum(room, wanted), useful));
}

void RowResults::enter(KernelBuilder &builder, Value parts) {
  ImplicitLocOpBuilder &host = builder.hostBuilder();
  out = builder.takeTensor(hostOut, /*readOnly=*/false);
  if (hostSinks)
    sinks = builder.takeTensor(hostSinks, /*readOnly=*/true);
  if (hostLse)
    lse = builder.takeTensor(hostLse, /*readOnly=*/false);
  if (!hostWorkspace)
    return;
  workspace = builder.takeTensor(hostWorkspace, /*readOnly=*/false);
  partCount = builder.take(parts);
  rows = builder.take(Arith(host).mul(sizeOf(host, hostOut, 0), queryHeads));
}

std::pair<Value, Value> RowResults::tilesOfPart(ImplicitLocOpBuilder &b,
                                                Value part, Value first,
                                                Value stop) const {
  if (!part)
    return {first, stop};
  Arith arith(b);
  Value parts = arith.toI32(partCount);
  Value rounded =
      arith.add(arith.sub(stop, first), arith.sub(parts, arith.i32(1)));
  Value each = arith.div(rounded, parts);
  Value begin = arith.add(first, arith.mul(arith.toI32(part), each));
  return {begin, arith.minimum(stop, arith.add(begin, each))};
}

/// `count` numbers of the workspace from number `number` on.
Value RowResults::workspaceView(ImplicitLocOpBuilder &b, Value number,
                                int64_t count) {
  return ByteViewOp::create(b, MemRefType::get({count}, b.getF32Type()),
                            workspace.base, Arith(b).mul(number, 4));
}

static void storeVector(ImplicitLocOpBuilder &b, Value vector, Value view,
                        int64_t alignment) {
  auto type = cast<VectorType>(vector.getType());
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  int64_t piece = std::min(type.getNumElements(), maxAccessBytes / bytes);
  for (int64_t at = 0; at < type.getNumElements(); at += piece) {
    Value part = vector;
    if (piece != type.getNumElements())
      part = vector::ExtractStridedSliceOp::create(b, vector, at, piece, 1);
    vector::StoreOp::create(
        b, part, view, ValueRange{Arith(b).index(at)}, /*nontemporal=*/false,
        llvm::MaybeAlign(std::min(alignment, piece * bytes)));
  }
}

static Value vectorOf(ImplicitLocOpBuilder &b, ArrayRef<Value> elements) {
  return vector::FromElementsOp::create(
      b,
      VectorType::get({static_cast<int64_t>(elements.size())},
                      elements.front().getType()),
      elements);
}

void RowResults::finish(ImplicitLocOpBuilder &b, Value token, Value head,
                        Value maximum, Value sum, ArrayRef<RowRun> runs,
                        Value isFirst) {
  Arith arith(b);
  FastMath math(b);
  Value zero = math.number(0), factor = math.number(1);
  if (hostSinks) {
    Value view = ByteViewOp::create(b, MemRefType::get({1}, b.getF32Type()),
                                    sinks.base, arith.mul(head, 4));
    Value sink = memref::LoadOp::create(b, view, ValueRange{arith.index(0)});
    sink = math.mul(sink, math.number(log2e));
    // A part of a weight of 1 and no value.
    SoftmaxMerge merge(b, {sink, maximum});
    sum = merge.sum({math.number(1), sum});
    factor = merge.factor(1);
    maximum = merge.maximum();
  }
  Value isEmpty =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, sum, zero);
  Value inverse =
      math.select(isEmpty, zero, arith::DivFOp::create(b, factor, sum));
  int64_t elementBytes = out.elementBytes();
  Value base = arith.add(arith.mul(token, out.strides[0]),
                         arith.mul(head, out.strides[1]));
  for (const RowRun &run : runs) {
    SmallVector<Value> numbers;
    for (Value element : run.elements)
      numbers.push_back(math.mul(element, inverse));
    int64_t count = numbers.size();
    Value offset = arith.add(base, arith.toIndex(run.first));
    Value view =
        ByteViewOp::create(b, MemRefType::get({count}, out.elementType),
                           out.base, arith.mul(offset, elementBytes));
    int64_t alignment = elementBytes;
    while (alignment < maxAccessBytes &&
           areRowsAligned({hostOut}, 2 * alignment).value_or(false) &&
           count * elementBytes % (2 * alignment) == 0)
      alignment *= 2;
    storeVector(b, convertFloat(b, vectorOf(b, numbers), out.elementType), view,
                alignment);
  }
  if (!hostLse)
    return;
  emitIf(b, isFirst, [&] {
    Value natural =
        math.mul(math.add(maximum, math.log2(sum)), math.number(ln2));
    // A row without keys has no maximum to speak of.
    natural = math.select(isEmpty, math.number(-infinity), natural);
    Value offset = arith.add(arith.mul(token, lse.strides[0]), head);
    Value view = ByteViewOp::create(b, MemRefType::get({1}, b.getF32Type()),
                                    lse.base, arith.mul(offset, 4));
    memref::StoreOp::create(b, natural, view, ValueRange{arith.index(0)});
  });
}

void RowResults::store(ImplicitLocOpBuilder &b, Value token, Value head,
                       Value part, Value maximum, Value sum,
                       ArrayRef<RowRun> runs, Value isFirst) {
  if (!hostWorkspace)
    return finish(b, token, head, maximum, sum, runs, isFirst);
  Arith arith(b);
  auto single = scf::IfOp::create(b, arith.equal(partCount, arith.index(1)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(single.thenBlock());
  finish(b, token, head, maximum, sum, runs, isFirst);
  b.setInsertionPointToStart(single.elseBlock());
  Value row = arith.add(arith.mul(token, queryHeads), head);
  Value place = arith.add(arith.mul(row, partCount), part);
  bool isAligned =
      areRowsAligned({hostWorkspace}, maxAccessBytes).value_or(false);
  for (const RowRun &run : runs) {
    Value sums = arith.add(arith.mul(place, size), arith.toIndex(run.first));
    int64_t count = run.elements.size();
    storeVector(b, vectorOf(b, run.elements), workspaceView(b, sums, count),
                isAligned ? std::gcd(maxAccessBytes, 4 * count) : 4);
  }
  emitIf(b, isFirst, [&] {
    Value after = arith.mul(arith.mul(rows, partCount), size);
    Value pair = workspaceView(b, arith.add(after, arith.mul(place, 2)), 2);
    storeVector(b, vectorOf(b, {maximum, sum}), pair, /*alignment=*/4);
  });
}

void RowResults::combine(ImplicitLocOpBuilder &host, Operation *op,
                         Value offsets, Value parts, int64_t maxBlocks) const {
  if (!hostWorkspace)
    return;
  Arith onHost(host);
  int64_t threads = llvm::alignTo(std::min<int64_t>(size, 128), 32);
  KernelBuilder builder(host, op, threads, /*blocksPerSM=*/0, maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();
  RowResults results(*this);
  results.enter(builder, parts);
  RowOffsets rowOffsets(builder, offsets);
  Arith arith(b);
  FastMath math(b);
  Value several =
      onHost.both(onHost.less(onHost.index(1), parts),
                  onHost.less(onHost.index(0), rowOffsets.hostSequences()));
  Value rowCount = host.createOrFold<arith::SelectOp>(
      several, onHost.mul(sizeOf(host, hostOut, 0), queryHeads),
      onHost.index(0));
  Value row = builder.enterBlock(rowCount);
  Value token = arith.div(row, queryHeads), head = arith.rem(row, queryHeads);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value firstPart = arith.mul(row, results.partCount);
  Value after = arith.mul(arith.mul(results.rows, results.partCount), size);
  auto combineElements = [&](int64_t begin) {
    Value element = arith.add(thread, begin);
    Value inside;
    if (begin + threads > size)
      inside = arith.less(element, arith.index(size));
    emitIf(b, inside, [&] {
      Value zero = math.number(0);
      auto loop = scf::ForOp::create(
          b, arith.index(0), results.partCount, arith.index(1),
          ValueRange{math.number(noMaximum), zero, zero});
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(loop.getBody());
        Value place = arith.add(firstPart, loop.getInductionVar());
        auto number = [&](Value at) -> Value {
          return memref::LoadOp::create(b, results.workspaceView(b, at, 1),
                                        ValueRange{arith.index(0)});
        };
        Value pair = arith.add(after, arith.mul(place, 2));
        Value maximum = number(pair), sum = number(arith.add(pair, 1));
        Value mine = number(arith.add(arith.mul(place, size), element));
        ValueRange before = loop.getRegionIterArgs();
        SoftmaxMerge merge(b, {maximum, before[0]});
        scf::YieldOp::create(b, ValueRange{merge.maximum(),
                                           merge.sum({sum, before[1]}),
                                           merge.sum({mine, before[2]})});
      }
      Value isFirst = arith.equal(element, arith.index(0));
      results.finish(b, token, head, loop.getResult(0), loop.getResult(1),
                     {RowRun{arith.toI32(element), {loop.getResult(2)}}},
                     isFirst);
    });
  };
  // What is of no sequence has no parts.
  emitIf(b, rowOffsets.contain(token), [&] {
    for (int64_t begin = 0; begin < size; begin += threads)
      combineElements(begin);
  });
  builder.launch(rowCount);
}
