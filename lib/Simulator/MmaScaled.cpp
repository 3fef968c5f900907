// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mma with scales: each row of A and column of B has one for every block of K.
//
// A register of a lane holds four scales. Of the lanes 4 g to 4 g + 3 a pair,
// which a selector names, has those of rows g and g + 8 of A, and one lane
// those of column g of B; another selector names the first byte.
#include "FloatFormats.h"
#include "Matrix.h"
#include "State.h"

using namespace ptxsim;

namespace {

double decodeScale(uint8_t code, bool fractions) {
  if (fractions)
    return double(decode<E4M3>(code & 0x7f));
  if (code == 255)
    return double(bitCast<float>(canonicalNaN32));
  return bitCast<double>(uint64_t(code + 1023 - 127) << 52);
}

/// The scales that a register's lanes hold.
class Scales {
public:
  /// The selectors are the same in all lanes.
  Scales(Warp &w, const OperandSlot *operands, const ScaledMma &shape)
      : words(w.reg<uint32_t>(operands[0].slot)), shape(shape),
        firstByte(unsigned(readLane(w, operands[1].slot, 2, 0)) & 3),
        selected(unsigned(readLane(w, operands[2].slot, 2, 0)) & 3) {}

  double ofRow(unsigned row, unsigned k) const {
    return at(row % 8 * 4 + (selected & 1) * 2 + row / 8, k);
  }
  double ofColumn(unsigned column, unsigned k) const {
    return at(column * 4 + selected, k);
  }

private:
  double at(unsigned lane, unsigned k) const {
    unsigned byte = (firstByte + k * shape.blocks / shape.k) & 3;
    return decodeScale(uint8_t(words[lane] >> 8 * byte), shape.fractions);
  }

  const uint32_t *words;
  const ScaledMma &shape;
  unsigned firstByte, selected;
};

} // namespace

void ptxsim::mmaScaledHandler(Warp &w, const Inst &i, uint32_t mask) {
  auto shape = bitCast<ScaledMma>(i.imm);
  constexpr unsigned numA = 4, numB = 2, numC = 4;
  const OperandSlot *d = w.operands + i.operands, *ra = d + numC,
                    *rb = ra + numA, *rc = rb + numB, *scales = rc + numC;
  double a[16 * 64], b[64][8], sum[16][8];
  gatherFragmentA(w, ra, numA, shape.a, a, shape.k);
  gatherFragmentB(w, rb, numB, shape.b, b);
  Scales scalesA(w, scales, shape), scalesB(w, scales + 3, shape);
  for (unsigned r = 0; r < numC; ++r)
    for (unsigned l = 0; l < 32; ++l)
      sum[l / 4 + r / 2 * 8][l % 4 * 2 + r % 2] =
          double(w.reg<float>(rc[r].slot)[l]);
  for (unsigned e = 0; e < shape.k; ++e)
    for (unsigned column = 0; column < 8; ++column)
      b[e][column] *= scalesB.ofColumn(column, e);
  for (unsigned row = 0; row < 16; ++row)
    for (unsigned e = 0; e < shape.k; ++e) {
      double x = a[row * shape.k + e] * scalesA.ofRow(row, e);
      for (unsigned column = 0; column < 8; ++column)
        sum[row][column] += x * b[e][column];
    }
  for (unsigned r = 0; r < numC; ++r) {
    float *reg = w.reg<float>(d[r].slot);
    forLanes(mask, [&, reg, r](unsigned l) {
      reg[l] = roundAccumulator(sum[l / 4 + r / 2 * 8][l % 4 * 2 + r % 2]);
    });
  }
}
