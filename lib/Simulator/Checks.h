// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow state of the checking tools.
#ifndef KVCACHE_LIB_SIMULATOR_CHECKS_H
#define KVCACHE_LIB_SIMULATOR_CHECKS_H

#include "GlobalRaces.h"
#include "Handlers.h"
#include "Proxy.h"
#include "State.h"

namespace ptxsim {

struct PendingCopy;

/// Reads of a place by lanes of a warp (or for its group) in one epoch.
struct SharedReads {
  /// 0: none.
  uint32_t epoch = 0;
  /// Of the last.
  uint32_t pc = 0;
  uint32_t lanes = 0;
  /// Counted through the cluster.
  uint16_t warp = 0;
  bool strong = false;
};

/// The last accesses to a word (or byte) of shared memory.
struct RaceCell {
  uint32_t writeEpoch = 0, writePc = 0;
  /// Counted through the cluster.
  uint16_t writeThread = 0;
  bool writeStrong = false;
  /// The reads since: the first that nothing orders, and where there are more a
  /// list of SharedShadow's, by its index and one.
  uint32_t moreReads = 0;
  SharedReads reads;
};

/// What is known of a block's shared memory.
struct SharedShadow {
  /// Per byte: 1 where a variable lies.
  std::vector<uint8_t> inside;
  /// Per byte: 1 where written since the block began.
  std::vector<uint8_t> written;
  /// Per byte: outstanding asynchronous copies that will write it.
  std::vector<uint8_t> pending;
  unsigned numPending = 0;
  /// Per 4-byte word; a word accessed in parts uses its byte cells.
  std::vector<RaceCell> words, bytes;
  std::vector<uint8_t> split;
  /// What cells refer to, and which of these none does.
  std::vector<std::vector<SharedReads>> moreReads;
  std::vector<uint32_t> unusedReads;
  /// Per warp; empty without the race check.
  std::vector<WarpClock> clocks;
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
void raceShared(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                uint32_t offset, unsigned bytes, AccessMode mode);
/// The cells of an allocation, null if it has none yet.
void *raceCells(Warp &warp, const Allocation &allocation);
/// An asynchronous copy that a lane issues will write this: what others do
/// there must be ordered before.
void raceAtIssue(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                 uint32_t offset, unsigned bytes);
/// What a lane has waited for: a write of its own.
void raceWaited(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                uint32_t offset, unsigned bytes);
} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CHECKS_H
