//===- PageWork.cpp - Blocks of threads over pages and tokens ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageWork.h"

#include "ControlFlow.h"
#include "Destinations.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

PageWork::PageWork(ImplicitLocOpBuilder &host, Operation *op,
                   const PageScope &scope, const PagePieces &pieces,
                   Tuning tuning)
    : host(host), scope(scope), pieces(pieces), tuning(tuning),
      kernelBuilder(host, op, tuning.threads, tuning.blocksPerSM),
      pageKernel(kernelBuilder, scope) {
  Arith arith(host);
  Value layers = scope.countLayers(host);
  for (const auto &piece : pieces) {
    totals.push_back(arith.mul(layers, piece->sides * piece->units));
    tiles.push_back(
        arith.ceilDiv(totals.back(), tuning.threads * tuning.chunks));
  }
}

void PageWork::launch(
    Value items, function_ref<void(Value, function_ref<void(OnUnits)>)> body) {
  Arith hostArith(host);
  Value perItem = hostArith.index(0);
  for (Value count : tiles)
    perItem = hostArith.add(perItem, count);
  // A block goes on to other tiles and items where there are more than a launch
  // holds.
  Value one = hostArith.index(1), most = hostArith.index(tuning.maxBlocks);
  Value tilesAtOnce = hostArith.minimum(perItem, most);
  Value fit =
      hostArith.div(most, host.createOrFold<arith::MaxUIOp>(perItem, one));
  Value atOnce =
      hostArith.minimum(items, host.createOrFold<arith::MaxUIOp>(fit, one));

  ImplicitLocOpBuilder &b = kernelBuilder.body();
  Arith arith(b);
  Value block = arith.toI32(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  Value perItem32 = arith.toI32(kernelBuilder.take(perItem));
  Value tiles32 = arith.toI32(kernelBuilder.take(tilesAtOnce));
  Value first = arith.toIndex(arith.div(block, tiles32));
  Value firstTile = arith.rem(block, tiles32);
  auto loop = scf::ForOp::create(b, first, kernelBuilder.take(items),
                                 kernelBuilder.take(atOnce));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar(), [&](OnUnits onUnits) {
      auto tiles = scf::ForOp::create(b, firstTile, perItem32, tiles32);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(tiles.getBody());
      emitPiece(0, tiles.getInductionVar(), onUnits);
    });
  }
  kernelBuilder.launch(hostArith.mul(atOnce, tilesAtOnce));
}

void PageWork::emitPiece(size_t number, Value tile, OnUnits onUnits) {
  ImplicitLocOpBuilder &b = kernelBuilder.body();
  Arith arith(b);
  Value total = arith.toI32(kernelBuilder.take(totals[number]));
  if (number + 1 == pieces.size())
    return emitTile(*pieces[number], total, tile, onUnits);
  Value count = arith.toI32(kernelBuilder.take(tiles[number]));
  auto branch = scf::IfOp::create(b, arith.less(tile, count),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  emitTile(*pieces[number], total, tile, onUnits);
  b.setInsertionPointToStart(branch.elseBlock());
  emitPiece(number + 1, arith.sub(tile, count), onUnits);
}

void PageWork::emitTile(const PagePiece &piece, Value total, Value tile,
                        OnUnits onUnits) {
  ImplicitLocOpBuilder &b = kernelBuilder.body();
  Arith arith(b);
  int64_t perTile = tuning.threads * tuning.chunks;
  Value start = arith.mul(tile, perTile);
  Value thread = arith.toI32(gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value mine = arith.add(start, thread);
  auto one = [&](Value unit) {
    emitIf(b, arith.less(unit, total),
           [&] { onUnits(piece, {piece.place(pageKernel, unit)}); });
  };
  if (tuning.chunks == 1)
    return one(mine);
  // All of a whole tile's units are in flight at once.
  Value isWhole =
      arith::CmpIOp::create(b, arith::CmpIPredicate::uge,
                            arith.sub(total, start), arith.i32(perTile));
  auto branch = scf::IfOp::create(b, isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  SmallVector<SmallVector<Value>> places;
  for (int64_t i = 0; i < tuning.chunks; ++i)
    places.push_back(
        piece.place(pageKernel, arith.add(mine, i * tuning.threads)));
  onUnits(piece, places);
  b.setInsertionPointToStart(branch.elseBlock());
  auto loop = scf::ForOp::create(b, mine, total, arith.i32(tuning.threads));
  b.setInsertionPointToStart(loop.getBody());
  onUnits(piece, {piece.place(pageKernel, loop.getInductionVar())});
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

IdList::IdList(KernelBuilder &builder, ArrayRef<Value> lists,
               const PageScope &scope)
    : b(builder.body()), tokens(scope.tokens),
      pageSize(scope.sourceLayout().getPageSize()) {
  for (Value list : lists)
    this->lists.push_back(builder.takeTensor(list, /*readOnly=*/true));
}

SmallVector<Value> IdList::read(Value index) {
  Arith arith(b);
  SmallVector<Value> ids;
  for (const Tensor &list : lists) {
    // A pair is a row of two; else ids are rows of one.
    int64_t length = list.strides.empty() ? 1 : 2;
    Value row;
    if (length == 2)
      row = list.row(b, {index}, length);
    else
      row =
          ByteViewOp::create(b, MemRefType::get({1}, list.elementType),
                             list.base, arith.mul(index, list.elementBytes()));
    for (int64_t i = 0; i < length; ++i)
      ids.push_back(memref::LoadOp::create(b, row, ValueRange{arith.index(i)}));
  }
  return ids;
}

Value IdList::areInside(PageKernel &kernel, ArrayRef<Value> ids,
                        OutOfRange policy) {
  if (policy == OutOfRange::assume)
    return {};
  Arith arith(b);
  SmallVector<Bound> bounds;
  for (auto [number, id] : llvm::enumerate(ids)) {
    Value collection = number == 0 ? kernel.source : kernel.target;
    Value keys = GetKeyCacheOp::create(b, collection, arith.index(0));
    Pool pool = kernel.scope.values ? Pool::values : Pool::scales;
    Value count = NumBlocksOp::create(b, operandOf(b, keys, pool));
    if (tokens)
      count = arith.mul(count, pageSize);
    // Slots are signed: a negative one is larger than any.
    Value wide =
        tokens || id.getType().isInteger(64)
            ? arith::IndexCastOp::create(b, b.getIndexType(), id).getResult()
            : arith.toIndex(id);
    std::string name = pool == Pool::scales ? "scales " : "";
    name += tokens ? "slot" : "block";
    if (ids.size() > 1)
      name += number == 0 ? " copied from" : " copied to";
    bounds.push_back({name, wide, count});
  }
  if (policy == OutOfRange::skip)
    return emitAllBelow(b, bounds);
  emitTrapUnless(b, /*when=*/Value(), bounds);
  return {};
}

PageItem IdList::item(Value id) {
  Arith arith(b);
  auto toI32 = [&](Value value) -> Value {
    if (value.getType().isInteger(32))
      return value;
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  };
  if (!tokens)
    return {toI32(id), Value()};
  Value block = arith.div(id, pageSize), slot = arith.rem(id, pageSize);
  return {toI32(block), toI32(slot)};
}

void mlir::kvcache::forEachScope(
    PageScope scope, ArrayRef<OperandRange> lists,
    function_ref<void(const PageScope &, ArrayRef<Value>)> body) {
  if (!scope.sourceLayout().hasOwnScalesTable()) {
    SmallVector<Value> all;
    for (OperandRange kind : lists)
      all.push_back(kind[0]);
    return body(scope, all);
  }
  for (unsigned turn : {0, 1}) {
    scope.values = turn == 0;
    scope.scales = turn == 1;
    SmallVector<Value> own;
    for (OperandRange kind : lists)
      own.push_back(kind[turn]);
    body(scope, own);
  }
}
