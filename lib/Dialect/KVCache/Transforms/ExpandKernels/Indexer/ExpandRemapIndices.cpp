//===- ExpandRemapIndices.cpp - The kernel of kvcache.remap_indices ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has a stretch of one row, so that the row's sequence is found once
// for all of its threads; neighbours have neighbouring indices.
//
//===----------------------------------------------------------------------===//

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../ExpandKernels.h"
#include "TokenRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

class RemapIndicesKernel {
public:
  RemapIndicesKernel(ImplicitLocOpBuilder &host, RemapIndicesOp op,
                     Tuning tuning)
      : host(host), op(op), tuning(tuning),
        builder(host, op, tuning.threads, tuning.blocksPerSM, tuning.maxBlocks),
        b(builder.body()) {}
  void emit();

private:
  /// The slots that a kind of pool has for tokens.
  struct Target {
    Pool pool;
    Tensor slots;
  };
  /// The slot of `token` (`i32`, one that the sequence has), or -1: i64.
  Value slotOf(Value cache, Pool pool, Value batch, Value token);

  ImplicitLocOpBuilder &host;
  RemapIndicesOp op;
  Tuning tuning;
  KernelBuilder builder;
  ImplicitLocOpBuilder &b;
};

Value RemapIndicesKernel::slotOf(Value cache, Pool pool, Value batch,
                                 Value token) {
  Arith arith(b);
  OutOfRange policy = op.getPolicy();
  LayoutAttr layout = kvcache::getLayout(cache.getType());
  int64_t pageSize = layout.getPageSize();
  Value page = arith.toIndex(arith.div(token, pageSize));
  Value operand = operandOf(b, cache, pool);
  Value block = BlockIdOp::create(b, operand, batch, page, policy);
  auto wide = [&](Value number) -> Value {
    return arith::ExtUIOp::create(b, b.getI64Type(), number);
  };
  Value slot = arith.add(arith.mul(wide(block), pageSize),
                         wide(arith.rem(token, pageSize)));
  if (policy != OutOfRange::skip)
    return slot;
  Value exists =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, block, arith.i32(-1));
  return arith::SelectOp::create(b, exists, slot, arith.like(slot, -1));
}

void RemapIndicesKernel::emit() {
  Arith onHost(host);
  Value rows = sizeOf(host, op.getIndices(), 0);
  Value columns = sizeOf(host, op.getIndices(), 1);
  int64_t perBlock = tuning.threads * tuning.chunks;
  Value hostPerRow = onHost.ceilDiv(columns, perBlock);

  Value cache = builder.take(op.getSource());
  Tensor indices = builder.takeTensor(op.getIndices(), /*readOnly=*/true);
  SmallVector<Target> targets = {
      {Pool::values, builder.takeTensor(op.getSlots(), /*readOnly=*/false)}};
  if (op.getScaleSlots())
    targets.push_back({Pool::scales, builder.takeTensor(op.getScaleSlots(),
                                                        /*readOnly=*/false)});
  Value offsets = op.getOffsets() ? builder.takeList(op.getOffsets()) : Value();
  Value perRow = builder.take(hostPerRow), count = builder.take(columns);

  Arith arith(b);
  Value blocks = onHost.mul(rows, hostPerRow);
  Value block = builder.enterBlock(blocks);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value row = arith.div(block, perRow);
  Value first =
      arith.add(arith.mul(arith.rem(block, perRow), perBlock), thread);
  TokenRow tokens = emitTokenRow(b, cache, offsets, row, Sees::all);
  // Indices are signed: seen as unsigned ones negative numbers are too large.
  Value live =
      arith.toI32(arith.minimum(tokens.live, arith.index(int64_t(1) << 31)));
  auto forColumn = [&](Value column) {
    Value token = memref::LoadOp::create(
        b, viewElement(b, indices, row, column), ValueRange());
    SmallVector<Type> types(targets.size(), b.getI64Type());
    SmallVector<Value> found = emitIfElse(
        b, arith.less(token, live), types,
        [&] {
          return llvm::map_to_vector(targets, [&](const Target &target) {
            return slotOf(cache, target.pool, tokens.batch, token);
          });
        },
        [&] {
          Value none = arith::ConstantOp::create(b, b.getI64IntegerAttr(-1));
          return SmallVector<Value>(targets.size(), none);
        });
    for (auto [target, slot] : llvm::zip(targets, found)) {
      Value number = slot;
      if (target.slots.elementType.isInteger(32))
        number = arith::TruncIOp::create(b, b.getI32Type(), number);
      memref::StoreOp::create(
          b, number, viewElement(b, target.slots, row, column), ValueRange());
    }
  };
  for (int64_t chunk = 0; chunk < tuning.chunks; ++chunk) {
    Value column = arith.add(first, chunk * tuning.threads);
    emitIf(b, arith.less(column, count), [&] { forColumn(column); });
  }
  builder.launch(blocks);
}

} // namespace

LogicalResult mlir::kvcache::expandRemapIndices(RemapIndicesOp op,
                                                Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  RemapIndicesKernel(host, op, tuning).emit();
  return success();
}
