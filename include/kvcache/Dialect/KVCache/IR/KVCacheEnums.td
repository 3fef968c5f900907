//===- KVCacheEnums.td - Enumerations of the kvcache dialect -*- tablegen -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEENUMS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEENUMS_TD

include "mlir/IR/EnumAttr.td"

/// A member, and what it says.
class KVCache_Case<string symbol, int value, string text_, string spelling = symbol>
    : I32EnumAttrCase<symbol, value, spelling> {
  string text = text_;
}

class KVCache_Enum<string name, string summary, list<KVCache_Case> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::kvcache";
  let description = !interleave(
      !foreach(case, cases, "* `" # case.str # "`: " # case.text), "\n");
}

def KVCache_Side
    : KVCache_Enum<"Side", "keys or values", [
        KVCache_Case<"key", 0, "keys">,
        KVCache_Case<"value", 1, "values">
      ]>;

/// The unquantised tail of a head lies beside the values.
def KVCache_Pool
    : KVCache_Enum<"Pool", "what of a cache an access addresses", [
        KVCache_Case<"values", 0, "what is stored of keys and values">,
        KVCache_Case<"scales", 1, "the scales of quantised values">,
        KVCache_Case<"tail", 2, "the elements at the end of a head that are not quantised">
      ]>;

def KVCache_Placement
    : KVCache_Enum<"Placement", "where scales lie relative to values", [
        KVCache_Case<"pool", 0, "scales have a pool of their own">,
        KVCache_Case<"inlined", 1, "scales lie behind the values of their (token, head)", "inline">,
        KVCache_Case<"page_split", 2, "scales lie behind all values of a layer of a side of a page">
      ]>;

def KVCache_Order
    : KVCache_Enum<"Order", "which of tokens and heads is outside", [
        KVCache_Case<"nhd", 0, "tokens, then heads">,
        KVCache_Case<"hnd", 1, "heads, then tokens">
      ]>;

def KVCache_ScaleSwizzle
    : KVCache_Enum<"ScaleSwizzle", "the sides whose scales are interleaved", [
        KVCache_Case<"none", 0, "no scales are interleaved">,
        KVCache_Case<"v", 1, "those of values are">,
        KVCache_Case<"kv", 2, "those of keys and of values are">
      ]>;

def KVCache_TableKind
    : KVCache_Enum<"TableKind", "the table through which scales are found", [
        KVCache_Case<"shared", 0, "the lookup table of the values">,
        KVCache_Case<"own", 1, "a table of their own">
      ]>;

def KVCache_OutOfRange
    : KVCache_Enum<"OutOfRange", "what an out-of-range access does", [
        KVCache_Case<"assume", 0, "it is undefined, and nothing is checked">,
        KVCache_Case<"skip", 1, "a store does nothing, a load gives 0">,
        KVCache_Case<"trap", 2, "it prints what is wrong and ends the kernel">
      ]>;

def KVCache_Swizzle
    : KVCache_Enum<"Swizzle", "shared-memory swizzle of a TMA tile", [
        KVCache_Case<"none", 0, "no swizzle">,
        KVCache_Case<"swizzle_32b", 1, "16-byte chunks within spans of 32 bytes">,
        KVCache_Case<"swizzle_64b", 2, "within spans of 64 bytes">,
        KVCache_Case<"swizzle_128b", 3, "within spans of 128 bytes">
      ]>;

def KVCache_RowForm
    : KVCache_Enum<"RowForm", "how the rows of a tensor are told where to go", [
        KVCache_Case<"ragged", 0, "rows of all sequences one after another, and where each sequence starts">,
        KVCache_Case<"padded", 1, "as many rows for each sequence, and how many of them count">,
        KVCache_Case<"positions", 2, "a sequence and a position for each row">,
        KVCache_Case<"slots", 3, "a slot of the pool for each row">
      ]>;

def KVCache_ScaleContract
    : KVCache_Enum<"ScaleContract", "the scales that a quantised cache may have", [
        KVCache_Case<"arbitrary", 0, "any positive number">,
        KVCache_Case<"power_of_two", 1, "powers of two">
      ]>;

def KVCache_FloorOn
    : KVCache_Enum<"FloorOn", "what a floor bounds", [
        KVCache_Case<"scale", 0, "the scale itself">,
        KVCache_Case<"amax", 1, "the greatest magnitude, before it becomes a scale">
      ]>;

def KVCache_ApplyScale
    : KVCache_Enum<"ApplyScale", "how a scale is taken out of a number", [
        KVCache_Case<"inverse", 0, "multiply by 1 / scale">,
        KVCache_Case<"divide", 1, "divide by the scale">
      ]>;

def KVCache_RotationStyle
    : KVCache_Enum<"RotationStyle", "which elements turn together", [
        KVCache_Case<"interleaved", 0, "neighbours">,
        KVCache_Case<"half", 1, "an element of the first half with its counterpart of the second">
      ]>;

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEENUMS_TD
