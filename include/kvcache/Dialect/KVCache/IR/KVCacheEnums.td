//===- KVCacheEnums.td - Enumerations of the kvcache dialect -*- tablegen -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEENUMS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEENUMS_TD

include "mlir/IR/EnumAttr.td"

class KVCache_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::kvcache";
}

def KVCache_Side
    : KVCache_Enum<"Side", "keys or values",
                   [I32EnumAttrCase<"key", 0>, I32EnumAttrCase<"value", 1>]>;

/// The unquantised tail of a head lies beside the values.
def KVCache_Pool
    : KVCache_Enum<"Pool", "what of a cache an access addresses",
                   [I32EnumAttrCase<"values", 0>,
                    I32EnumAttrCase<"scales", 1>,
                    I32EnumAttrCase<"tail", 2>]>;

def KVCache_Placement
    : KVCache_Enum<"Placement", "where scales lie relative to values",
                   [I32EnumAttrCase<"pool", 0>,
                    I32EnumAttrCase<"inlined", 1, "inline">,
                    I32EnumAttrCase<"page_split", 2>]>;

def KVCache_Order
    : KVCache_Enum<"Order", "which of tokens and heads is outside",
                   [I32EnumAttrCase<"nhd", 0>, I32EnumAttrCase<"hnd", 1>]>;

def KVCache_ScaleSwizzle
    : KVCache_Enum<"ScaleSwizzle", "the sides whose scales are interleaved",
                   [I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"v", 1>,
                    I32EnumAttrCase<"kv", 2>]>;

def KVCache_TableKind
    : KVCache_Enum<"TableKind", "the table through which scales are found",
                   [I32EnumAttrCase<"shared", 0>, I32EnumAttrCase<"own", 1>]>;

def KVCache_OutOfRange
    : KVCache_Enum<"OutOfRange", "what an out-of-range access does",
                   [I32EnumAttrCase<"assume", 0>, I32EnumAttrCase<"skip", 1>,
                    I32EnumAttrCase<"trap", 2>]>;

def KVCache_Swizzle
    : KVCache_Enum<"Swizzle", "shared-memory swizzle of a TMA tile",
                   [I32EnumAttrCase<"none", 0>,
                    I32EnumAttrCase<"swizzle_32b", 1>,
                    I32EnumAttrCase<"swizzle_64b", 2>,
                    I32EnumAttrCase<"swizzle_128b", 3>]>;

def KVCache_RowForm
    : KVCache_Enum<"RowForm", "how the rows of a tensor are told where to go",
                   [I32EnumAttrCase<"ragged", 0>, I32EnumAttrCase<"padded", 1>,
                    I32EnumAttrCase<"positions", 2>,
                    I32EnumAttrCase<"slots", 3>]>;

def KVCache_ScaleContract
    : KVCache_Enum<"ScaleContract", "the scales that a quantised cache may have",
                   [I32EnumAttrCase<"arbitrary", 0>,
                    I32EnumAttrCase<"power_of_two", 1>]>;

def KVCache_FloorOn
    : KVCache_Enum<"FloorOn", "what a floor bounds",
                   [I32EnumAttrCase<"scale", 0>, I32EnumAttrCase<"amax", 1>]>;

def KVCache_ApplyScale
    : KVCache_Enum<"ApplyScale", "how a scale is taken out of a number",
                   [I32EnumAttrCase<"inverse", 0>,
                    I32EnumAttrCase<"divide", 1>]>;

def KVCache_RotationStyle
    : KVCache_Enum<"RotationStyle", "which elements turn together",
                   [I32EnumAttrCase<"interleaved", 0>,
                    I32EnumAttrCase<"half", 1>]>;

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEENUMS_TD
