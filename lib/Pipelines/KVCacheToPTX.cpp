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
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::kvcache;

void kvcache::buildDeviceToNVVMPipeline(OpPassManager &pm, StringRef chip) {
  ResolveChipPassOptions resolve;
  resolve.chip = chip.str();
  pm.addPass(createResolveChipPass(resolve));
  ConvertNarrowFloatToNVVMPassOptions narrow;
  narrow.chip = chip.str();
  pm.addPass(createConvertNarrowFloatToNVVMPass(narrow));

  // Everything structured to memref, arith, cf and vector of one dimension.
  pm.addPass(createConvertNVGPUToNVVMPass());
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
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
