//===- Clones.h - How the compiling passes find their modules ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_LIB_PIPELINES_CLONES_H
#define KVCACHE_LIB_PIPELINES_CLONES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::kvcache {

/// Marks a clone; the number of the original in getOriginalModules().
constexpr llvm::StringLiteral cloneOfName = "kvcache.clone_of";
/// The #gpu.object that a clone was compiled to.
constexpr llvm::StringLiteral objectName = "kvcache.object";
/// Bytes of shared memory that each kernel of a clone declares, by its name.
constexpr llvm::StringLiteral sharedBytesName = "kvcache.shared_bytes";

/// Returns the gpu.modules under `root` that are not clones, in walk order.
inline SmallVector<gpu::GPUModuleOp> getOriginalModules(ModuleOp root) {
  SmallVector<gpu::GPUModuleOp> modules;
  root.walk<WalkOrder::PreOrder>([&](gpu::GPUModuleOp module) {
    if (!module->hasAttr(cloneOfName))
      modules.push_back(module);
    return WalkResult::skip();
  });
  return modules;
}

} // namespace mlir::kvcache

#endif // KVCACHE_LIB_PIPELINES_CLONES_H
