//===- KVCacheLookupOps.td - Questions to a cache ----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHELOOKUPOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHELOOKUPOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

//===----------------------------------------------------------------------===//
// Lengths
//===----------------------------------------------------------------------===//

def KVCache_CacheLengthOp : KVCache_LookupOp<"cache_length", [
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "tokens of a sequence that are in the cache before this step";
  let description = [{
    Entry `batch` of `cache_lengths`, unsigned: the position of the first new
    token of that sequence. The same for every layer, side and pool.

    **Constraints:**
    - The policy is `assume` or `trap`.
    - A constant `batch` is at least 0 and, where the batch size is known, less
      than it.

    Example:
    ```mlir
    %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Paged:$source, Index:$batch,
                       KVCache_assumeUnlessSaid:$policy);
  let results = (outs Index:$length);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `]` attr-dict `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

class KVCache_ScalarOp<string opMnemonic, dag result>
    : KVCache_Op<opMnemonic, [
        Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let arguments = (ins KVCache_Paged:$source);
  let results = result;
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
}

def KVCache_MaxPromptLengthOp
    : KVCache_ScalarOp<"max_prompt_length", (outs Index:$length)> {
  let summary = "longest new prompt in the batch, in tokens";
  let description = [{
    What `max_prompt_length` held when the collection was made, unsigned.

    Example:
    ```mlir
    %n = kvcache.max_prompt_length %k : !kvcache.cache<key, #kv>
    ```
  }];
}

def KVCache_MaxContextLengthOp
    : KVCache_ScalarOp<"max_context_length", (outs Index:$length)> {
  let summary = "most tokens, cached and new, of any sequence";
  let description = [{
    What `max_cache_length` held when the collection was made, unsigned.

    Example:
    ```mlir
    %n = kvcache.max_context_length %k : !kvcache.cache<key, #kv>
    ```
  }];
}

def KVCache_EmptyCacheOp
    : KVCache_ScalarOp<"empty_cache", (outs I1:$empty)> {
  let summary = "whether no sequence has a token";
  let description = [{
    True where `max_cache_length` is 0.

    Example:
    ```mlir
    %e = kvcache.empty_cache %k : !kvcache.cache<key, #kv>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

def KVCache_NumKVRowsOp : KVCache_Op<"num_kv_rows", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "rows of the pool's matrix view";
  let description = [{
    `(blocks - 1) * (pitch / row) + P` where `blocks`, `pitch` and `row` are those
    of the pool that the operand speaks of: `NB` and `H*D` for values, `NBs` and
    `H*G` for scales; 0 for a pool without blocks.

    **Constraints:**
    - The layout has rows: `placement = pool, order = nhd`.

    Example:
    ```mlir
    %n = kvcache.num_kv_rows %s : !kvcache.scales_mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source);
  let results = (outs Index:$rows);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def KVCache_RowIdxOp : KVCache_LookupOp<"row_idx", [
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "row of a token in the pool's matrix view";
  let description = [{
    `block * (pitch / row) + t % P`, where `block` is the entry of the table for
    page `t / P` of sequence `b`, and table, pitch and row are those of the pool
    that the operand speaks of. A 64-bit number, the same for every side and
    layer.

    **Constraints:**
    - The layout has rows: `placement = pool, order = nhd`.
    - The policy is `assume` or `trap`.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.

    Example:
    ```mlir
    %r = kvcache.row_idx %s[%b, %t] : !kvcache.scales_mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source, Index:$batch, Index:$token,
                       KVCache_assumeUnlessSaid:$policy);
  let results = (outs Index:$row);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `,` $token `]` attr-dict
    `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

def KVCache_BlockRowIdxOp : KVCache_LookupOp<"block_row_idx", [
    DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "block of a token and its row in that block";
  let description = [{
    The block of page `t / P` and the slot `t % P`, each of which fits 32 bits.
    Where the layout has rows these are the halves of `kvcache.row_idx`:
    coordinates of a TMA copy are 32-bit, and a row need not be.

    **Constraints:**
    - The policy is `assume` or `trap`.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.

    Example:
    ```mlir
    %block, %row = kvcache.block_row_idx %o[%b, %t] : !kvcache.mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source, Index:$batch, Index:$token,
                       KVCache_assumeUnlessSaid:$policy);
  let results = (outs Index:$block, Index:$row);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `,` $token `]` attr-dict
    `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

def KVCache_PopulateOp : KVCache_LookupOp<"populate"> {
  let summary = "rows of consecutive tokens";
  let description = [{
    The rows (`kvcache.row_idx`) of the `BN` tokens from `token` on, with one table
    lookup a page. `token` is a multiple of the smaller of `BN` and `P`. Where
    `alignment` promises that the first table entry lies at a multiple of so many
    bytes, several entries are read at once.

    **Constraints:**
    - The layout has rows: `placement = pool, order = nhd`.
    - The policy is `assume` or `trap`.
    - The result is a vector of `BN` indices of fixed length, and one of `BN` and
      `P` divides the other.
    - `alignment` is a power of two of at least 4 bytes.
    - Constant `batch` and `token` are at least 0 and, where the tables' shape is
      known, `batch` is less than `B` and `token + BN` at most `M * P` (2^32 in any
      case).
    - A constant `token` is a multiple of the smaller of `BN` and `P`.

    Example:
    ```mlir
    %rows = kvcache.populate %o[%b, %t] : !kvcache.mha_operand<key, #kv> -> vector<128xindex>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source, Index:$batch, Index:$token,
                       KVCache_assumeUnlessSaid:$policy,
                       OptionalAttr<I64Attr>:$alignment);
  let results = (outs VectorOfRankAndType<[1], [Index]>:$rows);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `,` $token `]` attr-dict
    `:` qualified(type($source)) `->` type($rows)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pointers
//===----------------------------------------------------------------------===//

class KVCache_PagedPtrOp<string opMnemonic>
    : KVCache_LookupOp<opMnemonic> {
  let arguments = (ins KVCache_Operand:$source, Index:$batch, Index:$token,
                       Index:$head, Optional<Index>:$dim,
                       KVCache_assumeUnlessSaid:$policy);
  let results = (outs MemRefRankOf<[AnyType], [2]>:$view);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `,` $token `,` $head (`,` $dim^)? `]` attr-dict
    `:` qualified(type($source)) `->` type($view)
  }];
  let hasVerifier = 1;
}

def KVCache_BlockPagedPtrOp : KVCache_PagedPtrOp<"block_paged_ptr"> {
  let summary = "a tile of one page, at the address of a token, head and element";
  let description = [{
    A view of `tile` tokens of one page and `n` elements of one head. On a cache or
    a plain operand it starts at value `(b, t, h, d)`; on a scales operand it
    starts at the scale that covers element `d`, and `n` counts scales. An absent
    `dim` is 0. The tokens are `t` to `t + tile - 1`, all of one page.

    The result is `memref<tile x n x dtype, strided<[row, 1], offset: ?>>` where
    `row` is what lies between tokens: `H*D` (values) or `H*G` (scales) with
    `placement = pool, order = nhd`. Views of f4E2M1FN values are `i8` memrefs of
    `n` bytes, two elements each, with rows of `H*D/2`. Values end where the
    unquantised tail begins, which `kvcache.load` reads.

    **Constraints:**
    - The policy is `assume` or `trap`.
    - The layout aligns what is viewed to its size; odd rows or footers do not.
    - The result's element type is the operand's dtype (`i8` for f4E2M1FN), its
      sizes are static, its strides `[row, 1]`, its offset dynamic, and it lies in
      the default memory space.
    - `tile` divides the page size.
    - `n` is at least 1 and at most `D` elements (less the rope size) or `G` scales.
    - A view of swizzled scales is of one token and one scale.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.
    - With a constant `token` all `tile` tokens lie in its page.
    - A constant `head` is at least 0 and less than `H`, a constant `dim` at
      least 0, less than `D` (less the rope size) and, for f4E2M1FN values, even.
    - With a constant `dim`, `n` is at most what is left of the head from there.

    Example:
    ```mlir
    %p = kvcache.block_paged_ptr %s[%b, %t, %h, %d]
        : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
    ```
  }];
}

def KVCache_ScalesBlockPagedPtrOp
    : KVCache_PagedPtrOp<"scales_block_paged_ptr"> {
  let summary = "a tile of scales, at the scale of a token, head and element";
  let description = [{
    As `kvcache.block_paged_ptr` of the scales operand of the same cache: a view
    of `tile` tokens and `n` scales from the one that covers element `d` on.

    **Constraints:**
    - The source is a cache or a plain operand with scales; a scales operand has
      none of its own.
    - The constraints of `kvcache.block_paged_ptr` on a scales operand hold.

    Example:
    ```mlir
    %p = kvcache.scales_block_paged_ptr %k[%b, %t, %h, %d]
        : !kvcache.cache<key, #kv> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
    ```
  }];
}

def KVCache_ScalesRawPtrOp : KVCache_Op<"scales_raw_ptr", [Pure]> {
  let summary = "base of the scales of a layer and side";
  let description = [{
    The address of scale 0 of block 0, token 0 and head 0 of this layer and side.
    Null for a cache without scales, and for a scales operand, which already
    points to the scales.

    **Constraints:**
    - Scales that the source has lie in a pool of their own (`placement = pool`).

    Example:
    ```mlir
    %p = kvcache.scales_raw_ptr %o : !kvcache.mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source);
  let results = (outs LLVM_DefaultPointer:$pointer);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHELOOKUPOPS_TD
