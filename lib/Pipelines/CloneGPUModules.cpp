//===- CloneGPUModules.cpp - One gpu.module for each chip -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clones.h"
#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Target/Chip.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_CLONEGPUMODULESPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

namespace {

struct CloneGPUModules
    : public kvcache::impl::CloneGPUModulesPassBase<CloneGPUModules> {
  using CloneGPUModulesPassBase::CloneGPUModulesPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    Location location = UnknownLoc::get(context);
    initialized = context;
    if (optLevel > 3)
      return emitError(location)
             << "expected an opt-level of 0 to 3, got " << optLevel.getValue();
    if (chips.empty())
      return emitError(location)
             << "no chip given; say which to compile for, for example "
                "chip=sm_80,sm_90a";
    llvm::StringSet<> seen;
    knownChips.clear();
    for (const std::string &name : chips) {
      FailureOr<Chip> chip =
          lookupChip(name, [&] { return emitError(location); });
      if (failed(chip))
        return failure();
      if (!seen.insert(name).second)
        return emitError(location)
               << "chip '" << name << "' is given twice; give each chip once";
      knownChips.push_back(*chip);
    }
    return success();
  }

  void runOnOperation() override {
    ModuleOp root = getOperation();
    if (&getContext() != initialized) {
      root.emitError("expected a module of the pass manager's own context, got "
                     "one of another; parse it in that context");
      return signalPassFailure();
    }
    SymbolTable symbols(root);
    SmallVector<gpu::GPUModuleOp> modules = getOriginalModules(root);
    Builder builder(&getContext());
    for (auto [number, module] : llvm::enumerate(modules))
      for (const Chip &chip : knownChips) {
        gpu::GPUModuleOp clone = module.clone();
        clone.setSymName((module.getSymName() + "." + chip.name).str());
        clone->setAttr(KVCacheDialect::getCloneOfAttrName(),
                       builder.getI64IntegerAttr(number));
        // kvcache-check-chip says better what the chip lacks.
        clone.setTargetsAttr(builder.getArrayAttr(NVVM::NVVMTargetAttr::get(
            &getContext(), optLevel, "nvptx64-nvidia-cuda", chip.name,
            chip.getPTXFeature(), /*targetFlags=*/nullptr,
            /*linkFiles=*/nullptr, /*verifyTarget=*/false)));
        symbols.insert(clone, root.getBody()->end());
      }
  }

  MLIRContext *initialized = nullptr;
  SmallVector<Chip> knownChips;
};

} // namespace
