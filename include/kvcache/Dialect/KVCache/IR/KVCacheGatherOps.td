//===- KVCacheGatherOps.td - Kernels that read a cache -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEGATHEROPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEGATHEROPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"

def KVCache_GatherOp : KVCache_KernelOp<"gather"> {
  let summary = "gather keys or values of sequences, dequantised";
  let description = [{
    Writes the tokens of one layer of keys or values into a tensor: of all
    sequences of the collection or, with `sequences`, of those that are listed,
    in that order and as often as they are listed.

    | form | `out` | row |
    |---|---|---|
    | padded | `[B, rows, H, D]` | `(i, t)` is token `t` of the `i`-th sequence |
    | ragged, with `offsets` `memref<B+1 x i32>` | `[T, H, D]` | `r` is token `r - offsets[i]` of the `i`-th sequence, where `offsets[i] <= r < offsets[i + 1]`; offsets ascend from 0 |

    Rows of a token that is not in the cache are 0: from `cache_length(b)` on,
    from `offsets[B]` on, and under `skip` where something is out of range.
    Tokens that have no row are not read.

    A quantised cache is dequantised: code times scale, in f32, rounded once. With
    `global_scale` each scale is first multiplied by that number, in f32. An
    unquantised tail is converted. `scales` receives the scales as they are
    stored, in f32 and without `global_scale`, a row beside each of `out`.

    Lengths, offsets and sequences are unsigned and read on the device. Nobody
    writes `out` and `scales` meanwhile, and nothing else is written.

    Out of range: sequence, page and block, each block against its own pool.
    Under `skip` a page whose block of values or of scales is out of range gives
    rows of 0, of scales too; table columns that do not exist are not read.

    **Constraints:**
    - `out` is `[B, rows, H, D]`, or `[T, H, D]` with `offsets`, with static `H`
      and `D` of the layout and last stride 1, of f32, f16 or bf16 or, without
      scales, of the cache's dtype.
    - `scales` is `[B, rows, H, G]` or `[T, H, G]` of f32, with as many rows as
      `out`; it and `global_scale` need a layout with scales.
    - There are as many `sequences` as sequences of `out`. Without them `out` has
      those of the collection; under `skip` it may have more, whose rows are 0.

    Example:
    ```mlir
    kvcache.gather skip from(%k : !kvcache.cache<key, #gqa>)
        into(%out : memref<?x?x8x128xbf16>) sequences(%ids : memref<?xi32>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    KVCache_CacheType:$source,
    Arg<AnyMemRef, "", [MemWrite]>:$out,
    Optional<AnyMemRef>:$sequences,
    Optional<AnyMemRef>:$offsets,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$scales,
    Optional<AnyMemRef>:$global_scale,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `from` `(` $source `:` qualified(type($source)) `)`
    `into` `(` $out `:` type($out) `)`
    (`sequences` `(` $sequences^ `:` type($sequences) `)`)?
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Whether sequences lie one after another; else each has as many rows.
    bool isRagged() { return static_cast<bool>(getOffsets()); }
    /// Dimensions of `out` and `scales` before the heads.
    unsigned getLeadingRank() { return isRagged() ? 1 : 2; }
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEGATHEROPS_TD
