// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix instructions of a warp: ldmatrix, stmatrix, mma.
//
// Fragments follow one rule for all types when counted in bytes. With
// g = lane / 4 and t = lane % 4, a register of A holds the four bytes from
// 4 t on of row g (even registers) or g + 8 (odd ones), the third and fourth
// those 16 bytes further; a register of B the same of column g. Accumulators
// hold columns 2 t and 2 t + 1 of rows g and g + 8.
#include "Matrix.h"
#include "FloatFormats.h"
#include "Handlers.h"
#include "State.h"

#include <algorithm>
#include <cmath>

using namespace ptxsim;

/// Element `index` of a row.
static double matrixElement(MatrixType type, const char *row, unsigned index) {
  switch (type) {
  case MatrixType::F16: {
    uint16_t v;
    memcpy(&v, row + index * 2, 2);
    return double(halfToFloat(v));
  }
  case MatrixType::BF16: {
    uint16_t v;
    memcpy(&v, row + index * 2, 2);
    return double(bfloatToFloat(v));
  }
  case MatrixType::TF32: {
    // The low mantissa bits are ignored.
    uint32_t v;
    memcpy(&v, row + index * 4, 4);
    return double(bitCast<float>(v & 0xffffe000));
  }
  case MatrixType::E4M3:
    return double(decode<E4M3>(uint8_t(row[index])));
  case MatrixType::E5M2:
    return double(decode<E5M2>(uint8_t(row[index])));
  case MatrixType::S8:
    return double(int8_t(row[index]));
  case MatrixType::U8:
    return double(uint8_t(row[index]));
  case MatrixType::S4:
  case MatrixType::U4: {
    // The lower half of a byte comes first.
    int nibble = uint8_t(row[index / 2]) >> (index % 2 * 4) & 15;
    return double(type == MatrixType::S4 && nibble > 7 ? nibble - 16 : nibble);
  }
  }
  return 0;
}

unsigned ptxsim::matrixBits(MatrixType type) {
  switch (type) {
  case MatrixType::TF32:
    return 32;
  case MatrixType::F16:
  case MatrixType::BF16:
    return 16;
  case MatrixType::S4:
  case MatrixType::U4:
    return 4;
  default:
    return 8;
  }
}

float ptxsim::roundAccumulator(double value) {
  float f = float(value);
  return f == f ? f : bitCast<float>(canonicalNaN32);
}

uint32_t ptxsim::packAccumulator(double value, bool isInteger, bool saturate) {
  if (!isInteger)
    return bitCast<uint32_t>(roundAccumulator(value));
  // Sums of 64 products are far inside of 53 bits: exact.
  int64_t exact = int64_t(value);
  if (saturate)
    exact = std::min<int64_t>(std::max<int64_t>(exact, INT32_MIN), INT32_MAX);
  return uint32_t(exact);
}

void ptxsim::decodeRow(MatrixType type, const char *bytes, unsigned count,
                       double *out) {
  for (unsigned k = 0; k < count; ++k)
    out[k] = matrixElement(type, bytes, k);
}

// ldmatrix, stmatrix
// ----------------------------------------------------------------

/// Inst::count: matrices; flags: transposed.
void ptxsim::ldmatrixHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned rows = i.count * 8u;
  uint64_t addresses[32];
  for (unsigned l = 0; l < 32; ++l)
    addresses[l] = laneAddress(w, i, l);
  uint32_t readers = rows == 32 ? ~0u : (1u << rows) - 1;
  if (w.block->launch->instrumented)
    countAccess(w, i, readers & mask, addresses, 16, AccessMode::Read);
  uint16_t matrix[4][8][8] = {};
  for (unsigned l = 0; l < rows; ++l)
    if (const char *p = resolve(w, i, l, addresses[l], 16, 16, Space::Shared,
                                AccessMode::Read))
      memcpy(matrix[l / 8][l % 8], p, 16);
  for (unsigned k = 0; k < i.count; ++k) {
    uint32_t *d = w.reg<uint32_t>(w.operands[i.operands + k].slot);
    forLanes(mask, [&, d, k](unsigned l) {
      unsigned g = l / 4, t = l % 4;
      const auto &m = matrix[k];
      uint32_t low = i.flags ? m[2 * t][g] : m[g][2 * t];
      uint32_t high = i.flags ? m[2 * t + 1][g] : m[g][2 * t + 1];
      d[l] = high << 16 | low;
    });
  }
}

void ptxsim::stmatrixHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned rows = i.count * 8u;
  uint64_t addresses[32];
  for (unsigned l = 0; l < 32; ++l)
    addresses[l] = laneAddress(w, i, l);
  uint32_t writers = rows == 32 ? ~0u : (1u << rows) - 1;
  if (w.block->launch->instrumented)
    countAccess(w, i, writers & mask, addresses, 16, AccessMode::Write);
  uint16_t matrix[4][8][8] = {};
  for (unsigned k = 0; k < i.count; ++k) {
    const uint32_t *s = w.reg<uint32_t>(w.operands[i.operands + k].slot);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l / 4, t = l % 4;
      auto &m = matrix[k];
      (i.flags ? m[2 * t][g] : m[g][2 * t]) = uint16_t(s[l]);
      (i.flags ? m[2 * t + 1][g] : m[g][2 * t + 1]) = uint16_t(s[l] >> 16);
    }
  }
  for (unsigned l = 0; l < rows; ++l) {
    w.storeData = reinterpret_cast<const char *>(matrix[l / 8][l % 8]);
    char *p = resolve(w, i, l, addresses[l], 16, 16, Space::Shared,
                      AccessMode::Write);
    w.storeData = nullptr;
    if (p)
      memcpy(p, matrix[l / 8][l % 8], 16);
  }
  ++w.modifications;
}

void ptxsim::movmatrixHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint32_t *a = w.reg<uint32_t>(i.a);
  uint16_t matrix[8][8];
  for (unsigned l = 0; l < 32; ++l) {
    matrix[l / 4][l % 4 * 2] = uint16_t(a[l]);
    matrix[l / 4][l % 4 * 2 + 1] = uint16_t(a[l] >> 16);
  }
  uint32_t *d = w.reg<uint32_t>(i.dst);
  forLanes(mask, [&, d](unsigned l) {
    unsigned g = l / 4, t = l % 4;
    d[l] = uint32_t(matrix[2 * t + 1][g]) << 16 | matrix[2 * t][g];
  });
}

// mma
// ---------------------------------------------------------------------------------

void ptxsim::gatherFragmentA(const Warp &w, const OperandSlot *regs,
                             unsigned numRegs, MatrixType type, double *a,
                             unsigned k) {
  unsigned bits = matrixBits(type), perReg = 32 / bits;
  for (unsigned r = 0; r < numRegs; ++r) {
    const char *reg = w.regs + regs[r].slot;
    for (unsigned l = 0; l < 32; ++l) {
      unsigned row = l / 4 + (r & 1) * 8;
      unsigned first = (l % 4 * 32 + (r >> 1) * 128) / bits;
      decodeRow(type, reg + l * 4, perReg, a + row * k + first);
    }
  }
}

/// D = A B + C for 16 x 8 x k or 8 x 8 x k.
void ptxsim::mmaHandler(Warp &w, const Inst &i, uint32_t mask) {
  MmaShape shape = unpackMma(i);
  unsigned k = shape.k;
  const OperandSlot *o = w.operands + i.operands;
  unsigned accumulators = shape.halfAccumulator || shape.eightRows ? 2 : 4;
  unsigned regsB = k * matrixBits(shape.a) / 128;
  unsigned regsA = shape.eightRows ? regsB : 2 * regsB;
  const OperandSlot *d = o, *ra = o + accumulators, *rb = ra + regsA,
                    *c = rb + regsB;
  double a[16 * 64] = {}, b[64][8], sum[16][8] = {};
  gatherFragmentA(w, ra, regsA, shape.a, a, k);
  unsigned bitsB = matrixBits(shape.b), perReg = 32 / bitsB;
  for (unsigned r = 0; r < regsB; ++r) {
    const char *reg = w.regs + rb[r].slot;
    for (unsigned l = 0; l < 32; ++l) {
      double values[8];
      decodeRow(shape.b, reg + l * 4, perReg, values);
      unsigned first = (l % 4 * 32 + r * 128) / bitsB;
      for (unsigned e = 0; e < perReg; ++e)
        b[first + e][l / 4] = values[e];
    }
  }
  bool integer = isInteger(shape.a);
  for (unsigned r = 0; r < accumulators; ++r) {
    const char *reg = w.regs + c[r].slot;
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l / 4, t = l % 4;
      uint32_t bits;
      memcpy(&bits, reg + l * 4, 4);
      if (shape.halfAccumulator) {
        sum[g + 8 * r][2 * t] = double(halfToFloat(uint16_t(bits)));
        sum[g + 8 * r][2 * t + 1] = double(halfToFloat(uint16_t(bits >> 16)));
      } else {
        sum[g + 8 * (r >> 1)][2 * t + (r & 1)] =
            integer ? double(int32_t(bits)) : double(bitCast<float>(bits));
      }
    }
  }
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned e = 0; e < k; ++e) {
      double x = a[row * k + e];
      for (unsigned col = 0; col < 8; ++col)
        sum[row][col] += x * b[e][col];
    }
  for (unsigned r = 0; r < accumulators; ++r) {
    uint32_t *reg = w.reg<uint32_t>(d[r].slot);
    forLanes(mask, [&, reg, r](unsigned l) {
      unsigned g = l / 4, t = l % 4;
      if (shape.halfAccumulator) {
        const double *pair = &sum[g + 8 * r][2 * t];
        reg[l] = uint32_t(floatToHalf(toFloatRoundToOdd(pair[1]))) << 16 |
                 floatToHalf(toFloatRoundToOdd(pair[0]));
      } else {
        reg[l] = packAccumulator(sum[g + 8 * (r >> 1)][2 * t + (r & 1)],
                                 integer, shape.saturate);
      }
    });
  }
}

/// A lane holds elements of K by fours: of A rows g and g + 8 in turn, of B
/// column g; the accumulators are as above. Each product is added in turn, and
/// rounded once.
void ptxsim::mmaDoubleHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned k = i.count, rows = i.op, perColumn = rows / 8;
  const OperandSlot *d = w.operands + i.operands, *ra = d + 2 * perColumn,
                    *rb = ra + k / 4 * perColumn, *c = rb + k / 4;
  double a[16][16], b[16][8], results[4][32];
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < k / 4 * perColumn; ++r)
      a[g + r % perColumn * 8][r / perColumn * 4 + t] =
          w.reg<double>(ra[r].slot)[l];
    for (unsigned r = 0; r < k / 4; ++r)
      b[r * 4 + t][g] = w.reg<double>(rb[r].slot)[l];
  }
  for (unsigned r = 0; r < 2 * perColumn; ++r)
    for (unsigned l = 0; l < 32; ++l) {
      unsigned row = l / 4 + r / 2 * 8, column = l % 4 * 2 + r % 2;
      double sum = w.reg<double>(c[r].slot)[l];
      for (unsigned e = 0; e < k; ++e)
        sum = std::fma(a[row][e], b[e][column], sum);
      results[r][l] = sum;
    }
  for (unsigned r = 0; r < 2 * perColumn; ++r) {
    double *reg = w.reg<double>(d[r].slot);
    forLanes(mask, [=, &results](unsigned l) { reg[l] = results[r][l]; });
  }
}
