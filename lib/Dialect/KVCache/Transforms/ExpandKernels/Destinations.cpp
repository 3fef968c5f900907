//===- Destinations.cpp - Where the rows of a tensor go ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include "ControlFlow.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

Value mlir::kvcache::operandOf(ImplicitLocOpBuilder &b, Value cache,
                               Pool pool) {
  if (pool == Pool::values)
    return MHAOperandOp::create(b, cache);
  return ScalesMHAOperandOp::create(b, cache);
}

void mlir::kvcache::remarkIndexWidth(Location location, RowForm form,
                                     OperandRange rows, OutOfRange policy) {
  if (form == RowForm::slots) {
    for (Value list : rows)
      if (cast<MemRefType>(list.getType()).getElementType().isInteger(64)) {
        emitRemark(location)
            << "slots are divided in 64 bits: " << list.getType()
            << " has more than 32";
        return;
      }
  } else if (form != RowForm::positions && policy != OutOfRange::assume) {
    emitRemark(location)
        << "positions are computed in 64 bits: under '"
        << stringifyOutOfRange(policy)
        << "' nothing promises that lengths and new rows add up "
           "to less than 2^32";
  }
}

RowMap::RowMap(KernelBuilder &builder, RowForm form, OperandRange rows,
               ArrayRef<Value> lead, OutOfRange policy)
    : b(builder.body()), form(form), policy(policy) {
  if (form == RowForm::slots)
    for (Value list : rows)
      slots.push_back(builder.takeTensor(list, /*readOnly=*/true));
  else
    for (Value list : rows)
      lists.push_back(builder.takeList(list));
  if (form == RowForm::padded)
    perSequence = builder.take(lead[1]);
}

SmallVector<Value> RowMap::indices(Value row) {
  if (form != RowForm::padded)
    return {row};
  Arith arith(b);
  return {arith.div(row, perSequence), arith.rem(row, perSequence)};
}

Value RowMap::read(Value list, Value index) {
  return TableReadOp::create(b, b.getI32Type(), list, Arith(b).toI32(index),
                             /*alignment=*/IntegerAttr(), /*invariant=*/true);
}

Value mlir::kvcache::emitFindSequence(ImplicitLocOpBuilder &b, Value offsets,
                                      Value row, Value count) {
  Arith arith(b);
  // offsets[first] <= row < offsets[last], and each step halves the rest.
  SmallVector<Value> bounds = emitWhile(
      b, ValueRange{arith.i32(0), arith.toI32(count)},
      [&](ValueRange at) { return arith.less(arith.add(at[0], 1), at[1]); },
      [&](ValueRange at) -> SmallVector<Value> {
        // No sum of two sequences: it might wrap.
        Value middle = arith.add(at[0], arith.div(arith.sub(at[1], at[0]), 2));
        Value offset = TableReadOp::create(b, b.getI32Type(), offsets, middle,
                                           /*alignment=*/IntegerAttr(),
                                           /*invariant=*/true);
        Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                            arith.toIndex(offset), row);
        return {arith::SelectOp::create(b, below, middle, at[0]),
                arith::SelectOp::create(b, below, at[1], middle)};
      });
  return bounds[0];
}

void RowMap::at(Value row, Value cache, bool needScales,
                function_ref<void(Destinations)> body, bool needValues) {
  if (form == RowForm::slots)
    return atSlots(row, cache, needScales, body, needValues);
  Arith arith(b);
  // Positions that are not promised to fit 32 bits must not wrap.
  auto token = [&](Value length, Value more) -> Value {
    if (policy == OutOfRange::assume)
      return arith.add(arith.toI32(length), arith.toI32(more));
    return arith.add(length, more);
  };
  if (form == RowForm::positions) {
    Value batch = read(lists[0], row);
    Value position = read(lists[1], row);
    return atToken(row, arith.toIndex(batch), position, cache, needScales, body,
                   needValues);
  }
  if (form == RowForm::padded) {
    SmallVector<Value> at = indices(row);
    Value count = arith.toIndex(read(lists[0], at[0]));
    return emitIf(b, arith.less(at[1], count), [&] {
      Value length = CacheLengthOp::create(b, cache, at[0]);
      atToken(row, at[0], token(length, at[1]), cache, needScales, body,
              needValues);
    });
  }

  // Ragged. Rows from the last offset on belong to nobody, and rows before
  // the first neither.
  Value count = BatchSizeOp::create(b, cache);
  Value begin = arith.toIndex(read(lists[0], arith.index(0)));
  Value end = arith.toIndex(read(lists[0], count));
  Value inside = arith.both(
      arith::CmpIOp::create(b, arith::CmpIPredicate::ule, begin, row),
      arith.less(row, end));
  emitIf(b, inside, [&] {
    Value batch = arith.toIndex(emitFindSequence(b, lists[0], row, count));
    Value first = arith.toIndex(read(lists[0], batch));
    Value length = CacheLengthOp::create(b, cache, batch);
    atToken(row, batch, token(length, arith.sub(row, first)), cache, needScales,
            body, needValues);
  });
}

bool RowMap::areTogether(OperandRange targets) {
  return llvm::all_equal(llvm::map_range(targets, [](Value target) -> Value {
    Operation *collection = getPoolsOp(target);
    return collection ? collection->getResult(0) : target;
  }));
}

bool RowMap::canFind(RowForm form, OperandRange targets) {
  return (form == RowForm::positions || form == RowForm::slots) &&
         areTogether(targets);
}

Destinations RowMap::find(Value row, Value cache, bool needScales) {
  Destinations found;
  at(row, cache, needScales, [&](Destinations to) { found = to; });
  return found;
}

void RowMap::atAll(Value row, ValueRange caches, OperandRange targets,
                   bool needScales,
                   function_ref<void(unsigned, Destinations)> body,
                   bool needValues) {
  if (areTogether(targets))
    return at(
        row, caches.front(), needScales,
        [&](Destinations to) {
          for (unsigned target = 0; target < caches.size(); ++target)
            body(target, to);
        },
        needValues);
  for (unsigned target = 0; target < caches.size(); ++target)
    at(
        row, caches[target], needScales,
        [&](Destinations to) { body(target, to); }, needValues);
}

void RowMap::atToken(Value row, Value batch, Value token, Value cache,
                     bool needScales, function_ref<void(Destinations)> body,
                     bool needValues) {
  Arith arith(b);
  int64_t pageSize = getLayout(cache.getType()).getPageSize();
  Value page = arith.toIndex(arith.div(token, pageSize));
  Value slot = arith.rem(token, pageSize);
  if (slot.getType().isIndex())
    slot = arith.toI32(slot);
  auto find = [&](Pool pool) {
    Destination to;
    to.block =
        BlockIdOp::create(b, operandOf(b, cache, pool), batch, page, policy);
    to.slot = slot;
    if (policy == OutOfRange::skip)
      to.valid = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, to.block,
                                       arith.i32(-1));
    return to;
  };
  if (onToken)
    onToken(row, batch, page);
  Destinations to;
  to.token = token;
  if (needValues)
    to.values = find(Pool::values);
  if (needScales)
    to.scales = find(Pool::scales);
  body(choose ? choose(row, cache, to) : to);
}

Destination RowMap::inSlot(const Tensor &slots, Value row, Value operand,
                           int64_t pageSize) {
  Arith arith(b);
  Value entry =
      ByteViewOp::create(b, MemRefType::get({}, slots.elementType), slots.base,
                         arith.mul(row, slots.elementBytes()));
  Value slot = memref::LoadOp::create(b, entry, ValueRange());
  Destination to;
  to.valid = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, slot,
                                   arith.like(slot, 0));
  Value block = arith.div(slot, pageSize);
  Value inPage = arith.rem(slot, pageSize);
  auto to32 = [&](Value value) -> Value {
    if (value.getType().isInteger(32))
      return value;
    return arith::TruncIOp::create(b, b.getI32Type(), value);
  };
  to.block = to32(block);
  to.slot = to32(inPage);
  if (block.getType() != to.block.getType())
    to.wideBlock = arith.toIndex(block);
  if (policy == OutOfRange::assume)
    return to;
  Value blocks = NumBlocksOp::create(b, operand);
  if (policy == OutOfRange::skip) {
    to.valid = arith.both(to.valid, arith.less(arith.toIndex(block), blocks));
    return to;
  }
  bool scales = cast<MHAOperandTypeInterface>(operand.getType()).getPool() ==
                Pool::scales;
  emitTrapUnless(b, to.valid,
                 {{scales ? "scales block of a slot" : "block of a slot",
                   arith.toIndex(block), blocks}});
  return to;
}

void RowMap::atSlots(Value row, Value cache, bool needScales,
                     function_ref<void(Destinations)> body, bool needValues) {
  int64_t pageSize = getLayout(cache.getType()).getPageSize();
  Destinations to;
  if (needValues)
    to.values =
        inSlot(slots.front(), row, operandOf(b, cache, Pool::values), pageSize);
  if (needScales)
    to.scales =
        inSlot(slots.back(), row, operandOf(b, cache, Pool::scales), pageSize);
  body(choose ? choose(row, cache, to) : to);
}
