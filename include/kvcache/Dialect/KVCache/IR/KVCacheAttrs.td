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

def KVCache_LayoutAttr : KVCache_Attr<"Layout", "layout"> {
  let summary = "layout of a paged key-value cache";
  let description = [{
    The contract between whoever writes a cache and whoever reads it. Values lie
    in a pool `[NB, KD, L, P, H, D]` of `dtype`, scales (where there are any) in
    a pool `[NBs, KD, L, P, H, G]` of `scales.dtype`; `KD` is 1 for MLA and
    else 2. `f4E2M1FN` values lie two to a byte in an `i8` pool whose last
    dimension is `D / 2`, the even element in the low nibble; `D` and `g` count
    elements all the same.

    **Constraints:**
    - `dtype` is f32, f16, bf16, f8E4M3FN, f8E5M2, i8 or f4E2M1FN.
    - `page_size` is at least 1.
    - `i8` and `f4E2M1FN` values need `scales`.
    - `f4E2M1FN` values need an even `head_size`.
    - One layer of one side of a page takes less than 2^32 bytes, in each pool.

    Example:
    ```mlir
    #kv = #kvcache.layout<f8E4M3FN,
        params = <num_heads = 1, head_size = 128, is_mla = true>,
        page_size = 64, scales = <f32, granularity = 128, table = own>>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$dtype,
    "::mlir::kvcache::ParamsAttr":$params,
    "int64_t":$page_size,
    OptionalParameter<"::mlir::kvcache::ScalesAttr">:$scales
  );
  let assemblyFormat =
      "`<` $dtype `,` struct($params, $page_size, $scales) `>`";
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
    /// Scales a head, `ceildiv(head_size, granularity)`; 0 without scales.
    int64_t getScaleSlots() const;
    /// Element type of the scales; null without scales.
    ::mlir::Type getScaleDtype() const;
    /// Whether the scales have a lookup table of their own.
    bool hasOwnScalesTable() const;
    /// This layout with scales found through `table`; it must have scales.
    ::mlir::kvcache::LayoutAttr withScalesTable(
        ::mlir::kvcache::TableKind table) const;
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEATTRS_TD
