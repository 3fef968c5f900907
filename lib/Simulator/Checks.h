// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow state of the checking tools.
#ifndef KVCACHE_LIB_SIMULATOR_CHECKS_H
#define KVCACHE_LIB_SIMULATOR_CHECKS_H

#include "GlobalRaces.h"
#include "Handlers.h"
#include "Proxy.h"
#include "RaceCells.h"
#include "State.h"

#include <map>
#include <type_traits>

namespace ptxsim {

struct PendingCopy;

/// The last collectives of a warp by their lanes, and the epochs they ended.
/// What a lane has read before one is in its registers, so that others may
/// overwrite it behind; what it has written orders none of them.
struct WarpExchanges {
  struct Exchange {
    uint32_t lanes = 0, epoch = 0;
  };
  /// As many as a warp has tiles of all sizes.
  Exchange last[32];
};

/// What is known of a block's shared memory.
struct SharedShadow {
  /// Per byte: 1 where a variable lies.
  std::vector<uint8_t> inside;
  bool allInside = false;
  /// Per byte: 1 where written since the block began.
  std::vector<uint8_t> written;
  /// Per byte: outstanding asynchronous copies that will write it.
  std::vector<uint8_t> pending;
  unsigned numPending = 0;
  /// Empty without the race check.
  RaceCells cells;
  /// Some thread of another block has accessed it.
  bool usedByOthers = false;
  /// Per warp: the lanes that have gone around an aligned barrier where others
  /// of the warp wait.
  std::vector<uint32_t> aroundBarrier;
  /// Per warp; empty without the race check.
  std::vector<WarpClock> clocks;
  std::vector<WarpExchanges> exchanges;
  /// Per warp group: of what its wgmma read.
  std::vector<uint32_t> groupEpochs;
  ProxyShadow proxy;
};

/// Whether all of `bytes` shadow bytes are 1.
PTXSIM_INLINE bool allWritten(const uint8_t *written, unsigned bytes) {
  constexpr uint64_t ones = 0x0101010101010101;
  for (; bytes >= 8; bytes -= 8, written += 8) {
    uint64_t word;
    memcpy(&word, written, 8);
    if (word != ones)
      return false;
  }
  if (bytes >= 4) {
    uint32_t word;
    memcpy(&word, written, 4);
    if (word != uint32_t(ones))
      return false;
    bytes -= 4, written += 4;
  }
  for (; bytes; --bytes)
    if (!*written++)
      return false;
  return true;
}

/// Calls `pass(size)` with the bytes that a lane accesses as a constant; false
/// if there is no such size.
template <typename Pass> bool forSize(unsigned bytes, Pass pass) {
  switch (bytes) {
  case 1:
    return pass(std::integral_constant<unsigned, 1>());
  case 2:
    return pass(std::integral_constant<unsigned, 2>());
  case 4:
    return pass(std::integral_constant<unsigned, 4>());
  case 8:
    return pass(std::integral_constant<unsigned, 8>());
  case 16:
    return pass(std::integral_constant<unsigned, 16>());
  case 32:
    return pass(std::integral_constant<unsigned, 32>());
  default:
    return false;
  }
}

/// While it lives, accesses of the warp are made by an asynchronous copy,
/// perhaps of the async proxy.
class AsyncScope {
public:
  explicit AsyncScope(Warp &warp, bool asyncProxy = false, uint32_t epoch = 0)
      : warp(warp), before(warp.asynchronous), proxyBefore(warp.asyncProxy),
        epochBefore(warp.copyEpoch) {
    warp.asynchronous = true;
    warp.asyncProxy = asyncProxy;
    warp.copyEpoch = epoch;
  }
  ~AsyncScope() {
    warp.asynchronous = before;
    warp.asyncProxy = proxyBefore;
    warp.copyEpoch = epochBefore;
  }

private:
  Warp &warp;
  bool before, proxyBefore;
  uint32_t epochBefore;
};

/// Checks an access to a block's shared memory and records it; false if it is
/// outside of every variable.
bool checkShared(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                 uint32_t offset, unsigned bytes, AccessMode mode);
/// False if the access is outside of every local variable.
bool checkLocal(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
                unsigned bytes, AccessMode mode);
void checkGlobal(Warp &warp, const Inst &inst, unsigned lane,
                 const Allocation &allocation, uint64_t address, unsigned bytes,
                 AccessMode mode);
/// Before an instruction: reads of registers that nothing has written are
/// reported, what it writes is noted. `mask` are the lanes that come here,
/// `active` those that execute it (RegisterChecks.cpp).
void checkRegisters(Warp &warp, uint32_t pc, uint32_t mask, uint32_t active);
/// Before an instruction: accesses to registers of a wgmma that has not been
/// waited for are reported (WgmmaRegisters.cpp).
void checkProductRegisters(Warp &warp, uint32_t pc, unsigned lane);
/// After a shfl: what a lane has taken is as written as it was at its source.
void exchangeWritten(Warp &warp, const Inst &inst, uint32_t mask,
                     const uint8_t *sources);
/// After a store: memory holds what its registers held, be that nothing.
void spreadUnwritten(Warp &warp, const Inst &inst, uint32_t mask,
                     const uint64_t *addresses);
/// Nothing of a new block's registers and local memory is written.
void resetInitialisation(Block &block);
/// Whether each byte at an address has been written; null where that is not
/// kept.
uint8_t *writtenBytes(Warp &warp, unsigned lane, uint64_t address,
                      unsigned bytes, Space space);
/// Makes the shadow of a block whose shared memory has its size.
void prepareShadow(Block &block);
/// Prepares a block's shadow for a new run.
void resetShadow(Block &block);

/// Lanes have executed a collective together (Race.cpp).
void exchangeLanes(Warp &warp, uint32_t lanes);
/// Lanes of a warp come to an aligned barrier while others are elsewhere
/// (Barriers.cpp).
void noteDivergentBarrier(Warp &warp, uint32_t pc);

// Outstanding copies: reads of what they will write are reported.
void markPending(const PendingCopy &copy);
void clearPending(const PendingCopy &copy);
/// The lane that issued a copy has waited for it: it has written as if itself.
void markWaited(const PendingCopy &copy);

// Races (Race.cpp)

/// Atomic, volatile, relaxed or stronger. What asynchronous copies do is weak
/// (and their flags are others).
inline bool isStrong(const Warp &warp, const Inst &inst, AccessMode mode) {
  return mode == AccessMode::Atomic ||
         (!warp.asynchronous && inst.flags & AccessStrong);
}
/// Strong accesses race where they are of different sizes: they overlap, but
/// not completely. Nothing is known of size 0.
inline bool haveSameSize(const Inst &a, const Inst &b) {
  return a.size == b.size || !a.size || !b.size;
}
void raceShared(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                uint32_t offset, unsigned bytes, AccessMode mode);
/// What the race check keeps of an allocation, null if it has none yet.
void *raceShadow(Warp &warp, const Allocation &allocation);
/// An asynchronous copy that a lane issues will write this: what others do
/// there must be ordered before.
void raceAtIssue(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                 uint32_t offset, unsigned bytes);
/// A block of a cluster has exited: accesses of others to its shared memory
/// must have been ordered before.
void raceAtExit(Block &block);
/// What a lane has waited for: a write of its own.
void raceWaited(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                uint32_t offset, unsigned bytes);
} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CHECKS_H
