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

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

namespace mlir::kvcache {

/// Adds the `kvcache` dialect to `registry`.
inline void registerAllDialects(DialectRegistry &registry) {
  registry.insert<KVCacheDialect>();
}

} // namespace mlir::kvcache

#endif // KVCACHE_INITALL_H
