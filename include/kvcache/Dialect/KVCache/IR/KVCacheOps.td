//===- KVCacheOps.td - All operations of the kvcache dialect -*- tablegen -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheCollectionOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheLookupOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheAccessOps.td"
include "kvcache/Dialect/KVCache/IR/KVCachePageOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheGatherOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheAttentionOps.td"
include "kvcache/Dialect/KVCache/IR/KVCachePageKernelOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheQuantizeOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheRotaryOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheIndexerOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheTMAOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheAddressOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheTensorOps.td"

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPS_TD
