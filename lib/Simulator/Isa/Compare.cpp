// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Comparisons into predicates, selection, predicate logic, moves.
#include "../FloatFormats.h"
#include "Isa.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

/// The signs of 32 integers.
PTXSIM_INLINE uint32_t signMask(const int32_t *values) {
#if defined(__AVX2__)
  uint32_t result = 0;
  for (int k = 0; k < 4; ++k) {
    __m256 v = _mm256_load_ps(reinterpret_cast<const float *>(values) + 8 * k);
    result |= uint32_t(_mm256_movemask_ps(v)) << 8 * k;
  }
  return result;
#elif defined(__x86_64__)
  uint32_t result = 0;
  for (int k = 0; k < 8; ++k) {
    __m128 v = _mm_load_ps(reinterpret_cast<const float *>(values) + 4 * k);
    result |= uint32_t(_mm_movemask_ps(v)) << 4 * k;
  }
  return result;
#else
  uint32_t result = 0;
  for (int l = 0; l < 32; ++l)
    result |= uint32_t(values[l] < 0) << l;
  return result;
#endif
}

template <typename T> struct Plain {
  using Store = T;
  static PTXSIM_INLINE T load(T v) { return v; }
};
struct HalfLoad {
  using Store = uint16_t;
  static PTXSIM_INLINE float load(uint16_t v) { return halfToFloat(v); }
};
struct BFloatLoad {
  using Store = uint16_t;
  static PTXSIM_INLINE float load(uint16_t v) { return bfloatToFloat(v); }
};
struct FlushLoad {
  using Store = float;
  static PTXSIM_INLINE float load(float v) { return flushDenormal(v); }
};
struct FlushHalfLoad {
  using Store = uint16_t;
  static PTXSIM_INLINE float load(uint16_t v) {
    return halfToFloat(flushDenormalHalf(v));
  }
};

template <CompareOp Op, typename T> PTXSIM_INLINE bool holds(T a, T b) {
  switch (Op) {
  case CompareOp::Eq:
    return a == b;
  case CompareOp::Ne:
    // Ordered: false where either is NaN.
    return a < b || a > b;
  case CompareOp::Lt:
    return a < b;
  case CompareOp::Le:
    return a <= b;
  case CompareOp::Gt:
    return a > b;
  case CompareOp::Ge:
    return a >= b;
  case CompareOp::Equ:
    return !(a < b || a > b);
  case CompareOp::Neu:
    return !(a == b);
  case CompareOp::Ltu:
    return !(a >= b);
  case CompareOp::Leu:
    return !(a > b);
  case CompareOp::Gtu:
    return !(a <= b);
  case CompareOp::Geu:
    return !(a < b);
  case CompareOp::Num:
    return a == a && b == b;
  case CompareOp::Nan:
    return a != a || b != b;
  }
  return false;
}

/// Compares all lanes, whether active or not: that is the cheaper way.
template <typename L, CompareOp Op>
void compare(Warp &w, const Inst &i, uint32_t mask) {
  using S = typename L::Store;
  const S *a = w.reg<S>(i.a), *b = w.reg<S>(i.b);
  alignas(64) int32_t results[32];
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    results[l] = holds<Op>(L::load(a[l]), L::load(b[l])) ? -1 : 0;
  w.setPred(i.dst, signMask(results), mask);
}

/// Two halves per lane; the second result goes to the predicate at `c`.
template <typename L, CompareOp Op>
void compare2(Warp &w, const Inst &i, uint32_t mask) {
  const uint16_t *a = w.reg<uint16_t>(i.a), *b = w.reg<uint16_t>(i.b);
  for (int half = 0; half < 2; ++half) {
    alignas(64) int32_t results[32];
    for (unsigned l = 0; l < 32; ++l)
      results[l] = holds<Op>(L::load(a[2 * l + half]), L::load(b[2 * l + half]))
                       ? -1
                       : 0;
    uint32_t slot = half ? i.c : i.dst;
    if (slot != noSlot)
      w.setPred(slot, signMask(results), mask);
  }
}

template <CompareOp Op> Handler pickInteger(Type type) {
  switch (type) {
  case Type::U16:
  case Type::B16:
    return compare<Plain<uint16_t>, Op>;
  case Type::S16:
    return compare<Plain<int16_t>, Op>;
  case Type::U32:
  case Type::B32:
    return compare<Plain<uint32_t>, Op>;
  case Type::S32:
    return compare<Plain<int32_t>, Op>;
  case Type::U64:
  case Type::B64:
    return compare<Plain<uint64_t>, Op>;
  case Type::S64:
    return compare<Plain<int64_t>, Op>;
  default:
    return nullptr;
  }
}

template <CompareOp Op> Handler pick(Type type, bool ftz) {
  switch (type) {
  case Type::F32:
    return ftz ? compare<FlushLoad, Op> : compare<Plain<float>, Op>;
  case Type::F64:
    return ftz ? nullptr : compare<Plain<double>, Op>;
  case Type::F16:
    return ftz ? compare<FlushHalfLoad, Op> : compare<HalfLoad, Op>;
  case Type::F16x2:
    return ftz ? compare2<FlushHalfLoad, Op> : compare2<HalfLoad, Op>;
  case Type::BF16:
    return ftz ? nullptr : compare<BFloatLoad, Op>;
  case Type::BF16x2:
    return ftz ? nullptr : compare2<BFloatLoad, Op>;
  default:
    return ftz || Op > CompareOp::Ge ? nullptr : pickInteger<Op>(type);
  }
}

template <typename T> void select(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b);
  uint32_t p = w.pred(i.c);
  setLanes(mask, d, [=](unsigned l) { return p >> l & 1 ? a[l] : b[l]; });
}

struct Wide {
  uint64_t v[2];
};

template <typename T> void move(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a);
  setLanes(mask, d, [=](unsigned l) { return a[l]; });
}

/// Inst::flags: bit 0 inverts a, bit 1 inverts b.
template <PredOp Op> void predicate(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t a = w.pred(i.a),
           b = Op == PredOp::Mov || Op == PredOp::Not ? 0 : w.pred(i.b);
  a = i.flags & 1 ? ~a : a;
  b = i.flags & 2 ? ~b : b;
  uint32_t r = Op == PredOp::Mov   ? a
               : Op == PredOp::And ? a & b
               : Op == PredOp::Or  ? a | b
               : Op == PredOp::Xor ? a ^ b
                                   : ~a;
  w.setPred(i.dst, r, mask);
}

} // namespace

Handler compareHandler(CompareOp op, Type type, bool ftz) {
  switch (op) {
#define PTXSIM_CASE(NAME)                                                      \
  case CompareOp::NAME:                                                        \
    return pick<CompareOp::NAME>(type, ftz);
    PTXSIM_CASE(Eq)
    PTXSIM_CASE(Ne)
    PTXSIM_CASE(Lt)
    PTXSIM_CASE(Le)
    PTXSIM_CASE(Gt)
    PTXSIM_CASE(Ge)
    PTXSIM_CASE(Equ)
    PTXSIM_CASE(Neu)
    PTXSIM_CASE(Ltu)
    PTXSIM_CASE(Leu)
    PTXSIM_CASE(Gtu)
    PTXSIM_CASE(Geu)
    PTXSIM_CASE(Num)
    PTXSIM_CASE(Nan)
#undef PTXSIM_CASE
  }
  return nullptr;
}

Handler selectHandler(unsigned size) {
  return size == 2   ? Handler(select<uint16_t>)
         : size == 4 ? Handler(select<uint32_t>)
         : size == 8 ? Handler(select<uint64_t>)
                     : nullptr;
}

Handler predicateHandler(PredOp op) {
  switch (op) {
  case PredOp::Mov:
    return predicate<PredOp::Mov>;
  case PredOp::And:
    return predicate<PredOp::And>;
  case PredOp::Or:
    return predicate<PredOp::Or>;
  case PredOp::Xor:
    return predicate<PredOp::Xor>;
  case PredOp::Not:
    return predicate<PredOp::Not>;
  }
  return nullptr;
}

Handler moveHandler(unsigned size) {
  return size == 2    ? Handler(move<uint16_t>)
         : size == 4  ? Handler(move<uint32_t>)
         : size == 8  ? Handler(move<uint64_t>)
         : size == 16 ? Handler(move<Wide>)
                      : nullptr;
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
