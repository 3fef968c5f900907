//===- KVCacheRotaryOps.td - Kernels that embed positions --*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEROTARYOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEROTARYOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheQuantizeOps.td"

def KVCache_RopeOp : KVCache_KernelOpBase<"rope"> {
  let summary = "rotary embedding of the heads of a tensor";
  let description = [{
    `out` becomes `x` with elements of every head turned by the angle of the row's
    position: of two elements `a` and `b` that turn together (see
    `#kvcache.rotation`), `a * cos - b * sin` and `b * cos + a * sin`, the `i`-th two
    by `cos[position, i]` and `sin[position, i]`. The others stay. Everything is
    f32, rounded once to the dtype of `out`.

    `positions` are unsigned. Out of range is a position that the tables do not
    have; under `skip` the row of `out` is not written.

    **Constraints:**
    - `x` and `out` are `[T, H, D]` of f32, f16 or bf16 with static `H` and `D`, the
      same ones, and last stride 1.
    - `positions` is a list `memref<T x i32>`.
    - `cos` and `sin` are `[N, n]` of one of these types, with one static `n`.
    - `start + 2 n` is at most `D`.

    Example:
    ```mlir
    kvcache.rope %q into %out positions(%positions) tables(%cos, %sin)
        rotation(<style = half>)
        : memref<?x32x128xbf16> into memref<?x32x128xbf16> by memref<?xi32>,
          memref<?x64xf32>, memref<?x64xf32>
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    AnyMemRef:$x,
    Arg<AnyMemRef, "", [MemWrite]>:$out,
    AnyMemRef:$positions,
    AnyMemRef:$cos,
    AnyMemRef:$sin,
    KVCache_RotationAttr:$rotation,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? $x `into` $out `positions` `(` $positions `)`
    `tables` `(` $cos `,` $sin `)` `rotation` `(` $rotation `)`
    (`tuning` `(` $tuning^ `)`)? attr-dict
    `:` type($x) `into` type($out) `by` type($positions) `,` type($cos) `,`
    type($sin)
  }];
}

def KVCache_RMSNormOp : KVCache_KernelOpBase<"rms_norm"> {
  let summary = "RMS norm of the heads of a tensor";
  let description = [{
    `out` becomes `x` with the first `W` elements of every head divided by
    `sqrt(mean of their squares + eps)` and multiplied by `weight + weight_offset`;
    `W` is the length of `weight`. The others stay. Everything is f32, rounded once
    to the dtype of `out`; the order in which squares are added is not said.

    **Constraints:**
    - `x` and `out` are `[T, H, D]` of f32, f16 or bf16 with static `H` and `D`, the
      same ones, and last stride 1.
    - `weight` is a list of static length, at most `D`, of one of these types.

    Example:
    ```mlir
    kvcache.rms_norm %x into %out weight(%weight) norm(<eps = 1.0e-6>)
        : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<128xbf16>
    ```
  }];
  let arguments = (ins
    AnyMemRef:$x,
    Arg<AnyMemRef, "", [MemWrite]>:$out,
    AnyMemRef:$weight,
    KVCache_NormAttr:$norm,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    $x `into` $out `weight` `(` $weight `)` `norm` `(` $norm `)`
    (`tuning` `(` $tuning^ `)`)? attr-dict
    `:` type($x) `into` type($out) `by` type($weight)
  }];
}

def KVCache_RopeQuantizeAppendOp
    : KVCache_AppendOpBase<"rope_quantize_append"> {
  let summary = "normalise, turn, quantise and append rows";
  let description = [{
    `kvcache.rms_norm` of the rows of `source` where `weight` is given, then
    `kvcache.rope`, then `kvcache.quantize_append` into `target`; or, into a cache
    without scales, `kvcache.append`. Nothing is rounded in between.

    Rows turn by `rope_positions` where these are given (a number a row, `[T]`, or
    `[B, S]` in the padded form), else by the position of the token that they
    become, `cache_length(b) + i` in the ragged form.

    With a tail (`rope` of the layout) the tail is what usually turns: for 512
    quantised elements and a tail of 64, `start = 512` and tables of 32 columns.

    Out of range: as in `kvcache.append` and `kvcache.rope`; a row whose position
    the tables do not have is not written under `skip`.

    **Constraints:**
    - `source` is as in `kvcache.quantize_append`.
    - `quant` is given where, and only where, the layout has scales, which then are
      as in `kvcache.quantize_append`; without scales the dtype is a float.
    - `cos` and `sin` are `[N, n]` of f32, f16 or bf16, with one static `n`, and
      `start + 2 n` is at most `D`.
    - `weight` is a list of static length, at most `D`, of one of these types;
      `norm` comes with it.
    - `rope_positions` is of `i32`; the `slots` form needs it.
    - The form's operands and the `workspace` are as in `kvcache.append`.

    Example:
    ```mlir
    kvcache.rope_quantize_append skip sources(%x : memref<?x1x576xbf16>)
        into(%k : !kvcache.cache<key, #row656>) ragged(%offsets : memref<?xi32>)
        rope(%cos, %sin : memref<?x32xf32>, memref<?x32xf32>)
        rotation(<start = 512>)
        rms_norm(%weight : memref<512xbf16>) norm(<eps = 1.0e-6>)
        quant(<>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Variadic<AnyMemRef>:$sources,
    Arg<Variadic<KVCache_CacheType>, "", [MemWrite]>:$targets,
    KVCache_RowForm:$form,
    Variadic<AnyMemRef>:$rows,
    AnyMemRef:$cos,
    AnyMemRef:$sin,
    Optional<AnyMemRef>:$rope_positions,
    KVCache_RotationAttr:$rotation,
    Optional<AnyMemRef>:$weight,
    OptionalAttr<KVCache_NormAttr>:$norm,
    OptionalAttr<KVCache_QuantizationAttr>:$quantization,
    Optional<AnyMemRef>:$global_scale,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `sources` `(` $sources `:` type($sources) `)`
    `into` `(` $targets `:` qualified(type($targets)) `)`
    $form `(` $rows `:` type($rows) `)`
    `rope` `(` $cos `,` $sin `:` type($cos) `,` type($sin) `)`
    (`rope_positions` `(` $rope_positions^ `:` type($rope_positions) `)`)?
    `rotation` `(` $rotation `)`
    (`rms_norm` `(` $weight^ `:` type($weight) `)` `norm` `(` $norm `)`)?
    (`quant` `(` $quantization^ `)`)?
    (`global_scale` `(` $global_scale^ `:` type($global_scale) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEROTARYOPS_TD
