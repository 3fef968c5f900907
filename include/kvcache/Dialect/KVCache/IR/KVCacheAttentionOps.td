//===- KVCacheAttentionOps.td - Attention on caches --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTENTIONOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTENTIONOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"

def KVCache_PagedAttentionOp : KVCache_KernelOp<"paged_attention"> {
  let summary = "attention of new tokens to the tokens of a cache";
  let description = [{
    Row `r` of `q` is new token `i = r - row_offsets[b]` of the sequence `b` with
    `row_offsets[b] <= r < row_offsets[b + 1]`. The cache already holds the new
    tokens: row `r` sees the keys `j < cache_length(b) + i + 1` and, with a
    `window` of `w`, of these the last `w`. Query head `h` reads head
    `h / (Hq / H)` of the cache. With `x_j = scale * (q . k_j)`, or
    `softcap * tanh(x_j / softcap)` of it,

        out = SUM_j e^x_j v_j / (SUM_j e^x_j + e^sink)      lse = ln(SUM_j e^x_j + e^sink)

    where `sink` is `sinks[h]`, and absent without `sinks`. A row that sees no key
    has `out` 0, and `lse` its sink or minus infinity. Rows of no sequence, such as
    those from `row_offsets[B]` on that pad a batch, are neither read nor written: a
    row that belongs to a sequence is a token that lies in the cache.

    Keys and values of a quantised cache are quantised value times scale; those
    of a cache of f8E4M3FN without scales are unscaled, and i8 has scales.
    Products are of f16 or bf16, exactly the stored values; sums are f32,
    exponents and their sums too. Where the granularity is no multiple of 16,
    elements are multiplied by their scale first, up to a power of two for each
    token: keys to sums of two f16, values to one, both with an absolute error of
    up to 2^-38 of the largest number that has the largest of the token's scales.
    The weights `e^x_j` (times the scale of the value) are sums of two numbers of
    the type of the products, of f16 with an absolute error of up to 2^-32 of the
    row's largest weight.

    The result is the same in every run. As f32 it is within 2e-3 of the row's
    largest value of that of exact arithmetic with scores as f32 rounds them or,
    where values cancel so far that this is less, within the part `c` of `SUM_j
    e^x_j |v_j| / SUM_j e^x_j`, the mean magnitude of its element. `c` is 2^-16 for
    caches of bf16, 2^-18 for f16 and 8 bits, and 2^-10 where the granularity is no
    multiple of 16. `out` of f16 or bf16 rounds it once more, by up to 2^-11 (but
    for numbers below 2^-14, 2^-25) or 2^-8 of the element.

    - Scores beyond 2^25 are so far apart in f32 that weights may be wrong, and all
      of a row may become 0; no result is NaN for that.
    - Magnitudes of value scales below 2^-96 count as 2^-96; finite ones must be
      less than 2^100. Scales that are infinite or NaN make the outputs of their
      granule infinite or NaN, and those of no other one.
    - `global_scale` multiplies every scale, but the sums rather than each: what it
      is times `scale` (and `q_scales`, and what a row of `q` needs to fit f16)
      counts as 2^-126 where it is less, and a score without it and an output
      without it must fit f32.
    - What is stored in slots from `cache_length(b) + new tokens` on has no
      influence, nor have table columns beyond those of the last token.
    - A value that is infinite or NaN may make that element NaN, of rows that do not
      see its token, too: those that see another one of its tile of 16 tokens, from
      a multiple of 16 on, where its weight is 0 and the product NaN.

    `workspace` lets several blocks share the keys of a row: they leave
    `Hq * (D + 2)` numbers a row and part there, which a second kernel combines.
    The number of parts follows from the sizes of `q`, of the tables and of
    `workspace`; without one there is one part. Nothing is read from it that the
    operation has not written.

    Offsets and lengths are unsigned and read on the device.

    **Constraints:**
    - `keys` and `values` are the two sides of one layout of bf16, f16,
      f8E4M3FN or i8 (with scales), without an unquantised tail; `D` is 64, 80,
      96, 128, 192 or 256.
    - `q` is `[T, Hq, D]` with static `Hq`, a multiple of `H`, of the cache's dtype
      or, where that has 8 bits, of bf16 or f16; `out` is `[T, Hq, D]` of f32, f16
      or bf16; last strides are 1.
    - `row_offsets` is a list `memref<B+1 x i32>`, one more than there are
      sequences.
    - `sinks` is `memref<Hq x f32>`, `lse` is `[T, Hq]` of f32, `workspace` is
      `memref<? x f32>`, `global_scale` is `memref<f32>` and needs scales.
    - `scale` (1 / sqrt(D) where it is not given) is positive, `softcap` too and at
      most 1024, `window` is at least 1 and less than 2^32. One beyond the
      positions of a table whose type says how many pages a sequence has is an
      error of `kvcache-expand-kernels`, beyond those of any other one of code
      that `kvcache-instrument` has marked.
    - The policy is `assume` or `trap`.

    Example:
    ```mlir
    kvcache.paged_attention queries(%q : memref<?x32x128xbf16>)
        over(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>)
        into(%out : memref<?x32x128xbf16>) ragged(%offsets : memref<?xi32>)
        workspace(%w : memref<?xf32>) {window = 4096 : i64}
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    AnyMemRef:$q,
    KVCache_CacheType:$keys,
    KVCache_CacheType:$values,
    Arg<AnyMemRef, "", [MemWrite]>:$out,
    AnyMemRef:$row_offsets,
    Optional<AnyMemRef>:$sinks,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$lse,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    Optional<AnyMemRef>:$global_scale,
    OptionalAttr<F32Attr>:$scale,
    OptionalAttr<F32Attr>:$softcap,
    OptionalAttr<I64Attr>:$window,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `queries` `(` $q `:` type($q) `)`
    `over` `(` $keys `,` $values `:` qualified(type($keys)) `,`
    qualified(type($values)) `)`
    `into` `(` $out `:` type($out) `)`
    `ragged` `(` $row_offsets `:` type($row_offsets) `)`
    (`sinks` `(` $sinks^ `:` type($sinks) `)`)?
    (`lse` `(` $lse^ `:` type($lse) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Query heads, and how many of them read one head of the cache.
    int64_t getQueryHeads() {
      return ::llvm::cast<::mlir::MemRefType>(getQ().getType()).getDimSize(1);
    }
    int64_t getGroup();
  }];
}

def KVCache_MLADecodeOp : KVCache_KernelOp<"mla_decode"> {
  let summary = "attention to a cache of latents";
  let description = [{
    Attention as `kvcache.paged_attention` has it, to a cache with one head and
    keys only (`is_mla`), whose values are the first `Dv` elements of the keys,
    with `Dv` the head size of `out`: `x_j = scale * q_scales[r, h] * (q . k_j)`,
    and

        out = SUM_j e^x_j k_j[0 : Dv] / SUM_j e^x_j        lse = ln(SUM_j e^x_j)

    Row `r` of `q` is new token `i = r - row_offsets[b]` of a sequence and sees the
    keys `j < cache_length(b) + i + 1`. With `slots` it sees instead those that row
    `r` of `slots` names by where they lie, block times page size plus slot, as
    `kvcache.remap_indices` gives them, each as often as it is named; negative
    entries name none. Where scales have block ids of their own, `scale_slots`
    says where the scales of these keys lie. Every query head reads every key. Rows of
    no sequence are neither read nor written, nor is what `slots` names for them.

    A quantised cache has one scale a token (`granularity` is the head size). It
    is not negative, and found through the table of scales; `global_scale`
    multiplies every one. A cache of f8E4M3FN without scales holds unscaled values.
    Products are of f16 (quantised values) or of the cache's dtype; sums, exponents
    and scales are f32. The result is the same in every run, and as near to that of
    exact arithmetic as there. Tiles, where values that are infinite or NaN reach
    other rows, have 32 tokens; what no entry of `slots` names has no influence.

    `workspace` is as in `kvcache.paged_attention`, `Hq * (Dv + 2)` numbers a row
    and part.

    **Constraints:**
    - `keys` is of a layout with `is_mla` and one head, of bf16, f16, or of
      f8E4M3FN or i8 with one scale a token, without an unquantised tail. `D` is a
      multiple of 64, at most 576.
    - `q` is `[T, Hq, D]` with static `Hq` of 1 to 128, of the cache's dtype or,
      where that has 8 bits, of bf16 or f16.
    - `out` is `[T, Hq, Dv]` of f32, f16 or bf16, with `Dv` a multiple of 64 and at
      most `D` and 512; last strides are 1.
    - `row_offsets` is a list `memref<B+1 x i32>`, one more than there are
      sequences. `slots` and `scale_slots` are `[T, K]` of i32 or i64, of one size;
      `scale_slots` is there exactly where `slots` is and scales have block ids of
      their own.
    - `q_scales` and `lse` are `[T, Hq]` of f32, `workspace` is `memref<? x f32>`,
      `global_scale` is `memref<f32>` and needs scales.
    - `scale` is positive; it is 1 / sqrt(D) where it is not given.
    - A block has 128 threads: a `tuning` says no fewer. Fewer as the default of a
      pass are a wish that this operation leaves out.
    - The policy is `assume` or `trap`.

    Example:
    ```mlir
    kvcache.mla_decode queries(%q : memref<?x16x576xbf16>)
        over(%k : !kvcache.cache<key, #mla>) into(%out : memref<?x16x512xbf16>)
        ragged(%offsets : memref<?xi32>) {scale = 0.0416667 : f32}
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    AnyMemRef:$q,
    KVCache_CacheType:$keys,
    Arg<AnyMemRef, "", [MemWrite]>:$out,
    AnyMemRef:$row_offsets,
    Variadic<AnyMemRef>:$slots,
    Optional<AnyMemRef>:$q_scales,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$lse,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    Optional<AnyMemRef>:$global_scale,
    OptionalAttr<F32Attr>:$scale,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `queries` `(` $q `:` type($q) `)`
    `over` `(` $keys `:` qualified(type($keys)) `)`
    `into` `(` $out `:` type($out) `)`
    `ragged` `(` $row_offsets `:` type($row_offsets) `)`
    (`slots` `(` $slots^ `:` type($slots) `)`)?
    (`q_scales` `(` $q_scales^ `:` type($q_scales) `)`)?
    (`lse` `(` $lse^ `:` type($lse) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    int64_t getQueryHeads() {
      return ::llvm::cast<::mlir::MemRefType>(getQ().getType()).getDimSize(1);
    }
    /// Elements of a value.
    int64_t getValueSize() {
      return ::llvm::cast<::mlir::MemRefType>(getOut().getType()).getDimSize(2);
    }
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTENTIONOPS_TD
