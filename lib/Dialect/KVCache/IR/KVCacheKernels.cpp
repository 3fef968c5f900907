//===- KVCacheKernels.cpp - Operations that are kernels ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

WrittenPools WrittenPools::of(Operation *op) {
  WrittenPools scales = {false, true}, values = {true, false};
  return TypeSwitch<Operation *, WrittenPools>(op)
      .Case<StoreScaleOp, AppendScalesOp>([&](auto) { return scales; })
      .Case([&](StoreOp) { return values; })
      .Case([&](AppendOp append) {
        return append.getScales().empty() ? values : WrittenPools();
      })
      .Case([&](StoreInPageOp store) {
        return store.getPool() == Pool::scales ? scales : values;
      })
      .Default(WrittenPools());
}

#define GET_OP_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.cpp.inc"
