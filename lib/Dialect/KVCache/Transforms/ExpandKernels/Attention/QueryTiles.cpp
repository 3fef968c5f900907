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

RowOffsets::RowOffsets(KernelBuilder &builder, Value hostList)
    : b(builder.body()) {
  ImplicitLocOpBuilder &host = builder.hostBuilder();
  Arith arith(host);
  Value entries = host.createOrFold<arith::MaxUIOp>(sizeOf(host, hostList, 0),
                                                    arith.index(1));
  onHost = arith.sub(entries, arith.index(1));
  inKernel = builder.take(onHost);
  list = builder.takeList(hostList);
}

Value RowOffsets::at(Value number) {
  Arith arith(b);
  return arith.toIndex(
      TableReadOp::create(b, b.getI32Type(), list, arith.toI32(number),
                          /*alignment=*/IntegerAttr(), /*invariant=*/true));
}

Value RowOffsets::contain(Value row) {
  Arith arith(b);
  Value hasBegun = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                         at(arith.index(0)), row);
  return arith.both(hasBegun, arith.less(row, at(inKernel)));
}

QueryTiles::QueryTiles(KernelBuilder &builder, Value hostRows, Value list,
                       int64_t group, int64_t size)
    : b(builder.body()), group(group), size(size), offsets(builder, list) {
  ImplicitLocOpBuilder &host = builder.hostBuilder();
  Arith onHost(host);
  Value sequences = offsets.hostSequences();
  Value most =
      onHost.add(onHost.div(onHost.mul(hostRows, group), size), sequences);
  Value some = onHost.both(onHost.less(onHost.index(0), hostRows),
                           onHost.less(onHost.index(0), sequences));
  hostItems = host.createOrFold<arith::SelectOp>(some, most, onHost.index(0));
  rows = builder.take(hostRows);
}

Value QueryTiles::startOf(Value sequence) {
  Arith arith(b);
  return arith.add(arith.div(arith.mul(offsets.at(sequence), group), size),
                   sequence);
}

QueryTile QueryTiles::at(Value item, Warp &warp) {
  Arith arith(b);
  // The last sequence that starts at or before the item: each lane tries one of
  // 32, until one is left.
  Value lane = arith.toIndex(warp.lane);
  auto loop = scf::WhileOp::create(
      b, TypeRange{b.getIndexType(), b.getIndexType()},
      ValueRange{arith.index(0), offsets.sequences()},
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
        // There is none where rows of no sequence come first.
        Value found = b.createOrFold<arith::MaxUIOp>(
            LLVM::CtPopOp::create(b, b.getI32Type(), ballot), arith.i32(1));
        Value before =
            arith.mul(arith.sub(arith.toIndex(found), arith.index(1)), step);
        scf::YieldOp::create(
            b, ValueRange{arith.add(first, before),
                          arith.minimum(step, arith.sub(size, before))});
      });
  QueryTile tile;
  tile.sequence = loop.getResult(0);
  // Rows end where the tensor does, and nothing is made of offsets that
  // descend.
  tile.firstRow = arith.minimum(offsets.at(tile.sequence), rows);
  Value stop =
      arith.minimum(offsets.at(arith.add(tile.sequence, arith.index(1))), rows);
  stop = b.createOrFold<arith::MaxUIOp>(stop, tile.firstRow);
  Value all = arith.mul(arith.sub(stop, tile.firstRow), group);
  // Wraps before the first sequence, to what is beyond all rows.
  Value number = arith::SubIOp::create(b, item, startOf(tile.sequence));
  Value begin = arith::MulIOp::create(b, number, arith.index(size));
  tile.exists = arith.less(begin, all);
  tile.begin = arith.toI32(begin);
  tile.end = arith.toI32(all);
  return tile;
}
