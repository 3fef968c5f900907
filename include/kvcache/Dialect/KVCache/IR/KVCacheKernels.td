//===- KVCacheKernels.td - The operations of KVCacheKernels.h -*- tablegen -*-//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheGatherOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheAttentionOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheChipOps.td"
include "kvcache/Dialect/KVCache/IR/KVCachePageKernelOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheQuantizeOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheRotaryOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheIndexerOps.td"
include "kvcache/Dialect/KVCache/IR/KVCacheTensorOps.td"

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELS_TD
