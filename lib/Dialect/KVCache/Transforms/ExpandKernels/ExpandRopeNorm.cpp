//===- ExpandRopeNorm.cpp - The kernels of kvcache.rope and rms_norm ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandKernels.h"
#include "GranuleCut.h"
#include "RopeNorm.h"
#include "RowUnits.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

static int64_t bytesOf(Value memref) {
  return cast<MemRefType>(memref.getType()).getElementTypeBitWidth() / 8;
}

/// Emits one version of the kernel that makes `out` of `x`, for rows that start
/// at multiples of `alignment` bytes. A few lanes of a warp share a head.
static void emitRopeNorm(ImplicitLocOpBuilder &host, Operation *op, Value x,
                         Value out, const RopeNormRequest &request,
                         OutOfRange policy, Tuning tuning, int64_t alignment) {
  auto type = cast<MemRefType>(x.getType());
  int64_t heads = type.getDimSize(1), size = type.getDimSize(2);
  GranuleCut cut(size, size, /*perStorage=*/1, bytesOf(out), alignment,
                 bytesOf(x), alignment);
  int64_t width = heads * cut.lanes;
  RowUnits units(width, tuning.threads);
  bool hasWholeWarps = width % 32 == 0 && units.width % 32 == 0;

  KernelBuilder builder(host, op, units.threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();
  Value rows = sizeOf(host, x, 0);
  RopeNorm ropeNorm(host, builder, request, policy);
  RowElements source(b, builder.takeTensor(x, /*readOnly=*/true), heads, size,
                     /*isPacked=*/false, alignment, ropeNorm.rotation,
                     ropeNorm.norm);
  Tensor target = builder.takeTensor(out, /*readOnly=*/false);

  auto writeHead = [&](RowElements::Head head, const LaneGroup &group) {
    ElementRange all = {0, size};
    source.normalise(head, all, group);
    Arith arith(b);
    auto loop = scf::ForOp::create(b, group.lane, arith.i32(size / cut.vector),
                                   arith.i32(cut.lanes));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value element = arith.mul(loop.getInductionVar(), cut.vector);
    Value numbers = source.load(head, element, cut.vector, all,
                                /*condition=*/Value());
    SmallVector<Value> at(head.indices);
    at.push_back(arith.toIndex(head.head));
    vector::StoreOp::create(
        b, convertFloat(b, numbers, target.elementType),
        target.row(b, at, size), ValueRange{arith.toIndex(element)},
        /*nontemporal=*/false,
        llvm::MaybeAlign(
            std::gcd(alignment, cut.vector * target.elementBytes())));
  };
  units.forEachRow(builder, rows, [&](Value row, Value thread) {
    ropeNorm.at(row, Destinations(), [&](Value position) {
      units.forEach(b, thread, width, [&](Value unit) {
        Arith arith(b);
        RowElements::Head head{
            {row}, arith.div(unit, cut.lanes), position, Value()};
        writeHead(head, {cut.lanes, hasWholeWarps, arith.rem(unit, cut.lanes)});
      });
    });
  });
  builder.launch(units.blocks(host, rows));
}

static LogicalResult expand(Operation *op, Value x, Value out,
                            const RopeNormRequest &request, OutOfRange policy,
                            Tuning tuning) {
  ImplicitLocOpBuilder host(op->getLoc(), op);
  emitForAlignment(host, {x, out}, [&](int64_t alignment) {
    emitRopeNorm(host, op, x, out, request, policy, tuning, alignment);
  });
  return success();
}

LogicalResult mlir::kvcache::expandRope(RopeOp op, Tuning defaults) {
  return expand(op, op.getX(), op.getOut(),
                RopeNormRequest{op.getCos(), op.getSin(), op.getPositions(),
                                op.getRotation(), Value(), NormAttr()},
                op.getPolicy(), Tuning::get(op.getTuningAttr(), defaults));
}

LogicalResult mlir::kvcache::expandRMSNorm(RMSNormOp op, Tuning defaults) {
  return expand(op, op.getX(), op.getOut(),
                RopeNormRequest{Value(), Value(), Value(), RotationAttr(),
                                op.getWeight(), op.getNorm()},
                OutOfRange::assume, Tuning::get(op.getTuningAttr(), defaults));
}
