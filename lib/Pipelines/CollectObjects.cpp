//===- CollectObjects.cpp - Compiled gpu.modules to gpu.binary ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Clones.h"
#include "OutputFiles.h"
#include "WriteRecords.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Target/PTX/PTX.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_COLLECTOBJECTSPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

static ObjectFormat getObjectFormat(gpu::CompilationTarget format) {
  switch (format) {
  case gpu::CompilationTarget::Binary:
    return ObjectFormat::Binary;
  case gpu::CompilationTarget::Fatbin:
    return ObjectFormat::Fatbin;
  default:
    return ObjectFormat::ISA;
  }
}

namespace {

struct CollectObjects
    : public kvcache::impl::CollectObjectsPassBase<CollectObjects> {
  using CollectObjectsPassBase::CollectObjectsPassBase;
  CollectObjects(const CollectObjectsPassOptions &options,
                 std::vector<CompiledFile> *memory)
      : CollectObjectsPassBase(options), memory(memory) {}

  void runOnOperation() override {
    ModuleOp root = getOperation();
    SmallVector<gpu::GPUModuleOp> modules = getOriginalModules(root);
    SmallVector<SmallVector<Attribute>> objects(modules.size());
    SmallVector<gpu::GPUModuleOp> clones;
    for (auto clone : root.getOps<gpu::GPUModuleOp>()) {
      auto number = clone->getAttrOfType<IntegerAttr>(
          KVCacheDialect::getCloneOfAttrName());
      auto object = clone->getAttrOfType<gpu::ObjectAttr>(
          KVCacheDialect::getObjectAttrName());
      if (!number)
        continue;
      if (!object || number.getValue().uge(modules.size())) {
        clone.emitOpError("is not a compiled clone of a gpu.module here");
        return signalPassFailure();
      }
      objects[number.getInt()].push_back(object);
      clones.push_back(clone);
    }

    if ((!output.empty() || memory) &&
        failed(writeFiles(modules, objects, clones)))
      return signalPassFailure();

    // What records needed to know has served its purpose.
    root.walk([](FunctionOpInterface function) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i) {
        function.removeArgAttr(i, KVCacheDialect::getNameAttrName());
        function.removeArgAttr(i, KVCacheDialect::getHostArrayAttrName());
      }
    });
    for (gpu::GPUModuleOp clone : clones)
      clone.erase();
    for (auto [module, compiled] : llvm::zip_equal(modules, objects)) {
      if (compiled.empty())
        continue;
      OpBuilder builder(module);
      gpu::BinaryOp::create(builder, module.getLoc(), module.getSymName(),
                            /*offloadingHandler=*/nullptr, compiled);
      module.erase();
    }
  }

  LogicalResult writeFiles(MutableArrayRef<gpu::GPUModuleOp> modules,
                           ArrayRef<SmallVector<Attribute>> objects,
                           ArrayRef<gpu::GPUModuleOp> clones) {
    RecordedBuild build;
    OutputFiles files(output, memory);
    if (failed(files.open(getOperation().getLoc())))
      return failure();
    for (auto [module, compiled] : llvm::zip_equal(modules, objects))
      for (Attribute attribute : compiled) {
        auto object = cast<gpu::ObjectAttr>(attribute);
        StringRef chip =
            cast<NVVM::NVVMTargetAttr>(object.getTarget()).getChip();
        std::string name =
            (module.getSymName() + "." + chip + "." +
             getFileExtension(getObjectFormat(object.getFormat())))
                .str();
        if (failed(files.add(name, object.getObject().getValue(),
                             module.getLoc())))
          return failure();
        build.format =
            getFileExtension(getObjectFormat(object.getFormat())).str();
        build.objects.push_back({module.getSymName().str(), chip.str(), name});
      }
    if (failed(
            addLaunchRecords(getOperation(), std::move(build), clones, files)))
      return failure();
    return files.commit();
  }

  std::vector<CompiledFile> *memory = nullptr;
};

} // namespace

std::unique_ptr<Pass>
kvcache::createCollectObjectsPass(const CollectObjectsPassOptions &options,
                                  std::vector<CompiledFile> *memory) {
  return std::make_unique<CollectObjects>(options, memory);
}
