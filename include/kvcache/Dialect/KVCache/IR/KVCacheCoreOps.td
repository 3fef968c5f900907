//===- KVCacheCoreOps.td - The operations of KVCache.h -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHECOREOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHECOREOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheCollectionOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheLookupOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheAccessOps.td"
include "kvcache/Dialect/KVCache/IR/KVCachePageOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheTMAOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheAddressOps.td"

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHECOREOPS_TD
