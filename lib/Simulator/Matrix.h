// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_MATRIX_H
#define KVCACHE_LIB_SIMULATOR_MATRIX_H

#include "Inst.h"

namespace ptxsim {

enum class MatrixType : uint8_t {
  F16,
  BF16,
  TF32,
  E4M3,
  E5M2,
  /// In a byte of their own: the low six bits, of E2M1 the middle four.
  E2M1,
  E2M3,
  E3M2,
  S8,
  U8,
  S4,
  U4,
  /// Two in a byte, the lower half first.
  E2M1Pair
};

unsigned matrixBits(MatrixType type);
inline bool isFp8(MatrixType type) {
  return type == MatrixType::E4M3 || type == MatrixType::E5M2;
}
/// What mma.kind::f8f6f4 takes.
inline bool isFormatOfByte(MatrixType type) {
  return type >= MatrixType::E4M3 && type <= MatrixType::E3M2;
}
inline bool isInteger(MatrixType type) {
  return type >= MatrixType::S8 && type <= MatrixType::U4;
}
void decodeRow(MatrixType type, const char *bytes, unsigned count, double *out);
/// Products are exact and summed in double; the result is rounded once.
float roundAccumulator(double value);
/// An accumulator's bits: a float, or an integer that wraps or saturates.
uint32_t packAccumulator(double value, bool isInteger, bool saturate);
/// The 16 x k elements of A that a warp's registers hold.
void gatherFragmentA(const Warp &warp, const OperandSlot *regs,
                     unsigned numRegs, MatrixType type, double *a, unsigned k);

/// The k x 8 elements of B.
void gatherFragmentB(const Warp &warp, const OperandSlot *regs,
                     unsigned numRegs, MatrixType type, double (*b)[8]);

/// What an mma computes, kept in Inst::imm.
struct MmaShape {
  uint16_t n = 8;
  uint8_t k = 16;
  MatrixType a = MatrixType::F16, b = MatrixType::F16;
  bool halfAccumulator = false;
  bool saturate = false;
  /// m8n8: rows 8 to 15 do not exist.
  bool eightRows = false;
};
static_assert(sizeof(MmaShape) == 8, "fits Inst::imm");

PTXSIM_INLINE MmaShape unpackMma(const Inst &inst) {
  return bitCast<MmaShape>(inst.imm);
}

void mmaHandler(Warp &, const Inst &, uint32_t);
/// mma of f64; Inst::count: elements of K, Inst::op: rows.
void mmaDoubleHandler(Warp &, const Inst &, uint32_t);

/// mma.m8n8k4 of f16, whose Inst::flags are QuadFlags.
enum : uint8_t {
  QuadColumnsA = 1,
  QuadColumnsB = 2,
  QuadHalfD = 4,
  QuadHalfC = 8
};
void mmaQuadsHandler(Warp &, const Inst &, uint32_t);
/// mma of 16 x 8 x k with scales for blocks of K; f32 accumulators. Behind the
/// matrices come the scales of A, two selectors for them, and those of B.
struct ScaledMma {
  MatrixType a = MatrixType::E4M3, b = MatrixType::E4M3;
  uint8_t k = 32;
  /// Scales of a row of A or a column of B.
  uint8_t blocks = 1;
  /// Of ue4m3; else of ue8m0.
  bool fractions = false;
  uint8_t unused[3] = {};
};
static_assert(sizeof(ScaledMma) == 8, "fits Inst::imm");
void mmaScaledHandler(Warp &, const Inst &, uint32_t);
/// mma of single bits; Inst::count: 32-bit words of K, Inst::op: rows,
/// Inst::flags: 1 for .and, else .xor.
void mmaBitsHandler(Warp &, const Inst &, uint32_t);

// ldmatrix, stmatrix, movmatrix (MatrixMove.cpp)

/// Inst::count: matrices of rows of 16 bytes; Inst::flags: transposed. The
/// rows have elements of two bytes.
void ldmatrixHandler(Warp &, const Inst &, uint32_t);
void stmatrixHandler(Warp &, const Inst &, uint32_t);
/// Matrices of 16 elements a row, each a byte of a register; Inst::size: their
/// bits in memory, 8, 6 or 4. Transposed: 16 rows, and two registers a matrix.
void ldmatrixBytesHandler(Warp &, const Inst &, uint32_t);
/// 16 x 8 bytes, stored by columns.
void stmatrixBytesHandler(Warp &, const Inst &, uint32_t);
void movmatrixHandler(Warp &, const Inst &, uint32_t);

// wmma (Wmma.cpp)

enum class WmmaRole : uint8_t { A, B, Accumulator };

/// m x k times k x n.
struct WmmaShape {
  uint8_t m = 16, n = 16, k = 16;
};
constexpr WmmaShape wmmaShapes[] = {
    {16, 16, 16}, {8, 32, 16}, {32, 8, 16}, {16, 16, 8}};

/// A matrix in memory and in registers.
struct WmmaFragment : WmmaShape {
  WmmaRole role = WmmaRole::A;
  /// Of an element: 1, 2 or 4.
  uint8_t bytes = 2;
  bool columnMajor = false;
};

/// What a wmma.mma computes, kept in Inst::imm.
struct WmmaProduct : WmmaShape {
  MatrixType a = MatrixType::F16, b = MatrixType::F16;
  bool halfD = false, halfC = false;
  bool saturate = false;
};
static_assert(sizeof(WmmaProduct) == 8, "fits Inst::imm");

/// Registers of `lines` rows of A or columns of B with k elements each.
inline unsigned wmmaRegisters(MatrixType type, unsigned lines, unsigned k) {
  return type == MatrixType::F16 ? 8 : lines * k * matrixBits(type) / 1024;
}

/// Inst::op: index of the shape; Inst::size: bytes of an element; Inst::flags:
/// the role, and whether the matrix is column-major; Inst::count: registers;
/// Inst::c: elements from line to line.
enum : uint8_t { WmmaRoleShift = 6, WmmaColumnMajor = 32 };
void wmmaLoadHandler(Warp &, const Inst &, uint32_t);
void wmmaStoreHandler(Warp &, const Inst &, uint32_t);
void wmmaHandler(Warp &, const Inst &, uint32_t);

// wgmma (Wgmma.cpp)

/// Inst::flags: sources of A, sign changes and major-ness.
enum : uint8_t {
  WgmmaARegisters = 1,
  WgmmaNegateA = 2,
  WgmmaNegateB = 4,
  WgmmaTransposeA = 8,
  WgmmaTransposeB = 16
};
void wgmmaHandler(Warp &, const Inst &, uint32_t);
void wgmmaFenceHandler(Warp &, const Inst &, uint32_t);
void wgmmaCommitHandler(Warp &, const Inst &, uint32_t);
void wgmmaWaitHandler(Warp &, const Inst &, uint32_t);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_MATRIX_H
