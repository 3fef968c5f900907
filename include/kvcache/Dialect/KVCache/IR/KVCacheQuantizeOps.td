//===- KVCacheQuantizeOps.td - Kernels that quantise -------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEQUANTIZEOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEQUANTIZEOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheKernelOps.td"

def KVCache_QuantizeAppendOp : KVCache_AppendOpBase<"quantize_append"> {
  let summary = "append rows, quantised";
  let description = [{
    Quantises the rows of `sources` and writes codes and scales into one layer of
    one or two caches. Rows go where `kvcache.append` puts them, and of several
    for one slot those that it says; in the `slots` form scales with block ids of
    their own take a second list. The last `rope` elements of a head are not
    quantised but converted to the rope dtype, in which what is too large becomes an
    infinity.

    The elements of a granule (`granularity` consecutive ones of a head; the last
    granule may be short) share a scale. With `amax` their largest magnitude and
    `max` the format's largest number (448 in f8E4M3FN, 57344 in f8E5M2, 6 in
    f4E2M1FN, 127 in i8), all in f32 and each step rounded to nearest even:

    1. Where `floor_on = amax`, `amax` is at least `floor`.
    2. `scale = amax / max`, then divided by `global_scale` where it is given.
    3. Where `floor_on = scale`, `scale` is at least `floor`.
    4. Where `contract = power_of_two`, `scale` is rounded up to a power of two.
    5. The scale is stored in its dtype: to nearest even, saturating in f8E4M3FN,
       up to a power of two in f8E8M0FNU; at most its dtype's largest finite number
       or, by the contract `power_of_two`, largest power of two.
    6. `s` is the scale as it is stored, times `global_scale`. With
       `apply = inverse` codes are made of `x * (1 / s)`, where an inverse that is
       not finite (`s` of 2^-128 and less, 0 too) counts as 0; with
       `apply = divide` of `x / s`, and of 0 where `s` is 0.
    7. To nearest even, saturating; i8 reaches -128.

    A granule of zeros has scale 0 (2^-127 in f8E8M0FNU) and codes 0, unless there
    is a floor. NaN does not count in `amax` unless the granule has nothing else:
    its own code is that of NaN (0 in i8), the others are as without it. A granule
    of nothing but NaN has scale NaN, or the floor. An infinity counts as the
    largest finite f32, and saturates (see docs/numerics.md for a `global_scale`
    near the ends of f32).

    **Constraints:**
    - One or two targets of one layout, and a source for each.
    - The layout has scales and quantises: its dtype is f8E4M3FN, f8E5M2, i8 or
      f4E2M1FN.
    - A source is `[T, H, D]`, or `[B, S, H, D]` in the padded form, of f32, f16 or
      bf16, with static `H` and `D` of the layout and last stride 1.
    - `global_scale` is a `memref<f32>` of a positive number.
    - The form's operands and the `workspace` are as in `kvcache.append`.

    Example:
    ```mlir
    kvcache.quantize_append skip sources(%x : memref<?x1x128xbf16>)
        into(%k : !kvcache.cache<key, #kv>) ragged(%offsets : memref<?xi32>)
        quant(#kvcache.quantization<floor = 1.0e-4, floor_on = amax>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Variadic<AnyMemRef>:$sources,
    Arg<Variadic<KVCache_CacheType>, "", [MemWrite]>:$targets,
    KVCache_RowForm:$form,
    Variadic<AnyMemRef>:$rows,
    KVCache_QuantizationAttr:$quantization,
    Optional<AnyMemRef>:$global_scale,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `sources` `(` $sources `:` type($sources) `)`
    `into` `(` $targets `:` qualified(type($targets)) `)`
    $form `(` $rows `:` type($rows) `)`
    `quant` `(` $quantization `)`
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

def KVCache_AppendScalesOp : KVCache_AppendOpBase<"append_scales"> {
  let summary = "append scales that were computed elsewhere";
  let description = [{
    Writes the rows of `scales` into the scales of one layer of one or two caches,
    and nothing else. Rows go where `kvcache.append` puts them, through the
    scales' own table where they have one; `slots` are slots of the scales' pool.

    **Constraints:**
    - One or two targets of one layout with scales, and scales for each.
    - Scales are `[T, H, G]`, or `[B, S, H, G]` in the padded form, of the scale
      dtype, with static `H` and `G` of the layout and last stride 1.
    - The form's operands are as in `kvcache.append`; the slots are one list. The
      `workspace` has entries for slots of scales only.

    Example:
    ```mlir
    kvcache.append_scales skip scales(%s : memref<?x1x1xf32>)
        into(%k : !kvcache.cache<key, #kv>) ragged(%offsets : memref<?xi32>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Variadic<AnyMemRef>:$scales,
    Arg<Variadic<KVCache_CacheType>, "", [MemWrite]>:$targets,
    KVCache_RowForm:$form,
    Variadic<AnyMemRef>:$rows,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `scales` `(` $scales `:` type($scales) `)`
    `into` `(` $targets `:` qualified(type($targets)) `)`
    $form `(` $rows `:` type($rows) `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEQUANTIZEOPS_TD
