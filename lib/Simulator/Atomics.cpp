// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// atom and red. Blocks may run on several host threads, so these are atomic on
// the host too.
#include "FloatFormats.h"
#include "GlobalRaces.h"
#include "Handlers.h"
#include "State.h"

using namespace ptxsim;

namespace {

template <typename T> struct Word {
  using Type = std::conditional_t<
      sizeof(T) == 2, uint16_t,
      std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
};

/// Two narrow floats in a word.
struct HalfPair {
  uint32_t bits;
};
struct BFloatPair {
  uint32_t bits;
};
struct HalfValue {
  uint16_t bits;
};
struct BFloatValue {
  uint16_t bits;
};

template <typename T> T add(T a, T b) { return T(a + b); }
template <> int32_t add(int32_t a, int32_t b) {
  return int32_t(uint32_t(a) + uint32_t(b));
}
template <> int64_t add(int64_t a, int64_t b) {
  return int64_t(uint64_t(a) + uint64_t(b));
}
template <> float add(float a, float b) {
  float s = a + b;
  return s == s ? s : bitCast<float>(canonicalNaN32);
}
uint16_t addHalf(uint16_t a, uint16_t b) {
  return floatToHalf(halfToFloat(a) + halfToFloat(b));
}
uint16_t addBfloat(uint16_t a, uint16_t b) {
  return floatToBfloat(bfloatToFloat(a) + bfloatToFloat(b));
}
template <> HalfValue add(HalfValue a, HalfValue b) {
  return {addHalf(a.bits, b.bits)};
}
template <> BFloatValue add(BFloatValue a, BFloatValue b) {
  return {addBfloat(a.bits, b.bits)};
}
template <> HalfPair add(HalfPair a, HalfPair b) {
  return {uint32_t(addHalf(uint16_t(a.bits >> 16), uint16_t(b.bits >> 16)))
              << 16 |
          addHalf(uint16_t(a.bits), uint16_t(b.bits))};
}
template <> BFloatPair add(BFloatPair a, BFloatPair b) {
  return {uint32_t(addBfloat(uint16_t(a.bits >> 16), uint16_t(b.bits >> 16)))
              << 16 |
          addBfloat(uint16_t(a.bits), uint16_t(b.bits))};
}

/// Of two numbers the sign decides if they are equal; a number wins over a NaN.
uint16_t narrowExtremum(uint16_t a, uint16_t b, bool isMax,
                        float (*widen)(uint16_t)) {
  float x = widen(a), y = widen(b);
  if (x != x)
    return y != y ? canonicalNaN16 : b;
  if (y != y)
    return a;
  if (x == y)
    return (a >> 15 != 0) == isMax ? b : a;
  return (x > y) == isMax ? a : b;
}
template <typename T> T extremum(T old, T b, bool isMax) {
  return (b > old) == isMax ? b : old;
}
template <> HalfValue extremum(HalfValue old, HalfValue b, bool isMax) {
  return {narrowExtremum(old.bits, b.bits, isMax, halfToFloat)};
}
template <> BFloatValue extremum(BFloatValue old, BFloatValue b, bool isMax) {
  return {narrowExtremum(old.bits, b.bits, isMax, bfloatToFloat)};
}
uint32_t pairExtremum(uint32_t old, uint32_t b, bool isMax,
                      float (*widen)(uint16_t)) {
  return uint32_t(narrowExtremum(uint16_t(old >> 16), uint16_t(b >> 16), isMax,
                                 widen))
             << 16 |
         narrowExtremum(uint16_t(old), uint16_t(b), isMax, widen);
}
template <> HalfPair extremum(HalfPair old, HalfPair b, bool isMax) {
  return {pairExtremum(old.bits, b.bits, isMax, halfToFloat)};
}
template <> BFloatPair extremum(BFloatPair old, BFloatPair b, bool isMax) {
  return {pairExtremum(old.bits, b.bits, isMax, bfloatToFloat)};
}

template <typename T, AtomicOp Op> T apply(T old, T b, T c) {
  (void)c;
  if constexpr (Op == AtomicOp::Add)
    return add<T>(old, b);
  else if constexpr (Op == AtomicOp::Min || Op == AtomicOp::Max)
    return extremum<T>(old, b, Op == AtomicOp::Max);
  else if constexpr (Op == AtomicOp::And)
    return old & b;
  else if constexpr (Op == AtomicOp::Or)
    return old | b;
  else if constexpr (Op == AtomicOp::Xor)
    return old ^ b;
  else if constexpr (Op == AtomicOp::Exch)
    return b;
  else if constexpr (Op == AtomicOp::Cas)
    return old == b ? c : old;
  else if constexpr (Op == AtomicOp::Inc)
    return old >= b ? T(0) : T(old + 1);
  else
    return old == 0 || old > b ? b : T(old - 1);
}

/// One element of one lane, at `p`; gives the old value.
template <typename T, AtomicOp Op>
typename Word<T>::Type applyAt(Warp &w, char *p, T b, T c) {
  using W = typename Word<T>::Type;
  W *word = reinterpret_cast<W *>(p);
  W old = __atomic_load_n(word, __ATOMIC_RELAXED), next;
  do {
    next = bitCast<W>(apply<T, Op>(bitCast<T>(old), b, c));
  } while (!__atomic_compare_exchange_n(word, &old, next, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
  w.modifications += next != old;
  return old;
}

/// Inst::count above 1: a vector, whose operands are the elements' results (if
/// dst is a slot at all) and values. It is atomic by the element.
template <typename T, AtomicOp Op>
void atomic(Warp &w, const Inst &i, uint32_t mask) {
  using W = typename Word<T>::Type;
  unsigned count = i.count ? i.count : 1, bytes = unsigned(sizeof(T)) * count;
  uint64_t addresses[32];
  forLanes(mask, [&](unsigned l) { addresses[l] = laneAddress(w, i, l); });
  if (w.block->launch->instrumented)
    countAccess(w, i, mask, addresses, bytes, AccessMode::Atomic);
  const bool isShared = i.space == Space::Shared;
  bool passes = w.block->launch->instrumented &&
                (isShared ? passesSharedAtomic(w, i, mask, addresses, bytes)
                          : passesAtomicChecks(w, i, mask, addresses, bytes));
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    char *p = !passes    ? resolve(w, i, l, addresses[l], bytes, bytes, i.space,
                                   AccessMode::Atomic)
              : isShared ? w.sharedBase + uint32_t(addresses[l])
                         : reinterpret_cast<char *>(addresses[l]);
    for (unsigned k = 0; k < count; ++k) {
      const OperandSlot *o = w.operands + i.operands + k;
      uint32_t source = count == 1 ? i.b : o[i.dst == noSlot ? 0 : count].slot;
      uint32_t target = count == 1 ? i.dst : i.dst == noSlot ? noSlot : o->slot;
      T b = bitCast<T>(W(readLane(w, source, sizeof(T), l)));
      T c = i.c == noSlot ? b : bitCast<T>(W(readLane(w, i.c, sizeof(T), l)));
      W old = p ? applyAt<T, Op>(w, p + k * sizeof(T), b, c) : W(0);
      if (target != noSlot)
        writeLane(w, target, sizeof(T), l, old);
    }
  }
}

template <typename T, AtomicOp Op>
uint64_t applyBits(Warp &w, char *p, uint64_t value) {
  T b = bitCast<T>(typename Word<T>::Type(value));
  return applyAt<T, Op>(w, p, b, b);
}

template <typename T, AtomicOp Op> AtomicForm form() {
  return {atomic<T, Op>, applyBits<T, Op>};
}

/// Integers, and narrow floats.
template <typename T> AtomicForm pickOrdered(AtomicOp op) {
  switch (op) {
  case AtomicOp::Add:
    return form<T, AtomicOp::Add>();
  case AtomicOp::Min:
    return form<T, AtomicOp::Min>();
  case AtomicOp::Max:
    return form<T, AtomicOp::Max>();
  default:
    return {};
  }
}

template <typename T> AtomicForm pickBits(AtomicOp op) {
  switch (op) {
  case AtomicOp::And:
    return form<T, AtomicOp::And>();
  case AtomicOp::Or:
    return form<T, AtomicOp::Or>();
  case AtomicOp::Xor:
    return form<T, AtomicOp::Xor>();
  case AtomicOp::Exch:
    return form<T, AtomicOp::Exch>();
  case AtomicOp::Cas:
    return form<T, AtomicOp::Cas>();
  default:
    return {};
  }
}

template <typename T> AtomicForm pickFloat(AtomicOp op) {
  return op == AtomicOp::Add ? form<T, AtomicOp::Add>() : AtomicForm();
}

} // namespace

AtomicForm ptxsim::atomicForm(AtomicOp op, Type type) {
  switch (type) {
  case Type::B16:
    return op == AtomicOp::Cas ? form<uint16_t, AtomicOp::Cas>() : AtomicForm();
  case Type::B32:
    return pickBits<uint32_t>(op);
  case Type::B64:
    return pickBits<uint64_t>(op);
  case Type::B128:
    return op == AtomicOp::Exch || op == AtomicOp::Cas
               ? AtomicForm{atomicWideHandler, nullptr}
               : AtomicForm();
  case Type::U32:
    return op == AtomicOp::Inc   ? form<uint32_t, AtomicOp::Inc>()
           : op == AtomicOp::Dec ? form<uint32_t, AtomicOp::Dec>()
                                 : pickOrdered<uint32_t>(op);
  case Type::S32:
    return pickOrdered<int32_t>(op);
  case Type::U64:
    return pickOrdered<uint64_t>(op);
  case Type::S64:
    return pickOrdered<int64_t>(op);
  case Type::F32:
    return pickFloat<float>(op);
  case Type::F64:
    return pickFloat<double>(op);
  case Type::F16:
    return pickOrdered<HalfValue>(op);
  case Type::BF16:
    return pickOrdered<BFloatValue>(op);
  case Type::F16x2:
    return pickOrdered<HalfPair>(op);
  case Type::BF16x2:
    return pickOrdered<BFloatPair>(op);
  default:
    return {};
  }
}

/// What it gives back makes a kernel run on one worker, and blocks of one
/// worker take turns between instructions: no other access comes in between.
void ptxsim::atomicWideHandler(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned bytes = 16;
  uint64_t addresses[32];
  forLanes(mask, [&](unsigned l) { addresses[l] = laneAddress(w, i, l); });
  if (w.block->launch->instrumented)
    countAccess(w, i, mask, addresses, bytes, AccessMode::Atomic);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    char *p = resolve(w, i, l, addresses[l], bytes, bytes, i.space,
                      AccessMode::Atomic);
    char old[bytes] = {};
    if (p) {
      memcpy(old, p, bytes);
      const char *value = w.regs + i.b + l * bytes;
      // cas: c is what takes the place of b.
      if (i.c != noSlot)
        value = memcmp(old, value, bytes) == 0 ? w.regs + i.c + l * bytes : old;
      w.modifications += memcmp(p, value, bytes) != 0;
      memcpy(p, value, bytes);
    }
    if (i.dst != noSlot)
      memcpy(w.regs + i.dst + l * bytes, old, bytes);
  }
}
