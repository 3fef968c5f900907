// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow state of the checking tools.
#ifndef KVCACHE_LIB_SIMULATOR_CHECKS_H
#define KVCACHE_LIB_SIMULATOR_CHECKS_H

#include "Handlers.h"
#include "Proxy.h"
#include "State.h"

#include <unordered_map>

namespace ptxsim {

struct PendingCopy;

/// The last accesses to a word (or byte) of shared memory, by threads counted
/// through the cluster.
struct RaceCell {
  uint32_t writeEpoch = 0, writePc = 0;
  /// Two readers: the first since the last write, and the latest.
  uint32_t readEpoch[2] = {0, 0};
  uint32_t readPc = 0;
  uint16_t writeThread = 0;
  uint16_t readThread[2] = {0, 0};
  bool writeStrong = false;
  bool readStrong = false;
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
  /// clocks[w * warpsInCluster + u]: the epoch of the cluster's warp u that the
  /// block's warp w has seen the end of. Barriers and mbarriers pass these on:
  /// what happened in an epoch seen is ordered before.
  std::vector<uint32_t> clocks;
  /// The same of what strong accesses have observed, for the next fence.
  std::vector<uint32_t> observed;
  /// What is passed on by the mbarrier, or by strong accesses, at an offset.
  std::unordered_map<uint32_t, std::vector<uint32_t>> places;
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
/// The same of a cluster's clocks, once all of its blocks have begun.
void resetClocks(Cluster &cluster);

// Outstanding copies: reads of what they will write are reported.
void markPending(const PendingCopy &copy);
void clearPending(const PendingCopy &copy);

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
/// Whether an access of a thread, counted through the cluster, is ordered
/// before what a lane does now.
bool isOrdered(const Warp &warp, unsigned lane, uint16_t thread,
               uint32_t epoch);
/// The number of a warp, counted through its cluster.
inline uint32_t warpInCluster(const Warp &warp) {
  return warp.block->rank * warp.block->launch->warpsPerBlock + warp.index;
}
/// What a strong access to a block's shared memory observes, before it, and
/// what it lets others observe, behind it.
void observe(Warp &warp, const Inst &inst, Block &block, uint32_t offset);
void publish(Warp &warp, const Inst &inst, Block &block, uint32_t offset);
/// A barrier of the block: `arrived` lanes per warp have met; the warps in
/// `released` go on.
void joinClocks(Block &block, const std::vector<uint32_t> &arrived,
                uint32_t released);
/// The cluster's barrier has been passed.
void joinClusterClocks(Cluster &cluster);
/// An arrival at, and a completed wait for, the mbarrier at a shared address.
void releaseClock(Warp &warp, uint64_t barrier);
void acquireClock(Warp &warp, uint64_t barrier);
/// An atomic or strong access, or a fence, that others may observe.
void noteStrong(Warp &warp);

/// Inst::flags: other blocks may observe it.
enum : uint8_t { FenceWide = 1 };
void fenceHandler(Warp &, const Inst &, uint32_t);

/// Accesses of blocks to global memory, for one launch.
class GlobalRaces {
public:
  explicit GlobalRaces(bool byByte) : unit(byByte ? 1 : 4) {}
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
  friend void noteStrong(Warp &);
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
  uint32_t stamp(bool strong) const { return clock | (strong ? strongBit : 0); }
  bool ordered(uint32_t block, uint32_t time, uint32_t now) const;
  bool conflict(Cell &cell, bool isRead, bool strong, bool sameValue,
                uint32_t self, uint32_t &other);

  const unsigned unit;
  uint32_t clock = 1;
  std::map<const Allocation *, Shadow> shadows;
  /// The shadow of the last access.
  const Allocation *lastAllocation = nullptr;
  Cell *lastCells = nullptr;
  /// Times of strong accesses, per block.
  std::map<uint32_t, std::vector<uint32_t>> strongTimes;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CHECKS_H
