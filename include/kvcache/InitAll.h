//===- InitAll.h - Register everything of kvcache ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one entry for whoever embeds kvcache.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_INITALL_H
#define KVCACHE_INITALL_H

#include "kvcache/Conversion/KVCacheToLLVM/KVCacheToLLVM.h"
#include "kvcache/Conversion/Passes.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/Transforms/BufferizableOpInterfaceImpl.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"
#include "kvcache/Dialect/KVCache/Transforms/RuntimeOpVerification.h"
#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Pipelines/Pipelines.h"

namespace mlir::kvcache {

/// Adds the `kvcache` dialect, its lowering to LLVM, its bufferization and its
/// checks at run time to `registry`.
inline void registerAllDialects(DialectRegistry &registry) {
  registry.insert<KVCacheDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  registerConvertKVCacheToLLVMInterface(registry);
  registerRuntimeVerifiableOpInterfaceExternalModels(registry);
}

/// Registers the passes and pipelines of kvcache with MLIR's global pass
/// registry.
inline void registerAllPasses() {
  registerKVCacheTransformsPasses();
  registerConversionPasses();
  registerPipelinePasses();
  registerPipelines();
}

} // namespace mlir::kvcache

#endif // KVCACHE_INITALL_H
