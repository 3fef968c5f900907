// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt of packed pairs: f16x2, bf16x2, and the 8-, 6- and 4-bit formats.
//
// `cvt.to.f32 d, a, b` puts a into the upper half of d and b into the lower.
#include "../FloatFormats.h"
#include "Isa.h"

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

PTXSIM_INLINE float relu(float f) {
  // NaN stays, everything else that is not positive becomes +0.
  return f > 0 || f != f ? f : 0.0f;
}

/// The pair packed by its format; two formats have a code of their own width
/// less than a byte.
template <typename F> struct Packed {
  static constexpr unsigned step = F::bits <= 4 ? 4 : F::bits <= 8 ? 8 : 16;
};

// From two f32 ---------------------------------------------------------------

template <typename F, Overflow Mode>
void pairFromFloat(Warp &w, const Inst &i, uint32_t mask) {
  if (Mode == Overflow::Infinity && i.flags & CvtSatfinite)
    return pairFromFloat<F, Overflow::Saturate>(w, i, mask);
  constexpr unsigned step = Packed<F>::step;
  const float *a = w.reg<float>(i.a), *b = w.reg<float>(i.b);
  bool doRelu = i.flags & CvtRelu;
  auto pack = [=](unsigned l) {
    float high = doRelu ? relu(a[l]) : a[l], low = doRelu ? relu(b[l]) : b[l];
    return encode<F, Mode>(high) << step | encode<F, Mode>(low);
  };
  if (i.dstWidth == 4) {
    uint32_t *d = w.reg<uint32_t>(i.dst);
    setLanes(mask, d, [=](unsigned l) { return pack(l); });
  } else {
    uint16_t *d = w.reg<uint16_t>(i.dst);
    setLanes(mask, d, [=](unsigned l) { return uint16_t(pack(l)); });
  }
}

/// Towards zero, for f16x2 and bf16x2.
template <typename F>
void pairFromFloatRz(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const float *a = w.reg<float>(i.a), *b = w.reg<float>(i.b);
  bool doRelu = i.flags & CvtRelu, satfinite = i.flags & CvtSatfinite;
  auto truncate = [=](float f) -> uint32_t {
    f = doRelu ? relu(f) : f;
    uint32_t code = encode<F, Overflow::Saturate>(f);
    if (!satfinite && (bitCast<uint32_t>(f) & 0x7fffffff) == 0x7f800000)
      return F::infinity | (f < 0 ? F::signBit : 0);
    // Nearest may have gone up; one step back then.
    float back = decode<F>(code);
    float x = f < 0 ? -f : f, y = back < 0 ? -back : back;
    return y > x ? code - 1 : code;
  };
  setLanes(mask, d,
           [=](unsigned l) { return truncate(a[l]) << 16 | truncate(b[l]); });
}

// From a packed pair ---------------------------------------------------------

/// To f16x2: every code of these formats is exact in f16.
template <typename F> void pairToHalf(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned step = Packed<F>::step;
  constexpr uint32_t ones = (1u << F::bits) - 1;
  const uint16_t *a = w.reg<uint16_t>(i.a);
  uint32_t *d = w.reg<uint32_t>(i.dst);
  bool doRelu = i.flags & CvtRelu;
  setLanes(mask, d, [=](unsigned l) {
    float low = decode<F>(a[l] & ones), high = decode<F>(a[l] >> step & ones);
    low = doRelu ? relu(low) : low;
    high = doRelu ? relu(high) : high;
    return uint32_t(floatToHalf(high)) << 16 | floatToHalf(low);
  });
}

template <typename F, Overflow Mode>
void pairFromHalf(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned step = Packed<F>::step;
  const uint32_t *a = w.reg<uint32_t>(i.a);
  uint16_t *d = w.reg<uint16_t>(i.dst);
  bool doRelu = i.flags & CvtRelu;
  setLanes(mask, d, [=](unsigned l) {
    float low = halfToFloat(uint16_t(a[l]));
    float high = halfToFloat(uint16_t(a[l] >> 16));
    low = doRelu ? relu(low) : low;
    high = doRelu ? relu(high) : high;
    return uint16_t(encode<F, Mode>(high) << step | encode<F, Mode>(low));
  });
}

// ue8m0: a power of two, 2^(code-127); 255 is NaN. ----------------------------

template <bool Up> PTXSIM_INLINE uint32_t encodeE8M0(float f, bool satfinite) {
  uint32_t bits = bitCast<uint32_t>(f);
  uint32_t magnitude = bits & 0x7fffffff;
  // The exponent of a subnormal f32: 2^-127 is the smallest code, 0.
  uint32_t exponent = magnitude >> 23;
  uint32_t fraction = magnitude & 0x7fffff;
  uint32_t code = exponent;
  // Subnormals: 2^-127 has the fraction 0x400000.
  if (Up)
    code = exponent == 0 ? (fraction > 0x400000 ? 1u : 0u)
                         : exponent + (fraction != 0 ? 1u : 0u);
  if (magnitude > 0x7f800000)
    return 255;
  code = code > 254 ? (satfinite ? 254u : 255u) : code;
  return code;
}

template <bool Up, bool FromBfloat>
void pairToE8M0(Warp &w, const Inst &i, uint32_t mask) {
  uint16_t *d = w.reg<uint16_t>(i.dst);
  bool satfinite = i.flags & CvtSatfinite;
  if (FromBfloat) {
    const uint32_t *a = w.reg<uint32_t>(i.a);
    setLanes(mask, d, [=](unsigned l) {
      uint32_t low = encodeE8M0<Up>(bfloatToFloat(uint16_t(a[l])), satfinite);
      uint32_t high =
          encodeE8M0<Up>(bfloatToFloat(uint16_t(a[l] >> 16)), satfinite);
      return uint16_t(high << 8 | low);
    });
    return;
  }
  const float *a = w.reg<float>(i.a), *b = w.reg<float>(i.b);
  setLanes(mask, d, [=](unsigned l) {
    return uint16_t(encodeE8M0<Up>(a[l], satfinite) << 8 |
                    encodeE8M0<Up>(b[l], satfinite));
  });
}

void pairFromE8M0(Warp &w, const Inst &i, uint32_t mask) {
  const uint16_t *a = w.reg<uint16_t>(i.a);
  uint32_t *d = w.reg<uint32_t>(i.dst);
  auto expand = [](uint32_t code) -> uint32_t {
    return code == 255 ? canonicalNaN16 : code == 0 ? 0x40u : code << 7;
  };
  setLanes(mask, d, [=](unsigned l) {
    return expand(a[l] >> 8) << 16 | expand(a[l] & 255);
  });
}

template <typename F> Handler pickFrom(Type from, bool toHalfOnly = false) {
  if (from == Type::F32 && !toHalfOnly)
    return pairFromFloat<F, Overflow::Saturate>;
  if (from == Type::F16x2)
    return pairFromHalf<F, Overflow::Saturate>;
  return nullptr;
}

} // namespace

Handler narrowConvertHandler(Type to, Type from, Rounding mode) {
  bool rn = mode == Rounding::Rn;
  switch (to) {
  case Type::F16x2:
    switch (from) {
    case Type::F32:
      return rn                     ? pairFromFloat<Half, Overflow::Infinity>
             : mode == Rounding::Rz ? pairFromFloatRz<Half>
                                    : nullptr;
    case Type::E4M3x2:
      return rn ? pairToHalf<E4M3> : nullptr;
    case Type::E5M2x2:
      return rn ? pairToHalf<E5M2> : nullptr;
    case Type::E2M1x2:
      return rn ? pairToHalf<E2M1> : nullptr;
    case Type::E2M3x2:
      return rn ? pairToHalf<E2M3> : nullptr;
    case Type::E3M2x2:
      return rn ? pairToHalf<E3M2> : nullptr;
    default:
      return nullptr;
    }
  case Type::BF16x2:
    if (from == Type::F32)
      return rn                     ? pairFromFloat<BFloat, Overflow::Infinity>
             : mode == Rounding::Rz ? pairFromFloatRz<BFloat>
                                    : nullptr;
    return from == Type::UE8M0x2 && rn ? pairFromE8M0 : nullptr;
  case Type::E4M3x2:
    return rn ? pickFrom<E4M3>(from) : nullptr;
  case Type::E5M2x2:
    return rn ? pickFrom<E5M2>(from) : nullptr;
  case Type::E2M1x2:
    return rn && from == Type::F32 ? pickFrom<E2M1>(from) : nullptr;
  case Type::E2M3x2:
    return rn && from == Type::F32 ? pickFrom<E2M3>(from) : nullptr;
  case Type::E3M2x2:
    return rn && from == Type::F32 ? pickFrom<E3M2>(from) : nullptr;
  case Type::UE8M0x2: {
    bool up = mode == Rounding::Rp;
    if (!up && mode != Rounding::Rz)
      return nullptr;
    if (from == Type::F32)
      return up ? pairToE8M0<true, false> : pairToE8M0<false, false>;
    if (from == Type::BF16x2)
      return up ? pairToE8M0<true, true> : pairToE8M0<false, true>;
    return nullptr;
  }
  default:
    return nullptr;
  }
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
