// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt.rs: the bits that are discarded carry into the result where given random
// bits are added to them.
//
// The random bits stand at the upper end of the discarded ones. The PTX manual
// says which of a register serve which sources; that a pair of 8-bit results
// shares 16, the first of it in reverse order, is what hardware has been seen
// to do. The same is taken for results of 6 and 4 bits.
#include "FloatFormats.h"
#include "Handlers.h"

using namespace ptxsim;

namespace {

/// The code of a number, rounded by `randomBits` bits.
template <typename F>
uint32_t roundByBits(float f, uint32_t random, unsigned randomBits,
                     bool satfinite) {
  uint32_t bits = bitCast<uint32_t>(f), magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return F::kind == NaNKind::Finite ? F::maxFinite : F::allOnes;
  uint32_t sign = bits >> 31 ? F::signBit : 0;
  uint32_t over =
      satfinite || F::kind != NaNKind::Ieee ? F::maxFinite : F::infinity;
  if (magnitude == 0x7f800000)
    return sign | over;
  // An f32 subnormal has the smallest exponent and no leading one.
  int exponent = int(magnitude >> 23);
  uint64_t mantissa = magnitude & 0x7fffff;
  if (exponent)
    mantissa |= 0x800000;
  else
    exponent = 1;
  int above = exponent - 127 - (1 - F::bias);
  unsigned discarded = 23 - F::mantissa + unsigned(above < 0 ? -above : 0);
  if (discarded > 48)
    return sign;
  uint64_t kept =
      (mantissa + (uint64_t(random) << (discarded - randomBits))) >> discarded;
  uint64_t code = kept + (uint64_t(above > 0 ? above : 0) << F::mantissa);
  return sign | (code > F::maxFinite ? over : uint32_t(code));
}

uint32_t reverse16(uint32_t bits) {
  uint32_t reversed = 0;
  for (unsigned k = 0; k < 16; ++k)
    reversed |= (bits >> k & 1) << (15 - k);
  return reversed;
}

/// The random bits of `count` results, that in the upper end of the register
/// first.
template <typename F> void spreadRandom(uint32_t random, uint32_t *spread) {
  uint32_t high = random >> 16, low = random & 0xffff;
  if (F::bits == 16) {
    // As many as are discarded.
    constexpr uint32_t ones = (1u << (23 - F::mantissa)) - 1;
    spread[0] = high & ones;
    spread[1] = low & ones;
    return;
  }
  if (F::bits == 4) {
    uint32_t upper = (high & 0xff00) | low >> 8;
    low = (high & 0xff) << 8 | (low & 0xff);
    high = upper;
  }
  spread[0] = reverse16(high);
  spread[1] = high;
  spread[2] = reverse16(low);
  spread[3] = low;
}

template <typename F> void stochastic(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned step = F::bits <= 4 ? 4 : F::bits <= 8 ? 8 : 16;
  constexpr unsigned count = F::bits == 16 ? 2 : 4;
  constexpr unsigned randomBits = F::bits == 16 ? 23 - F::mantissa : 16;
  const uint32_t *random = w.reg<uint32_t>(i.a);
  const OperandSlot *sources = w.operands + i.operands;
  forLanes(mask, [&](unsigned l) {
    uint32_t spread[4], packed = 0;
    spreadRandom<F>(random[l], spread);
    for (unsigned k = 0; k < count; ++k) {
      float f = w.reg<float>(sources[k].slot)[l];
      if (i.flags & CvtRelu && !(f > 0) && f == f)
        f = 0;
      packed = packed << step |
               roundByBits<F>(f, spread[k], randomBits, i.flags & CvtSatfinite);
    }
    writeLane(w, i.dst, i.dstWidth, l, packed);
  });
}

} // namespace

Handler ptxsim::stochasticHandler(Type to) {
  switch (to) {
  case Type::F16x2:
    return stochastic<Half>;
  case Type::BF16x2:
    return stochastic<BFloat>;
  case Type::E4M3x4:
    return stochastic<E4M3>;
  case Type::E5M2x4:
    return stochastic<E5M2>;
  case Type::E2M1x4:
    return stochastic<E2M1>;
  case Type::E2M3x4:
    return stochastic<E2M3>;
  case Type::E3M2x4:
    return stochastic<E3M2>;
  default:
    return nullptr;
  }
}
