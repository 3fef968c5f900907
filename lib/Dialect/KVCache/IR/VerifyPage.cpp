//===- VerifyPage.cpp - Verifiers of accesses inside pages ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "VerifyIndex.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult BlockIdOp::verify() {
  KnownTables tables = getKnownTables(getSource());
  if (failed(
          verifyIndex(*this, "batch", getBatch(), tables.batch, "sequences")))
    return failure();
  return verifyIndex(*this, "page", getPage(), tables.columns, "table columns");
}

/// Checks an access of `type` to the pool that `operand` speaks of.
template <typename AccessOp>
static LogicalResult verifyInPage(AccessOp op, Value operand, Type type,
                                  StringRef what) {
  LayoutAttr layout = getLayout(operand.getType());
  if (op.getTail() && isa<ScalesMHAOperandType>(operand.getType()))
    return op.emitOpError("expected a cache or a plain mha_operand for 'tail', "
                          "got a scales_mha_operand");
  if (op.getTail() && !layout.getRope())
    return op.emitOpError("expected a layout with a rope tail for 'tail', got "
                          "one without; add 'rope = <...>' to the layout");
  PoolLayout pool = PoolLayout::get(layout, op.getPool());
  int64_t row = pool.hasContiguousHeads() ? pool.rowSize() : pool.inner;
  if (getElementTypeOrSelf(type) != pool.storageType)
    return op.emitOpError()
           << "expected a " << what << " of " << pool.storageType
           << ", which the pool stores, got " << getElementTypeOrSelf(type);
  if (failed(verifyFixedLength(op, type)) ||
      failed(verifyAlignment(op, op.getAlignment())) ||
      failed(verifyIndex(op, "slot", op.getSlot(), layout.getPageSize(),
                         "page_size")) ||
      failed(verifyIndex(op, "head", op.getHead(), layout.getNumHeads(),
                         "num_heads")) ||
      failed(verifyIndex(op, "dim", op.getDim(), row * pool.elementsPerStorage,
                         "elements side by side")))
    return failure();
  auto vector = dyn_cast<VectorType>(type);
  if (vector && vector.getDimSize(0) > row)
    return op.emitOpError()
           << "expected at most " << row << " elements side by side, got "
           << vector.getDimSize(0);
  return success();
}

LogicalResult LoadInPageOp::verify() {
  return verifyInPage(*this, getSource(), getResult().getType(), "result");
}

LogicalResult StoreInPageOp::verify() {
  return verifyInPage(*this, getTarget(), getValue().getType(), "value");
}
