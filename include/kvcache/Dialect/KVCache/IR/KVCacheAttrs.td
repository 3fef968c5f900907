//===- KVCacheAttrs.td - The layout attribute --------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTRS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTRS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheBase.td"
include "kvcache/Dialect/KVCache/IR/KVCacheEnums.td"

class KVCache_Attr<string name, string attrMnemonic>
    : AttrDef<KVCache_Dialect, name> {
  let mnemonic = attrMnemonic;
  let genVerifyDecl = 1;
}

def KVCache_ParamsAttr : KVCache_Attr<"Params", "params"> {
  let summary = "static parameters of a key-value cache";
  let description = [{
    `num_heads` key-value heads of `head_size` elements each. With `is_mla` the
    cache holds keys only (multi-head latent attention).

    **Constraints:**
    - `num_heads` is at least 1.
    - `head_size` is at least 1.

    Example:
    ```mlir
    #kvcache.params<num_heads = 8, head_size = 128>
    ```
  }];
  let parameters = (ins
    "int64_t":$num_heads,
    "int64_t":$head_size,
    DefaultValuedParameter<"bool", "false">:$is_mla
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

def KVCache_ScalesAttr : KVCache_Attr<"Scales", "scales"> {
  let summary = "how a cache's values are scaled";
  let description = [{
    `dtype` is the scales' element type, `granularity` the number of consecutive
    elements of a head that share one scale; it need not divide `head_size` (the
    last group is short) and may exceed it. `table` says whether the scales are
    paged through a lookup table of their `own` or through the one they share
    with the values.

    **Constraints:**
    - `dtype` is f32, f16, bf16, f8E8M0FNU or f8E4M3FN.
    - `granularity` is at least 1.

    Example:
    ```mlir
    #kvcache.scales<f32, granularity = 128, table = own>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$dtype,
    "int64_t":$granularity,
    DefaultValuedParameter<"::mlir::kvcache::TableKind",
                           "::mlir::kvcache::TableKind::shared">:$table
  );
  let assemblyFormat = "`<` $dtype `,` struct($granularity, $table) `>`";
}

def KVCache_RopeAttr : KVCache_Attr<"Rope", "rope"> {
  let summary = "the unquantised tail of a head";
  let description = [{
    The last `size` elements of a head, those that carry the rotary position
    embedding, are stored as they are, in `dtype`, and have no scale.

    **Constraints:**
    - `dtype` is f32, f16 or bf16.
    - `size` is at least 1.

    Example:
    ```mlir
    #kvcache.rope<bf16, size = 64>
    ```
  }];
  let parameters = (ins "::mlir::Type":$dtype, "int64_t":$size);
  let assemblyFormat = "`<` $dtype `,` struct($size) `>`";
}

def KVCache_LayoutAttr : KVCache_Attr<"Layout", "layout"> {
  let summary = "layout of a paged key-value cache";
  let description = [{
    The contract between whoever writes a cache and whoever reads it. `KD` is 1
    for MLA and else 2; a head has `D` elements (`head_size`) and
    `G = ceildiv(D - rope, g)` scales. `f4E2M1FN` values lie two to a byte, the
    even element in the low nibble; `D` and `g` count elements all the same.

    `placement` says where the scales lie:
    - `pool`: values in a pool `[NB, KD, L, P, H, D]` of `dtype` (`i8` and `D / 2`
      for f4E2M1FN), scales in one of their own, `[NBs, KD, L, P, H, G]` of
      `scales.dtype`.
    - `inline`: one pool of bytes, `[NB, KD, L, bytes]`. Each (token, head) is a
      row of values, scales and tail, one after the other.
    - `page_split`: one pool of bytes, `[NB, KD, L, bytes]`. First the rows
      (values and tail) of all tokens, then `footer` bytes a (token, head), of
      which the scales are the first.

    `order` says whether tokens are outside of heads (`nhd`) or heads outside of
    tokens (`hnd`: `[NB, KD, L, H, P, D]` and likewise in bytes). `rope` is the
    part of the head that is not quantised. With `kv_inner` the row of the key and
    that of the value of a (token, head) lie side by side, in a pool `[NB, 1, L,
    bytes]`. `footer` 0 stands for just the scales. `page_align` says what the
    bytes of a page, all sides and layers, are padded to a multiple of; 0 stands
    for no padding, and pages that keep the alignment (up to 16 bytes) of a layer.
    `swizzle` says whose scales (the values', or also the keys') are interleaved
    4x4: of four tokens from a multiple of 4 on, scale `j` of token `t` lies where
    without it scale `f % G` of token `f / G` lies, `f = 4 * j + t % 4`.

    **Constraints:**
    - `dtype` is f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN.
    - `page_size` is at least 1.
    - `i8` and `f4E2M1FN` values need `scales`.
    - `rope` needs `scales` and a `placement` of inline or page_split; its size is
      less than `head_size`.
    - `f4E2M1FN` values need an even number of elements that are not `rope`.
    - `scales` have a table of their own only with `placement = pool`.
    - `kv_inner` needs `placement = inline` and a layout that is not MLA.
    - `footer` needs `placement = page_split` and `scales`, which fit in it.
    - `page_align` is at least 0, and 0 with `placement = pool`.
    - `swizzle` needs `scales` and a `page_size` that is a multiple of 4; `v` needs
      a layout that is not MLA.
    - One layer of one side of a page (of both with `kv_inner`) takes less than
      2^32 bytes, in each pool.

    Example:
    ```mlir
    #kv = #kvcache.layout<f8E4M3FN,
        params = <num_heads = 1, head_size = 128, is_mla = true>,
        page_size = 64, scales = <f32, granularity = 128, table = own>>
    // Rows of 656 bytes: 512 codes, 4 scales, 64 elements of bf16.
    #row656 = #kvcache.layout<f8E4M3FN,
        params = <num_heads = 1, head_size = 576, is_mla = true>,
        page_size = 64, scales = <f32, granularity = 128>,
        placement = inline, rope = <bf16, size = 64>>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$dtype,
    "::mlir::kvcache::ParamsAttr":$params,
    "int64_t":$page_size,
    OptionalParameter<"::mlir::kvcache::ScalesAttr">:$scales,
    DefaultValuedParameter<"::mlir::kvcache::Placement",
                           "::mlir::kvcache::Placement::pool">:$placement,
    DefaultValuedParameter<"::mlir::kvcache::Order",
                           "::mlir::kvcache::Order::nhd">:$order,
    OptionalParameter<"::mlir::kvcache::RopeAttr">:$rope,
    DefaultValuedParameter<"bool", "false">:$kv_inner,
    DefaultValuedParameter<"int64_t", "0">:$footer,
    DefaultValuedParameter<"int64_t", "0">:$page_align,
    DefaultValuedParameter<"::mlir::kvcache::ScaleSwizzle",
                           "::mlir::kvcache::ScaleSwizzle::none">:$swizzle
  );
  let assemblyFormat = [{
    `<` $dtype `,` struct($params, $page_size, $scales, $placement, $order, $rope,
                          $kv_inner, $footer, $page_align, $swizzle) `>`
  }];
  let extraClassDeclaration = [{
    /// Number of sides: 1 for MLA (keys only), else 2.
    int64_t getNumSides() const { return getParams().getIsMla() ? 1 : 2; }
    int64_t getNumHeads() const { return getParams().getNumHeads(); }
    int64_t getHeadSize() const { return getParams().getHeadSize(); }
    bool isMLA() const { return getParams().getIsMla(); }

    /// Whether the cache has scales.
    bool isQuantized() const { return static_cast<bool>(getScales()); }
    /// Elements that share one scale; 0 without scales.
    int64_t getGranularity() const {
      return isQuantized() ? getScales().getGranularity() : 0;
    }
    /// Elements at the end of a head that are not quantised.
    int64_t getRopeSize() const { return getRope() ? getRope().getSize() : 0; }
    /// Elements of a head before its unquantised tail.
    int64_t getQuantizedSize() const { return getHeadSize() - getRopeSize(); }
    /// Scales a head, `ceildiv(head_size - rope, granularity)`; 0 without scales.
    int64_t getScaleSlots() const;
    /// Element type of the scales; null without scales.
    ::mlir::Type getScaleDtype() const;
    /// Whether the scales have a lookup table of their own.
    bool hasOwnScalesTable() const;
    /// Whether scales have a pool of their own; else one pool of bytes holds all.
    bool hasSeparatePools() const {
      return getPlacement() == ::mlir::kvcache::Placement::pool;
    }
    /// Whether a token's values are a row of the pool, so that the pool is a
    /// matrix: `placement = pool, order = nhd`.
    bool hasRows() const {
      return hasSeparatePools() && getOrder() == ::mlir::kvcache::Order::nhd;
    }
    /// Whether the scales of `side` are interleaved, other than to themselves.
    bool isSwizzled(::mlir::kvcache::Side side) const;
    /// This layout with scales found through `table`; it must have scales.
    ::mlir::kvcache::LayoutAttr withScalesTable(
        ::mlir::kvcache::TableKind table) const;
  }];
}

def KVCache_TuningAttr : KVCache_Attr<"Tuning", "tuning"> {
  let summary = "how a kernel is cut into threads";
  let description = [{
    `threads` of a block at most, `chunks` (vectors) that a thread has in flight,
    and `blocks_per_sm` that registers are kept free for (0: as the assembler
    likes). A 0 leaves the choice to `kvcache-expand-kernels`.

    **Constraints:**
    - `threads` is 0 or a multiple of 32 from 32 to 1024.
    - `chunks` is from 0 to 64.
    - `blocks_per_sm` is from 0 to 32.

    Example:
    ```mlir
    #kvcache.tuning<threads = 128, chunks = 8, blocks_per_sm = 2>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"int64_t", "0">:$threads,
    DefaultValuedParameter<"int64_t", "0">:$chunks,
    DefaultValuedParameter<"int64_t", "0">:$blocks_per_sm
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

/// A number written as a float.
class KVCache_Number<string default>
    : AttrOrTypeParameter<"::llvm::APFloat", "number"> {
  let comparator = "$_lhs.bitwiseIsEqual($_rhs)";
  let parser = [{[&]() -> ::mlir::FailureOr<::llvm::APFloat> {
    double number;
    if ($_parser.parseFloat(number))
      return ::mlir::failure();
    return ::llvm::APFloat(number);
  }()}];
  let printer = "$_printer.printFloat($_self)";
  let defaultValue = "::llvm::APFloat(" # default # ")";
}

def KVCache_QuantizationAttr
    : KVCache_Attr<"Quantization", "quantization"> {
  let summary = "how scales and codes are made of numbers";
  let description = [{
    What `kvcache.quantize_append` says of each: `contract` is `arbitrary` or
    `power_of_two`; `floor` is the least that `floor_on` (`scale` or `amax`) may
    be; `apply` is `inverse` (multiply by `1 / scale`) or `divide`.

    **Constraints:**
    - `floor` is at least 0 and finite in f32.

    Example:
    ```mlir
    #kvcache.quantization<contract = power_of_two, floor = 1.0e-4, apply = divide>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"::mlir::kvcache::ScaleContract",
                           "::mlir::kvcache::ScaleContract::arbitrary">:$contract,
    KVCache_Number<"0.0">:$floor,
    DefaultValuedParameter<"::mlir::kvcache::FloorOn",
                           "::mlir::kvcache::FloorOn::scale">:$floor_on,
    DefaultValuedParameter<"::mlir::kvcache::ApplyScale",
                           "::mlir::kvcache::ApplyScale::inverse">:$apply
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

def KVCache_RotationAttr : KVCache_Attr<"Rotation", "rotation"> {
  let summary = "which elements of a head a rotary embedding turns";
  let description = [{
    `2 n` elements from `start` on turn, where tables of cosines and sines have `n`
    columns. With `style = interleaved` neighbours turn together, elements
    `start + 2 i` and `start + 2 i + 1`; with `half` elements `start + i` and
    `start + n + i`.

    **Constraints:**
    - `start` is at least 0.

    Example:
    ```mlir
    #kvcache.rotation<style = half, start = 64>
    ```
  }];
  let parameters = (ins
    DefaultValuedParameter<"::mlir::kvcache::RotationStyle",
                           "::mlir::kvcache::RotationStyle::interleaved">:$style,
    DefaultValuedParameter<"int64_t", "0">:$start
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

def KVCache_NormAttr : KVCache_Attr<"Norm", "norm"> {
  let summary = "how numbers are normalised";
  let description = [{
    Elements are divided by `sqrt(mean of squares + eps)` and multiplied by
    `weight + weight_offset`.

    **Constraints:**
    - `eps` is at least 0, `eps` and `weight_offset` are finite in f32.

    Example:
    ```mlir
    #kvcache.norm<eps = 1.0e-6, weight_offset = 1.0>
    ```
  }];
  let parameters = (ins
    KVCache_Number<"1.0e-6">:$eps,
    KVCache_Number<"0.0">:$weight_offset
  );
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTRS_TD
