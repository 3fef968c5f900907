//===- Passes.td - Conversion passes -----------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_CONVERSION_PASSES
#define KVCACHE_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// KVCacheToMemRef
//===----------------------------------------------------------------------===//

def ConvertKVCacheToMemRefPass
    : Pass<"convert-kvcache-to-memref", "::mlir::ModuleOp"> {
  let summary = "Lower kvcache to memref, vector and arith";
  let description = [{
    Replaces every value of the dialect's types by pointers (rank-0 memrefs) and
    scalars, in functions, kernels, their calls and launches, and in scf and cf
    regions; and every operation by arithmetic on them. Run it after kernels are
    outlined: a kernel that takes a cache or an operand then has the following
    arguments in its place.

    | argument | type | present |
    |---|---|---|
    | values | pointer to element 0 of the pool's block 0, layer and side | not in a scales operand |
    | values_pitch | i64, bytes from block to block | likewise |
    | values_blocks | i64, NB | likewise |
    | table | pointer to entry (0, 0) of the lookup table, u32 | likewise |
    | table_stride | i32, entries a row | likewise |
    | scales | pointer to scale 0 of the scales pool's block 0, layer and side | with scales |
    | scales_pitch | i64, bytes from block to block | with scales |
    | scales_blocks | i64, NBs | with scales |
    | scales_table | pointer to entry (0, 0) of the scales' table, u32 | `table = own`, or in a scales operand |
    | scales_table_stride | i32, entries a row | likewise |
    | lengths | pointer to u32 [B] | always |
    | batch | i64, B | always |
    | columns | i64, M | always |
    | max_prompt | u32 | always |
    | max_cache | u32 | always |
    | layers | i64, L | collections; pools then start at layer 0 of the keys |

    Pointers to tables and lengths are `noalias` and `readonly`: they are frozen.
    Pointers to pools are too in a kernel that writes no pool; whoever launches
    it promises not to write the pools through another argument meanwhile.

    Addresses are 64-bit. Page, slot and in-page offset are unsigned 32-bit
    numbers, which `kvcache.get_paged_cache` and the layout promise to suffice.
    Reads of tables become `kvcache.table_read`, which has no memory effect, so
    that common subexpressions are found across stores to the pools.

    A dialect value inside another type (a tuple, a function type), and an
    operation that does not know how to pass one on, is an error.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

//===----------------------------------------------------------------------===//
// NarrowFloatToNVVM
//===----------------------------------------------------------------------===//

def ConvertNarrowFloatToNVVMPass : Pass<"convert-narrow-float-to-nvvm"> {
  let summary = "Lower conversions of 8 and 4 bit floats for an NVIDIA chip";
  let description = [{
    Lowers `arith.extf`, `arith.truncf`, `arith.scaling_extf` and
    `arith.scaling_truncf` from and to f8E4M3FN, f8E5M2, f8E8M0FNU and
    f4E2M1FN. The other side is f32, f16, bf16, f64 or another of the four;
    operands are scalars or fixed-size vectors of any rank and length. What
    other operations do with such values (constants, loads, select, bitcast)
    needs nothing from here: the conversion to LLVM makes integers of them.
    Conversions from and to integers (`arith.sitofp` and its like) go through f32.
    Arithmetic on them is expanded to conversions beforehand by
    `arith-emulate-unsupported-floats`.

    Code for `chip` goes into `gpu.module`, `gpu.func` and `gpu.launch`:
    `cvt` instructions where the chip has them, byte permutations and packed
    arithmetic where not. Everything else, and everything when `chip` is empty,
    gets plain arithmetic that runs on a host too. **All three give the same
    bytes.** A result that is NaN is NaN, whatever its payload.

    The rules, which are those of the `cvt` instructions with `.satfinite`:

    | to | rounding | overflow and infinity | NaN |
    |---|---|---|---|
    | f8E4M3FN | nearest, ties to even | +-448 (0x7E, 0xFE) | 0x7F |
    | f8E5M2 | nearest, ties to even | +-57344 (0x7B, 0xFB) | 0x7F |
    | f4E2M1FN | nearest, ties to even | +-6 (0x7, 0xF) | +6 (0x7) |
    | f8E8M0FNU | up | 2^127 (0xFE) | 0xFF |

    - A value is rounded once, f64 included. The sign of a NaN is dropped.
    - f8E8M0FNU has no sign and no zero: the magnitude is converted, and what
      is below 2^-127, zero included, becomes 2^-127 (0x00). `upward`, the
      default, is the smallest power of two that is not below the magnitude;
      `toward_zero` the largest that is not above it.
    - Widening is exact, but for f8E8M0FNU to f16, which rounds to nearest
      (f16 has no 2^16). f8E8M0FNU byte 0x00 is 2^-127, a denormal f32, so
      flushing denormals to zero is wrong with it.
    - `scaling_extf` and `scaling_truncf` take an f8E8M0FNU scale, multiply in
      f32 and round once.
    - A product `arith.mulf` of a decoded f8E4M3FN and a scale that says
      `fastmath<reassoc>` may be made of other factors, and with `nnan` NaN taken
      for a number; `kvcache.scale_limit` says what stays the same.
    - MLIR's folders have other rules for literal NaN and infinity, and may
      have run before this pass: infinity becomes the infinity of f8E5M2, NaN
      keeps its sign in f8 and becomes 0 in f4E2M1FN, and f8E8M0FNU byte 0xFF
      widens to infinity. Values known only at run time are not concerned.

    An unknown chip, other rounding modes, other narrow types, tensors and
    scalable vectors are errors.

    Example: with `chip=sm_90a`

    ```mlir
    %0 = arith.extf %codes : vector<2xf8E4M3FN> to vector<2xf16>
    ```

    becomes, inside a `gpu.module`, a `cvt.rn.f16x2.e4m3x2`.
  }];
  let options = [
    Option<"chip", "chip", "std::string", /*default=*/"",
           "Chip that device code is for, for example sm_90a; plain arithmetic "
           "when empty">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::vector::VectorDialect",
  ];
}

#endif // KVCACHE_CONVERSION_PASSES
