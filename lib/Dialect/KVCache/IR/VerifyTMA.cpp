//===- VerifyTMA.cpp - Verifiers of tensor maps --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "VerifyIndex.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Most elements of a box in one dimension.
static constexpr int64_t maxBox = 256;
/// What strides and the innermost box dimension must be a multiple of, in
/// bytes.
static constexpr int64_t tmaAlignment = 16;

int64_t mlir::kvcache::getSwizzleBytes(Swizzle swizzle) {
  switch (swizzle) {
  case Swizzle::none:
    return 0;
  case Swizzle::swizzle_32b:
    return 32;
  case Swizzle::swizzle_64b:
    return 64;
  case Swizzle::swizzle_128b:
    return 128;
  }
  llvm_unreachable("unknown swizzle");
}

template <typename TMAOp> static LogicalResult verifyTMA(TMAOp op) {
  if (isa<ScalesMHAOperandType>(op.getSource().getType()))
    return op.emitOpError("TMA not supported for a scales_mha_operand: a "
                          "tensor map reads values; "
                          "read scales with block_paged_ptr");
  if (op->template getParentOfType<gpu::GPUModuleOp>() ||
      op->template getParentOfType<gpu::LaunchOp>())
    return op.emitOpError("expected host code, got device code; create the "
                          "tensor map on the host and pass it to the kernel");

  LayoutAttr layout = getLayout(op.getSource().getType());
  if (failed(verifyHasRows(op, layout, "load without TMA")))
    return failure();
  PoolLayout pool = PoolLayout::get(layout, Pool::values);
  int64_t bn = op.getBn(), depth = op.getDepth(), bk = op.getBk();
  int64_t bytes = pool.storageBytes, per = pool.elementsPerStorage;
  if (bn > maxBox)
    return op.emitOpError()
           << "expected BN to be at most " << maxBox << " rows, got " << bn;
  if (depth > layout.getHeadSize())
    return op.emitOpError() << "expected depth to be at most head_size "
                            << layout.getHeadSize() << ", got " << depth;
  if (bk > depth)
    return op.emitOpError()
           << "expected BK to be at most depth " << depth << ", got " << bk;
  if (depth % per != 0 || bk % per != 0)
    return op.emitOpError()
           << "expected an even depth and BK for dtype " << layout.getDtype()
           << ", got " << depth << " and " << bk;
  int64_t innerBytes = bk / per * bytes;
  int64_t swizzle = getSwizzleBytes(op.getSwizzle());
  if (swizzle) {
    if (innerBytes % swizzle != 0)
      return op.emitOpError()
             << "expected BK to be a multiple of the swizzle width of "
             << swizzle << " bytes, got " << bk << " elements of " << innerBytes
             << " bytes; use a narrower swizzle";
  } else {
    if (bk / per > maxBox)
      return op.emitOpError() << "expected BK to be at most " << maxBox * per
                              << " elements without a swizzle, got " << bk;
    if (innerBytes % tmaAlignment != 0)
      return op.emitOpError() << "expected BK to take a multiple of "
                              << tmaAlignment << " bytes, got " << innerBytes;
  }
  for (auto [name, stride] : {std::pair("a head", pool.inner * bytes),
                              std::pair("a row", pool.rowBytes())})
    if (stride % tmaAlignment != 0)
      return op.emitOpError()
             << "expected the stride of " << name << " to be a multiple of "
             << tmaAlignment << " bytes, got " << stride
             << "; load without TMA";
  return success();
}

LogicalResult CreateTMATileOp::verify() { return verifyTMA(*this); }

LogicalResult CreateRaggedTMATileOp::verify() { return verifyTMA(*this); }
