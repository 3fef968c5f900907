// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bit counting, bit fields, permutation, funnel shifts, carries.
#include "Isa.h"

#include <type_traits>

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

template <typename T> constexpr bool isSignedType = T(-1) < T(0);
template <typename T> constexpr unsigned bitsOf = sizeof(T) * 8;

template <typename T> PTXSIM_INLINE unsigned countLeadingZeros(T a) {
  return a == 0           ? bitsOf<T>
         : sizeof(T) == 8 ? unsigned(__builtin_clzll(uint64_t(a)))
                          : unsigned(__builtin_clz(uint32_t(a)));
}

template <typename T> void popc(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const T *a = w.reg<T>(i.a);
  setLanes(mask, d,
           [=](unsigned e) { return uint32_t(__builtin_popcountll(a[e])); });
}

template <typename T> void clz(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const T *a = w.reg<T>(i.a);
  setLanes(mask, d, [=](unsigned e) { return countLeadingZeros(a[e]); });
}

template <typename T> void brev(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a);
  setLanes(mask, d, [=](unsigned e) {
    uint64_t v = a[e];
    v = (v >> 1 & 0x5555555555555555) | (v & 0x5555555555555555) << 1;
    v = (v >> 2 & 0x3333333333333333) | (v & 0x3333333333333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f0f0f0f0f) | (v & 0x0f0f0f0f0f0f0f0f) << 4;
    v = __builtin_bswap64(v);
    return T(v >> (64 - bitsOf<T>));
  });
}

/// Position of the most significant bit that differs from the sign.
template <typename T, bool Shift>
void bfind(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const T *a = w.reg<T>(i.a);
  forLanes(mask, [=](unsigned e) {
    T v = isSignedType<T> && a[e] < 0 ? T(~a[e]) : a[e];
    if (v == 0) {
      d[e] = ~0u;
    } else {
      unsigned zeros = countLeadingZeros(v);
      d[e] = Shift ? zeros : bitsOf<T> - 1 - zeros;
    }
  });
}

template <typename T> void bfe(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a);
  const uint32_t *b = w.reg<uint32_t>(i.b), *c = w.reg<uint32_t>(i.c);
  setLanes(mask, d, [=](unsigned e) {
    using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    unsigned pos = b[e] & 255, len = c[e] & 255;
    constexpr unsigned msb = bitsOf<T> - 1;
    U value = U(a[e]);
    U field = pos > msb ? U(0) : U(value >> pos);
    U ones = len > msb ? U(~U(0)) : U((U(1) << len) - 1);
    unsigned last = pos + len > 0 && pos + len - 1 < msb ? pos + len - 1 : msb;
    bool sign = isSignedType<T> && len != 0 && (value >> last & 1);
    field &= ones;
    if (sign) {
      // Bits of the field beyond the value's own are copies of its sign.
      unsigned have = last >= pos ? last - pos + 1 : 0;
      field |= have > msb ? U(0) : U(~U(0) << have);
    }
    return T(field);
  });
}

template <typename T> void bfi(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b);
  const uint32_t *c = w.reg<uint32_t>(i.c);
  const uint32_t *len = w.reg<uint32_t>(w.operands[i.operands].slot);
  setLanes(mask, d, [=](unsigned e) {
    unsigned p = c[e] & 255, n = len[e] & 255;
    T ones = n >= bitsOf<T> ? T(~T(0)) : T((T(1) << n) - 1);
    T field = p >= bitsOf<T> ? T(0) : T(ones << p);
    T shifted = p >= bitsOf<T> ? T(0) : T(a[e] << p);
    return T((b[e] & ~field) | (shifted & field));
  });
}

PTXSIM_INLINE uint32_t permuteByte(uint64_t bytes, uint32_t selector) {
  uint32_t byte = uint32_t(bytes >> (selector & 7) * 8) & 0xff;
  return selector & 8 ? (byte & 0x80 ? 0xffu : 0u) : byte;
}

void prmt(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  setLanes(mask, d, [=](unsigned e) {
    uint64_t bytes = uint64_t(b[e]) << 32 | a[e];
    uint32_t s = c[e];
    return permuteByte(bytes, s) | permuteByte(bytes, s >> 4) << 8 |
           permuteByte(bytes, s >> 8) << 16 | permuteByte(bytes, s >> 12) << 24;
  });
}

/// The named modes: byte k of the result is byte `table[c & 3]` nibble k.
template <int Mode> void prmtMode(Warp &w, const Inst &i, uint32_t mask) {
  constexpr uint16_t tables[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
  };
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  setLanes(mask, d, [=](unsigned e) {
    uint64_t bytes = uint64_t(b[e]) << 32 | a[e];
    uint32_t s = tables[Mode][c[e] & 3];
    return permuteByte(bytes, s & 7) | permuteByte(bytes, s >> 4 & 7) << 8 |
           permuteByte(bytes, s >> 8 & 7) << 16 |
           permuteByte(bytes, s >> 12 & 7) << 24;
  });
}

template <bool Left, bool Wrap>
void funnelShift(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  setLanes(mask, d, [=](unsigned e) {
    uint64_t v = uint64_t(b[e]) << 32 | a[e];
    uint32_t n = Wrap ? c[e] & 31 : c[e] < 32 ? c[e] : 32;
    return Left ? uint32_t((v << n) >> 32) : uint32_t(v >> n);
  });
}

void lop3(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  uint32_t t[8];
  for (int k = 0; k < 8; ++k)
    t[k] = i.imm >> k & 1 ? ~0u : 0u;
  uint32_t t0 = t[0], t1 = t[1], t2 = t[2], t3 = t[3], t4 = t[4], t5 = t[5],
           t6 = t[6], t7 = t[7];
  setLanes(mask, d, [=](unsigned e) {
    uint32_t x = a[e], y = b[e], z = c[e];
    return (t0 & ~x & ~y & ~z) | (t1 & ~x & ~y & z) | (t2 & ~x & y & ~z) |
           (t3 & ~x & y & z) | (t4 & x & ~y & ~z) | (t5 & x & ~y & z) |
           (t6 & x & y & ~z) | (t7 & x & y & z);
  });
}

/// Inst::flags: bit 0, a is signed; bit 1, b is signed.
void dp4a(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  bool aSigned = i.flags & 1, bSigned = i.flags & 2;
  setLanes(mask, d, [=](unsigned e) {
    uint32_t sum = c[e];
    for (int k = 0; k < 4; ++k) {
      uint32_t x = a[e] >> 8 * k & 255, y = b[e] >> 8 * k & 255;
      x = aSigned ? uint32_t(int32_t(int8_t(x))) : x;
      y = bSigned ? uint32_t(int32_t(int8_t(y))) : y;
      sum += x * y;
    }
    return sum;
  });
}

template <int Half> void dp2a(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  bool aSigned = i.flags & 1, bSigned = i.flags & 2;
  setLanes(mask, d, [=](unsigned e) {
    uint32_t sum = c[e];
    for (int k = 0; k < 2; ++k) {
      uint32_t x = a[e] >> 16 * k & 0xffff;
      uint32_t y = b[e] >> (16 * Half + 8 * k) & 255;
      x = aSigned ? uint32_t(int32_t(int16_t(x))) : x;
      y = bSigned ? uint32_t(int32_t(int8_t(y))) : y;
      sum += x * y;
    }
    return sum;
  });
}

/// Extends from bit b, that is from a value of b bits.
template <typename T, bool Wrap>
void szext(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a);
  const uint32_t *b = w.reg<uint32_t>(i.b);
  forLanes(mask, [=](unsigned e) {
    uint32_t n = Wrap ? b[e] & 31 : b[e];
    uint32_t v = uint32_t(a[e]);
    if (n >= 32) {
      d[e] = a[e];
    } else {
      uint32_t low = v & ((1u << n) - 1);
      bool sign = isSignedType<T> && n > 0 && (v >> (n - 1) & 1);
      d[e] = T(sign ? low | ~0u << n : low);
    }
  });
}

template <bool Wrap> void bmsk(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b);
  setLanes(mask, d, [=](unsigned e) {
    uint32_t pos = Wrap ? a[e] & 31 : a[e], n = Wrap ? b[e] & 31 : b[e];
    uint32_t ones = n >= 32 ? ~0u : (1u << n) - 1;
    return pos >= 32 ? 0 : ones << pos;
  });
}

/// fns: the position of the n-th set bit from a base, upwards or downwards.
void findNthSet(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b);
  const int32_t *c = w.reg<int32_t>(i.c);
  setLanes(mask, d, [=](unsigned e) {
    uint32_t found = ~0u, base = b[e];
    // An offset of 0 asks for the bit at the base itself.
    uint32_t left = c[e] == 0 ? 1 : c[e] < 0 ? 0u - uint32_t(c[e]) : c[e];
    uint32_t step = c[e] < 0 ? ~0u : 1u;
    for (uint32_t pos = base; pos < 32; pos += step) {
      left -= a[e] >> pos & 1;
      if (left == 0)
        found = pos;
      if (left == 0 || c[e] == 0)
        break;
    }
    return found;
  });
}

/// Adds with the carry flag, which is the predicate at `c`.
template <typename T, bool In, bool Out, bool Subtract>
void carry(Warp &w, const Inst &i, uint32_t mask) {
  T *d = w.reg<T>(i.dst);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b);
  // A subtraction adds the complement; its flag is that sum's carry, so set
  // where nothing was borrowed. nvcc's division of 128-bit integers reads it by
  // addc.
  uint32_t in = In ? w.pred(i.c) : Subtract ? ~0u : 0u;
  uint32_t out = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    T y = Subtract ? T(~b[l]) : b[l];
    unsigned __int128 sum =
        static_cast<unsigned __int128>(a[l]) + y + (in >> l & 1);
    d[l] = T(sum);
    out |= uint32_t(sum >> bitsOf<T> & 1) << l;
  }
  if (Out)
    w.setPred(i.c, out, mask);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a template takes none.
#define PTXSIM_PICK_BITS(TEMPLATE)                                             \
  (type == Type::B32 || type == Type::U32   ? Handler(TEMPLATE<uint32_t>)      \
   : type == Type::B64 || type == Type::U64 ? Handler(TEMPLATE<uint64_t>)      \
                                            : nullptr)
// NOLINTEND(bugprone-macro-parentheses)

template <bool Shift> Handler pickBfind(Type type) {
  switch (type) {
  case Type::U32:
    return bfind<uint32_t, Shift>;
  case Type::S32:
    return bfind<int32_t, Shift>;
  case Type::U64:
    return bfind<uint64_t, Shift>;
  case Type::S64:
    return bfind<int64_t, Shift>;
  default:
    return nullptr;
  }
}

Handler pickBfe(Type type) {
  switch (type) {
  case Type::U32:
    return bfe<uint32_t>;
  case Type::S32:
    return bfe<int32_t>;
  case Type::U64:
    return bfe<uint64_t>;
  case Type::S64:
    return bfe<int64_t>;
  default:
    return nullptr;
  }
}

template <bool In, bool Out, bool Subtract> Handler pickCarry(Type type) {
  if (type == Type::U32 || type == Type::S32 || type == Type::B32)
    return carry<uint32_t, In, Out, Subtract>;
  if (type == Type::U64 || type == Type::S64 || type == Type::B64)
    return carry<uint64_t, In, Out, Subtract>;
  return nullptr;
}

template <bool Wrap> Handler pickSzext(Type type) {
  return type == Type::U32   ? Handler(szext<uint32_t, Wrap>)
         : type == Type::S32 ? Handler(szext<int32_t, Wrap>)
                             : nullptr;
}

} // namespace

Handler bitHandler(BitOp op, Type type) {
  bool is32 = type == Type::B32;
  switch (op) {
  case BitOp::Popc:
    return PTXSIM_PICK_BITS(popc);
  case BitOp::Clz:
    return PTXSIM_PICK_BITS(clz);
  case BitOp::Brev:
    return PTXSIM_PICK_BITS(brev);
  case BitOp::Bfind:
    return pickBfind<false>(type);
  case BitOp::BfindShift:
    return pickBfind<true>(type);
  case BitOp::Bfe:
    return pickBfe(type);
  case BitOp::Bfi:
    return PTXSIM_PICK_BITS(bfi);
  case BitOp::Prmt:
    return is32 ? prmt : nullptr;
  case BitOp::PrmtF4e:
    return is32 ? prmtMode<0> : nullptr;
  case BitOp::PrmtB4e:
    return is32 ? prmtMode<1> : nullptr;
  case BitOp::PrmtRc8:
    return is32 ? prmtMode<2> : nullptr;
  case BitOp::PrmtEcl:
    return is32 ? prmtMode<3> : nullptr;
  case BitOp::PrmtEcr:
    return is32 ? prmtMode<4> : nullptr;
  case BitOp::PrmtRc16:
    return is32 ? prmtMode<5> : nullptr;
  case BitOp::ShfLClamp:
    return is32 ? funnelShift<true, false> : nullptr;
  case BitOp::ShfLWrap:
    return is32 ? funnelShift<true, true> : nullptr;
  case BitOp::ShfRClamp:
    return is32 ? funnelShift<false, false> : nullptr;
  case BitOp::ShfRWrap:
    return is32 ? funnelShift<false, true> : nullptr;
  case BitOp::Lop3:
    return is32 ? lop3 : nullptr;
  case BitOp::Dp4a:
    return dp4a;
  case BitOp::Dp2aLo:
    return dp2a<0>;
  case BitOp::Dp2aHi:
    return dp2a<1>;
  case BitOp::Szext:
    return pickSzext<false>(type);
  case BitOp::SzextWrap:
    return pickSzext<true>(type);
  case BitOp::Bmsk:
    return is32 ? bmsk<false> : nullptr;
  case BitOp::BmskWrap:
    return is32 ? bmsk<true> : nullptr;
  case BitOp::Fns:
    return is32 ? findNthSet : nullptr;
  case BitOp::AddCC:
    return pickCarry<false, true, false>(type);
  case BitOp::AddC:
    return pickCarry<true, false, false>(type);
  case BitOp::AddCCC:
    return pickCarry<true, true, false>(type);
  case BitOp::SubCC:
    return pickCarry<false, true, true>(type);
  case BitOp::SubC:
    return pickCarry<true, false, true>(type);
  case BitOp::SubCCC:
    return pickCarry<true, true, true>(type);
  }
  return nullptr;
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
