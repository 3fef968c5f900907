//===- Mma.h - Products of fragments by tensor cores ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_MMA_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_MMA_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// The type of products of what caches hold: values of 8 bits become f16, each
/// of which is exact.
Type productType(Type dtype);

/// mma.sync.m16n8k16 of f16 or bf16 with f32 sums, which every chip has. With
/// `row` and `column` of the lane (see Warp), registers (`i32`, two numbers
/// each) hold
///
///     A[0]: A[row][2 column], A[row][2 column + 1]
///     A[1]: the same of row + 8;   A[2], A[3]: as A[0], A[1], 8 to the right
///     B[0]: B[2 column][row], B[2 column + 1][row];   B[1]: 8 further down
///     C[0], C[1] (f32): C[row][2 column], C[row][2 column + 1]
///     C[2], C[3]: the same of row + 8
///
/// Returns A * B + C.
SmallVector<Value> emitMma(ImplicitLocOpBuilder &b, Type element, ValueRange a,
                           ValueRange bFragment, ValueRange c);

/// ldmatrix.x4: four matrices of 8 rows of 16 bytes. Lane `8 m + r` says by
/// `pointer` (LLVM, shared memory) where row `r` of matrix `m` lies. Register
/// `m` gets of it what A[0] and B[0]'s transpose hold or, with `transposed`,
/// what B[0] holds.
SmallVector<Value> emitLoadMatrices(ImplicitLocOpBuilder &b, Value pointer,
                                    bool transposed);

/// movmatrix: of a matrix of 8 x 8 numbers of 16 bits, two of which a lane has
/// in a register as A[0] does, the transposed one, which is B[0] of the same
/// matrix.
Value emitTranspose(ImplicitLocOpBuilder &b, Value word);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_MMA_H
