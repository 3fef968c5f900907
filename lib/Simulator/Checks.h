// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow state of the checking tools.
#ifndef KVCACHE_LIB_SIMULATOR_CHECKS_H
#define KVCACHE_LIB_SIMULATOR_CHECKS_H

#include "Handlers.h"
#include "Proxy.h"
#include "RaceSignals.h"
#include "State.h"

namespace ptxsim {

struct PendingCopy;

/// The last accesses to a word (or byte) of shared memory, by threads counted
/// through the cluster.
struct RaceCell {
  uint32_t writeEpoch = 0, writePc = 0;
  /// Two readers since the last write that are not ordered: of more, weak ones
  /// rather than strong ones, the first, and the latest.
  uint32_t readEpoch[2] = {0, 0};
  uint32_t readPc[2] = {0, 0};
  uint16_t readThread[2] = {0, 0};
  uint16_t writeThread = 0;
  uint8_t writeStrong = 0;
  /// A bit for each.
  uint8_t readStrong = 0;
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
  explicit AsyncScope(Warp &warp, bool asyncProxy = false)
      : warp(warp), before(warp.asynchronous), proxyBefore(warp.asyncProxy) {
    warp.asynchronous = true;
    warp.asyncProxy = asyncProxy;
  }
  ~AsyncScope() {
    warp.asynchronous = before;
    warp.asyncProxy = proxyBefore;
  }

private:
  Warp &warp;
  bool before, proxyBefore;
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
void raceGlobal(Warp &warp, const Inst &inst, unsigned lane,
                const Allocation &allocation, uint64_t address, unsigned bytes,
                AccessMode mode);
/// The cells of an allocation, null if it has none yet.
void *raceCells(Warp &warp, const Allocation &allocation);
/// An asynchronous copy that a lane issues will write this: what others do
/// there must be ordered before.
void raceAtIssue(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                 uint32_t offset, unsigned bytes);
/// What a lane has waited for: a write of its own.
void raceWaited(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                uint32_t offset, unsigned bytes);
/// A strong access or a fence, which other blocks may observe; an arrival at or
/// a wait for a barrier that other blocks of the cluster use.
void noteStrong(Warp &warp, const Inst &inst, unsigned lane);
void noteFence(Warp &warp, const Inst &inst);
void noteClusterBarrier(Warp &warp, bool releases);
/// A block has ended.
void noteEnd(Block &block);

/// Accesses of blocks to global memory, for one launch.
class GlobalRaces {
public:
  GlobalRaces(bool byByte, Dim3 grid, Dim3 cluster)
      : unit(byByte ? 1 : 4), grid(grid), cluster(cluster),
        hasClusters(cluster.x * cluster.y * cluster.z > 1) {}
  ~GlobalRaces();
  /// The allocation is about to go.
  void forget(const Allocation &allocation);
  /// passesChecks for accesses of one size.
  template <unsigned Bytes>
  bool passesFor(const AccessRange &range, uint32_t mask,
                 const uint64_t *addresses, uint64_t disp, uint32_t self,
                 bool isRead, bool initialised);

private:
  friend void *raceCells(Warp &, const Allocation &);
  static constexpr uint32_t severalBlocks = ~0u;
  friend void raceGlobal(Warp &, const Inst &, unsigned, const Allocation &,
                         uint64_t, unsigned, AccessMode);
  friend void noteStrong(Warp &, const Inst &, unsigned);
  friend void noteClusterBarrier(Warp &, bool);
  friend void noteFence(Warp &, const Inst &);
  friend void noteEnd(Block &);
  struct Cell {
    /// Block number plus one; ~0: several blocks.
    uint32_t writer, writeTime, reader, readTime;
  };
  struct Shadow {
    Cell *cells;
    size_t bytes;
  };
  /// Marks the times of strong accesses.
  static constexpr uint32_t strongBit = 0x80000000;
  uint32_t stamp(bool strong) const {
    return strong ? strongTime | strongBit : clock;
  }
  /// The time of a signal. Once there are no more, all accesses are forgotten.
  uint32_t tick() {
    if (clock == strongBit - 1)
      restart();
    return clock++;
  }
  void restart();
  bool ordered(uint32_t block, uint32_t time, bool wasStrong,
               uint32_t now) const;
  bool sameCluster(uint32_t a, uint32_t b) const;
  void signal(uint32_t block, bool releases, bool toDevice);
  bool conflict(Cell &cell, bool isRead, bool strong, bool sameValue,
                uint32_t self, uint32_t &other);

  const unsigned unit;
  const Dim3 grid, cluster;
  const bool hasClusters;
  uint32_t clock = 1;
  /// Of the strong access being made: before its own signal if that releases
  /// it.
  uint32_t strongTime = 1;
  /// The lanes of an instruction signal once: those behind this one, while the
  /// clock stands.
  struct {
    const Warp *warp = nullptr;
    const Inst *inst = nullptr;
    unsigned lane = 0;
    uint32_t clock = 0;
  } signaller;
  std::map<const Allocation *, Shadow> shadows;
  /// The shadow of the last access.
  const Allocation *lastAllocation = nullptr;
  Cell *lastCells = nullptr;
  /// The former between the blocks of clusters.
  BlockSignals clusterSignals, deviceSignals;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CHECKS_H
