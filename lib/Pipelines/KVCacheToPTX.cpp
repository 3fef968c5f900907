//===- KVCacheToPTX.cpp - The pipeline kvcache-to-ptx ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Conversion/KVCacheToMemRef/KVCacheToMemRef.h"
#include "kvcache/Conversion/NarrowFloatToNVVM/NarrowFloatToNVVM.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"
#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Pipelines/Pipelines.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Interfaces/VectorInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::kvcache;

DeviceContents DeviceContents::of(gpu::GPUModuleOp module) {
  DeviceContents found = {false, false, false, false, false};
  module.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    found.nvgpu |= dialect == nvgpu::NVGPUDialect::getDialectNamespace();
    found.linalg |= dialect == linalg::LinalgDialect::getDialectNamespace();
    found.affine |= dialect == affine::AffineDialect::getDialectNamespace();
    found.transfers |= isa<VectorTransferOpInterface>(op);
    found.views |= dialect == memref::MemRefDialect::getDialectNamespace() &&
                   !isa<memref::LoadOp, memref::StoreOp, memref::GlobalOp,
                        memref::GetGlobalOp>(op);
  });
  return found;
}

void kvcache::buildDeviceToNVVMPipeline(OpPassManager &pm, StringRef chip,
                                        const DeviceContents &contents) {
  ResolveChipPassOptions resolve;
  resolve.chip = chip.str();
  pm.addPass(createResolveChipPass(resolve));
  ConvertNarrowFloatToNVVMPassOptions narrow;
  narrow.chip = chip.str();
  pm.addPass(createConvertNarrowFloatToNVVMPass(narrow));

  // Everything structured to memref, arith, cf and vector of one dimension.
  if (contents.nvgpu)
    pm.addPass(createConvertNVGPUToNVVMPass());
  if (contents.linalg)
    pm.addPass(createConvertLinalgToLoopsPass());
  if (contents.transfers)
    pm.addPass(createConvertVectorToSCFPass());
  // Loops and transfers may be of views and have affine subscripts.
  bool unfolded = contents.linalg || contents.transfers;
  bool views = contents.views || unfolded;
  if (views)
    pm.addPass(memref::createExpandStridedMetadataPass());
  if (contents.affine || views)
    pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
  if (views)
    pm.addPass(memref::createExpandOpsPass());
  pm.addPass(arith::createArithExpandOpsPass());

  // To LLVM and NVVM, with pointers for memrefs in kernels' signatures.
  pm.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions toNVVM;
  toNVVM.useBarePtrCallConv = true;
  toNVVM.indexBitwidth = 64;
  pm.addPass(createConvertGpuOpsToNVVMOps(toNVVM));
  // Before NVVM operations become inline PTX.
  CheckChipPassOptions check;
  check.chip = chip.str();
  pm.addPass(createCheckChipPass(check));
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void kvcache::buildKVCacheToPTXPipeline(OpPassManager &pm,
                                        const KVCacheToPTXOptions &options) {
  // Before anything moves: what moves relies on frozen tables.
  pm.addPass(createCheckFrozenTablesPass());
  pm.addNestedPass<func::FuncOp>(createMarkHostArraysPass());

  if (options.instrument)
    pm.addPass(createInstrumentPass());
  ExpandKernelsPassOptions expand;
  expand.threads = options.threads;
  expand.chunks = options.chunks;
  expand.blocksPerSM = options.blocksPerSM;
  expand.maxBlocks = options.maxBlocks;
  pm.addPass(createExpandKernelsPass(expand));

  // Lookups are shared and hoisted while they are still one operation each.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  // Constants of a `gpu.launch` are its kernel's own: what is known of
  // addresses and divisors would be lost in arguments.
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());

  // A kernel's interface: pointers and scalars.
  pm.addPass(createConvertKVCacheToMemRefPass());
  pm.addPass(createExpandKernelMemRefsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());

  CloneGPUModulesPassOptions clone;
  clone.chips = options.chips;
  clone.optLevel = options.optLevel;
  pm.addPass(createCloneGPUModulesPass(clone));

  CompileGPUModulesPassOptions compile;
  compile.format = stringifyObjectFormat(options.format).str();
  compile.toolkit = options.toolkit;
  compile.lineInfo = options.lineInfo;
  pm.nest<gpu::GPUModuleOp>().addPass(createCompileGPUModulesPass(compile));

  CollectObjectsPassOptions collect;
  collect.output = options.output;
  pm.addPass(createCollectObjectsPass(collect, options.files));
}
