//===- WriteRecords.cpp - Launch records beside objects -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WriteRecords.h"
#include "Clones.h"
#include "kvcache/Support/Identifiers.h"
#include "kvcache/Target/Chip.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult kvcache::addLaunchRecords(ModuleOp root, RecordedBuild build,
                                        ArrayRef<gpu::GPUModuleOp> clones,
                                        OutputFiles &files) {
  for (const RecordedObject &object : build.objects) {
    if (!llvm::is_contained(build.chips, object.chip))
      build.chips.push_back(object.chip);
    if (const Chip *chip = findChip(object.chip))
      build.maxDynamicShared = std::max<int64_t>(build.maxDynamicShared,
                                                 chip->maxDynamicSharedMemory);
  }
  // The clones of a module, one a chip, are named after it.
  auto getStaticShared = [&](StringRef module, StringRef kernel) {
    int64_t most = 0;
    for (gpu::GPUModuleOp clone : clones) {
      auto bytes = clone->getAttrOfType<DictionaryAttr>(
          KVCacheDialect::getSharedBytesAttrName());
      if (!bytes || clone.getSymName().rsplit('.').first != module)
        continue;
      if (auto number = bytes.getAs<IntegerAttr>(kernel))
        most = std::max(most, number.getInt());
    }
    return most;
  };

  SmallVector<func::FuncOp> functions;
  root.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::GPUModuleOp>(op))
      return WalkResult::skip();
    auto function = dyn_cast<func::FuncOp>(op);
    if (function && launchesKernels(function))
      functions.push_back(function);
    return WalkResult::advance();
  });

  std::vector<std::string> taken;
  for (func::FuncOp function : functions) {
    FailureOr<LaunchRecord> record =
        evaluateLaunches(function, getStaticShared);
    // A remark has said why.
    if (failed(record))
      continue;
    record->identifier = makeIdentifier(function.getSymName(), taken);
    if (failed(files.add(record->identifier + ".json",
                         writeRecordJSON(*record, build), function.getLoc())) ||
        failed(files.add(record->identifier + ".h",
                         writeRecordHeader(*record, build), function.getLoc())))
      return failure();
  }
  return success();
}
