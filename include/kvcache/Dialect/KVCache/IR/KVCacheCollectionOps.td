//===- KVCacheCollectionOps.td - Collections, caches, operands -*- tablegen -*//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHECOLLECTIONOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHECOLLECTIONOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

def KVCache_GetPagedCacheOp : KVCache_Op<"get_paged_cache", [
    AttrSizedOperandSegments]> {
  let summary = "build a paged cache collection, with or without scales";
  let description = [{
    Builds a collection from a value pool, its tables and lengths and, where the
    layout has scales, the scales pool and the scales' own lookup table.

    | operand | type | meaning |
    |---|---|---|
    | `blocks` | `memref<NB x KD x L x P x H x D x dtype>`, or `memref<NB x KD x L x bytes x i8>` | value pool, or the pool of everything |
    | `cache_lengths` | `memref<B x i32>` | tokens already in the cache before this step |
    | `lookup_table` | `memref<B x M x i32>` | block of page `t / P` of sequence `b` |
    | `max_prompt_length` | `memref<1 x i32>` | longest new prompt in the batch |
    | `max_cache_length` | `memref<1 x i32>` | most tokens, cached and new, of a sequence |
    | `scales` | `memref<NBs x KD x L x P x H x G x scale dtype>` | scales pool |
    | `scales_lookup_table` | `memref<B x M x i32>` | block ids of the scales pool |

    The page pitch (stride 0 of a pool) comes from the memref and may exceed the
    packed `KD*L*P*H*D` by whole rows of `H*D` elements; all other dimensions are
    packed. Without `scales_lookup_table` scales are found through
    `lookup_table`: both pools then share one space of block ids. With `order =
    hnd` heads stand before tokens, `[NB, KD, L, H, P, D]`.

    With `placement` inline or page_split one pool of bytes holds values, scales
    and tails, `bytes` a layer of a side; with `kv_inner` both sides, and its `KD`
    is 1. Its page pitch is at least a page, padded to `page_align`, and a multiple
    of `page_align`, or of the alignment up to 16 of `bytes` where that is 0.

    The collection freezes tables and lengths: no write to them may be reachable
    from here on (`kvcache-check-frozen-tables`). Nothing is read here: all of them
    may lie in device memory. Pools are not frozen.

    What is only known at run time is the caller's contract: `B * M` and `M * P`
    are below 2^32, both tables are `B x M`, both pools have `L` layers, pools
    are aligned to 16 bytes, and without `scales_lookup_table` `NBs` is `NB`.
    `generate-runtime-verification` turns it into checks.

    **Constraints:**
    - `blocks` is a memref of the layout's dtype (`i8` for f4E2M1FN), of rank 6, or
      of `i8` and rank 4 for placements other than `pool`, in the default memory
      space, whose sizes but `NB` and `L` are static and the layout's.
    - It is strided and takes less than 2^63 bytes. All dimensions but the first
      are packed (where they are more than 1 and the strides are static); a static
      page pitch is at least that of a page and a multiple as above.
    - `cache_lengths` and `lookup_table` are `i32` memrefs of the shapes above in
      the default memory space, with last stride 1; rows of a table do not
      overlap.
    - `B` is that of `lookup_table`; its entries, padding included, and the
      positions `M * P` are less than 2^32.
    - `max_prompt_length` and `max_cache_length` are `i32` memrefs of one entry.
    - `scales` and `scales_lookup_table` are absent where the layout has no scales
      or their placement is not `pool`.
    - `scales` is given where else the layout has scales and is, in dtype, shape and
      strides, to them what `blocks` is to the values; a static `L` is that of
      `blocks`.
    - `scales_lookup_table` is given exactly where the layout says `table = own`,
      and is as `lookup_table`, with the same `B` and `M`.
    - Without `scales_lookup_table`, static `NB` and `NBs` are the same.

    Example:
    ```mlir
    %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x64x1x128xf8E4M3FN>)
        lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
        max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
        scales(%scales : memref<?x1x?x64x1x1xf32>)
        scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#kv>
    ```
  }];
  let arguments = (ins
    AnyMemRef:$blocks,
    Arg<AnyMemRef, "", [MemRead]>:$cache_lengths,
    Arg<AnyMemRef, "", [MemRead]>:$lookup_table,
    Arg<AnyMemRef, "", [MemRead]>:$max_prompt_length,
    Arg<AnyMemRef, "", [MemRead]>:$max_cache_length,
    Optional<AnyMemRef>:$scales,
    Arg<Optional<AnyMemRef>, "", [MemRead]>:$scales_lookup_table
  );
  let results = (outs KVCache_CollectionType:$collection);
  let assemblyFormat = [{
    `blocks` `(` $blocks `:` type($blocks) `)`
    `lengths` `(` $cache_lengths `:` type($cache_lengths) `)`
    `table` `(` $lookup_table `:` type($lookup_table) `)`
    `max_prompt` `(` $max_prompt_length `:` type($max_prompt_length) `)`
    `max_cache` `(` $max_cache_length `:` type($max_cache_length) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`scales_table` `(` $scales_lookup_table^ `:` type($scales_lookup_table) `)`)?
    attr-dict `:` qualified(type($collection))
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    ::mlir::kvcache::LayoutAttr getLayout() {
      return getCollection().getType().getLayout();
    }
    /// The memref of `pool`; null for the scales of a cache without scales.
    ::mlir::TypedValue<::mlir::MemRefType> getPool(::mlir::kvcache::Pool pool);
    /// The table through which blocks of `pool` are found.
    ::mlir::TypedValue<::mlir::MemRefType> getTable(::mlir::kvcache::Pool pool);
    /// What the collection freezes: tables and lengths.
    ::llvm::SmallVector<::mlir::Value> getFrozenMemRefs();
  }];
}

class KVCache_GetCacheOp<string side> : KVCache_DerivedOp<"get_" # side # "_cache"> {
  let arguments = (ins KVCache_CollectionType:$collection, Index:$layer);
  let results = (outs KVCache_CacheType:$cache);
  let assemblyFormat = [{
    $collection `[` $layer `]` attr-dict `:` qualified(type($collection))
  }];
  let hasVerifier = 1;
}

def KVCache_GetKeyCacheOp : KVCache_GetCacheOp<"key"> {
  let summary = "the key cache of one layer";
  let description = [{
    The keys of layer `layer`, counted from 0, and their scales.

    **Constraints:**
    - A constant `layer` is at least 0 and, where the number of layers is known,
      less than it.

    Example:
    ```mlir
    %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
    ```
  }];
}

def KVCache_GetValueCacheOp : KVCache_GetCacheOp<"value"> {
  let summary = "the value cache of one layer";
  let description = [{
    The values of layer `layer`, counted from 0, and their scales.

    **Constraints:**
    - The layout is not MLA: it has no value cache.
    - A constant `layer` is at least 0 and, where the number of layers is known,
      less than it.

    Example:
    ```mlir
    %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#gqa>
    ```
  }];
}

class KVCache_MakeOperandOp<string opMnemonic> : KVCache_DerivedOp<opMnemonic> {
  let arguments = (ins KVCache_CacheType:$cache);
  let assemblyFormat = "$cache attr-dict `:` qualified(type($cache))";
}

def KVCache_MHAOperandOp : KVCache_MakeOperandOp<"mha_operand"> {
  let summary = "the attention operand of a cache's values";
  let description = [{
    An operand that reads the values of the cache: what an attention kernel takes
    for its keys or values.

    Example:
    ```mlir
    %o = kvcache.mha_operand %k : !kvcache.cache<key, #kv>
    ```
  }];
  let results = (outs KVCache_MHAOperandType:$operand);
}

def KVCache_ScalesMHAOperandOp : KVCache_MakeOperandOp<"scales_mha_operand"> {
  let summary = "the attention operand of a cache's scales";
  let description = [{
    An operand that reads the scales of the cache as a plain operand reads its
    values, through the scales' table where they have one of their own. This is
    how MLA's per-token scales (`G = 1`) are read.

    **Constraints:**
    - The cache has scales.

    Example:
    ```mlir
    %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
    ```
  }];
  let results = (outs KVCache_ScalesMHAOperandType:$operand);
}

def KVCache_CastOp : KVCache_Op<"cast", [Pure]> {
  let summary = "forget that scales share the values' table";
  let description = [{
    Turns a value whose scales are found through the shared table into one of the
    type whose scales have a table of their own; that table is then the shared
    one. Folds into whoever looks through it.

    **Constraints:**
    - Source and result differ only in their layout's `table`, which is `shared`
      in the source and `own` in the result.

    Example:
    ```mlir
    %1 = kvcache.cast %0 : !kvcache.collection<#shared> to !kvcache.collection<#own>
    ```
  }];
  let arguments = (ins KVCache_Paged:$source);
  let results = (outs KVCache_Paged:$result);
  let assemblyFormat = [{
    $source attr-dict `:` qualified(type($source)) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHECOLLECTIONOPS_TD
