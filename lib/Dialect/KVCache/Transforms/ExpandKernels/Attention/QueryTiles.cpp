//===- QueryTiles.cpp - The rows of a ragged batch, a few at a time ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

Value mlir::kvcache::emitKeysEnd(ImplicitLocOpBuilder &b, Value length,
                                 Value row, int64_t group) {
  Arith arith(b);
  return arith.add(arith.add(length, arith.div(row, group)), 1);
}

QueryTiles::QueryTiles(KernelBuilder &builder, Value hostRows, Value list,
                       int64_t group, int64_t size)
    : b(builder.body()), group(group), size(size) {
  ImplicitLocOpBuilder &host = builder.hostBuilder();
  Arith onHost(host);
  // A list without an entry has no sequences either.
  Value entries =
      host.createOrFold<arith::MaxUIOp>(sizeOf(host, list, 0), onHost.index(1));
  Value sequences = onHost.sub(entries, onHost.index(1));
  Value most =
      onHost.add(onHost.div(onHost.mul(hostRows, group), size), sequences);
  Value some = onHost.both(onHost.less(onHost.index(0), hostRows),
                           onHost.less(onHost.index(0), sequences));
  hostItems = host.createOrFold<arith::SelectOp>(some, most, onHost.index(0));
  rows = builder.take(hostRows);
  count = builder.take(sequences);
  offsets = builder.takeList(list);
}

Value QueryTiles::entry(Value index) {
  Arith arith(b);
  return arith.toIndex(
      TableReadOp::create(b, b.getI32Type(), offsets, arith.toI32(index),
                          /*alignment=*/IntegerAttr(), /*invariant=*/true));
}

Value QueryTiles::startOf(Value sequence) {
  Arith arith(b);
  return arith.add(arith.div(arith.mul(entry(sequence), group), size),
                   sequence);
}

QueryTile QueryTiles::at(Value item, Warp &warp) {
  Arith arith(b);
  // The last sequence that starts at or before the item: each lane tries one of
  // 32, until one is left.
  Value lane = arith.toIndex(warp.lane);
  auto loop = scf::WhileOp::create(
      b, TypeRange{b.getIndexType(), b.getIndexType()},
      ValueRange{arith.index(0), count},
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        ImplicitLocOpBuilder inner(loc, nested);
        Arith math(inner);
        scf::ConditionOp::create(inner, math.less(math.index(1), args[1]),
                                 args);
      },
      [&](OpBuilder &nested, Location, ValueRange args) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(nested.getInsertionBlock(),
                            nested.getInsertionPoint());
        Value first = args[0], size = args[1];
        Value step = arith.ceilDiv(size, Warp::lanes);
        Value mine = arith.mul(lane, step);
        Value inside = arith.less(mine, size);
        Value tried = arith::SelectOp::create(b, inside, mine, arith.index(0));
        Value below =
            arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                  startOf(arith.add(first, tried)), item);
        Value ballot = warp.ballot(arith.both(inside, below));
        // Lane 0 is always among them.
        Value before = arith.mul(arith.sub(arith.toIndex(LLVM::CtPopOp::create(
                                               b, b.getI32Type(), ballot)),
                                           arith.index(1)),
                                 step);
        scf::YieldOp::create(
            b, ValueRange{arith.add(first, before),
                          arith.minimum(step, arith.sub(size, before))});
      });
  QueryTile tile;
  tile.sequence = loop.getResult(0);
  // Rows end where the tensor does, and nothing is made of offsets that
  // descend.
  tile.firstRow = arith.minimum(entry(tile.sequence), rows);
  Value stop =
      arith.minimum(entry(arith.add(tile.sequence, arith.index(1))), rows);
  stop = b.createOrFold<arith::MaxUIOp>(stop, tile.firstRow);
  Value all = arith.mul(arith.sub(stop, tile.firstRow), group);
  Value number = arith::SubIOp::create(b, item, startOf(tile.sequence));
  Value begin = arith.mul(number, size);
  tile.exists = arith.less(begin, all);
  tile.begin = arith.toI32(begin);
  tile.end = arith.toI32(all);
  return tile;
}
