//===- CompileGPUModules.cpp - gpu.module to #gpu.object ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clones.h"
#include "LineInfo.h"
#include "SharedMemory.h"
#include "kvcache/Conversion/KVCacheToLLVM/KVCacheToLLVM.h"
#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Pipelines/Pipelines.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ComplexToLLVM/ComplexToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_COMPILEGPUMODULESPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

static gpu::CompilationTarget getCompilationTarget(ObjectFormat format) {
  switch (format) {
  case ObjectFormat::ISA:
    return gpu::CompilationTarget::Assembly;
  case ObjectFormat::Binary:
    return gpu::CompilationTarget::Binary;
  case ObjectFormat::Fatbin:
    return gpu::CompilationTarget::Fatbin;
  }
  llvm_unreachable("unknown format");
}

namespace {

struct CompileGPUModules
    : public kvcache::impl::CompileGPUModulesPassBase<CompileGPUModules> {
  using CompileGPUModulesPassBase::CompileGPUModulesPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    // A pipeline for any chip: all need the same dialects.
    OpPassManager pipeline(gpu::GPUModuleOp::getOperationName());
    buildDeviceToNVVMPipeline(pipeline, getKnownChips().front().name);
    pipeline.getDependentDialects(registry);
    registry.insert<NVVM::NVVMDialect>();
    // What convert-gpu-to-nvvm and the translation ask dialects for.
    arith::registerConvertArithToLLVMInterface(registry);
    cf::registerConvertControlFlowToLLVMInterface(registry);
    index::registerConvertIndexToLLVMInterface(registry);
    registerConvertComplexToLLVMInterface(registry);
    registerConvertFuncToLLVMInterface(registry);
    registerConvertKVCacheToLLVMInterface(registry);
    registerConvertMathToLLVMInterface(registry);
    registerConvertMemRefToLLVMInterface(registry);
    registerConvertNVVMToLLVMInterface(registry);
    ub::registerConvertUBToLLVMInterface(registry);
    vector::registerConvertVectorToLLVMInterface(registry);
    NVVM::registerNVVMTargetInterfaceExternalModels(registry);
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }

  LogicalResult initialize(MLIRContext *context) override {
    if (std::optional<ObjectFormat> parsed = parseObjectFormat(format)) {
      objectFormat = *parsed;
      return success();
    }
    return emitError(UnknownLoc::get(context))
           << "expected format isa, bin or fatbin, got '" << format << "'";
  }

  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (!module->hasAttr(KVCacheDialect::getCloneOfAttrName()))
      return markAllAnalysesPreserved();
    ArrayAttr targets = module.getTargetsAttr();
    auto target = targets && !targets.empty()
                      ? dyn_cast<NVVM::NVVMTargetAttr>(targets[0])
                      : nullptr;
    if (!target) {
      module.emitOpError("expected one '#nvvm.target' beside '")
          << KVCacheDialect::getCloneOfAttrName()
          << "', which kvcache-clone-gpu-modules sets; drop '"
          << KVCacheDialect::getCloneOfAttrName() << "'";
      return signalPassFailure();
    }
    const Chip *chip = findChip(target.getChip());
    if (!chip) {
      module.emitOpError("has an unknown chip '") << target.getChip() << "'";
      return signalPassFailure();
    }

    OpPassManager pipeline(gpu::GPUModuleOp::getOperationName());
    buildDeviceToNVVMPipeline(pipeline, chip->name, DeviceContents::of(module));
    if (failed(runPipeline(pipeline, module)))
      return signalPassFailure();

    module->setAttr(KVCacheDialect::getSharedBytesAttrName(),
                    getSharedBytes(module));
    if (lineInfo)
      attachLineInfo(module);
    PTXOptions options;
    options.optLevel = target.getO();
    options.toolkit = toolkit;
    FailureOr<std::string> object = translateToPTX(module, *chip, options);
    if (succeeded(object))
      object = assemblePTX(*object, *chip, objectFormat, options,
                           [&] { return emitError(module.getLoc()); });
    if (failed(object))
      return signalPassFailure();

    // The runtime takes the level from here when the driver assembles PTX.
    Builder builder(&getContext());
    DictionaryAttr properties = builder.getDictionaryAttr(
        builder.getNamedAttr("O", builder.getI32IntegerAttr(target.getO())));
    target = NVVM::NVVMTargetAttr::get(&getContext(), target.getO(),
                                       target.getTriple(), target.getChip(),
                                       target.getFeatures());
    module->setAttr(KVCacheDialect::getObjectAttrName(),
                    gpu::ObjectAttr::get(&getContext(), target,
                                         getCompilationTarget(objectFormat),
                                         builder.getStringAttr(*object),
                                         properties, nullptr));
    module.getBody()->clear();
  }

  ObjectFormat objectFormat = ObjectFormat::ISA;
};

} // namespace
