//===- KVCacheKernelOps.td - Kernels on whole caches -------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELOPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELOPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"

//===----------------------------------------------------------------------===//
// What kernels share
//===----------------------------------------------------------------------===//

def KVCache_KernelOpTrait : NativeOpTrait<"KernelOpTrait"> {
  let cppNamespace = "::mlir::kvcache";
}

/// An operation of the host that stands for a kernel and its launch.
/// `kvcache-expand-kernels` makes both of it. It reads and writes device memory
/// at large, and names the operands that it writes besides: memrefs, and caches
/// and collections, which stand for their pools. Nothing that it writes overlaps
/// another operand; `kvcache-instrument` checks that.
class KVCache_KernelOpBase<string opMnemonic, list<Trait> traits = []>
    : KVCache_Op<opMnemonic, traits # [
        KVCache_KernelOpTrait, MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

/// One with several lists of operands.
class KVCache_KernelOp<string opMnemonic, list<Trait> traits = []>
    : KVCache_KernelOpBase<opMnemonic, traits # [AttrSizedOperandSegments]>;

/// A kernel that writes the rows of a tensor into a layer of a cache.
class KVCache_AppendOpBase<string opMnemonic> : KVCache_KernelOp<opMnemonic> {
  code appendDeclarations = [{
    /// Whether rows are named by slots of the pools rather than by tokens.
    bool isPhysical() {
      return getForm() == ::mlir::kvcache::RowForm::slots;
    }
    /// Rows of a tensor as `append` takes them: 1 leading dimension, or 2
    /// (sequence and row) in the padded form.
    unsigned getLeadingRank() {
      return getForm() == ::mlir::kvcache::RowForm::padded ? 2 : 1;
    }
  }];
  let extraClassDeclaration = appendDeclarations;
}

def KVCache_AppendOp : KVCache_AppendOpBase<"append"> {
  let summary = "append rows that are ready to be stored";
  let description = [{
    Writes the rows of `sources` into one layer of one or two caches (keys,
    values), and with them, where `scales` are given, scales that were computed
    elsewhere. Where a row goes is said by the form:

    | form | operands | row `r` goes to |
    |---|---|---|
    | `ragged` | `row_offsets` `memref<B+1 x i32>` | token `cache_length(b) + r - row_offsets[b]` of the sequence `b` with `row_offsets[b] <= r < row_offsets[b + 1]`; rows of no sequence are not written |
    | `padded` | `new_lengths` `memref<B x i32>` | row `(b, i)` of a source `[B, S, H, D]` to token `cache_length(b) + i`; rows from `new_lengths[b]` on are not written |
    | `positions` | `sequences`, `positions` `memref<T x i32>` | token `positions[r]` of sequence `sequences[r]` |
    | `slots` | `slots` and, where scales have block ids of their own, `scale_slots`, `memref<T x i32>` or `i64` | block `slots[r] / P`, slot `slots[r] % P`; a negative slot is not written |

    Offsets, lengths, sequences and positions are unsigned, slots signed. All of
    them are read on the device. Lengths are not changed.

    A quantised cache takes codes, as they are; `kvcache.quantize_append`
    quantises. Into another cache floats are converted, to nearest even, and
    saturate where the cache's dtype is an 8-bit float; in f16 and bf16 what is too
    large becomes an infinity. NaN stays NaN.

    Sources may be strided, as slices of a fused tensor are; elements of a head lie
    side by side.

    Several rows may have one destination, in any form: a slot that is named
    twice, or a page that two sequences share. With a `workspace` the last of them
    stands, in the values' pool and in the scales', and the others are not
    written. It takes an `i32` for each slot (`NB * P`) of the pool of values and,
    where scales that are written have block ids of their own, for each of theirs
    (`NBs * P`), for each collection that targets are of (caches that are arguments
    count as of two); what it holds before does not matter. It costs two launches,
    whose time grows with the rows.

    Without one, that no two rows have one destination is a promise, which spares
    that. Where it is broken `kvcache-instrument` refuses the operation, before
    anything is written, and names both rows; unchecked, each byte is one row's or
    the other's, so that values may be mixed and scales of another row than they
    are.

    Out of range: sequence, page and block, each block against its own pool;
    under `skip` nothing of the row is written that is out of range there.

    **Constraints:**
    - One or two targets of one layout, which have no slot in common, and a source
      for each, of as many rows; lists fit these where sizes are static. `scales` are none
      or one for each target, in a layout with scales.
    - A source is `[T, H, D]`, or `[B, S, H, D]` in the padded form, with static
      `H` and `D` of the layout (`D / 2` of `i8` for f4E2M1FN) and last stride 1;
      scales are `[T, H, G]` or `[B, S, H, G]`.
    - The element type of a source is the cache's dtype or, without scales, f32,
      f16 or bf16; that of `scales` is the scale dtype.
    - The form's operands have the types above.
    - `workspace` is a `memref<? x i32>`.

    Example:
    ```mlir
    kvcache.append skip sources(%x : memref<?x8x128xbf16>)
        into(%k : !kvcache.cache<key, #gqa>) ragged(%offsets : memref<?xi32>)
    ```
  }];
  let arguments = (ins
    KVCache_assumeUnlessSaid:$policy,
    Variadic<AnyMemRef>:$sources,
    Arg<Variadic<KVCache_CacheType>, "", [MemWrite]>:$targets,
    KVCache_RowForm:$form,
    Variadic<AnyMemRef>:$rows,
    Variadic<AnyMemRef>:$scales,
    Arg<Optional<AnyMemRef>, "", [MemWrite]>:$workspace,
    OptionalAttr<KVCache_TuningAttr>:$tuning
  );
  let assemblyFormat = [{
    ($policy^)? `sources` `(` $sources `:` type($sources) `)`
    `into` `(` $targets `:` qualified(type($targets)) `)`
    $form `(` $rows `:` type($rows) `)`
    (`scales` `(` $scales^ `:` type($scales) `)`)?
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)?
    (`tuning` `(` $tuning^ `)`)? attr-dict
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEKERNELOPS_TD
