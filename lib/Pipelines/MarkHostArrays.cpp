//===- MarkHostArrays.cpp - Arguments that host code reads ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Pipelines/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace mlir::kvcache {
#define GEN_PASS_DEF_MARKHOSTARRAYSPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

/// Whether the function that has `argument` reads it on the host.
static bool isReadByHost(BlockArgument argument) {
  return llvm::any_of(argument.getUsers(), [&](Operation *user) {
    // The body of a launch is device code.
    return isa<memref::LoadOp>(user) && !user->getParentOfType<gpu::LaunchOp>();
  });
}

static bool isStaticArray(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  return memref && memref.hasStaticShape() &&
         memref.getElementType().isIntOrIndex() &&
         succeeded(memref.getStridesAndOffset(strides, offset)) &&
         llvm::none_of(strides, ShapedType::isDynamic);
}

namespace {

struct MarkHostArrays
    : public kvcache::impl::MarkHostArraysPassBase<MarkHostArrays> {
  using MarkHostArraysPassBase::MarkHostArraysPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isDeclaration())
      return;
    for (BlockArgument argument : function.getArguments())
      if (isStaticArray(argument.getType()) && isReadByHost(argument))
        function.setArgAttr(argument.getArgNumber(),
                            KVCacheDialect::getHostArrayAttrName(),
                            UnitAttr::get(&getContext()));
  }
};

} // namespace
