//===- KVCacheTMAOps.td - Tensor maps of a cache -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHETMAOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHETMAOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

class KVCache_CreateTMAOp<string opMnemonic> : KVCache_Op<opMnemonic, [
    MemoryEffects<[MemAlloc]>]> {
  let arguments = (ins KVCache_Operand:$source,
                       ConfinedAttr<I64Attr, [IntPositive]>:$bn,
                       ConfinedAttr<I64Attr, [IntPositive]>:$depth,
                       ConfinedAttr<I64Attr, [IntPositive]>:$bk,
                       DefaultValuedAttr<KVCache_Swizzle,
                           "::mlir::kvcache::Swizzle::none">:$swizzle);
  let results = (outs LLVM_DefaultPointer:$tensor_map);
  let assemblyFormat = [{
    $source `tile` `(` $bn `,` $depth `,` $bk `)` (`swizzle` `(` $swizzle^ `)`)?
    attr-dict `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

def KVCache_CreateTMATileOp : KVCache_CreateTMAOp<"create_tma_tile"> {
  let summary = "tensor map for tiles of k-major operands (keys)";
  let description = [{
    Encodes a tensor map over the pool's matrix `[num_kv_rows, H, depth]` of this
    layer and side, with boxes of `[BN, 1, BK]`, and gives a pointer to its 128
    bytes. A host operation: the map is passed to a kernel as it is. Rows are not
    masked. The row coordinate is `kvcache.row_idx`, which must fit 32 bits.
    With a swizzle, a box holds one swizzle width of elements and `BK` a whole
    number of them: one copy each.

    **Constraints:**
    - The source is a cache or a plain operand: TMA is not supported for scales.
    - It stands in host code.
    - The layout has rows: `placement = pool, order = nhd`.
    - `BN` is at most 256, `depth` at most `D`, `BK` at most `depth`; for f4E2M1FN
      `depth` and `BK` are even.
    - `BK` is a multiple of the swizzle width; without a swizzle it is at most 256
      and takes a multiple of 16 bytes.
    - The strides of a head and a row take a multiple of 16 bytes.

    Example:
    ```mlir
    %m = kvcache.create_tma_tile %o tile(64, 128, 128) swizzle(swizzle_128b)
        : !kvcache.mha_operand<key, #kv>
    ```
  }];
}

def KVCache_CreateRaggedTMATileOp
    : KVCache_CreateTMAOp<"create_ragged_tma_tile"> {
  let summary = "tensor map for tiles of mn-major operands (values)";
  let description = [{
    As `kvcache.create_tma_tile`, but each load says how many of its `BN` rows are
    live; the others arrive as zeros, so that NaN of slots that were never written
    cannot enter a reduction.

    The map has rank 4, `[num_kv_rows + 1, BN, H, depth]` with boxes of
    `[1, BN, 1, BK]`; its base lies `BN` rows below the pool's. The load of `live`
    rows from `row` on has the coordinates (element, head, `BN - live`,
    `row + live`): rows past the live ones lie outside the second dimension.

    **Constraints:**
    - Those of `kvcache.create_tma_tile`.

    Example:
    ```mlir
    %m = kvcache.create_ragged_tma_tile %o tile(64, 128, 64) swizzle(swizzle_64b)
        : !kvcache.mha_operand<value, #gqa>
    ```
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHETMAOPS_TD
