//===- Passes.h - Passes that pipelines are made of -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_PIPELINES_PASSES_H
#define KVCACHE_PIPELINES_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include <vector>

namespace mlir::kvcache {

#define GEN_PASS_DECL
#include "kvcache/Pipelines/Passes.h.inc"

struct CompiledFile;

/// The same as with `options` alone, and the files in `memory`, too, which is
/// null or lives as long as the pass.
std::unique_ptr<Pass>
createCollectObjectsPass(const CollectObjectsPassOptions &options,
                         std::vector<CompiledFile> *memory);

/// Defines registerPipelinePasses().
#define GEN_PASS_REGISTRATION
#include "kvcache/Pipelines/Passes.h.inc"

} // namespace mlir::kvcache

#endif // KVCACHE_PIPELINES_PASSES_H
