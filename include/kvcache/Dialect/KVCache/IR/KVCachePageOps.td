//===- KVCachePageOps.td - Pages and what lies in them -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEPAGEOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEPAGEOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheAccessOps.td"

def KVCache_GetPagePoolsOp : KVCache_Op<"get_page_pools", [Pure]> {
  let summary = "build a collection of pools alone, without sequences";
  let description = [{
    A collection for whoever speaks of blocks and slots of the pools rather than
    of tokens of sequences: it has no sequences (`B` and `M` are 0), and every
    `(b, t)` is out of range. Where the layout says `table = own`, blocks of the
    two pools have ids of their own all the same.

    **Constraints:**
    - `blocks` and `scales` are as in `kvcache.get_paged_cache`.

    Example:
    ```mlir
    %c = kvcache.get_page_pools blocks(%blocks : memref<?x1x?x64x1x128xf8E4M3FN>)
        scales(%scales : memref<?x1x?x64x1x1xf32>) : !kvcache.collection<#kv>
    ```
  }];
  let arguments = (ins AnyMemRef:$blocks, Optional<AnyMemRef>:$scales);
  let results = (outs KVCache_CollectionType:$collection);
  let assemblyFormat = [{
    `blocks` `(` $blocks `:` type($blocks) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    attr-dict `:` qualified(type($collection))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::kvcache::LayoutAttr getLayout() {
      return getCollection().getType().getLayout();
    }
  }];
}

def KVCache_NumBlocksOp : KVCache_Op<"num_blocks", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "blocks of the pool";
  let description = [{
    `NB`, or `NBs` of a scales operand.

    Example:
    ```mlir
    %n = kvcache.num_blocks %s : !kvcache.scales_mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source);
  let results = (outs Index:$blocks);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
  let hasFolder = 1;
}

def KVCache_BatchSizeOp : KVCache_Op<"batch_size", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "sequences of the collection";
  let description = [{
    `B`, the rows of the lookup table.

    Example:
    ```mlir
    %n = kvcache.batch_size %k : !kvcache.cache<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Paged:$source);
  let results = (outs Index:$size);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
  let hasFolder = 1;
}

def KVCache_TableColumnsOp : KVCache_Op<"table_columns", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "columns of the lookup tables";
  let description = [{
    `M`, the pages that a sequence may have.

    Example:
    ```mlir
    %n = kvcache.table_columns %k : !kvcache.cache<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Paged:$source);
  let results = (outs Index:$columns);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
  let hasFolder = 1;
}

def KVCache_NumLayersOp : KVCache_Op<"num_layers", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "layers of the collection";
  let description = [{
    `L`, the layers that each side of a page has.

    Example:
    ```mlir
    %n = kvcache.num_layers %c : !kvcache.collection<#kv>
    ```
  }];
  let arguments = (ins KVCache_CollectionType:$source);
  let results = (outs Index:$layers);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
  let hasFolder = 1;
}

def KVCache_PagePitchOp : KVCache_Op<"page_pitch", [
    Pure, DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "bytes from page to page";
  let description = [{
    The bytes from a block to the next one in the pool that the operand speaks
    of: a page, all sides and layers, and its padding.

    Example:
    ```mlir
    %n = kvcache.page_pitch %s : !kvcache.scales_mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source);
  let results = (outs Index:$bytes);
  let assemblyFormat = "$source attr-dict `:` qualified(type($source))";
}

def KVCache_PagePtrOp : KVCache_Op<"page_ptr", [Pure]> {
  let summary = "address of a page's bytes";
  let description = [{
    The address of the first byte of the layer and side in block `block` of the
    pool that the operand speaks of. Where the layout places all in one pool, a
    layer of a side starts with the same byte for values and scales. With keys of
    layer 0 it is the page's first byte. Nothing is checked.

    Example:
    ```mlir
    %p = kvcache.page_ptr %o[%block] : !kvcache.mha_operand<key, #kv> -> memref<i8>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source, I32:$block);
  let results = (outs MemRefRankOf<[I8], [0]>:$page);
  let assemblyFormat = [{
    $source `[` $block `]` attr-dict `:` qualified(type($source)) `->` type($page)
  }];
}

def KVCache_BlockIdOp : KVCache_LookupOp<"block_id"> {
  let summary = "block of a page";
  let description = [{
    Entry `(batch, page)` of the table of the pool that the operand speaks of: the
    block in which page `page` of sequence `batch` lies, unsigned.

    Out of range: under `skip` the result is 0xFFFFFFFF where the table has no
    such entry or the pool no such block; no pool has a block of that number.

    **Constraints:**
    - Constant `batch` and `page` are at least 0 and less than `B` and `M`, where
      the tables' shape is known.

    Example:
    ```mlir
    %block = kvcache.block_id skip %o[%b, %page] : !kvcache.mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source, Index:$batch, Index:$page,
                       KVCache_assumeUnlessSaid:$policy);
  let results = (outs I32:$block);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `,` $page `]` attr-dict
    `:` qualified(type($source))
  }];
  let hasVerifier = 1;
}

class KVCache_InPageOp<string opMnemonic, MemoryEffect effect, string operand>
    : KVCache_AccessOp<opMnemonic, effect> {
  let extraClassDeclaration = [{
    /// The pool that is accessed.
    ::mlir::kvcache::Pool getPool() {
      return getTail() ? ::mlir::kvcache::Pool::tail
                       : ::llvm::cast<::mlir::kvcache::MHAOperandTypeInterface>(
                             get}] # operand # [{().getType()).getPool();
    }
  }];
}

def KVCache_LoadInPageOp : KVCache_InPageOp<"load_in_page", MemRead, "Source"> {
  let summary = "load what a page holds, as it is stored";
  let description = [{
    Loads the storage element of `(slot, head, dim)` in block `block` of the pool
    that the operand speaks of, or as many from there as the result has: codes of
    values, or scales. `dim` counts elements of the head, for scales too, whose
    slot is `floor(dim / g)`. Nothing is looked up, converted or checked: blocks,
    slots, heads and elements are inside.

    Where the layout has the heads of a token side by side, elements count on: head
    0 and element `D + 1` are head 1 and element 1, and vectors run over heads.

    With `tail` the pool is that of the elements that are not quantised, and `dim`
    counts from the first of them.

    **Constraints:**
    - `tail` is of a plain operand whose layout has `rope`.
    - The result's element type is what the pool stores: the cache's dtype, `i8`
      for f4E2M1FN (two elements), the scale dtype for a scales operand, the rope
      dtype for the tail.
    - A vector is of fixed length, and not longer than what is contiguous.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `slot`, `head` and `dim` are at least 0 and less than `P`, `H` and
      the elements of a head, or of a row with heads side by side.

    Example:
    ```mlir
    %v = kvcache.load_in_page %o[%block, %slot, %h, %d]
        : !kvcache.mha_operand<key, #kv> -> vector<16xf8E4M3FN>
    ```
  }];
  let arguments = (ins KVCache_Operand:$source, I32:$block, Index:$slot,
                       Index:$head, Index:$dim, UnitAttr:$tail,
                       OptionalAttr<I64Attr>:$alignment);
  let results = (outs KVCache_ScalarOrVector:$result);
  let assemblyFormat = [{
    $source `[` $block `,` $slot `,` $head `,` $dim `]` (`tail` $tail^)? attr-dict
    `:` qualified(type($source)) `->` type($result)
  }];
}

def KVCache_StoreInPageOp : KVCache_InPageOp<"store_in_page", MemWrite, "Target"> {
  let summary = "store into a page, as it is";
  let description = [{
    Stores the storage element of `(slot, head, dim)` in block `block` of the pool
    that the operand speaks of, or as many from there as the value has: the
    reverse of `kvcache.load_in_page`.

    **Constraints:**
    - `tail` is of a plain operand whose layout has `rope`.
    - The value's element type is what the pool stores.
    - A vector is of fixed length, and not longer than what is contiguous.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `slot`, `head` and `dim` are at least 0 and less than `P`, `H` and
      the elements of a head, or of a row with heads side by side.

    Example:
    ```mlir
    kvcache.store_in_page %codes, %o[%block, %slot, %h, %d]
        : vector<16xf8E4M3FN>, !kvcache.mha_operand<key, #kv>
    ```
  }];
  let arguments = (ins KVCache_ScalarOrVector:$value,
                       Arg<KVCache_Operand, "", [MemWrite]>:$target,
                       I32:$block, Index:$slot, Index:$head, Index:$dim,
                       UnitAttr:$tail, OptionalAttr<I64Attr>:$alignment);
  let assemblyFormat = [{
    $value `,` $target `[` $block `,` $slot `,` $head `,` $dim `]`
    (`tail` $tail^)? attr-dict
    `:` type($value) `,` qualified(type($target))
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEPAGEOPS_TD
