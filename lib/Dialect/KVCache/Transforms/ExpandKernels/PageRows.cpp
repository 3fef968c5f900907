//===- PageRows.cpp - Rows of a page, by addresses of their own order -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PageRows.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

PageRows::PageRows(ImplicitLocOpBuilder &b, Value operand,
                   const PoolLayout &shape, Value block)
    : b(b), shape(shape),
      page(PagePtrOp::create(b, MemRefType::get({}, b.getI8Type()), operand,
                             block)) {}

Value PageRows::at(Value inRow, Value slot) const {
  Arith arith(b);
  if (slot)
    inRow = arith.add(arith.mul(slot, shape.slotBytes), inRow);
  return ByteViewOp::create(b, MemRefType::get({}, b.getI8Type()), page,
                            arith.toIndex(inRow));
}

Value PageRows::load(Value start, Value slot, int64_t bytes, VectorType type,
                     int64_t alignment) const {
  Arith arith(b);
  // Constants come last: they become part of instructions.
  Value offset = arith.index(shape.firstByte + bytes);
  if (slot)
    offset = arith.add(arith.mul(slot, shape.slotBytes), offset);
  Value view = ByteViewOp::create(
      b, MemRefType::get(type.getShape(), type.getElementType()), start,
      offset);
  return vector::LoadOp::create(b, type, view, ValueRange{arith.index(0)},
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(alignment));
}
