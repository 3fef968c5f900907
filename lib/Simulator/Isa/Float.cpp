// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Floating-point arithmetic in f32, f64, f16 and bf16. The approximate forms
// give the correctly rounded value or one next to it.
#include "../FloatFormats.h"
#include "Isa.h"

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

PTXSIM_INLINE float canonical(float f) {
  return bitCast<float>(f == f ? bitCast<uint32_t>(f) : canonicalNaN32);
}

// How each type is held, computed with, and rounded.
struct F32 {
  using Store = float;
  using Compute = float;
  static PTXSIM_INLINE float load(float f) { return f; }
  static PTXSIM_INLINE float store(float f) { return canonical(f); }
  static PTXSIM_INLINE float flush(float f) { return flushDenormal(f); }
  static PTXSIM_INLINE float fma(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
  }
};
struct F64 {
  using Store = double;
  using Compute = double;
  static PTXSIM_INLINE double load(double f) { return f; }
  static PTXSIM_INLINE double store(double f) { return f; }
  static PTXSIM_INLINE double flush(double f) { return f; }
  static PTXSIM_INLINE double fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
};
struct F16 {
  using Store = uint16_t;
  using Compute = float;
  // Keeps the sign of a NaN, which .xorsign reads.
  static PTXSIM_INLINE float load(uint16_t h) {
#if defined(__F16C__) && defined(__clang__)
    return float(bitCast<_Float16>(h));
#else
    float f = halfToFloat(h);
    uint32_t sign = uint32_t(h & 0x8000) << 16;
    return bitCast<float>(bitCast<uint32_t>(f) | sign);
#endif
  }
  static PTXSIM_INLINE uint16_t store(float f) { return floatToHalf(f); }
  static PTXSIM_INLINE uint16_t flush(uint16_t h) {
    return flushDenormalHalf(h);
  }
  // The product of two halves is exact in float.
  static PTXSIM_INLINE float fma(float a, float b, float c) {
    return addRoundToOdd(a * b, c);
  }
};
struct BF16 {
  using Store = uint16_t;
  using Compute = float;
  static PTXSIM_INLINE float load(uint16_t h) { return bfloatToFloat(h); }
  static PTXSIM_INLINE uint16_t store(float f) { return floatToBfloat(f); }
  static PTXSIM_INLINE uint16_t flush(uint16_t h) { return h; }
  // The product of two bfloats is exact in double, not in float.
  static PTXSIM_INLINE float fma(float a, float b, float c) {
    return toFloatRoundToOdd(addRoundToOdd(double(a) * double(b), double(c)));
  }
};

PTXSIM_INLINE bool isNegative(float f) { return bitCast<uint32_t>(f) >> 31; }
PTXSIM_INLINE bool isNegative(double f) { return bitCast<uint64_t>(f) >> 63; }

struct AddOp {
  template <typename F, typename C> static PTXSIM_INLINE C apply(C a, C b) {
    return a + b;
  }
};
struct SubOp {
  template <typename F, typename C> static PTXSIM_INLINE C apply(C a, C b) {
    return a - b;
  }
};
struct MulOp {
  template <typename F, typename C> static PTXSIM_INLINE C apply(C a, C b) {
    return a * b;
  }
};
struct DivOp {
  template <typename F, typename C> static PTXSIM_INLINE C apply(C a, C b) {
    return a / b;
  }
};
template <bool Max, bool PropagateNaN> struct Extremum {
  template <typename F, typename C> static PTXSIM_INLINE C apply(C a, C b) {
    // Of equal numbers the sign decides: -0 is less than +0.
    bool aFirst = Max ? a > b : a < b;
    bool useA = a == b ? isNegative(a) != Max : aFirst;
    C picked = useA ? a : b;
    C nan = a + b;
    if (PropagateNaN)
      return a != a || b != b ? nan : picked;
    return a != a ? b : b != b ? a : picked;
  }
};
template <bool Max, bool PropagateNaN> struct Extremum3 {
  template <typename F, typename C>
  static PTXSIM_INLINE C apply(C a, C b, C c) {
    using Two = Extremum<Max, PropagateNaN>;
    return Two::template apply<F>(Two::template apply<F>(a, b), c);
  }
};
/// Extremum of the magnitudes under the xor of the signs.
template <bool Max, bool PropagateNaN> struct ExtremumXorsign {
  template <typename F, typename C> static PTXSIM_INLINE C apply(C a, C b) {
    C x = a < 0 || (a == 0 && isNegative(a)) ? -a : a;
    C y = b < 0 || (b == 0 && isNegative(b)) ? -b : b;
    C m = Extremum<Max, PropagateNaN>::template apply<F>(x, y);
    return isNegative(a) != isNegative(b) ? -m : m;
  }
};
struct FmaOp {
  template <typename F, typename C>
  static PTXSIM_INLINE C apply(C a, C b, C c) {
    return F::fma(a, b, c);
  }
};
struct FmaReluOp {
  template <typename F, typename C>
  static PTXSIM_INLINE C apply(C a, C b, C c) {
    C r = F::fma(a, b, c);
    return r != r ? r : r > 0 ? r : C(0);
  }
};

// Unary operations that round.
struct SqrtOp {
  static PTXSIM_INLINE float apply(float a) { return __builtin_sqrtf(a); }
  static PTXSIM_INLINE double apply(double a) { return __builtin_sqrt(a); }
};
struct RsqrtOp {
  static PTXSIM_INLINE float apply(float a) {
    return float(1.0 / __builtin_sqrt(double(a)));
  }
  static PTXSIM_INLINE double apply(double a) {
    return 1.0 / __builtin_sqrt(a);
  }
};
struct RcpOp {
  static PTXSIM_INLINE float apply(float a) { return 1.0f / a; }
  static PTXSIM_INLINE double apply(double a) { return 1.0 / a; }
};
struct Ex2Op {
  static PTXSIM_INLINE float apply(float a) { return __builtin_exp2f(a); }
};
struct Lg2Op {
  static PTXSIM_INLINE float apply(float a) { return __builtin_log2f(a); }
};
struct SinOp {
  static PTXSIM_INLINE float apply(float a) { return __builtin_sinf(a); }
};
struct CosOp {
  static PTXSIM_INLINE float apply(float a) { return __builtin_cosf(a); }
};
struct TanhOp {
  static PTXSIM_INLINE float apply(float a) { return __builtin_tanhf(a); }
};

template <typename F, int Flags>
PTXSIM_INLINE typename F::Compute take(typename F::Store value) {
  return F::load(Flags & FloatFtz ? F::flush(value) : value);
}

/// Rounds, flushes and clamps a result.
template <typename F, int Flags>
PTXSIM_INLINE typename F::Store give(typename F::Compute value) {
  using C = typename F::Compute;
  if (Flags & FloatSat) {
    // NaN and -0 become +0.
    value = value > C(0) ? value : C(0);
    value = value < C(1) ? value : C(1);
  }
  typename F::Store stored = F::store(value);
  return Flags & FloatFtz ? F::flush(stored) : stored;
}

template <typename F, typename Op, unsigned Pack, int Flags>
void unary(Warp &w, const Inst &i, uint32_t mask) {
  using S = typename F::Store;
  S *d = w.reg<S>(i.dst);
  const S *a = w.reg<S>(i.a);
  setLanes<Pack>(mask, d, [=](unsigned e) {
    return give<F, Flags>(Op::apply(take<F, Flags>(a[e])));
  });
}

template <typename F, typename Op, unsigned Pack, int Flags>
void binary(Warp &w, const Inst &i, uint32_t mask) {
  using S = typename F::Store;
  S *d = w.reg<S>(i.dst);
  const S *a = w.reg<S>(i.a), *b = w.reg<S>(i.b);
  setLanes<Pack>(mask, d, [=](unsigned e) {
    return give<F, Flags>(
        Op::template apply<F>(take<F, Flags>(a[e]), take<F, Flags>(b[e])));
  });
}

template <typename F, typename Op, unsigned Pack, int Flags>
void ternary(Warp &w, const Inst &i, uint32_t mask) {
  using S = typename F::Store;
  S *d = w.reg<S>(i.dst);
  const S *a = w.reg<S>(i.a), *b = w.reg<S>(i.b), *c = w.reg<S>(i.c);
  setLanes<Pack>(mask, d, [=](unsigned e) {
    return give<F, Flags>(Op::template apply<F>(
        take<F, Flags>(a[e]), take<F, Flags>(b[e]), take<F, Flags>(c[e])));
  });
}

/// Sign manipulation: on the bits, without rounding.
template <typename U, FloatOp Op, unsigned Pack, bool Ftz>
void signOp(Warp &w, const Inst &i, uint32_t mask) {
  constexpr U sign = U(U(1) << (sizeof(U) * 8 - 1));
  U *d = w.reg<U>(i.dst);
  const U *a = w.reg<U>(i.a), *b = Op == FloatOp::Copysign ? w.reg<U>(i.b) : a;
  setLanes<Pack>(mask, d, [=](unsigned e) {
    U v = a[e];
    if (Ftz && sizeof(U) == 4)
      v = (v & U(0x7f800000)) == 0 ? U(v & sign) : v;
    if (Ftz && sizeof(U) == 2)
      v = (v & U(0x7c00)) == 0 ? U(v & sign) : v;
    return Op == FloatOp::Neg   ? U(v ^ sign)
           : Op == FloatOp::Abs ? U(v & U(~sign))
                                : U((b[e] & U(~sign)) | (v & sign));
  });
}

enum class Shape { Unary, Binary, Ternary };

template <Shape S, typename F, typename Op, unsigned Pack, int Flags>
constexpr Handler shaped() {
  if constexpr (S == Shape::Unary)
    return unary<F, Op, Pack, Flags>;
  else if constexpr (S == Shape::Binary)
    return binary<F, Op, Pack, Flags>;
  else
    return ternary<F, Op, Pack, Flags>;
}

template <Shape S, typename F, typename Op, unsigned Pack>
Handler withFlags(uint8_t flags) {
  switch (flags) {
  case 0:
    return shaped<S, F, Op, Pack, 0>();
  case FloatFtz:
    return shaped<S, F, Op, Pack, FloatFtz>();
  case FloatSat:
    return shaped<S, F, Op, Pack, FloatSat>();
  default:
    return shaped<S, F, Op, Pack, FloatFtz | FloatSat>();
  }
}

/// All types.
template <Shape S, typename Op> Handler pick(Type type, uint8_t flags) {
  bool plain = flags == 0;
  switch (type) {
  case Type::F32:
    return withFlags<S, F32, Op, 1>(flags);
  case Type::F32x2:
    return flags & FloatSat ? nullptr
           : flags          ? shaped<S, F32, Op, 2, FloatFtz>()
                            : shaped<S, F32, Op, 2, 0>();
  case Type::F64:
    return plain ? shaped<S, F64, Op, 1, 0>() : nullptr;
  case Type::F16:
    return withFlags<S, F16, Op, 1>(flags);
  case Type::F16x2:
    return withFlags<S, F16, Op, 2>(flags);
  case Type::BF16:
    return plain ? shaped<S, BF16, Op, 1, 0>() : nullptr;
  case Type::BF16x2:
    return plain ? shaped<S, BF16, Op, 2, 0>() : nullptr;
  default:
    return nullptr;
  }
}

/// f32 and f64, without saturation.
template <typename Op> Handler pickWide(Type type, uint8_t flags) {
  if (type == Type::F32 && flags == 0)
    return unary<F32, Op, 1, 0>;
  if (type == Type::F32 && flags == FloatFtz)
    return unary<F32, Op, 1, FloatFtz>;
  if (type == Type::F64 && flags == 0)
    return unary<F64, Op, 1, 0>;
  return nullptr;
}

/// f32, f16 and bf16, without saturation.
template <typename Op> Handler pickApprox(Type type, uint8_t flags) {
  bool ftz = flags == FloatFtz;
  if (flags & FloatSat)
    return nullptr;
  switch (type) {
  case Type::F32:
    return ftz ? unary<F32, Op, 1, FloatFtz> : unary<F32, Op, 1, 0>;
  case Type::F16:
    return ftz ? nullptr : unary<F16, Op, 1, 0>;
  case Type::F16x2:
    return ftz ? nullptr : unary<F16, Op, 2, 0>;
  // The only bf16 forms there are flush, which does nothing to a bfloat's
  // result but for the smallest numbers.
  case Type::BF16:
    return unary<BF16, Op, 1, 0>;
  case Type::BF16x2:
    return unary<BF16, Op, 2, 0>;
  default:
    return nullptr;
  }
}

template <typename Op> Handler pickF32Only(Type type, uint8_t flags) {
  if (type != Type::F32 || flags & FloatSat)
    return nullptr;
  return flags & FloatFtz ? unary<F32, Op, 1, FloatFtz> : unary<F32, Op, 1, 0>;
}

template <FloatOp Op> Handler pickSign(Type type, uint8_t flags) {
  bool ftz = flags & FloatFtz;
  switch (type) {
  case Type::F32:
    return ftz ? signOp<uint32_t, Op, 1, true> : signOp<uint32_t, Op, 1, false>;
  case Type::F64:
    return ftz ? nullptr : signOp<uint64_t, Op, 1, false>;
  case Type::F16:
    return ftz ? signOp<uint16_t, Op, 1, true> : signOp<uint16_t, Op, 1, false>;
  case Type::F16x2:
    return ftz ? signOp<uint16_t, Op, 2, true> : signOp<uint16_t, Op, 2, false>;
  case Type::BF16:
    return ftz ? nullptr : signOp<uint16_t, Op, 1, false>;
  case Type::BF16x2:
    return ftz ? nullptr : signOp<uint16_t, Op, 2, false>;
  default:
    return nullptr;
  }
}

enum TestProperty {
  TestFinite,
  TestInfinite,
  TestNumber,
  TestNotANumber,
  TestNormal,
  TestSubnormal
};

template <typename U> void testp(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned mantissa = sizeof(U) == 8 ? 52 : 23;
  constexpr U sign = U(1) << (sizeof(U) * 8 - 1);
  constexpr U infinity = U((sign - 1) >> mantissa << mantissa);
  const U *a = w.reg<U>(i.a);
  uint32_t result = 0;
  for (unsigned l = 0; l < 32; ++l) {
    U v = a[l] & ~sign;
    bool is = false;
    switch (i.imm) {
    case TestFinite:
      is = v < infinity;
      break;
    case TestInfinite:
      is = v == infinity;
      break;
    case TestNumber:
      is = v <= infinity;
      break;
    case TestNotANumber:
      is = v > infinity;
      break;
    case TestNormal:
      is = v >= (U(1) << mantissa) && v < infinity;
      break;
    case TestSubnormal:
      is = v != 0 && v < (U(1) << mantissa);
      break;
    default:
      break;
    }
    result |= uint32_t(is) << l;
  }
  w.setPred(i.dst, result, mask);
}

} // namespace

Handler floatHandler(FloatOp op, Type type, uint8_t flags) {
  switch (op) {
  case FloatOp::Add:
    return pick<Shape::Binary, AddOp>(type, flags);
  case FloatOp::Sub:
    return pick<Shape::Binary, SubOp>(type, flags);
  case FloatOp::Mul:
    return pick<Shape::Binary, MulOp>(type, flags);
  case FloatOp::Fma:
    return pick<Shape::Ternary, FmaOp>(type, flags);
  case FloatOp::FmaRelu:
    return type == Type::F32 || type == Type::F64 || flags & FloatSat
               ? nullptr
               : pick<Shape::Ternary, FmaReluOp>(type, flags);
  case FloatOp::Div:
    if (type == Type::F32)
      return flags & FloatSat   ? nullptr
             : flags & FloatFtz ? binary<F32, DivOp, 1, FloatFtz>
                                : binary<F32, DivOp, 1, 0>;
    return type == Type::F64 && !flags ? binary<F64, DivOp, 1, 0> : nullptr;
  case FloatOp::Min:
    return pick<Shape::Binary, Extremum<false, false>>(type, flags);
  case FloatOp::Max:
    return pick<Shape::Binary, Extremum<true, false>>(type, flags);
  case FloatOp::MinNaN:
    return pick<Shape::Binary, Extremum<false, true>>(type, flags);
  case FloatOp::MaxNaN:
    return pick<Shape::Binary, Extremum<true, true>>(type, flags);
  case FloatOp::Min3:
    return type == Type::F32
               ? pick<Shape::Ternary, Extremum3<false, false>>(type, flags)
               : nullptr;
  case FloatOp::Max3:
    return type == Type::F32
               ? pick<Shape::Ternary, Extremum3<true, false>>(type, flags)
               : nullptr;
  case FloatOp::Min3NaN:
    return type == Type::F32
               ? pick<Shape::Ternary, Extremum3<false, true>>(type, flags)
               : nullptr;
  case FloatOp::Max3NaN:
    return type == Type::F32
               ? pick<Shape::Ternary, Extremum3<true, true>>(type, flags)
               : nullptr;
  case FloatOp::MinXorsign:
    return type == Type::F64
               ? nullptr
               : pick<Shape::Binary, ExtremumXorsign<false, false>>(type,
                                                                    flags);
  case FloatOp::MaxXorsign:
    return type == Type::F64
               ? nullptr
               : pick<Shape::Binary, ExtremumXorsign<true, false>>(type, flags);
  case FloatOp::MinXorsignNaN:
    return type == Type::F64
               ? nullptr
               : pick<Shape::Binary, ExtremumXorsign<false, true>>(type, flags);
  case FloatOp::MaxXorsignNaN:
    return type == Type::F64
               ? nullptr
               : pick<Shape::Binary, ExtremumXorsign<true, true>>(type, flags);
  case FloatOp::Neg:
    return pickSign<FloatOp::Neg>(type, flags);
  case FloatOp::Abs:
    return pickSign<FloatOp::Abs>(type, flags);
  case FloatOp::Copysign:
    return type == Type::F32 || type == Type::F64
               ? pickSign<FloatOp::Copysign>(type, flags)
               : nullptr;
  case FloatOp::Sqrt:
    return pickWide<SqrtOp>(type, flags);
  case FloatOp::Rsqrt:
    return pickWide<RsqrtOp>(type, flags);
  case FloatOp::Rcp:
    return pickWide<RcpOp>(type, flags);
  case FloatOp::Ex2:
    return pickApprox<Ex2Op>(type, flags);
  case FloatOp::Lg2:
    return pickF32Only<Lg2Op>(type, flags);
  case FloatOp::Sin:
    return pickF32Only<SinOp>(type, flags);
  case FloatOp::Cos:
    return pickF32Only<CosOp>(type, flags);
  case FloatOp::Tanh:
    return pickApprox<TanhOp>(type, flags);
  }
  return nullptr;
}

Handler testpHandler(unsigned, Type type) {
  return type == Type::F32   ? Handler(testp<uint32_t>)
         : type == Type::F64 ? Handler(testp<uint64_t>)
                             : nullptr;
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
