//===- Lowering.cpp - From a program to what the JIT takes
//-----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "kvcache/Conversion/KVCacheToMemRef/KVCacheToMemRef.h"
#include "kvcache/Conversion/NarrowFloatToNVVM/NarrowFloatToNVVM.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Async/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {

/// gpu-to-llvm lowers the asynchronous forms of these operations only. Gives
/// the synchronous ones a stream of their own and a wait, which is what they
/// mean; gpu-async-region, which would chain all of a function, refuses
/// programs that have tokens of their own.
void makeAsynchronous(ModuleOp module) {
  SmallVector<gpu::AsyncOpInterface> found;
  module.walk([&](gpu::AsyncOpInterface op) {
    auto alloc = dyn_cast<gpu::AllocOp>(op.getOperation());
    bool lacksSyncForm =
        isa<gpu::DeallocOp, gpu::MemcpyOp, gpu::MemsetOp>(op) ||
        (alloc && !alloc.getHostShared());
    if (lacksSyncForm && !op.getAsyncToken())
      found.push_back(op);
  });
  for (gpu::AsyncOpInterface op : found) {
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
      result.replaceAllUsesWith(
          replacement->getResult(result.getResultNumber()));
    op->erase();
  }
}

/// Dialects above gpu, scf and memref, on host and device alike.
void addCommonPasses(OpPassManager &pm, const kvcache_run::LoweringOptions &o) {
  pm.addPass(createGpuKernelOutliningPass());
  pm.addPass(kvcache::createConvertKVCacheToMemRefPass());
  kvcache::ConvertNarrowFloatToNVVMPassOptions narrow;
  narrow.chip = o.chip.name.str();
  pm.addPass(kvcache::createConvertNarrowFloatToNVVMPass(narrow));
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertNVGPUToNVVMPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
}

void addDevicePasses(OpPassManager &pm) {
  OpPassManager &gpu = pm.nest<gpu::GPUModuleOp>();
  gpu.addPass(createSCFToControlFlowPass());
  gpu.addPass(createConvertGpuOpsToNVVMOps());
  gpu.addPass(createCanonicalizerPass());
  gpu.addPass(createCSEPass());
  gpu.addPass(createReconcileUnrealizedCastsPass());
  // `.loc` without what would make the driver compile for debugging.
  LLVM::DIScopeForLLVMFuncOpPassOptions lines;
  lines.emissionKind = LLVM::DIEmissionKind::DebugDirectivesOnly;
  pm.addPass(LLVM::createDIScopeForLLVMFuncOpPass(lines));
}

void addHostPasses(OpPassManager &pm) {
  // Tokens of gpu ops first: they become streams, which the async dialect may
  // carry like any other value.
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createGpuToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  GpuModuleToBinaryPassOptions binary;
  binary.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(binary));
  pm.addPass(createAsyncToAsyncRuntimePass());
  pm.addPass(createAsyncRuntimeRefCountingPass());
  pm.addPass(createConvertAsyncToLLVMPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

/// Gives the modules without a target the default one. LLVM ends the process
/// for a chip that it does not know, so that others are looked up first.
LogicalResult setTargets(ModuleOp module, const kvcache::Chip &chip) {
  WalkResult result = module.walk([&](gpu::GPUModuleOp gpuModule) {
    if (!gpuModule.getTargetsAttr()) {
      Attribute target = NVVM::NVVMTargetAttr::get(
          module.getContext(), /*optLevel=*/2, "nvptx64-nvidia-cuda", chip.name,
          chip.getPTXFeature());
      gpuModule.setTargetsAttr(ArrayAttr::get(module.getContext(), target));
    }
    for (Attribute target : gpuModule.getTargetsAttr()) {
      auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(target);
      if (!nvvm) {
        gpuModule.emitOpError("expected an #nvvm.target, got ") << target;
        return WalkResult::interrupt();
      }
      if (failed(kvcache::lookupChip(nvvm.getChip(),
                                     [&] { return gpuModule.emitOpError(); })))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

} // namespace

LogicalResult
kvcache_run::lowerProgram(ModuleOp module,
                          const kvcache_run::LoweringOptions &options) {
  makeAsynchronous(module);
  PassManager device(module.getContext());
  addCommonPasses(device, options);
  addDevicePasses(device);
  if (failed(device.run(module)) || failed(setTargets(module, options.chip)))
    return failure();
  PassManager host(module.getContext());
  addHostPasses(host);
  return host.run(module);
}
