//===- TokenRows.cpp - Rows of new tokens and the keys before them -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenRows.h"

#include "../Destinations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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
  auto check = scf::IfOp::create(b, types, inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.elseBlock());
  Value zero = arith.index(0);
  scf::YieldOp::create(b, ValueRange{zero, zero});
  b.setInsertionPointToStart(check.thenBlock());
  Value batch = arith.toIndex(emitFindSequence(b, offsets, row, count));
  Value live = CacheLengthOp::create(b, cache, batch);
  if (sees != Sees::cached) {
    Value end =
        sees == Sees::causal ? arith.add(row, 1) : offset(arith.add(batch, 1));
    live = arith.add(live, arith.sub(end, offset(batch)));
  }
  scf::YieldOp::create(b, ValueRange{batch, live});
  return {check.getResult(0), check.getResult(1)};
}

void mlir::kvcache::requireTokenRows(ImplicitLocOpBuilder &host, Value cache,
                                     Value offsets, Value rows) {
  if (offsets)
    return requireOffsets(host, "offsets", offsets, cache);
  requireSame(host, rows, host.createOrFold<BatchSizeOp>(cache),
              "a row for each sequence (B)");
}

Value mlir::kvcache::viewElement(ImplicitLocOpBuilder &b, const Tensor &tensor,
                                 Value row, Value column) {
  Arith arith(b);
  Value start = arith.mul(row, tensor.strides[0]);
  Value offset = arith.mul(arith.add(start, column), tensor.elementBytes());
  return ByteViewOp::create(b, MemRefType::get({}, tensor.elementType),
                            tensor.base, offset);
}
