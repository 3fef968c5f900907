// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cvt between integers, f16, bf16, f32 and f64.
#include "../FloatFormats.h"
#include "Lanes.h"

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

// Floating types by tag: how they are held and widened.
struct F16 {
  using Store = uint16_t;
  static PTXSIM_INLINE double widen(Store v) { return double(halfToFloat(v)); }
  static constexpr int mantissa = 10, minExponent = -14, maxExponent = 15;
};
struct BF16 {
  using Store = uint16_t;
  static PTXSIM_INLINE double widen(Store v) {
    return double(bfloatToFloat(v));
  }
  static constexpr int mantissa = 7, minExponent = -126, maxExponent = 127;
};
struct F32 {
  using Store = float;
  static PTXSIM_INLINE double widen(Store v) { return double(v); }
  static constexpr int mantissa = 23, minExponent = -126, maxExponent = 127;
};
struct F64 {
  using Store = double;
  static PTXSIM_INLINE double widen(Store v) { return v; }
  static constexpr int mantissa = 52, minExponent = -1022, maxExponent = 1023;
};

PTXSIM_INLINE int highestBit(unsigned __int128 v) {
  uint64_t high = uint64_t(v >> 64), low = uint64_t(v);
  return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll(low);
}

/// Rounds sign * magnitude * 2^exponent to format F in any mode; the bits of
/// F. `magnitude` is not zero. This is the slow, obviously right way.
template <typename F>
PTXSIM_NOINLINE uint64_t roundExactly(bool negative,
                                      unsigned __int128 magnitude, int exponent,
                                      Rounding mode) {
  int top = highestBit(magnitude) + exponent;
  int lowest = (top < F::minExponent ? F::minExponent : top) - F::mantissa;
  int drop = lowest - exponent;
  unsigned __int128 kept;
  bool guard = false, sticky = false;
  if (drop <= 0) {
    // By the mantissa's bits at most, which the analyzer cannot know.
    kept = magnitude << (-drop & 127);
  } else if (drop > 127) {
    kept = 0;
    sticky = true;
  } else {
    kept = magnitude >> drop;
    guard = magnitude >> (drop - 1) & 1;
    sticky = (magnitude &
              ((static_cast<unsigned __int128>(1) << (drop - 1)) - 1)) != 0;
  }
  bool up = false;
  switch (mode) {
  case Rounding::Rz:
    break;
  case Rounding::Rm:
    up = negative && (guard || sticky);
    break;
  case Rounding::Rp:
    up = !negative && (guard || sticky);
    break;
  case Rounding::Rna:
    up = guard;
    break;
  default:
    up = guard && (sticky || (kept & 1));
  }
  uint64_t result = uint64_t(kept) + up;
  constexpr uint64_t one = uint64_t(1) << F::mantissa;
  int scale = lowest;
  if (result >= 2 * one) {
    result >>= 1;
    ++scale;
  }
  constexpr unsigned storeBits = sizeof(typename F::Store) * 8;
  constexpr uint64_t infinity = uint64_t(F::maxExponent * 2 + 1) << F::mantissa;
  uint64_t sign = uint64_t(negative) << (storeBits - 1);
  if (result < one)
    return sign | result; // subnormal
  int biased = scale + F::mantissa + F::maxExponent;
  if (biased > 2 * F::maxExponent) {
    bool toInfinity = mode == Rounding::Rn || mode == Rounding::Rna ||
                      (mode == Rounding::Rm && negative) ||
                      (mode == Rounding::Rp && !negative);
    return sign | (toInfinity ? infinity : infinity - 1);
  }
  return sign | (uint64_t(biased) << F::mantissa | (result - one));
}

template <typename F> PTXSIM_INLINE typename F::Store fromBits(uint64_t bits) {
  using U = UnsignedOf<sizeof(typename F::Store)>;
  return bitCast<typename F::Store>(U(bits));
}

template <typename F> constexpr uint64_t nanBits() {
  return sizeof(typename F::Store) == 8   ? 0x7fffffffffffffffull
         : sizeof(typename F::Store) == 4 ? canonicalNaN32
                                          : canonicalNaN16;
}

template <typename F>
typename F::Store roundDouble(double value, Rounding mode) {
  uint64_t bits = bitCast<uint64_t>(value);
  bool negative = bits >> 63;
  uint64_t magnitude = bits & 0x7fffffffffffffff;
  constexpr unsigned storeBits = sizeof(typename F::Store) * 8;
  if (magnitude > 0x7ff0000000000000)
    return fromBits<F>(nanBits<F>());
  uint64_t sign = uint64_t(negative) << (storeBits - 1);
  if (magnitude == 0)
    return fromBits<F>(sign);
  if (magnitude == 0x7ff0000000000000)
    return fromBits<F>(sign | uint64_t(F::maxExponent * 2 + 1) << F::mantissa);
  int field = int(magnitude >> 52);
  uint64_t mantissa = magnitude & 0xfffffffffffff;
  if (field)
    mantissa |= uint64_t(1) << 52;
  return fromBits<F>(
      roundExactly<F>(negative, mantissa, (field ? field : 1) - 1075, mode));
}

template <typename F>
typename F::Store roundInteger(bool negative, uint64_t magnitude,
                               Rounding mode) {
  if (magnitude == 0)
    return fromBits<F>(0);
  return fromBits<F>(roundExactly<F>(negative, magnitude, 0, mode));
}

template <typename T> constexpr bool isSignedType = T(-1) < T(0);
template <typename T>
constexpr T lowest =
    isSignedType<T> ? T(uint64_t(1) << (sizeof(T) * 8 - 1)) : T(0);
template <typename T> constexpr T highest = T(~uint64_t(lowest<T>));

// Integer to integer -------------------------------------------------------

template <typename D, typename S> PTXSIM_INLINE D saturated(S v) {
  if (isSignedType<S> && v < 0) {
    if (!isSignedType<D>)
      return 0;
    return int64_t(v) < int64_t(lowest<D>) ? lowest<D> : D(v);
  }
  return uint64_t(v) > uint64_t(highest<D>) ? highest<D> : D(v);
}

template <typename D, typename S, bool Saturate>
void intToInt(Warp &w, const Inst &i, uint32_t mask) {
  S in[32];
  D out[32];
  loadLanes<S>(w, i.a, i.aWidth, in);
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    out[l] = Saturate ? saturated<D>(in[l]) : D(in[l]);
  storeLanes<D>(w, i.dst, i.dstWidth, mask, out);
}

// Integer to float ----------------------------------------------------------

template <typename F, typename S>
void intToFloat(Warp &w, const Inst &i, uint32_t mask) {
  using Store = typename F::Store;
  S in[32];
  Store out[32];
  loadLanes<S>(w, i.a, i.aWidth, in);
  if (Rounding(i.op) == Rounding::Rn && sizeof(Store) > 2) {
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      out[l] = Store(in[l]);
  } else {
    for (unsigned l = 0; l < 32; ++l) {
      bool negative = isSignedType<S> && in[l] < 0;
      uint64_t magnitude =
          negative ? uint64_t(0) - uint64_t(in[l]) : uint64_t(in[l]);
      out[l] = roundInteger<F>(negative, magnitude, Rounding(i.op));
    }
  }
  if (i.flags & CvtSat)
    for (unsigned l = 0; l < 32; ++l) {
      double v = F::widen(out[l]);
      out[l] = v >= 1  ? roundInteger<F>(false, 1, Rounding::Rn)
               : v > 0 ? out[l]
                       : fromBits<F>(0);
    }
  storeLanes<Store>(w, i.dst, i.dstWidth, mask, out);
}

// From floats --------------------------------------------------------------

// Stages are functions of 32 lanes each: a conversion is one of 4 times 12
// pairs of types, each with modes and flags.

template <typename F>
PTXSIM_NOINLINE void widenLanes(Warp &w, const Inst &i, double *out) {
  typename F::Store in[32];
  loadLanes<typename F::Store>(w, i.a, i.aWidth, in);
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    out[l] = F::widen(in[l]);
  if (i.flags & CvtFtz && sizeof(typename F::Store) == 4)
    PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    out[l] = double(flushDenormal(float(out[l])));
}

PTXSIM_NOINLINE void roundLanes(double *v, Rounding mode) {
  auto each = [&](auto round) {
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      v[l] = round(v[l]);
  };
  switch (mode) {
  case Rounding::Rzi:
    return each([](double x) { return __builtin_trunc(x); });
  case Rounding::Rmi:
    return each([](double x) { return __builtin_floor(x); });
  case Rounding::Rpi:
    return each([](double x) { return __builtin_ceil(x); });
  default:
    return each([](double x) { return __builtin_rint(x); });
  }
}

// Float to integer ----------------------------------------------------------

/// Integral values as integers: those beyond the type as its nearest.
template <typename D>
PTXSIM_NOINLINE void toIntLanes(const double *in, D nan, D *out) {
  // 2^bits is exact; the conversion of anything below is defined.
  constexpr double limit =
      double(uint64_t(1) << (sizeof(D) * 8 - 1)) * (isSignedType<D> ? 1 : 2);
  constexpr double low = isSignedType<D> ? -limit : 0.0;
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l) {
    double r = in[l];
    bool inside = r >= low && r < limit;
    D converted = inside ? D(r) : D(0);
    out[l] = r != r       ? nan
             : r < low    ? lowest<D>
             : r >= limit ? highest<D>
                          : converted;
  }
}

template <typename D, typename F>
void floatToInt(Warp &w, const Inst &i, uint32_t mask) {
  // NVIDIA's rule: NaN gives the top bit from f64 or to 64 bits, 0 otherwise.
  constexpr D nan = sizeof(D) == 8 || sizeof(typename F::Store) == 8
                        ? D(uint64_t(1) << (sizeof(D) * 8 - 1))
                        : D(0);
  double values[32];
  D out[32];
  widenLanes<F>(w, i, values);
  roundLanes(values, Rounding(i.op));
  toIntLanes<D>(values, nan, out);
  storeLanes<D>(w, i.dst, i.dstWidth, mask, out);
}

// Float to float ------------------------------------------------------------

template <typename To> PTXSIM_INLINE typename To::Store narrow(double v);
template <> PTXSIM_INLINE double narrow<F64>(double v) { return v; }
template <> PTXSIM_INLINE float narrow<F32>(double v) {
  float f = float(v);
  return bitCast<float>(f == f ? bitCast<uint32_t>(f) : canonicalNaN32);
}
template <> PTXSIM_INLINE uint16_t narrow<F16>(double v) {
  return floatToHalf(toFloatRoundToOdd(v));
}
template <> PTXSIM_INLINE uint16_t narrow<BF16>(double v) {
  return floatToBfloat(toFloatRoundToOdd(v));
}

template <typename To>
PTXSIM_NOINLINE void narrowLanes(const double *in, Rounding mode,
                                 typename To::Store *out) {
  if (mode >= Rounding::Rz && mode < Rounding::Rni) {
    for (unsigned l = 0; l < 32; ++l)
      out[l] = roundDouble<To>(in[l], mode);
    return;
  }
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    out[l] = narrow<To>(in[l]);
}

template <typename To>
PTXSIM_NOINLINE void applyFlags(uint8_t flags, typename To::Store *out) {
  constexpr unsigned bytes = sizeof(typename To::Store);
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l) {
    double v = To::widen(out[l]);
    if (flags & CvtSat)
      out[l] = narrow<To>(v > 0 ? (v < 1 ? v : 1.0) : 0.0);
    // NaN stays; -0 and negative numbers become +0.
    if (flags & CvtRelu && !(v > 0) && v == v)
      out[l] = narrow<To>(0.0);
    if (flags & CvtFtz && bytes == 4)
      out[l] = narrow<To>(double(flushDenormal(float(To::widen(out[l])))));
    if (flags & CvtSatfinite && v == v && (v - v) != 0) // infinite
      out[l] = fromBits<To>(
          (uint64_t(v < 0) << (bytes * 8 - 1)) |
          ((uint64_t(To::maxExponent * 2 + 1) << To::mantissa) - 1));
  }
}

template <typename To, typename From>
void floatToFloat(Warp &w, const Inst &i, uint32_t mask) {
  double values[32];
  typename To::Store out[32];
  Rounding mode = Rounding(i.op);
  widenLanes<From>(w, i, values);
  if (mode >= Rounding::Rni)
    roundLanes(values, mode);
  narrowLanes<To>(values, mode, out);
  if (i.flags)
    applyFlags<To>(i.flags, out);
  storeLanes<typename To::Store>(w, i.dst, i.dstWidth, mask, out);
}

/// The common widenings and narrowings, without modifiers.
void halfToFloatFast(Warp &w, const Inst &i, uint32_t mask) {
  float *d = w.reg<float>(i.dst);
  const uint16_t *a = w.reg<uint16_t>(i.a);
  setLanes(mask, d, [=](unsigned l) { return halfToFloat(a[l]); });
}
void bfloatToFloatFast(Warp &w, const Inst &i, uint32_t mask) {
  float *d = w.reg<float>(i.dst);
  const uint16_t *a = w.reg<uint16_t>(i.a);
  setLanes(mask, d, [=](unsigned l) {
    float f = bfloatToFloat(a[l]);
    return bitCast<float>(f == f ? bitCast<uint32_t>(f) : canonicalNaN32);
  });
}
void floatToHalfFast(Warp &w, const Inst &i, uint32_t mask) {
  uint16_t *d = w.reg<uint16_t>(i.dst);
  const float *a = w.reg<float>(i.a);
  setLanes(mask, d, [=](unsigned l) { return floatToHalf(a[l]); });
}
void floatToBfloatFast(Warp &w, const Inst &i, uint32_t mask) {
  uint16_t *d = w.reg<uint16_t>(i.dst);
  const float *a = w.reg<float>(i.a);
  setLanes(mask, d, [=](unsigned l) { return floatToBfloat(a[l]); });
}

template <typename D, bool Saturate> Handler pickIntToInt(Type from) {
  switch (from) {
  case Type::U8:
    return intToInt<D, uint8_t, Saturate>;
  case Type::S8:
    return intToInt<D, int8_t, Saturate>;
  case Type::U16:
    return intToInt<D, uint16_t, Saturate>;
  case Type::S16:
    return intToInt<D, int16_t, Saturate>;
  case Type::U32:
    return intToInt<D, uint32_t, Saturate>;
  case Type::S32:
    return intToInt<D, int32_t, Saturate>;
  case Type::U64:
    return intToInt<D, uint64_t, Saturate>;
  case Type::S64:
    return intToInt<D, int64_t, Saturate>;
  default:
    return nullptr;
  }
}

template <typename F> Handler pickIntToFloat(Type from) {
  switch (from) {
  case Type::U8:
    return intToFloat<F, uint8_t>;
  case Type::S8:
    return intToFloat<F, int8_t>;
  case Type::U16:
    return intToFloat<F, uint16_t>;
  case Type::S16:
    return intToFloat<F, int16_t>;
  case Type::U32:
    return intToFloat<F, uint32_t>;
  case Type::S32:
    return intToFloat<F, int32_t>;
  case Type::U64:
    return intToFloat<F, uint64_t>;
  case Type::S64:
    return intToFloat<F, int64_t>;
  default:
    return nullptr;
  }
}

template <typename D> Handler pickToInt(Type from, Rounding mode) {
  bool integral = mode >= Rounding::Rni;
  switch (from) {
  case Type::F16:
    return integral ? floatToInt<D, F16> : nullptr;
  case Type::BF16:
    return integral ? floatToInt<D, BF16> : nullptr;
  case Type::F32:
    return integral ? floatToInt<D, F32> : nullptr;
  case Type::F64:
    return integral ? floatToInt<D, F64> : nullptr;
  default:
    return mode == Rounding::None ? pickIntToInt<D, false>(from) : nullptr;
  }
}

template <typename To> Handler pickToFloat(Type from, Rounding mode) {
  switch (from) {
  case Type::F16:
    return floatToFloat<To, F16>;
  case Type::BF16:
    return floatToFloat<To, BF16>;
  case Type::F32:
    return floatToFloat<To, F32>;
  case Type::F64:
    return floatToFloat<To, F64>;
  default:
    return mode >= Rounding::Rn && mode <= Rounding::Rp
               ? pickIntToFloat<To>(from)
               : nullptr;
  }
}

/// Rounds the mantissa of an f32 to 10 bits: nearest even, nearest with ties
/// away from zero, or towards zero.
template <Rounding Mode>
void floatToTf32(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a);
  bool relu = i.flags & CvtRelu, satfinite = i.flags & CvtSatfinite;
  setLanes(mask, d, [=](unsigned l) {
    uint32_t v = a[l], magnitude = v & 0x7fffffff;
    uint32_t up = Mode == Rounding::Rz    ? 0
                  : Mode == Rounding::Rna ? 0x1000
                                          : 0xfff + (v >> 13 & 1);
    uint32_t r = (v + up) & ~0x1fffu;
    r = magnitude >= 0x7f800000 ? v : r;
    r = satfinite && (r & 0x7fffffff) == 0x7f800000
            ? (r & 0x80000000) | 0x7f7fe000
            : r;
    r = relu && v >> 31 ? 0 : r;
    return magnitude > 0x7f800000 ? canonicalNaN32 : r;
  });
}

} // namespace

/// Saturating integer conversions ask with Rounding::None and are told apart by
/// the decoder, which passes Rounding::Rz for them.
Handler convertHandler(Type to, Type from, Rounding mode) {
  bool saturate = mode == Rounding::Rz && isInteger(to) && isInteger(from);
  switch (to) {
#define PTXSIM_CASE(TYPE, T)                                                   \
  case Type::TYPE:                                                             \
    return saturate ? pickIntToInt<T, true>(from) : pickToInt<T>(from, mode);
    PTXSIM_CASE(U8, uint8_t)
    PTXSIM_CASE(S8, int8_t)
    PTXSIM_CASE(U16, uint16_t)
    PTXSIM_CASE(S16, int16_t)
    PTXSIM_CASE(U32, uint32_t)
    PTXSIM_CASE(S32, int32_t)
    PTXSIM_CASE(U64, uint64_t)
    PTXSIM_CASE(S64, int64_t)
#undef PTXSIM_CASE
  case Type::F16:
    return pickToFloat<F16>(from, mode);
  case Type::BF16:
    return pickToFloat<BF16>(from, mode);
  case Type::F32:
    return pickToFloat<F32>(from, mode);
  case Type::F64:
    return pickToFloat<F64>(from, mode);
  case Type::TF32:
    return from != Type::F32       ? nullptr
           : mode == Rounding::Rna ? floatToTf32<Rounding::Rna>
           : mode == Rounding::Rn  ? floatToTf32<Rounding::Rn>
           : mode == Rounding::Rz  ? floatToTf32<Rounding::Rz>
                                   : nullptr;
  default:
    return narrowConvertHandler(to, from, mode);
  }
}

/// The form without modifiers and with registers of the types' own widths.
Handler plainConvertHandler(Type to, Type from) {
  if (to == Type::F32 && from == Type::F16)
    return halfToFloatFast;
  if (to == Type::F32 && from == Type::BF16)
    return bfloatToFloatFast;
  if (to == Type::F16 && from == Type::F32)
    return floatToHalfFast;
  if (to == Type::BF16 && from == Type::F32)
    return floatToBfloatFast;
  return nullptr;
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
