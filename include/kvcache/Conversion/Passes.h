//===- Passes.h - Conversion passes -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_CONVERSION_PASSES_H
#define KVCACHE_CONVERSION_PASSES_H

#include "kvcache/Conversion/KVCacheToMemRef/KVCacheToMemRef.h"
#include "kvcache/Conversion/NarrowFloatToNVVM/NarrowFloatToNVVM.h"
#include "mlir/Pass/PassRegistry.h"

namespace mlir::kvcache {

/// Defines registerConversionPasses().
#define GEN_PASS_REGISTRATION
#include "kvcache/Conversion/Passes.h.inc"

} // namespace mlir::kvcache

#endif // KVCACHE_CONVERSION_PASSES_H
