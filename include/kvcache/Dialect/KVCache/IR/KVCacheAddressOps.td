//===- KVCacheAddressOps.td - What lookups lower to --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEADDRESSOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEADDRESSOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

def KVCache_TableReadOp : KVCache_Op<"table_read", [NoMemoryEffect]> {
  let summary = "read entries of a frozen table";
  let description = [{
    What a lookup lowers to: reads entry `index` (unsigned) of a table or a list
    of lengths, or as many from there as the result has. Nobody writes the table
    while the collection lives, so that reads are shared across stores.

    `invariant` says that nobody writes it while the function runs, not even
    before the collection is made: the table came to a kernel with its argument.
    Such a read takes the read-only path.

    **Constraints:**
    - The table is a rank-0 memref of `i32` with neither layout nor memory space.
    - A vector is of fixed length.
    - `alignment` (bytes) is a power of two of at least 4.

    Example:
    ```mlir
    %e = kvcache.table_read %table[%i] : memref<i32> -> i32
    ```
  }];
  let arguments = (ins MemRefRankOf<[I32], [0]>:$table, I32:$index,
                       OptionalAttr<I64Attr>:$alignment, UnitAttr:$invariant);
  let results = (outs AnyTypeOf<[I32, VectorOfRankAndType<[1], [I32]>]>:$entries);
  let assemblyFormat = [{
    (`invariant` $invariant^)? $table `[` $index `]` attr-dict
    `:` type($table) `->` type($entries)
  }];
  let hasVerifier = 1;
}

def KVCache_ByteViewOp : KVCache_Op<"byte_view", [
    Pure, ViewLikeOpInterface]> {
  let summary = "view memory so many bytes from a base";
  let description = [{
    What a page address lowers to: a view that starts `offset` bytes (signed,
    64-bit) from the base. Offsets of consecutive views add.

    **Constraints:**
    - The base is a rank-0 memref with neither layout nor memory space.
    - The result is a memref of the same element type, or of any where either is
      one of `i8`, with static shape and identity layout in the default memory
      space.

    Example:
    ```mlir
    %page = kvcache.byte_view %base[%offset] : memref<f32> to memref<64xf32>
    ```
  }];
  let arguments = (ins MemRefRankOf<[AnyType], [0]>:$base, Index:$offset);
  let results = (outs AnyMemRef:$view);
  let assemblyFormat = [{
    $base `[` $offset `]` attr-dict `:` type($base) `to` type($view)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getViewSource() { return getBase(); }
  }];
}

def KVCache_ScaleLimitOp : KVCache_Op<"scale_limit", [Pure]> {
  let summary = "scales up to which reassociated products are exact";
  let description = [{
    Chips that cannot convert f8E4M3FN decode it to a 256th of the number, for
    less, and take the rest from the scale, where `arith.mulf` of a decoded code
    and a scale allows it by `fastmath<reassoc>`; with `nnan`, too, NaN is
    decoded as if it were a number. The product is the same for scales whose
    magnitude is at most the result; beyond, 256 times the scale is infinite.
    Whoever meets such scales or codes multiplies once more without the flags.
    Infinity where nothing of the kind is done.

    Example:
    ```mlir
    %limit = kvcache.scale_limit : f32
    ```
  }];
  let results = (outs F32:$limit);
  let assemblyFormat = "attr-dict `:` type($limit)";
}

def KVCache_DecodeScaledOp : KVCache_Op<"decode_scaled", [
    Pure, AllShapesMatch<["numbers", "codes"]>]> {
  let summary = "numbers of codes in the chip's unit";
  let description = [{
    The numbers that codes of f8E4M3FN stand for, divided by
    `kvcache.decoded_unit`: exactly, in `f16`. Chips that cannot convert such
    codes decode them to a 256th of the number, for less; whoever sums products
    of them multiplies the sum by the unit.

    What a NaN becomes is not said; `kvcache.restore_nan` makes it one.

    Example:
    ```mlir
    %numbers = kvcache.decode_scaled %codes : vector<4xf8E4M3FN> to vector<4xf16>
    ```
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [F8E4M3FN]>:$codes);
  let results = (outs FixedVectorOfRankAndType<[1], [F16]>:$numbers);
  let assemblyFormat = "$codes attr-dict `:` type($codes) `to` type($numbers)";
}

def KVCache_DecodedUnitOp : KVCache_Op<"decoded_unit", [Pure]> {
  let summary = "what scaled numbers of codes are multiplied by";
  let description = [{
    The factor, a power of two, from the results of `kvcache.decode_scaled` to
    the numbers.

    Example:
    ```mlir
    %unit = kvcache.decoded_unit : f32
    ```
  }];
  let results = (outs F32:$unit);
  let assemblyFormat = "attr-dict `:` type($unit)";
}

def KVCache_RestoreNaNOp : KVCache_Op<"restore_nan", [
    Pure, SameOperandsAndResultType]> {
  let summary = "NaN where one of several codes was";
  let description = [{
    `number`, by lane NaN where one of the `decoded` numbers is of a code that
    is NaN. All are results of `kvcache.decode_scaled`; `number` is one of
    `decoded`, or is added to what they are added to: one NaN does for all that
    end in the same sum.

    Example:
    ```mlir
    %a = kvcache.restore_nan %x of %x, %y : vector<2xf16>
    ```
  }];
  let arguments = (ins FixedVectorOfLengthAndType<[2], [F16]>:$number,
                   Variadic<FixedVectorOfLengthAndType<[2], [F16]>>:$decoded);
  let results = (outs FixedVectorOfLengthAndType<[2], [F16]>:$result);
  let assemblyFormat = [{
    $number `of` $decoded attr-dict `:` type($number)
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEADDRESSOPS_TD
