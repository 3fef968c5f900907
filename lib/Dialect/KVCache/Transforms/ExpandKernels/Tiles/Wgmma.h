//===- Wgmma.h - Products of fragments by a warpgroup --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WGMMA_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WGMMA_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// A matrix B of f16 numbers in shared memory for wgmma, without a swizzle:
/// blocks of 8 columns by 8 rows, 128 bytes each, in which a column is 16
/// bytes. Blocks of the same columns follow one another. In words of two
/// numbers, word `lane` of block `2 s` is what the lane has in B[0] of step `s`
/// of `emitMma`, and of block `2 s + 1` in B[1].
///
/// Columns `first` (a multiple of 8) and on of the matrix of `steps` steps at
/// `memory` (a memref of shared memory, at a multiple of 16 bytes).
Value emitMatrixDescriptor(ImplicitLocOpBuilder &b, Value memory, int64_t first,
                           int64_t steps);

/// wgmma.m64nNk16 of f16 with f32 sums, a step for each four of the registers
/// of `a`: A * B, where a warp has 16 rows of A in fragments as `emitMma` has
/// and the `columns` columns of B, up to 256, lie in shared memory. Of each 8
/// columns the result has four registers as C of `emitMma`. The four warps of a
/// warpgroup come together, after a fence between what wrote B and the
/// asynchronous proxy; the products are there when this is over.
SmallVector<Value> emitWgmma(ImplicitLocOpBuilder &b, ValueRange a,
                             Value descriptor, int64_t columns);

/// Makes what the thread wrote to shared memory visible to wgmma, once threads
/// have met at a barrier.
void emitFenceForWgmma(ImplicitLocOpBuilder &b);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WGMMA_H
