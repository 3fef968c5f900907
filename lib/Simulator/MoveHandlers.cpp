// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Handlers.h"
#include "State.h"

#include <algorithm>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

using namespace ptxsim;

/// Elements of M, N in a register, go into registers of R.
template <typename M, typename R, unsigned N>
static void unpackAs(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned stride = sizeof(M) * N;
  const char *source = w.regs + i.a;
  for (unsigned k = 0; k < N; ++k) {
    const OperandSlot &o = w.operands[i.operands + k];
    if (o.discard)
      continue;
    R *d = w.reg<R>(o.slot);
    const char *s = source + k * sizeof(M);
    setLanes(mask, d, [=](unsigned l) {
      M v;
      memcpy(&v, s + l * stride, sizeof v);
      return R(v);
    });
  }
}

template <typename M, typename R>
static void unpack(Warp &w, const Inst &i, uint32_t mask) {
  switch (i.count) {
  case 2:
    return unpackAs<M, R, 2>(w, i, mask);
  case 4:
    return unpackAs<M, R, 4>(w, i, mask);
  default:
    return unpackAs<M, R, 8>(w, i, mask);
  }
}

template <typename M, typename R>
static void pack(Warp &w, const Inst &i, uint32_t mask) {
  char *d = w.regs + i.dst;
  unsigned stride = i.dstWidth;
  // The destination may be among the sources: collect first.
  alignas(16) char result[32 * 16];
  for (unsigned k = 0; k < i.count; ++k) {
    const R *s = w.reg<R>(w.operands[i.operands + k].slot);
    char *to = result + k * sizeof(M);
    for (unsigned l = 0; l < 32; ++l) {
      M v = M(s[l]);
      memcpy(to + l * stride, &v, sizeof v);
    }
  }
  if (mask == ~0u) {
    memcpy(d, result, 32u * stride);
    return;
  }
  forLanes(mask, [=, &result](unsigned l) {
    memcpy(d + l * stride, result + l * stride, stride);
  });
}

void ptxsim::unpackHandler(Warp &w, const Inst &i, uint32_t mask) {
  switch (i.size) {
  case 1:
    return unpack<uint8_t, uint16_t>(w, i, mask);
  case 2:
    return unpack<uint16_t, uint16_t>(w, i, mask);
  case 4:
    return unpack<uint32_t, uint32_t>(w, i, mask);
  default:
    return unpack<uint64_t, uint64_t>(w, i, mask);
  }
}

void ptxsim::packHandler(Warp &w, const Inst &i, uint32_t mask) {
  switch (i.size) {
  case 1:
    return pack<uint8_t, uint16_t>(w, i, mask);
  case 2:
    return pack<uint16_t, uint16_t>(w, i, mask);
  case 4:
    return pack<uint32_t, uint32_t>(w, i, mask);
  default:
    return pack<uint64_t, uint64_t>(w, i, mask);
  }
}

/// %clock, %clock64 and %globaltimer. Inst::imm: bits left out below.
void ptxsim::timeHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Cluster &cluster = *w.block->cluster;
  uint64_t now =
      (cluster.timeStands ? cluster.standingTime : w.worker->time()) >> i.imm;
  forLanes(mask, [&](unsigned l) { writeLane(w, i.dst, i.dstWidth, l, now); });
}

template <uint64_t Window>
static void toGeneric(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.reg<uint64_t>(i.dst);
  const uint64_t *a = w.reg<uint64_t>(i.a);
  forLanes(mask, [=](unsigned l) { d[l] = (a[l] & 0xffffffff) | Window; });
}

static void fromGeneric(Warp &w, const Inst &i, uint32_t mask) {
  uint64_t *d = w.reg<uint64_t>(i.dst);
  const uint64_t *a = w.reg<uint64_t>(i.a);
  forLanes(mask, [=](unsigned l) { d[l] = a[l] & 0xffffffff; });
}

Handler ptxsim::cvtaHandler(Space space, bool toSpace) {
  switch (space) {
  case Space::Shared:
    return toSpace ? fromGeneric : toGeneric<sharedWindow>;
  case Space::Local:
    return toSpace ? fromGeneric : toGeneric<localWindow>;
  case Space::Param:
    return toSpace ? fromGeneric : toGeneric<paramWindow>;
  default:
    return nullptr;
  }
}

void ptxsim::isspacepHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint64_t *a = w.reg<uint64_t>(i.a);
  uint32_t result = 0;
  for (unsigned l = 0; l < 32; ++l) {
    uint64_t window = a[l] & windowMask;
    bool own = (a[l] & 0xffffffff) >> sharedRankShift == 0;
    bool is = false;
    switch (i.space) {
    case Space::Shared:
      is = window == sharedWindow && (own || i.flags);
      break;
    case Space::Local:
      is = window == localWindow;
      break;
    case Space::Param:
      is = window == paramWindow;
      break;
    case Space::Global:
      is = window != sharedWindow && window != localWindow &&
           window != paramWindow;
      break;
    default:
      break;
    }
    result |= uint32_t(is) << l;
  }
  w.setPred(i.dst, result, mask);
}

/// Inst::size: bits of a result, which saturates; that of a is the upper, and
/// both push c up.
void ptxsim::cvtPackHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const int32_t *a = w.reg<int32_t>(i.a), *b = w.reg<int32_t>(i.b);
  const uint32_t *c = i.c == noSlot ? nullptr : w.reg<uint32_t>(i.c);
  unsigned bits = i.size;
  int32_t low = i.flags ? -(1 << (bits - 1)) : 0;
  int32_t high = i.flags ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  uint32_t ones = (1u << bits) - 1;
  forLanes(mask, [=](unsigned l) {
    uint32_t x = uint32_t(std::min(std::max(a[l], low), high)) & ones;
    uint32_t y = uint32_t(std::min(std::max(b[l], low), high)) & ones;
    uint32_t pair = x << bits | y;
    d[l] = c ? c[l] << 2 * bits | pair : pair;
  });
}

void ptxsim::roundedHandler(Warp &w, const Inst &i, uint32_t mask) {
  Handler inner = reinterpret_cast<Handler>(uintptr_t(i.imm));
#if defined(__x86_64__)
  // Bits 13-14 of MXCSR: nearest, down, up, towards zero.
  static constexpr unsigned modes[] = {0x0000, 0x6000, 0x2000, 0x4000};
  unsigned saved = _mm_getcsr();
  _mm_setcsr((saved & ~0x6000u) | modes[i.op]);
  inner(w, i, mask);
  _mm_setcsr(saved);
#else
  static constexpr int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                                  FE_UPWARD};
  int saved = fegetround();
  fesetround(modes[i.op]);
  inner(w, i, mask);
  fesetround(saved);
#endif
}
