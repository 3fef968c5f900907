//===- KVCacheAccessOps.td - Loads and stores of a cache ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEACCESSOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEACCESSOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

/// A scalar, or `w` consecutive elements as a vector of rank 1.
def KVCache_ScalarOrVector : AnyTypeOf<
    [AnyFloat, AnySignlessInteger,
     VectorOfRankAndType<[1], [AnyFloat, AnySignlessInteger]>],
    "a number or a vector of rank 1">;

/// Effects are on memory at large: a pool may be reached through its memref and
/// through any number of caches. Stores name what they write besides.
class KVCache_AccessOp<string opMnemonic, MemoryEffect effect>
    : KVCache_Op<opMnemonic, [MemoryEffects<[effect]>]> {
  let hasVerifier = 1;
}

class KVCache_LoadOpBase<string opMnemonic>
    : KVCache_AccessOp<opMnemonic, MemRead> {
  let arguments = (ins KVCache_Operand:$source, Index:$batch, Index:$token,
                       Index:$head, Index:$dim, KVCache_assumeUnlessSaid:$policy,
                       OptionalAttr<I64Attr>:$alignment);
  let results = (outs KVCache_ScalarOrVector:$result);
  let assemblyFormat = [{
    ($policy^)? $source `[` $batch `,` $token `,` $head `,` $dim `]` attr-dict
    `:` qualified(type($source)) `->` type($result)
  }];
}

def KVCache_LoadOp : KVCache_LoadOpBase<"load"> {
  let summary = "load values, dequantised";
  let description = [{
    Loads value `(b, t, h, d)`, or the `w` elements from `d` on. Where the cache
    has scales the result is `value[d] * scale[floor(d / g)]`, each lane with its
    own scale, multiplied in f32 and rounded once to the result's type; where it
    has none the result is the value, converted. So are elements of the
    unquantised tail (`rope` of the layout); lanes may lie on both sides of where
    it begins.

    NaN and infinity stay what they are; their products are IEEE's. Scales of
    f8E8M0FNU are powers of two, byte 255 is NaN.

    Out of range: under `skip` the result is 0.

    **Constraints:**
    - The source is a cache or a plain operand; the values of a scales operand
      are loaded with `kvcache.load_scale` of the cache.
    - The result is f32, f16 or bf16, or a vector of one of them; without scales
      it may also be the cache's dtype.
    - A vector is of fixed length.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.
    - Constant `head` and `dim` are at least 0 and less than `H` and `D`, and the
      lanes from a constant `dim` end at `D` at the latest.

    Example:
    ```mlir
    %v = kvcache.load %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> vector<8xbf16>
    ```
  }];
}

def KVCache_LoadQuantizedOp : KVCache_LoadOpBase<"load_quantized"> {
  let summary = "load values as they are stored";
  let description = [{
    Loads the codes of value `(b, t, h, d)`, or of the `w` elements from `d` on,
    without their scale. Codes of f4E2M1FN come as `i8`, two elements each. The
    unquantised tail (`rope` of the layout) has no codes: `kvcache.load` reads it.

    Out of range: under `skip` the result is 0.

    **Constraints:**
    - The source is a cache or a plain operand.
    - The result's element type is the cache's dtype; for f4E2M1FN it is `i8`, and
      a constant `dim` is even.
    - A vector is of fixed length.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.
    - Constant `head` and `dim` are at least 0 and less than `H` and `D` less the
      rope size, where the elements from a constant `dim` end at the latest.

    Example:
    ```mlir
    %v = kvcache.load_quantized %k[%b, %t, %h, %d]
        : !kvcache.cache<key, #kv> -> vector<16xf8E4M3FN>
    ```
  }];
}

def KVCache_LoadScaleOp : KVCache_LoadOpBase<"load_scale"> {
  let summary = "load scales";
  let description = [{
    Loads the scale that covers value `(b, t, h, d)`, or `w` consecutive scales
    from that one on: slots `floor(d / g)` to `floor(d / g) + w - 1`. `d` is an
    element, never a slot.

    Out of range: under `skip` the result is 0, in f8E8M0FNU, which has no zero,
    its least number 2^-127.

    **Constraints:**
    - The source is a cache or a plain operand with scales; a scales operand has
      none of its own.
    - The result's element type is the scale dtype or f32.
    - A vector is of fixed length.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.
    - Constant `head` and `dim` are at least 0 and less than `H` and `D` less the
      rope size, and the slots from a constant `dim` end at `G` at the latest.

    Example:
    ```mlir
    %s = kvcache.load_scale trap %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> f32
    ```
  }];
}

class KVCache_StoreOpBase<string opMnemonic>
    : KVCache_AccessOp<opMnemonic, MemWrite> {
  let arguments = (ins KVCache_ScalarOrVector:$value,
                       Arg<KVCache_Operand, "", [MemWrite]>:$target,
                       Index:$batch, Index:$token, Index:$head, Index:$dim,
                       KVCache_assumeUnlessSaid:$policy,
                       OptionalAttr<I64Attr>:$alignment);
  let assemblyFormat = [{
    ($policy^)? $value `,` $target `[` $batch `,` $token `,` $head `,` $dim `]`
    attr-dict `:` type($value) `,` qualified(type($target))
  }];
}

def KVCache_StoreOp : KVCache_StoreOpBase<"store"> {
  let summary = "store values as they are";
  let description = [{
    Stores value `(b, t, h, d)`, or the `w` elements from `d` on. A store never
    changes lengths, and never quantises: a quantised cache takes codes. Codes of
    f4E2M1FN come as `i8`, two elements each. Without scales a wider float is
    converted, to nearest even, saturating where the dtype is an 8-bit float
    (infinity too); NaN stays NaN. Where the layout has an unquantised tail
    (`rope`), a value of any other float type than the cache's is one of the tail,
    converted to the tail's dtype.

    Out of range: under `skip` nothing is stored.

    **Constraints:**
    - The target is a cache or a plain operand.
    - The value's element type is the cache's dtype, `i8` for f4E2M1FN (with an
      even `dim` where it is constant), or f32, f16 or bf16 for a cache of floats
      without scales.
    - A vector is of fixed length.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.
    - Constant `head` and `dim` are at least 0 and less than `H` and `D` less the
      rope size, where the elements from a constant `dim` end at the latest; a
      value of the tail lies between there and `D`.

    Example:
    ```mlir
    kvcache.store skip %v, %k[%b, %t, %h, %d] : vector<16xf8E4M3FN>, !kvcache.cache<key, #kv>
    ```
  }];
}

def KVCache_StoreScaleOp : KVCache_StoreOpBase<"store_scale"> {
  let summary = "store scales";
  let description = [{
    Stores the scale that covers value `(b, t, h, d)`, or `w` consecutive scales
    from that one on. `d` is an element, never a slot. An f32 is converted to the
    scale dtype: to nearest even, saturating to f8E4M3FN, and up to the next power
    of two for f8E8M0FNU (of the magnitude; 0 becomes 2^-127). NaN stays NaN.

    Out of range: under `skip` nothing is stored. The block is checked against
    the scales pool.

    **Constraints:**
    - The target is a cache or a plain operand with scales; a scales operand has
      none of its own.
    - The value's element type is the scale dtype or f32.
    - A vector is of fixed length.
    - `alignment` (bytes, a promise about the address) is a power of two.
    - Constant `batch` and `token` are at least 0 and less than `B` and `M * P`,
      where the tables' shape is known; a token is less than 2^32 in any case.
    - Constant `head` and `dim` are at least 0 and less than `H` and `D` less the
      rope size, and the slots from a constant `dim` end at `G` at the latest.

    Example:
    ```mlir
    kvcache.store_scale %s, %k[%b, %t, %h, %d] : f32, !kvcache.cache<key, #kv>
    ```
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEACCESSOPS_TD
