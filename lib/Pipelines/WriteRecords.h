//===- WriteRecords.h - Launch records beside objects -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_PIPELINES_WRITERECORDS_H
#define KVCACHE_LIB_PIPELINES_WRITERECORDS_H

#include "OutputFiles.h"
#include "kvcache/Target/LaunchRecord/LaunchRecord.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::kvcache {

/// Adds, for each host function under `root` that launches kernels, its launch
/// record as JSON and as a C header to `files`. `build` knows all objects;
/// `clones` are the compiled modules.
LogicalResult addLaunchRecords(ModuleOp root, RecordedBuild build,
                               ArrayRef<gpu::GPUModuleOp> clones,
                               OutputFiles &files);

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_PIPELINES_WRITERECORDS_H
