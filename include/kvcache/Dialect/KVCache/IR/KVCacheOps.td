//===- KVCacheOps.td - All operations of the kvcache dialect -*- tablegen -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheCoreOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheKernels.td"

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPS_TD
