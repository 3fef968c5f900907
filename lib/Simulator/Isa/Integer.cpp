// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer arithmetic and logic. Everything wraps: signed work is done on
// unsigned values where C++ would call it undefined.
#include "Isa.h"

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

template <typename T> struct Traits;
#define PTXSIM_INT(T, U, S, W)                                                 \
  template <> struct Traits<T> {                                               \
    using Unsigned = U;                                                        \
    using Wide = W;                                                            \
  };
PTXSIM_INT(uint16_t, uint16_t, int16_t, uint32_t)
PTXSIM_INT(int16_t, uint16_t, int16_t, int32_t)
PTXSIM_INT(uint32_t, uint32_t, int32_t, uint64_t)
PTXSIM_INT(int32_t, uint32_t, int32_t, int64_t)
PTXSIM_INT(uint64_t, uint64_t, int64_t, unsigned __int128)
PTXSIM_INT(int64_t, uint64_t, int64_t, __int128)
#undef PTXSIM_INT

template <typename T> constexpr bool isSignedType = T(-1) < T(0);
template <typename T> using Unsigned = typename Traits<T>::Unsigned;
template <typename T> using Wide = typename Traits<T>::Wide;
template <typename T> constexpr unsigned bitsOf = sizeof(T) * 8;
template <typename T>
constexpr T lowest =
    isSignedType<T> ? T(Unsigned<T>(1) << (bitsOf<T> - 1)) : T(0);
template <typename T> constexpr T highest = T(~Unsigned<T>(lowest<T>));

// 16-bit operands would be promoted to int and could overflow it.
template <typename T> PTXSIM_INLINE T mulLow(T a, T b) {
  return T(uint64_t(Unsigned<T>(a)) * uint64_t(Unsigned<T>(b)));
}

struct AddOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T(Unsigned<T>(a) + Unsigned<T>(b));
  }
};
struct SubOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T(Unsigned<T>(a) - Unsigned<T>(b));
  }
};
struct MulOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return mulLow(a, b);
  }
};
struct MulHiOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> bitsOf<T>);
  }
};
struct DivOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    if (b == 0)
      return T(-1);
    if (isSignedType<T> && b == T(-1))
      return T(Unsigned<T>(0) - Unsigned<T>(a));
    return T(a / b);
  }
};
struct RemOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    if (b == 0)
      return a;
    if (isSignedType<T> && b == T(-1))
      return 0;
    return T(a % b);
  }
};
struct MinOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return a < b ? a : b;
  }
};
struct MaxOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return a > b ? a : b;
  }
};
struct AndOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T(a & b);
  }
};
struct OrOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T(a | b);
  }
};
struct XorOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T(a ^ b);
  }
};
struct AddSatOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    Wide<T> sum = Wide<T>(a) + Wide<T>(b);
    return sum < Wide<T>(lowest<T>)    ? lowest<T>
           : sum > Wide<T>(highest<T>) ? highest<T>
                                       : T(sum);
  }
};
struct SubSatOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    Wide<T> diff = Wide<T>(a) - Wide<T>(b);
    return diff < Wide<T>(lowest<T>)    ? lowest<T>
           : diff > Wide<T>(highest<T>) ? highest<T>
                                        : T(diff);
  }
};
template <typename T> PTXSIM_INLINE int64_t low24(T a) {
  return isSignedType<T> ? int64_t(int32_t(uint32_t(a) << 8) >> 8)
                         : int64_t(uint32_t(a) & 0xffffff);
}
struct Mul24Op {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T(low24(a) * low24(b));
  }
};
struct Mul24HiOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b) {
    return T((low24(a) * low24(b)) >> 16);
  }
};
struct NotOp {
  template <typename T> static PTXSIM_INLINE T apply(T a) { return T(~a); }
};
struct CNotOp {
  template <typename T> static PTXSIM_INLINE T apply(T a) { return T(a == 0); }
};
struct NegOp {
  template <typename T> static PTXSIM_INLINE T apply(T a) {
    return T(Unsigned<T>(0) - Unsigned<T>(a));
  }
};
struct AbsOp {
  template <typename T> static PTXSIM_INLINE T apply(T a) {
    return a < 0 ? T(Unsigned<T>(0) - Unsigned<T>(a)) : a;
  }
};
/// Product, plus the third operand.
template <typename Mul> struct ThenAdd {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b, T c) {
    return T(Unsigned<T>(Mul::apply(a, b)) + Unsigned<T>(c));
  }
};
struct SadOp {
  template <typename T> static PTXSIM_INLINE T apply(T a, T b, T c) {
    Unsigned<T> diff = a < b ? Unsigned<T>(Unsigned<T>(b) - Unsigned<T>(a))
                             : Unsigned<T>(Unsigned<T>(a) - Unsigned<T>(b));
    return T(Unsigned<T>(c) + diff);
  }
};

template <typename T, typename Op, unsigned Pack = 1>
void unary(Warp &warp, const Inst &inst, uint32_t mask) {
  T *d = warp.reg<T>(inst.dst);
  const T *a = warp.reg<T>(inst.a);
  setLanes<Pack>(mask, d, [=](unsigned e) { return Op::apply(a[e]); });
}

template <typename T, typename Op, unsigned Pack = 1>
void binary(Warp &warp, const Inst &inst, uint32_t mask) {
  T *d = warp.reg<T>(inst.dst);
  const T *a = warp.reg<T>(inst.a), *b = warp.reg<T>(inst.b);
  setLanes<Pack>(mask, d, [=](unsigned e) { return Op::apply(a[e], b[e]); });
}

template <typename T, typename Op>
void ternary(Warp &warp, const Inst &inst, uint32_t mask) {
  T *d = warp.reg<T>(inst.dst);
  const T *a = warp.reg<T>(inst.a), *b = warp.reg<T>(inst.b),
          *c = warp.reg<T>(inst.c);
  setLanes(mask, d, [=](unsigned e) { return Op::apply(a[e], b[e], c[e]); });
}

template <typename T>
void mulWide(Warp &warp, const Inst &inst, uint32_t mask) {
  using W = Wide<T>;
  W *d = warp.reg<W>(inst.dst);
  const T *a = warp.reg<T>(inst.a), *b = warp.reg<T>(inst.b);
  setLanes(mask, d, [=](unsigned e) { return W(a[e]) * W(b[e]); });
}

template <typename T>
void madWide(Warp &warp, const Inst &inst, uint32_t mask) {
  using W = Wide<T>;
  using U = Unsigned<W>;
  W *d = warp.reg<W>(inst.dst);
  const W *c = warp.reg<W>(inst.c);
  const T *a = warp.reg<T>(inst.a), *b = warp.reg<T>(inst.b);
  setLanes(mask, d,
           [=](unsigned e) { return W(U(W(a[e]) * W(b[e])) + U(c[e])); });
}

template <typename T> void shl(Warp &warp, const Inst &inst, uint32_t mask) {
  T *d = warp.reg<T>(inst.dst);
  const T *a = warp.reg<T>(inst.a);
  const uint32_t *b = warp.reg<uint32_t>(inst.b);
  setLanes(mask, d, [=](unsigned e) {
    return b[e] >= bitsOf<T> ? T(0) : T(a[e] << (b[e] & (bitsOf<T> - 1)));
  });
}

template <typename T> void shr(Warp &warp, const Inst &inst, uint32_t mask) {
  T *d = warp.reg<T>(inst.dst);
  const T *a = warp.reg<T>(inst.a);
  const uint32_t *b = warp.reg<uint32_t>(inst.b);
  setLanes(mask, d, [=](unsigned e) {
    uint32_t amount = b[e] >= bitsOf<T> ? bitsOf<T> - 1 : b[e];
    T shifted = T(a[e] >> amount);
    return !isSignedType<T> && b[e] >= bitsOf<T> ? T(0) : shifted;
  });
}

/// Picks by type; bit types behave as unsigned.
#define PTXSIM_PICK(TEMPLATE, ...)                                             \
  switch (type) {                                                              \
  case Type::U16:                                                              \
  case Type::B16:                                                              \
    return TEMPLATE<uint16_t __VA_ARGS__>;                                     \
  case Type::S16:                                                              \
    return TEMPLATE<int16_t __VA_ARGS__>;                                      \
  case Type::U32:                                                              \
  case Type::B32:                                                              \
    return TEMPLATE<uint32_t __VA_ARGS__>;                                     \
  case Type::S32:                                                              \
    return TEMPLATE<int32_t __VA_ARGS__>;                                      \
  case Type::U64:                                                              \
  case Type::B64:                                                              \
    return TEMPLATE<uint64_t __VA_ARGS__>;                                     \
  case Type::S64:                                                              \
    return TEMPLATE<int64_t __VA_ARGS__>;                                      \
  default:                                                                     \
    return nullptr;                                                            \
  }

template <typename Op> Handler pickUnary(Type type) { PTXSIM_PICK(unary, , Op) }
template <typename Op> Handler pickBinary(Type type) {
  PTXSIM_PICK(binary, , Op)
}
template <typename Op> Handler pickPacked(Type type) {
  if (type == Type::U16x2)
    return binary<uint16_t, Op, 2>;
  if (type == Type::S16x2)
    return binary<int16_t, Op, 2>;
  return pickBinary<Op>(type);
}
template <typename Op>
Handler pickTernary(Type type){PTXSIM_PICK(ternary, , Op)} Handler
    pickShl(Type type){PTXSIM_PICK(shl, )} Handler
    pickShr(Type type){PTXSIM_PICK(shr, )}
#undef PTXSIM_PICK

Handler pickMulWide(Type type) {
  switch (type) {
  case Type::U16:
    return mulWide<uint16_t>;
  case Type::S16:
    return mulWide<int16_t>;
  case Type::U32:
    return mulWide<uint32_t>;
  case Type::S32:
    return mulWide<int32_t>;
  default:
    return nullptr;
  }
}

Handler pickMadWide(Type type) {
  switch (type) {
  case Type::U16:
    return madWide<uint16_t>;
  case Type::S16:
    return madWide<int16_t>;
  case Type::U32:
    return madWide<uint32_t>;
  case Type::S32:
    return madWide<int32_t>;
  default:
    return nullptr;
  }
}

template <typename Op> Handler pick32(Type type) {
  return type == Type::U32   ? Handler(binary<uint32_t, Op>)
         : type == Type::S32 ? Handler(binary<int32_t, Op>)
                             : nullptr;
}
template <typename Op> Handler pick32Ternary(Type type) {
  return type == Type::U32   ? Handler(ternary<uint32_t, Op>)
         : type == Type::S32 ? Handler(ternary<int32_t, Op>)
                             : nullptr;
}

} // namespace

Handler integerHandler(IntOp op, Type type) {
  switch (op) {
  case IntOp::Add:
    return pickPacked<AddOp>(type);
  case IntOp::Sub:
    return pickPacked<SubOp>(type);
  case IntOp::Mul:
    return pickBinary<MulOp>(type);
  case IntOp::MulHi:
    return pickBinary<MulHiOp>(type);
  case IntOp::MulWide:
    return pickMulWide(type);
  case IntOp::Mad:
    return pickTernary<ThenAdd<MulOp>>(type);
  case IntOp::MadHi:
    return pickTernary<ThenAdd<MulHiOp>>(type);
  case IntOp::MadWide:
    return pickMadWide(type);
  case IntOp::Sad:
    return pickTernary<SadOp>(type);
  case IntOp::Div:
    return pickBinary<DivOp>(type);
  case IntOp::Rem:
    return pickBinary<RemOp>(type);
  case IntOp::Min:
    return pickPacked<MinOp>(type);
  case IntOp::Max:
    return pickPacked<MaxOp>(type);
  case IntOp::And:
    return pickBinary<AndOp>(type);
  case IntOp::Or:
    return pickBinary<OrOp>(type);
  case IntOp::Xor:
    return pickBinary<XorOp>(type);
  case IntOp::Not:
    return pickUnary<NotOp>(type);
  case IntOp::CNot:
    return pickUnary<CNotOp>(type);
  case IntOp::Neg:
    return pickUnary<NegOp>(type);
  case IntOp::Abs:
    return pickUnary<AbsOp>(type);
  case IntOp::Shl:
    return pickShl(type);
  case IntOp::Shr:
    return pickShr(type);
  case IntOp::AddSat:
    return type == Type::S32 ? Handler(binary<int32_t, AddSatOp>) : nullptr;
  case IntOp::SubSat:
    return type == Type::S32 ? Handler(binary<int32_t, SubSatOp>) : nullptr;
  case IntOp::Mul24:
    return pick32<Mul24Op>(type);
  case IntOp::Mul24Hi:
    return pick32<Mul24HiOp>(type);
  case IntOp::Mad24:
    return pick32Ternary<ThenAdd<Mul24Op>>(type);
  case IntOp::Mad24Hi:
    return pick32Ternary<ThenAdd<Mul24HiOp>>(type);
  }
  return nullptr;
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
