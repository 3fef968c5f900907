// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Number formats narrower than float, exactly. NaN results are canonical, as
// NVIDIA's are: all ones but the sign.
#ifndef KVCACHE_LIB_SIMULATOR_FLOATFORMATS_H
#define KVCACHE_LIB_SIMULATOR_FLOATFORMATS_H

#include "Inst.h"

namespace ptxsim {

constexpr uint32_t canonicalNaN32 = 0x7fffffff;
constexpr uint16_t canonicalNaN16 = 0x7fff;
/// The NaN that tensor copies fill with, which fma.oob takes for zero; wider
/// types repeat it.
constexpr uint16_t outsideNaN16 = 0x7ff7;

/// A binary format of 1 + Exponent + Mantissa bits.
enum class NaNKind : uint8_t {
  /// Exponent all ones is infinity and NaN, as in IEEE 754.
  Ieee,
  /// Only all ones is NaN; no infinity (e4m3).
  AllOnes,
  /// Every code is a finite number (e2m1, e2m3, e3m2).
  Finite
};
template <unsigned Exponent, unsigned Mantissa, NaNKind Kind> struct Format {
  static constexpr unsigned exponent = Exponent, mantissa = Mantissa;
  static constexpr NaNKind kind = Kind;
  static constexpr int bias = (1 << (Exponent - 1)) - 1;
  static constexpr unsigned bits = 1 + Exponent + Mantissa;
  static constexpr uint32_t signBit = 1u << (Exponent + Mantissa);
  static constexpr uint32_t allOnes = signBit - 1;
  static constexpr uint32_t infinity = ((1u << Exponent) - 1) << Mantissa;
  static constexpr uint32_t maxFinite = Kind == NaNKind::Ieee ? infinity - 1
                                        : Kind == NaNKind::AllOnes ? allOnes - 1
                                                                   : allOnes;
};
using Half = Format<5, 10, NaNKind::Ieee>;
using BFloat = Format<8, 7, NaNKind::Ieee>;
using E4M3 = Format<4, 3, NaNKind::AllOnes>;
using E5M2 = Format<5, 2, NaNKind::Ieee>;
using E2M1 = Format<2, 1, NaNKind::Finite>;
using E2M3 = Format<2, 3, NaNKind::Finite>;
using E3M2 = Format<3, 2, NaNKind::Finite>;

/// What happens beyond the largest finite number.
enum class Overflow : uint8_t { Infinity, Saturate };

/// Decodes exactly; every format here fits a float.
template <typename F> PTXSIM_INLINE float decode(uint32_t code) {
  uint32_t magnitude = code & (F::signBit - 1);
  uint32_t sign = (code & F::signBit) << (32 - F::bits);
  // Scaling moves the bias and takes subnormal codes along.
  constexpr unsigned shift = 23 - F::mantissa;
  float scaled;
  if (F::exponent == 8) {
    scaled = bitCast<float>(magnitude << shift);
  } else {
    float scale = bitCast<float>(uint32_t(127 + 127 - F::bias) << 23);
    scaled = bitCast<float>(magnitude << shift) * scale;
  }
  uint32_t bits = bitCast<uint32_t>(scaled);
  if (F::kind == NaNKind::Ieee) {
    bits = magnitude == F::infinity ? 0x7f800000 : bits;
    bits = magnitude > F::infinity ? canonicalNaN32 : bits;
    sign = magnitude > F::infinity ? 0 : sign;
  } else if (F::kind == NaNKind::AllOnes) {
    bits = magnitude == F::allOnes ? canonicalNaN32 : bits;
    sign = magnitude == F::allOnes ? 0 : sign;
  }
  return bitCast<float>(bits | sign);
}

/// Rounds to nearest even. A NaN becomes the positive all-ones code, or the
/// largest number where the format has no NaN.
template <typename F, Overflow Mode> PTXSIM_INLINE uint32_t encode(float f) {
  uint32_t bits = bitCast<uint32_t>(f);
  uint32_t magnitude = bits & 0x7fffffff;
  uint32_t sign = (bits >> 31) << (F::bits - 1);
  constexpr unsigned shift = 23 - F::mantissa;
  uint32_t code;
  if (F::exponent == 8) {
    code = (magnitude + ((1u << (shift - 1)) - 1) + (magnitude >> shift & 1)) >>
           shift;
  } else {
    constexpr uint32_t smallestNormal = uint32_t(127 + 1 - F::bias) << 23;
    // Normal numbers round in place; others by an addition whose unit in the
    // last place is the format's smallest step.
    uint32_t normal =
        ((magnitude + ((1u << (shift - 1)) - 1) + (magnitude >> shift & 1)) >>
         shift) -
        (uint32_t(127 - F::bias) << F::mantissa);
    constexpr uint32_t magic =
        uint32_t(127 + 23 + 1 - F::bias - int(F::mantissa)) << 23;
    uint32_t subnormal =
        bitCast<uint32_t>(bitCast<float>(magnitude) + bitCast<float>(magic)) -
        magic;
    code = magnitude >= smallestNormal ? normal : subnormal;
  }
  constexpr uint32_t over =
      Mode == Overflow::Saturate || F::kind == NaNKind::Finite ? F::maxFinite
      : F::kind == NaNKind::Ieee                               ? F::infinity
                                                               : F::allOnes;
  code = code > F::maxFinite || magnitude >= 0x7f800000 ? over : code;
  code |= sign;
  uint32_t nan = F::kind == NaNKind::Finite ? F::maxFinite : F::allOnes;
  return magnitude > 0x7f800000 ? nan : code;
}

PTXSIM_INLINE float halfToFloat(uint16_t h) {
#if defined(__F16C__) && defined(__clang__)
  float f = float(bitCast<_Float16>(h));
  return bitCast<float>(f == f ? bitCast<uint32_t>(f) : canonicalNaN32);
#else
  return decode<Half>(h);
#endif
}
PTXSIM_INLINE uint16_t floatToHalf(float f) {
#if defined(__F16C__) && defined(__clang__)
  uint16_t h = bitCast<uint16_t>(_Float16(f));
  return f == f ? h : canonicalNaN16;
#else
  return uint16_t(encode<Half, Overflow::Infinity>(f));
#endif
}
PTXSIM_INLINE float bfloatToFloat(uint16_t b) {
  return bitCast<float>(uint32_t(b) << 16);
}
PTXSIM_INLINE uint16_t floatToBfloat(float f) {
  return uint16_t(encode<BFloat, Overflow::Infinity>(f));
}

PTXSIM_INLINE float flushDenormal(float f) {
  uint32_t bits = bitCast<uint32_t>(f);
  return bitCast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}
PTXSIM_INLINE uint16_t flushDenormalHalf(uint16_t h) {
  return (h & 0x7c00) == 0 ? uint16_t(h & 0x8000) : h;
}

/// value + error is the exact sum; makes the last bit odd if the sum is
/// inexact, so that a second rounding to a narrower format is right.
PTXSIM_INLINE float addRoundToOdd(float x, float y) {
  float s = x + y;
  float xx = s - y;
  float error = (x - xx) + (y - (s - xx));
  uint32_t bits = bitCast<uint32_t>(s);
  bool inexact = error != 0 && (bits & 0x7f800000) != 0x7f800000;
  // Even last bit: step towards the error.
  bool away = (error > 0) == (s > 0);
  uint32_t odd = bits & 1 ? bits : away ? bits + 1 : bits - 1;
  return bitCast<float>(inexact ? odd : bits);
}
PTXSIM_INLINE double addRoundToOdd(double x, double y) {
  double s = x + y;
  double xx = s - y;
  double error = (x - xx) + (y - (s - xx));
  uint64_t bits = bitCast<uint64_t>(s);
  bool inexact =
      error != 0 && (bits & 0x7ff0000000000000) != 0x7ff0000000000000;
  bool away = (error > 0) == (s > 0);
  uint64_t odd = bits & 1 ? bits : away ? bits + 1 : bits - 1;
  return bitCast<double>(inexact ? odd : bits);
}
/// double to float, rounding to odd.
PTXSIM_INLINE float toFloatRoundToOdd(double d) {
  float f = float(d);
  double back = double(f);
  uint32_t bits = bitCast<uint32_t>(f);
  bool inexact = back != d && d == d;
  // Take the neighbour of smaller magnitude and set its last bit.
  bool larger = (back < 0 ? -back : back) > (d < 0 ? -d : d);
  uint32_t truncated = larger ? bits - 1 : bits;
  return bitCast<float>(inexact ? truncated | 1 : bits);
}

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_FLOATFORMATS_H
