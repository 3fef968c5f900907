//===- TokenRows.cpp - Rows of new tokens and the keys before them -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenRows.h"

#include "../ControlFlow.h"
#include "../Destinations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

TokenRow mlir::kvcache::emitTokenRow(ImplicitLocOpBuilder &b, Value cache,
                                     Value offsets, Value row, Sees sees) {
  Arith arith(b);
  if (!offsets)
    return {row, CacheLengthOp::create(b, cache, row)};
  auto offset = [&](Value sequence) {
    return arith.toIndex(
        TableReadOp::create(b, b.getI32Type(), offsets, arith.toI32(sequence),
                            /*alignment=*/IntegerAttr(), /*invariant=*/true));
  };
  Value count = BatchSizeOp::create(b, cache);
  Value inside = arith.both(arith::CmpIOp::create(b, arith::CmpIPredicate::ule,
                                                  offset(arith.index(0)), row),
                            arith.less(row, offset(count)));
  SmallVector<Type> types(2, b.getIndexType());
  SmallVector<Value> found = emitIfElse(
      b, inside, types,
      [&] {
        Value batch = arith.toIndex(emitFindSequence(b, offsets, row, count));
        Value live = CacheLengthOp::create(b, cache, batch);
        if (sees != Sees::cached) {
          Value end = sees == Sees::causal ? arith.add(row, 1)
                                           : offset(arith.add(batch, 1));
          live = arith.add(live, arith.sub(end, offset(batch)));
        }
        return SmallVector<Value>{batch, live};
      },
      [&] { return emitZeros(b, types); });
  return {found[0], found[1]};
}

Value mlir::kvcache::viewElement(ImplicitLocOpBuilder &b, const Tensor &tensor,
                                 Value row, Value column) {
  Arith arith(b);
  Value start = arith.mul(row, tensor.strides[0]);
  Value offset = arith.mul(arith.add(start, column), tensor.elementBytes());
  return ByteViewOp::create(b, MemRefType::get({}, tensor.elementType),
                            tensor.base, offset);
}
