// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores without counters. An access that hits
// the allocation that the instruction hit last is done here; anything else goes
// the general way, which also reports what is wrong.
#include "../Handlers.h"
#include "Isa.h"

#include <type_traits>

namespace ptxsim {
namespace PTXSIM_ISA {
namespace {

/// All lanes' accesses aligned and within [begin, end).
PTXSIM_INLINE bool allInside(const uint64_t *a, uint64_t disp, uint64_t begin,
                             uint64_t last, uint64_t alignMask, uint32_t mask) {
  uint64_t bad = 0, low = 0;
  if (mask == ~0u) {
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l) {
      // Within iff the distance from the beginning does not exceed the room;
      // both fit 63 bits unless something is wrong.
      uint64_t distance = a[l] + disp - begin;
      bad |= distance | (last - distance);
      low |= a[l] + disp;
    }
  } else {
    for (; mask; mask &= mask - 1) {
      unsigned l = unsigned(__builtin_ctz(mask));
      uint64_t distance = a[l] + disp - begin;
      bad |= distance | (last - distance);
      low |= a[l] + disp;
    }
  }
  return int64_t(bad) >= 0 && (low & alignMask) == 0;
}

/// Of the offsets in a block's own shared memory.
PTXSIM_INLINE bool allInsideShared(const uint32_t *offsets, uint32_t last,
                                   uint32_t alignMask, uint32_t mask) {
  uint32_t bad = 0;
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l) {
    bool active = mask >> l & 1;
    uint32_t o = offsets[l];
    bad |= active && (o > last || (o & alignMask)) ? 1u : 0u;
  }
  return bad == 0;
}

/// True if the lanes' addresses follow each other; then the whole warp is one
/// copy.
template <unsigned Bytes>
PTXSIM_INLINE bool isContiguous(const uint64_t *a, uint32_t mask) {
  if (mask != ~0u)
    return false;
  uint64_t differs = 0;
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    differs |= a[l] ^ (a[0] + l * Bytes);
  return differs == 0;
}

/// M: element in memory (signed if extended with its sign), R: register.
template <typename M, typename R, unsigned N>
PTXSIM_INLINE void loadFrom(Warp &w, const Inst &i, uint32_t mask,
                            const char *const *pointers) {
  const OperandSlot *o = w.operands + i.operands;
  if constexpr (N == 1) {
    R *d = w.reg<R>(o[0].slot);
    setLanes(mask, d, [=](unsigned l) {
      M v;
      memcpy(&v, pointers[l], sizeof v);
      return R(
          std::conditional_t<std::is_signed_v<M>, std::make_signed_t<R>, R>(v));
    });
  } else {
    R *d[N];
    for (unsigned k = 0; k < N; ++k)
      d[k] = w.reg<R>(o[k].slot);
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      M v[N];
      memcpy(v, pointers[l], sizeof v);
      for (unsigned k = 0; k < N; ++k)
        d[k][l] = R(v[k]);
    }
  }
}

template <typename M, typename R, unsigned N>
PTXSIM_INLINE void storeTo(Warp &w, const Inst &i, uint32_t mask,
                           char *const *pointers) {
  const OperandSlot *o = w.operands + i.operands;
  const R *s[N];
  for (unsigned k = 0; k < N; ++k)
    s[k] = w.reg<R>(o[k].slot);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    M v[N];
    for (unsigned k = 0; k < N; ++k)
      v[k] = M(s[k][l]);
    memcpy(pointers[l], v, sizeof v);
  }
}

template <typename M, typename R, unsigned N, AccessKind Kind, bool Checked>
void globalAccess(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned bytes = sizeof(M) * N;
  const uint64_t *a = w.reg<uint64_t>(i.a);
  uint64_t disp = uint64_t(i.imm);
  const AccessRange range = w.ranges[i.operands];
  const bool inRow = isContiguous<bytes>(a, mask);
  if (range.end - range.begin < bytes || range.begin > range.end ||
      !allInside(a, disp, range.begin, range.end - range.begin - bytes,
                 bytes - 1, mask) ||
      (Checked &&
       !passesChecks(w, i, mask, a, disp, bytes, inRow,
                     Kind == AccessKind::Load ? AccessMode::Read
                                              : AccessMode::Write))) {
    if (Kind == AccessKind::Load)
      loadHandler(w, i, mask);
    else
      storeHandler(w, i, mask);
    return;
  }
  if constexpr (N == 1 && sizeof(M) == sizeof(R)) {
    if (inRow) {
      char *memory = reinterpret_cast<char *>(a[0] + disp);
      char *reg = w.regs + w.operands[i.operands].slot;
      w.modifications += Kind == AccessKind::Store;
      if (Kind == AccessKind::Load)
        memcpy(reg, memory, 32 * bytes);
      else
        memcpy(memory, reg, 32 * bytes);
      return;
    }
  }
  w.modifications += Kind == AccessKind::Store;
  char *pointers[32];
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    pointers[l] = reinterpret_cast<char *>(a[l] + disp);
  if constexpr (Kind == AccessKind::Load)
    loadFrom<M, R, N>(w, i, mask, pointers);
  else
    storeTo<M, R, N>(w, i, mask, pointers);
}

template <typename M, typename R, unsigned N, AccessKind Kind, bool Checked>
void sharedAccess(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned bytes = sizeof(M) * N;
  alignas(64) uint32_t offsets[32];
  uint32_t disp = uint32_t(i.imm);
  if (i.a == noSlot) {
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      offsets[l] = disp;
  } else if (i.aWidth == 4) {
    const uint32_t *a = w.reg<uint32_t>(i.a);
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      offsets[l] = a[l] + disp;
  } else {
    const uint64_t *a = w.reg<uint64_t>(i.a);
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      offsets[l] = uint32_t(a[l]) + disp;
  }
  if (w.sharedSize < bytes ||
      !allInsideShared(offsets, uint32_t(w.sharedSize - bytes), bytes - 1,
                       mask) ||
      (Checked &&
       !passesShared(w, i, mask, offsets, bytes,
                     Kind == AccessKind::Load ? AccessMode::Read
                                              : AccessMode::Write))) {
    if (Kind == AccessKind::Load)
      loadHandler(w, i, mask);
    else
      storeHandler(w, i, mask);
    return;
  }
  w.modifications += Kind == AccessKind::Store;
  char *pointers[32];
  PTXSIM_VECTORIZE
  for (unsigned l = 0; l < 32; ++l)
    pointers[l] = w.sharedBase + offsets[l];
  if constexpr (Kind == AccessKind::Load)
    loadFrom<M, R, N>(w, i, mask, pointers);
  else
    storeTo<M, R, N>(w, i, mask, pointers);
}

template <typename M, typename R, unsigned N, bool Checked>
Handler pickSpace(AccessKind kind, Space space) {
  if (space == Space::Shared)
    return kind == AccessKind::Load
               ? sharedAccess<M, R, N, AccessKind::Load, Checked>
               : sharedAccess<M, R, N, AccessKind::Store, Checked>;
  return kind == AccessKind::Load
             ? globalAccess<M, R, N, AccessKind::Load, Checked>
             : globalAccess<M, R, N, AccessKind::Store, Checked>;
}

template <typename M, typename R, unsigned N>
Handler pickSpace(AccessKind kind, Space space, bool checked) {
  return checked ? pickSpace<M, R, N, true>(kind, space)
                 : pickSpace<M, R, N, false>(kind, space);
}

/// A single element in a wider register.
template <typename M, typename R>
Handler pickExtended(AccessKind kind, Space space, unsigned count,
                     bool isSigned, bool checked) {
  if (count != 1)
    return nullptr;
  return isSigned ? pickSpace<std::make_signed_t<M>, R, 1>(kind, space, checked)
                  : pickSpace<M, R, 1>(kind, space, checked);
}

template <typename M, typename R>
Handler pickCount(AccessKind kind, Space space, unsigned count, bool checked) {
  switch (count) {
  case 1:
    return pickSpace<M, R, 1>(kind, space, checked);
  case 2:
    return pickSpace<M, R, 2>(kind, space, checked);
  case 4:
    return pickSpace<M, R, 4>(kind, space, checked);
  case 8:
    if constexpr (sizeof(M) == 4)
      return pickSpace<M, R, 8>(kind, space, checked);
    return nullptr;
  default:
    return nullptr;
  }
}

} // namespace

Handler accessHandler(AccessKind kind, Space space, unsigned size,
                      unsigned width, unsigned count, bool isSigned,
                      bool checked) {
  if (space != Space::Global && space != Space::Shared &&
      space != Space::Generic)
    return nullptr;
  auto are = [&](unsigned bytes, unsigned registerBytes) {
    return size == bytes && width == registerBytes;
  };
  if (are(1, 2) && !isSigned)
    return pickCount<uint8_t, uint16_t>(kind, space, count, checked);
  if (are(2, 2))
    return pickCount<uint16_t, uint16_t>(kind, space, count, checked);
  if (are(4, 4))
    return pickCount<uint32_t, uint32_t>(kind, space, count, checked);
  if (are(8, 8))
    return pickCount<uint64_t, uint64_t>(kind, space, count, checked);
  if (are(1, 2))
    return pickExtended<uint8_t, uint16_t>(kind, space, count, isSigned,
                                           checked);
  if (are(1, 4))
    return pickExtended<uint8_t, uint32_t>(kind, space, count, isSigned,
                                           checked);
  if (are(2, 4))
    return pickExtended<uint16_t, uint32_t>(kind, space, count, isSigned,
                                            checked);
  if (are(4, 8))
    return pickExtended<uint32_t, uint64_t>(kind, space, count, isSigned,
                                            checked);
  return nullptr;
}

} // namespace PTXSIM_ISA
} // namespace ptxsim
