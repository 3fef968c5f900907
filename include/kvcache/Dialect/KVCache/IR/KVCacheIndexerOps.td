//===- KVCacheIndexerOps.td - Kernels of sparse attention's indexer ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEINDEXEROPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEINDEXEROPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"

def KVCache_RemapIndicesOp : KVCache_KernelOp<"remap_indices"> {
  let summary = "from tokens of sequences to slots of the pool";
  let description = [{
    Writes for each index of a token the slot of the pool where that token lies:
    `block * P + t % P`, `block` being the entry of the lookup table for page `t /
    P` of the sequence. `scale_slots` receives the slots of the scales pool, found
    through the scales' table. Slots are those that the form `slots` of
    `kvcache.append` takes.

    | form | `indices` | the sequence of a row | tokens that it has |
    |---|---|---|---|
    | padded | `[B, K]` | `b` is row `b` | `cache_length(b)` |
    | ragged, with `offsets` `memref<B+1 x i32>` | `[T, K]` | that with `offsets[b] <= row < offsets[b + 1]`, or none | `cache_length(b) + offsets[b + 1] - offsets[b]`: those of this step, too |

    An index that names no token, negative or past the last one, gives -1, under
    every policy; so does every index of a row of no sequence.

    Out of range: page and block, each block against its own pool; under `skip`
    they give -1, which readers of slots leave out.

    **Constraints:**
    - `indices` is `memref<? x K x i32>`, signed; `slots` and `scale_slots` are of
      the same shape, of i32 or i64, all with last stride 1. Where they are of i32
      the host checks that all slots of the pool fit.
    - `scale_slots` need a layout whose scales lie in a pool of their own.

    Example:
    ```mlir
    kvcache.remap_indices skip indices(%i : memref<?x2048xi32>)
        from(%k : !kvcache.cache<key, #kv>) into(%slots : memref<?x2048xi64>)
        offsets(%offsets : memref<?xi32>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    AnyMemRef:$indices,
    KVCache_CacheType:$source,
    Arg<AnyMemRef, "", [MemWrite]>:$slots,
    Optional<AnyMemRef>:$offsets,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$scale_slots,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `indices` `(` $indices `:` type($indices) `)`
    `from` `(` $source `:` qualified(type($source)) `)`
    `into` `(` $slots `:` type($slots) `)`
    (`offsets` `(` $offsets^ `:` type($offsets) `)`)?
    (`scale_slots` `(` $scale_slots^ `:` type($scale_slots) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

def KVCache_TopKOp : KVCache_KernelOpBase<"topk"> {
  let summary = "the best of each row of scores";
  let description = [{
    Writes for each row of `scores` the indices of its `K` greatest scores, best
    first; of equal scores (0 and -0 are) the lower index comes first. Row `r` has
    the scores from 0 to before `live[r]` (unsigned), or to the row's end where
    `live` is greater; other scores are not read. Where a row has fewer than `K`,
    the rest of the indices is -1. `values` receives the scores of the chosen, -inf
    where there is none.

    NaN is less than every other score, -inf included, so that it is chosen only
    where a row has too few others; among themselves NaNs are equal. In `values`
    a NaN is some NaN, and -0 is 0.

    Rows are read once. A block of threads keeps the candidates of a row in shared
    memory and thins them out to the best `K` when their room is full, by a radix
    selection over scores and, among equal ones, indices; the best are sorted in
    the end. The result does not depend on the order in which threads come.

    **Constraints:**
    - `scores` is `memref<? x ? x f32>`, `indices` `memref<? x K x i32>`, `values`
      `memref<? x K x f32>`, with as many rows and last stride 1.
    - `K` is static, at least 1 and at most 2048.
    - `live` is a `memref<? x i32>` with an entry a row.
    - A `tuning` says no fewer than 64 threads.

    Example:
    ```mlir
    kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>)
        into(%i : memref<?x2048xi32>)
    ```
  }];
  let arguments = (ins
    AnyMemRef:$scores,
    AnyMemRef:$live,
    Arg<AnyMemRef, "", [MemWrite]>:$indices,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$values,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    `scores` `(` $scores `:` type($scores) `)`
    `live` `(` $live `:` type($live) `)`
    `into` `(` $indices `:` type($indices) `)`
    (`values` `(` $values^ `:` type($values) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// The greatest number of indices a row.
    static constexpr int64_t maxK = 2048;
  }];
}

def KVCache_IndexerScoresOp
    : KVCache_KernelOpBase<"indexer_scores"> {
  let summary = "scores of all keys for the queries of new tokens";
  let description = [{
    Writes for each row of `queries`, a token of this step, the scores of the keys
    that it sees:

        score[t, j] = k_s[j] * SUM_h max(0, SUM_d q[t, h, d] * k[j, d]) * q_s[t, h]

    where `k_s` is the scale of the key, from the scales operand of the cache and
    through its table, times `global_scale` where it is given, and `q_s` is the
    second of `queries`. Row `r` is of the
    sequence `b` with `offsets[b] <= r < offsets[b + 1]` and sees the first
    `cache_length(b) + n` keys: with `causal`, `n = r - offsets[b] + 1`, else `n =
    offsets[b + 1] - offsets[b]`. Keys of new tokens are in the cache beforehand.
    Where a row sees no key, from there to the end of the row of `scores`, the
    score is -inf, as in all of a row of no sequence. Of a row as many keys are
    scored as it has scores.

    Products and sums are f32, on tensor cores; codes are exact. A score is within
    1e-5 of itself plus 1e-6 of `k_s[j] * SUM_h |q_s[t, h]| SUM_d |q * k|` of the
    exact one: the second part counts where weights of both signs, or the products
    of a head, leave little of what is added up. `max(0, NaN)` is
    NaN: a score is NaN where a number in it is. What lies in slots beyond the
    last key never is in it.

    Out of range: page and block, each block against its own pool; under `skip`
    such keys have score -inf.

    **Constraints:**
    - The cache is one of keys, of f8E4M3FN, with one head, one scale a token and
      no unquantised tail; the head size is a multiple of 16, at most 128.
    - `queries` are `memref<T x Hq x D x f8E4M3FN>` and `memref<T x Hq x f32>` with
      static `Hq`, at most 128, and last stride 1; `D` is the head size.
    - `offsets` is `memref<B+1 x i32>`, `scores` `memref<T x N x f32>` with last
      stride 1, `global_scale` `memref<f32>`.

    Example:
    ```mlir
    kvcache.indexer_scores skip causal
        queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>)
        from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>)
        into(%s : memref<?x?xf32>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    UnitAttr:$causal,
    AnyMemRef:$queries,
    AnyMemRef:$weights,
    KVCache_CacheType:$source,
    AnyMemRef:$offsets,
    Arg<AnyMemRef, "", [MemWrite]>:$scores,
    Optional<AnyMemRef>:$global_scale,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? (`causal` $causal^)?
    `queries` `(` $queries `,` $weights `:` type($queries) `,` type($weights) `)`
    `from` `(` $source `:` qualified(type($source)) `)`
    `offsets` `(` $offsets `:` type($offsets) `)`
    `into` `(` $scores `:` type($scores) `)`
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

def KVCache_IndexerTopKOp : KVCache_KernelOp<"indexer_topk"> {
  let summary = "the best keys for the queries of new tokens";
  let description = [{
    Writes for each row of `queries` the indices of the `K` keys with the greatest
    scores, as `kvcache.topk` does of the scores that `kvcache.indexer_scores`
    gives: best first, of equal ones the lower index first, -1 where there are
    fewer. `values` receives their scores, -inf where there is none.

    By itself one kernel does it, which keeps candidates in shared memory and
    never writes the scores. A block has a row, which is right for prompts. For few
    rows of many keys, `workspace`, `memref<T x S x 2 K x i32>`, lets `S` blocks
    share the keys of a row and a second kernel choose among the best of each;
    what it holds before does not matter. With `scores` all of them are written,
    too, as by `kvcache.indexer_scores`, and chosen from: keys behind the row's
    end are not looked at.

    Out of range: as in `kvcache.indexer_scores`. Under `skip` keys in blocks that
    do not exist are still keys, with score -inf.

    **Constraints:**
    - Cache, `queries`, `offsets` and `global_scale` are as in
      `kvcache.indexer_scores`.
    - `indices` and `values` are as in `kvcache.topk`.
    - `scores` are as in `kvcache.indexer_scores`; `scores` and `workspace` are
      not given both.
    - `workspace` has `2 * K` words a part and last stride 1.
    - A `tuning` says no fewer than 64 threads, unless `scores` are given.

    Example:
    ```mlir
    kvcache.indexer_topk skip causal
        queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>)
        from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>)
        into(%i : memref<?x2048xi32>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    UnitAttr:$causal,
    AnyMemRef:$queries,
    AnyMemRef:$weights,
    KVCache_CacheType:$source,
    AnyMemRef:$offsets,
    Arg<AnyMemRef, "", [MemWrite]>:$indices,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$values,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$scores,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    Optional<AnyMemRef>:$global_scale,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? (`causal` $causal^)?
    `queries` `(` $queries `,` $weights `:` type($queries) `,` type($weights) `)`
    `from` `(` $source `:` qualified(type($source)) `)`
    `offsets` `(` $offsets `:` type($offsets) `)`
    `into` `(` $indices `:` type($indices) `)`
    (`values` `(` $values^ `:` type($values) `)`)?
    (`scores` `(` $scores^ `:` type($scores) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEINDEXEROPS_TD
