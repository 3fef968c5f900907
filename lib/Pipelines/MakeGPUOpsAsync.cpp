//===- MakeGPUOpsAsync.cpp - Streams for synchronous gpu operations -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Pipelines/Passes.h"

using namespace mlir;

namespace mlir::kvcache {
#define GEN_PASS_DEF_MAKEGPUOPSASYNCPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

namespace {

/// Whether gpu-to-llvm lowers the operation with a token only. Host-shared
/// memory is the other way round: it is allocated without one only.
bool needsToken(gpu::AsyncOpInterface op) {
  if (auto alloc = dyn_cast<gpu::AllocOp>(op.getOperation()))
    return !alloc.getHostShared();
  return isa<gpu::DeallocOp, gpu::MemcpyOp, gpu::MemsetOp>(op);
}

/// op -> wait async, op async, wait.
void makeAsync(gpu::AsyncOpInterface op) {
  OpBuilder builder(op);
  auto token = gpu::AsyncTokenType::get(op.getContext());
  auto before = gpu::WaitOp::create(builder, op.getLoc(), token,
                                    op.getAsyncDependencies());
  SmallVector<Type> types(op->getResultTypes());
  types.push_back(token);
  OperationState state(op.getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(types);
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  auto replacement = cast<gpu::AsyncOpInterface>(builder.create(state));
  replacement.addAsyncDependency(before.getAsyncToken());
  gpu::WaitOp::create(builder, op.getLoc(), Type(),
                      replacement.getAsyncToken());
  for (OpResult result : op->getResults())
    result.replaceAllUsesWith(replacement->getResult(result.getResultNumber()));
  op->erase();
}

struct MakeGPUOpsAsync
    : public kvcache::impl::MakeGPUOpsAsyncPassBase<MakeGPUOpsAsync> {
  using MakeGPUOpsAsyncPassBase::MakeGPUOpsAsyncPassBase;

  void runOnOperation() override {
    SmallVector<gpu::AsyncOpInterface> found;
    getOperation().walk([&](gpu::AsyncOpInterface op) {
      if (needsToken(op) && !op.getAsyncToken())
        found.push_back(op);
    });
    llvm::for_each(found, makeAsync);
  }
};

} // namespace
