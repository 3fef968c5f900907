// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma: products of matrices that the registers of a warp hold.
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
  case MatrixType::E2M1:
    return double(decode<E2M1>(uint8_t(row[index]) >> 2 & 15));
  case MatrixType::E2M3:
    return double(decode<E2M3>(uint8_t(row[index]) & 63));
  case MatrixType::E3M2:
    return double(decode<E3M2>(uint8_t(row[index]) & 63));
  case MatrixType::S8:
    return double(int8_t(row[index]));
  case MatrixType::U8:
    return double(uint8_t(row[index]));
  case MatrixType::S4:
  case MatrixType::U4:
  case MatrixType::E2M1Pair: {
    // The lower half of a byte comes first.
    int nibble = uint8_t(row[index / 2]) >> (index % 2 * 4) & 15;
    if (type == MatrixType::E2M1Pair)
      return double(decode<E2M1>(uint32_t(nibble)));
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
  case MatrixType::E2M1Pair:
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

void ptxsim::gatherFragmentB(const Warp &w, const OperandSlot *regs,
                             unsigned numRegs, MatrixType type,
                             double (*b)[8]) {
  unsigned bits = matrixBits(type), perReg = 32 / bits;
  for (unsigned r = 0; r < numRegs; ++r) {
    const char *reg = w.regs + regs[r].slot;
    for (unsigned l = 0; l < 32; ++l) {
      double values[8];
      decodeRow(type, reg + l * 4, perReg, values);
      unsigned first = (l % 4 * 32 + r * 128) / bits;
      for (unsigned e = 0; e < perReg; ++e)
        b[first + e][l / 4] = values[e];
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
  gatherFragmentB(w, rb, regsB, shape.b, b);
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

// Of m8n8k4 the lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3 compute the
// q-th of four products.

namespace {

/// Rows (of A and C) or columns (of B) of the upper lanes are the last four.
unsigned quadHalf(unsigned lane) { return lane < 16 ? 0 : 4; }

struct Place {
  unsigned row, column;
};

/// Element `e` of the accumulators of a lane.
Place quadPlace(unsigned lane, unsigned e, bool isHalf) {
  if (isHalf)
    return {lane % 4 + quadHalf(lane), e};
  return {(lane & 1) + (e & 2) + quadHalf(lane),
          (e & 4) + (lane & 2) + (e & 1)};
}

} // namespace

void ptxsim::mmaQuadsHandler(Warp &w, const Inst &i, uint32_t mask) {
  bool halfD = i.flags & QuadHalfD, halfC = i.flags & QuadHalfC;
  const OperandSlot *d = w.operands + i.operands, *ra = d + (halfD ? 4 : 8),
                    *rb = ra + 2, *rc = rb + 2;
  auto half = [&](const OperandSlot *regs, unsigned lane, unsigned e) {
    return double(
        halfToFloat(w.reg<uint16_t>(regs[e / 2].slot)[lane * 2 + e % 2]));
  };
  double a[4][8][4], b[4][4][8], sum[4][8][8];
  for (unsigned l = 0; l < 32; ++l) {
    unsigned q = l % 16 / 4;
    for (unsigned e = 0; e < 4; ++e) {
      if (i.flags & QuadColumnsA)
        a[q][e + quadHalf(l)][l % 4] = half(ra, l, e);
      else
        a[q][l % 4 + quadHalf(l)][e] = half(ra, l, e);
      if (i.flags & QuadColumnsB)
        b[q][e][l % 4 + quadHalf(l)] = half(rb, l, e);
      else
        b[q][l % 4][e + quadHalf(l)] = half(rb, l, e);
    }
    for (unsigned e = 0; e < 8; ++e) {
      Place p = quadPlace(l, e, halfC);
      sum[q][p.row][p.column] =
          halfC ? half(rc, l, e) : double(w.reg<float>(rc[e].slot)[l]);
    }
  }
  for (unsigned q = 0; q < 4; ++q)
    for (unsigned row = 0; row < 8; ++row)
      for (unsigned column = 0; column < 8; ++column)
        for (unsigned e = 0; e < 4; ++e)
          sum[q][row][column] += a[q][row][e] * b[q][e][column];
  for (unsigned e = 0; e < 8; ++e)
    forLanes(mask, [&, e](unsigned l) {
      Place p = quadPlace(l, e, halfD);
      double value = sum[l % 16 / 4][p.row][p.column];
      if (halfD)
        w.reg<uint16_t>(d[e / 2].slot)[l * 2 + e % 2] =
            floatToHalf(toFloatRoundToOdd(value));
      else
        w.reg<float>(d[e].slot)[l] = roundAccumulator(value);
    });
}

void ptxsim::mmaBitsHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned perColumn = i.op / 8u, words = i.count;
  const OperandSlot *d = w.operands + i.operands, *ra = d + 2 * perColumn,
                    *rb = ra + words / 4 * perColumn, *c = rb + words / 4;
  uint32_t a[16][8], b[8][8], results[4][32];
  for (unsigned l = 0; l < 32; ++l) {
    unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < words / 4 * perColumn; ++r)
      a[g + r % perColumn * 8][r / perColumn * 4 + t] =
          w.reg<uint32_t>(ra[r].slot)[l];
    for (unsigned r = 0; r < words / 4; ++r)
      b[g][r * 4 + t] = w.reg<uint32_t>(rb[r].slot)[l];
  }
  for (unsigned r = 0; r < 2 * perColumn; ++r)
    for (unsigned l = 0; l < 32; ++l) {
      unsigned row = l / 4 + r / 2 * 8, column = l % 4 * 2 + r % 2;
      uint32_t sum = w.reg<uint32_t>(c[r].slot)[l];
      for (unsigned k = 0; k < words; ++k) {
        uint32_t x = a[row][k], y = b[column][k];
        sum += uint32_t(__builtin_popcount(i.flags ? x & y : x ^ y));
      }
      results[r][l] = sum;
    }
  for (unsigned r = 0; r < 2 * perColumn; ++r) {
    uint32_t *reg = w.reg<uint32_t>(d[r].slot);
    forLanes(mask, [=, &results](unsigned l) { reg[l] = results[r][l]; });
  }
}
