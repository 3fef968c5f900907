// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoded instructions, and the part of a warp that their handlers touch.
//
// A register is an array of 32 lanes of its own width in the warp's register
// file; a predicate is a 32-bit mask. Immediates and special registers are
// registers filled beforehand, so that every operand is an offset. A handler
// executes one instruction, of one type, for the lanes of a mask.
//
// This header is also compiled for newer instruction sets (see Isa.h): all
// functions here are forced inline so that no copy of theirs is shared.
#ifndef KVCACHE_LIB_SIMULATOR_INST_H
#define KVCACHE_LIB_SIMULATOR_INST_H

#include "Types.h"

#include <cstdint>
#include <cstring>
#include <string>

#define PTXSIM_INLINE inline __attribute__((always_inline))
#define PTXSIM_NOINLINE __attribute__((noinline))

namespace ptxsim {

struct Warp;
struct Inst;
struct Block;
struct Worker;
struct Program;
struct WarpClock;

using Handler = void (*)(Warp &warp, const Inst &inst, uint32_t mask);

/// What executing an instruction may do besides running its handler.
enum class Flow : uint8_t {
  Plain,
  Branch,
  BranchIndexed,
  Call,
  Return,
  Exit,
  /// Rendezvous of the block (or of a named subset).
  Barrier,
  /// Executed by the lanes of a member mask together.
  Collective,
  /// Executed by all lanes of a warp together: those that have exited, or that
  /// the block does not have, are missing.
  WholeWarp,
  /// `bar.warp.sync`: as Collective, but may meet at different instructions.
  WarpBarrier,
  /// Ends the turn of the warp where the handler asks for it, perhaps to be
  /// executed again.
  MayYield,
  ClusterWait,
  Trap
};

constexpr uint32_t noSlot = 0xffffffff;

struct alignas(64) Inst {
  Handler fn = nullptr;
  /// Byte offsets into the register file.
  uint32_t dst = noSlot, a = noSlot, b = noSlot, c = noSlot;
  uint32_t guard = noSlot;
  int32_t target = -1;
  /// Displacement of an address, or a handler's own constant.
  int64_t imm = 0;
  Flow flow = Flow::Plain;
  bool guardNegated = false;
  /// Register widths (bytes) of dst and a.
  uint8_t dstWidth = 0, aWidth = 0;
  /// Bytes per element and elements per lane of a memory access.
  uint8_t size = 0, count = 0;
  Space space = Space::Generic;
  uint8_t flags = 0;
  /// First of the further operands in Program::operands.
  uint32_t operands = 0;
  uint16_t numOperands = 0;
  /// InstClass.
  uint8_t instClass = 0;
  uint8_t op = 0;
  /// Of a load, a bit a byte: those that are used; 0: all.
  uint32_t usedBytes = 0;
};
static_assert(sizeof(Inst) == 64, "one cache line");

/// A further operand, beyond dst, a, b and c.
struct OperandSlot {
  uint32_t slot = noSlot;
  uint8_t width = 0;
  bool discard = false;
  bool negated = false;
};

/// Where a group of lanes of a warp stands.
struct LaneGroup {
  enum State : uint8_t { Ready, AtCollective, AtBarrier, AtClusterBarrier };
  uint32_t pc = 0;
  uint32_t mask = 0;
  State state = Ready;
  uint8_t barrier = 0;
};

/// Addresses of one allocation that may be read and written.
struct AccessRange {
  uint64_t begin = 1, end = 0;
  /// What the tools know of it, null where that is not kept: its shadow of
  /// written bytes, and that of the race check.
  uint8_t *written = nullptr;
  void *races = nullptr;
};

void meetLanes(Warp &warp, uint32_t lanes);

struct Warp {
  char *regs = nullptr;
  const char *params = nullptr;
  const OperandSlot *operands = nullptr;
  /// The allocation that each access instruction last hit, by Inst::operands.
  AccessRange *ranges = nullptr;
  char *sharedBase = nullptr;
  uint64_t sharedSize = 0;
  Block *block = nullptr;
  Worker *worker = nullptr;
  /// Lanes that have not exited.
  uint32_t live = 0;
  uint32_t index = 0;
  /// A handler sets it to give up the rest of the turn.
  bool yield = false;
  /// A handler of an instruction that may yield sets it beside `yield`: what it
  /// waits for has not come yet.
  bool again = false;
  /// A handler sets it when the launch must end.
  bool stop = false;
  /// An asynchronous copy is being performed for this warp, or in particular
  /// one of the async proxy (a bulk copy or a wgmma).
  bool asynchronous = false, asyncProxy = false;
  /// The epoch in which it issued the copy being performed; 0 for none.
  uint32_t copyEpoch = 0;
  /// A wgmma reads: for its warp group, not for a thread.
  bool readsForGroup = false;
  /// What a store is about to write, for the race check's same-value rule.
  const char *storeData = nullptr;
  /// Changes of memory by stores and atomics, to tell spinning from progress.
  uint64_t modifications = 0;
  /// What it has seen (Clocks.cpp); null without the race check.
  WarpClock *clock = nullptr;
  unsigned numGroups = 0;
  unsigned rotation = 0;
  LaneGroup groups[32];
  /// What a lane printed last on the way to a trap or a failing assertion, and
  /// that instruction.
  const Inst *trapAhead = nullptr;
  unsigned lastSpeaker = 0;
  std::string lastWords;

  /// Lanes have met.
  PTXSIM_INLINE void meet(uint32_t lanes) {
    if (clock)
      meetLanes(*this, lanes);
  }

  template <typename T> PTXSIM_INLINE T *reg(uint32_t slot) {
    return reinterpret_cast<T *>(regs + slot);
  }
  PTXSIM_INLINE uint32_t &pred(uint32_t slot) {
    return *reinterpret_cast<uint32_t *>(regs + slot);
  }
  PTXSIM_INLINE void setPred(uint32_t slot, uint32_t value, uint32_t mask) {
    uint32_t &p = pred(slot);
    p = (p & ~mask) | (value & mask);
  }
};

/// Value of one lane of a register of any width up to 8, zero extended.
PTXSIM_INLINE uint64_t readLane(const Warp &warp, uint32_t slot, unsigned width,
                                unsigned lane) {
  const char *p = warp.regs + slot + lane * width;
  switch (width) {
  case 2: {
    uint16_t v;
    memcpy(&v, p, 2);
    return v;
  }
  case 4: {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
  }
  default: {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
  }
  }
}

PTXSIM_INLINE void writeLane(Warp &warp, uint32_t slot, unsigned width,
                             unsigned lane, uint64_t value) {
  char *p = warp.regs + slot + lane * width;
  switch (width) {
  case 2:
    memcpy(p, &value, 2);
    return;
  case 4:
    memcpy(p, &value, 4);
    return;
  default:
    memcpy(p, &value, 8);
  }
}

#if defined(__clang__)
// Unrolling first would leave nothing to vectorise.
#define PTXSIM_VECTORIZE _Pragma("clang loop vectorize(enable) unroll(disable)")
#else
#define PTXSIM_VECTORIZE _Pragma("GCC ivdep")
#endif

/// Calls `body(element)` for the elements of the lanes in `mask`; a lane has
/// Pack elements.
template <unsigned Pack = 1, typename Body>
PTXSIM_INLINE void forLanes(uint32_t mask, Body &&body) {
  if (mask == ~0u) {
    for (unsigned e = 0; e < 32 * Pack; ++e)
      body(e);
    return;
  }
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    for (unsigned k = 0; k < Pack; ++k)
      body(lane * Pack + k);
  }
}

/// Sets d[element] to `value(element)`. The values of a full warp are collected
/// first: nothing aliases them, so that this vectorises whether or not the
/// destination is a source.
template <unsigned Pack = 1, typename T, typename Value>
PTXSIM_INLINE void setLanes(uint32_t mask, T *d, Value value) {
  if (mask == ~0u) {
    alignas(64) T values[32 * Pack];
    PTXSIM_VECTORIZE
    for (unsigned e = 0; e < 32 * Pack; ++e)
      values[e] = value(e);
    memcpy(d, values, sizeof values);
    return;
  }
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    for (unsigned k = 0; k < Pack; ++k)
      d[lane * Pack + k] = value(lane * Pack + k);
  }
}

template <typename To, typename From> PTXSIM_INLINE To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_INST_H
