//===- KVCachePageKernelOps.td - Kernels on whole pages ----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEPAGEKERNELOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEPAGEKERNELOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"

/// A kernel on the pools of a collection: all sides; values, tails and scales;
/// all layers, or those in `layers`.
class KVCache_PageKernelOp<string opMnemonic, list<Trait> traits = []>
    : KVCache_KernelOpBase<opMnemonic, traits> {
  code pageDeclarations = [{
    ::mlir::kvcache::LayoutAttr getLayout() {
      return getCollection().getType().getLayout();
    }
  }];
  let extraClassDeclaration = pageDeclarations;
}

def KVCache_ClearPagesOp : KVCache_PageKernelOp<"clear_pages"> {
  let summary = "write zeros into pages";
  let description = [{
    Writes zero bytes into the pages in `pages`, a list of blocks: the values,
    scales and tails of all sides, in all layers or those in `layers`. Bytes that
    belong to no element (padding, the rest of a footer) stay. Where scales have
    block ids of their own, a second list names the blocks of scales. Lists are
    read on the device, as unsigned numbers; a block may stand in one twice.

    Out of range: each block against its own pool.

    **Constraints:**
    - `pages` are one list, `memref<N x i32>` or `i64`, or, where the layout says
      `table = own`, two.
    - `layers` are distinct, at least 0 and, where the number of layers is known,
      less than it.

    Example:
    ```mlir
    kvcache.clear_pages skip %c pages(%pages : memref<?xi32>) layers = [0, 3]
        : !kvcache.collection<#gqa>
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Arg<KVCache_CollectionType, "", [MemWrite]>:$collection,
    Variadic<AnyMemRef>:$pages,
    OptionalAttr<DenseI64ArrayAttr>:$layers,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? $collection `pages` `(` $pages `:` type($pages) `)`
    (`layers` `=` $layers^)? (`tuning` `(` $tuning^ `)`)? attr-dict
    `:` qualified(type($collection))
  }];
}

def KVCache_CopyPagesOp : KVCache_PageKernelOp<"copy_pages", [
    AttrSizedOperandSegments]> {
  let summary = "copy pages within the pools";
  let description = [{
    Copies, for each pair (source, destination) of blocks, the source's page to
    the destination: the values, scales and tails of all sides, in all layers or
    those in `layers`. Bytes that belong to no element (padding, the rest of a
    footer) stay as they are in the destination. Where scales have block ids of
    their own, a second list has the pairs of blocks of scales. Lists are read on
    the device, as unsigned numbers.

    It is as if all sources were read before anything is written: chains
    (`0 -> 1`, `1 -> 2`) and swaps (`0 -> 1`, `1 -> 0`) do what they say. Of
    several pairs with one destination the last one stands. A `workspace` of four
    `i32` for each pair of the longer list takes the order in which pairs are
    carried out; what it holds before does not matter. Pairs that depend on one
    another run one after another, all others at once. To find the order takes
    time that grows with the square of the number of pairs, of which a GPU does
    some 10^12 a second.

    With `disjoint` there is no workspace, and one launch for each list: a promise
    that no block is a destination twice, or a source and a destination at once.

    Out of range: of a pair both blocks, each against its own pool; under `skip`
    the pair does nothing, and does not count as the last one.

    **Constraints:**
    - `pairs` are one list, `memref<N x 2 x i32>` or `i64`, or, where the layout
      says `table = own`, two.
    - Either `workspace` is given or `disjoint`.
    - `workspace` is a `memref<? x i32>`; where its size and that of a list are
      static, it has four entries a pair.
    - `layers` are distinct, at least 0 and, where the number of layers is known,
      less than it.

    Example:
    ```mlir
    kvcache.copy_pages skip %c pairs(%pairs : memref<?x2xi64>)
        workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Arg<KVCache_CollectionType, "", [MemWrite]>:$collection,
    Variadic<AnyMemRef>:$pairs,
    UnitAttr:$disjoint,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    OptionalAttr<DenseI64ArrayAttr>:$layers,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? $collection `pairs` `(` $pairs `:` type($pairs) `)`
    (`disjoint` $disjoint^)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`layers` `=` $layers^)? (`tuning` `(` $tuning^ `)`)? attr-dict
    `:` qualified(type($collection))
  }];
}

def KVCache_MoveTokensOp : KVCache_PageKernelOp<"move_tokens", [
    AttrSizedOperandSegments]> {
  let summary = "copy tokens from slots to slots of the pools";
  let description = [{
    Copies the token in slot `sources[i]` to slot `destinations[i]`: block
    `s / P`, slot `s % P` of it. Otherwise as `kvcache.copy_pages`, a token at a
    time: snapshot semantics, the last of several pairs with one destination
    stands, `workspace` and `disjoint`. Slots are signed; where scales have block
    ids of their own, second lists have the slots of scales.

    Out of range: of a pair both slots, each against its own pool; under `skip`
    the pair does nothing. A negative slot is out of range.

    **Constraints:**
    - `sources` and `destinations` are one list each, `memref<N x i32>` or `i64`,
      or, where the layout says `table = own`, two; lists for one pool have one
      element type and, where both are static, one size.
    - Either `workspace` is given or `disjoint`.
    - `workspace` is a `memref<? x i32>`; where its size and that of a list are
      static, it has four entries a pair.
    - `layers` are distinct, at least 0 and, where the number of layers is known,
      less than it.

    Example:
    ```mlir
    kvcache.move_tokens skip %c from(%src : memref<?xi64>) to(%dst : memref<?xi64>)
        workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Arg<KVCache_CollectionType, "", [MemWrite]>:$collection,
    Variadic<AnyMemRef>:$sources,
    Variadic<AnyMemRef>:$destinations,
    UnitAttr:$disjoint,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    OptionalAttr<DenseI64ArrayAttr>:$layers,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? $collection `from` `(` $sources `:` type($sources) `)`
    `to` `(` $destinations `:` type($destinations) `)`
    (`disjoint` $disjoint^)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`layers` `=` $layers^)? (`tuning` `(` $tuning^ `)`)? attr-dict
    `:` qualified(type($collection))
  }];
}

def KVCache_CompactOp : KVCache_PageKernelOp<"compact"> {
  let summary = "move live pages to the front of the pools";
  let description = [{
    Moves the pages that the collection's sequences use, those that hold the
    first `cache_length(b)` tokens of each sequence `b`, to the first blocks of
    their pool: the k-th page in the order of the table, row by row, becomes block
    k, with the values, scales and tails of all layers and sides. A page that
    several sequences share is one page. Writes to `tables` what the lookup table,
    and where scales have one of their own then the scales' table, is afterwards:
    entries of live pages name their new blocks, all others are as they were. The
    blocks behind the live pages hold what is left over there.

    There is no choice of layers: one table speaks for all of them, so that a page
    that moved in some would be lost in the others.

    All of it is found on the device. The collection's own tables stay as they
    are, and wrong from here on: `tables` are other memory, of which a new
    collection is made. `workspace` has room for 6 `i32` for each block of the
    larger pool, and 64 more; what it holds before does not matter.

    Out of range: a live page's block, against the pool that its table is for;
    under `skip` it is none of the live pages, and its entry stays.

    **Constraints:**
    - `tables` are one, `memref<B x M x i32>` as the collection's, or, where the layout
      says `table = own`, two.
    - `workspace` is a `memref<? x i32>`.

    Example:
    ```mlir
    kvcache.compact skip %c into(%new : memref<?x?xi32>)
        workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Arg<KVCache_CollectionType, "", [MemWrite]>:$collection,
    Arg<Variadic<AnyMemRef>, "", [MemWrite]>:$tables,
    Arg<AnyMemRef, "", [MemWrite]>:$workspace,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? $collection `into` `(` $tables `:` type($tables) `)`
    `workspace` `(` $workspace `:` type($workspace) `)`
    (`tuning` `(` $tuning^ `)`)? attr-dict `:` qualified(type($collection))
  }];
  let extraClassDeclaration = pageDeclarations # [{
    /// `i32` of workspace for each block of the larger pool, in which pairs of
    /// blocks are put into order too, and as many more, for counts.
    static constexpr int64_t workspacePerBlock = 2 + workspacePerPair;
    static constexpr int64_t workspaceMore = 64;
  }];
}

def KVCache_ConvertLayoutOp : KVCache_KernelOpBase<"convert_layout"> {
  let summary = "copy pages into pools of another layout";
  let description = [{
    Copies the pages of `source` into the blocks of the same numbers of `target`,
    whose layout may place them otherwise: codes, scales and tails move as they
    are, of all sides, in all layers or those in `layers`. Bytes of the target that
    belong to no element stay. The two collections lie in different memory.

    Under `skip` a block of the source that the target does not have, in the
    values' pool or in the scales', is left out; otherwise the host stops before
    anything is written. Further blocks of the target stay as they are.

    **Constraints:**
    - Both layouts have the same dtype, heads, head size, page size and sides, and
      the same scale dtype and granularity and rope, where they have any.
    - Where scales have block ids of their own in the source, they do in the
      target.
    - Both have as many layers.
    - `layers` are distinct, at least 0 and, where the number of layers is known,
      less than it.

    Example:
    ```mlir
    kvcache.convert_layout %pool into %rows
        : !kvcache.collection<#gqa> into !kvcache.collection<#hnd>
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    KVCache_CollectionType:$source,
    Arg<KVCache_CollectionType, "", [MemWrite]>:$target,
    OptionalAttr<DenseI64ArrayAttr>:$layers,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? $source `into` $target (`layers` `=` $layers^)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
    `:` qualified(type($source)) `into` qualified(type($target))
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEPAGEKERNELOPS_TD
