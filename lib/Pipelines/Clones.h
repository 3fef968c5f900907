//===- Clones.h - How the compiling passes find their modules ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_PIPELINES_CLONES_H
#define KVCACHE_LIB_PIPELINES_CLONES_H

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::kvcache {

/// Returns the gpu.modules under `root` that are not clones, in walk order.
inline SmallVector<gpu::GPUModuleOp> getOriginalModules(ModuleOp root) {
  SmallVector<gpu::GPUModuleOp> modules;
  root.walk<WalkOrder::PreOrder>([&](gpu::GPUModuleOp module) {
    if (!module->hasAttr(KVCacheDialect::getCloneOfAttrName()))
      modules.push_back(module);
    return WalkResult::skip();
  });
  return modules;
}

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_PIPELINES_CLONES_H
