//===- KVCacheTypes.td - Types of the kvcache dialect ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHETYPES_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHETYPES_TD

include "kvcache/Dialect/KVCache/IR/KVCacheAttrs.td"
include "kvcache/Dialect/KVCache/IR/KVCacheInterfaces.td"

class KVCache_Type<string name, string typeMnemonic,
                   list<Trait> traits = []>
    : TypeDef<KVCache_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}

def KVCache_CollectionType : KVCache_Type<"Collection", "collection"> {
  let summary = "a paged key-value cache collection";
  let description = [{
    All layers and sides of a paged cache with its tables and lengths, as
    `kvcache.get_paged_cache` builds it.

    Example:
    ```mlir
    !kvcache.collection<#kv>
    ```
  }];
  let parameters = (ins "::mlir::kvcache::LayoutAttr":$layout);
  let assemblyFormat = "`<` $layout `>`";
}

class KVCache_SidedType<string name, string typeMnemonic, string pool>
    : KVCache_Type<name, typeMnemonic,
        [KVCache_MHAOperandTypeInterface]> {
  let parameters = (ins
    EnumParameter<KVCache_Side>:$side,
    "::mlir::kvcache::LayoutAttr":$layout
  );
  let assemblyFormat = "`<` $side `,` $layout `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    ::mlir::kvcache::Pool getPool() const {
      return ::mlir::kvcache::Pool::}] # pool # [{;
    }
  }];
}

def KVCache_CacheType : KVCache_SidedType<"Cache", "cache", "values"> {
  let summary = "one layer of keys or values of a collection";
  let description = [{
    What loads, stores and lookups speak to: the keys or the values of one layer,
    with their scales where the layout has any.

    **Constraints:**
    - The side is `key` where the layout is MLA: it has no value cache.

    Example:
    ```mlir
    !kvcache.cache<key, #kv>
    ```
  }];
}

def KVCache_MHAOperandType
    : KVCache_SidedType<"MHAOperand", "mha_operand", "values"> {
  let summary = "an attention operand that reads the values of a cache";
  let description = [{
    What an attention kernel takes in place of a dense matrix. It answers as its
    cache does.

    **Constraints:**
    - The side is `key` where the layout is MLA: it has no value cache.

    Example:
    ```mlir
    !kvcache.mha_operand<value, #gqa>
    ```
  }];
}

def KVCache_ScalesMHAOperandType
    : KVCache_SidedType<"ScalesMHAOperand", "scales_mha_operand", "scales"> {
  let summary = "an attention operand that reads the scales of a cache";
  let description = [{
    It answers as the plain operand does, about the scales pool: its dtype is the
    cache's scale dtype, its addresses and rows are the scales', and it has no
    scales of its own.

    **Constraints:**
    - The side is `key` where the layout is MLA: it has no value cache.
    - The layout has scales.

    Example:
    ```mlir
    !kvcache.scales_mha_operand<key, #kv>
    ```
  }];
}

def KVCache_Operand : Type<
    CPred<"::llvm::isa<::mlir::kvcache::MHAOperandTypeInterface>($_self)">,
    "a cache or an operand of one", "::mlir::Type">;

def KVCache_Paged : Type<
    CPred<"::llvm::isa<::mlir::kvcache::MHAOperandTypeInterface, "
          "::mlir::kvcache::CollectionType>($_self)">,
    "a collection, a cache or an operand of one", "::mlir::Type">;

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHETYPES_TD
