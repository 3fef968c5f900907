//===- KVCacheChipOps.td - Questions to the chip -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHECHIPOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHECHIPOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

def KVCache_HasWgmmaOp : KVCache_Op<"has_wgmma", [Pure]> {
  let summary = "whether the chip multiplies by warpgroups";
  let description = [{
    Whether the chip that device code is compiled for has `wgmma.mma_async`. One
    module is compiled for several chips, so that kernels are made before the chip
    is known: they hold both forms, and `kvcache-resolve-chip` keeps one.

    Example:
    ```mlir
    %has = kvcache.has_wgmma
    ```
  }];
  let results = (outs I1:$has);
  let assemblyFormat = "attr-dict";
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHECHIPOPS_TD
