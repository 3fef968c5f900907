//===- Passes.h - Passes on the kvcache dialect -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_H
#define KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::kvcache {

#define GEN_PASS_DECL
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_H
