// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is ordered before what, for the race check. Everything here does nothing
// without it.
#ifndef KVCACHE_LIB_SIMULATOR_CLOCKS_H
#define KVCACHE_LIB_SIMULATOR_CLOCKS_H

#include "Handlers.h"
#include "State.h"

namespace ptxsim {

/// Makes the clocks of a block's warps.
void prepareClocks(Block &block);
/// For a new run of a cluster, once all of its blocks have begun: whatever was
/// before is ordered.
void resetClocks(Cluster &cluster);

/// Lanes pass on what they have seen and done to a clock, and take in what it
/// has.
void releaseTo(VectorClock &clock, Warp &warp, uint32_t lanes);
void acquireFrom(const VectorClock &clock, Warp &warp, uint32_t lanes);
/// barrier.cluster.arrive.relaxed: what has been done before a fence.
void releaseFenced(VectorClock &clock, Warp &warp, uint32_t lanes);

/// An arrival of lanes at the mbarrier at a shared address, the end of its
/// phase, and a completed wait of lanes for one.
void arriveClock(Warp &warp, const Inst &inst, uint32_t lanes,
                 uint64_t barrier);
void completeClock(Warp &warp, uint64_t barrier);
void waitClock(Warp &warp, const Inst &inst, uint32_t lanes, uint64_t barrier);
/// Behind the arrivals of an instruction.
void endRelease(Warp &warp);

/// What a strong access of a lane observes, before it, and what it lets others
/// observe, behind it: of shared memory, or of global memory.
void observe(Warp &warp, const Inst &inst, unsigned lane, uint64_t address);
void publish(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
             AccessMode mode);
void observeGlobal(Warp &warp, const Inst &inst, unsigned lane,
                   uint64_t address);
void publishGlobal(Warp &warp, const Inst &inst, unsigned lane,
                   uint64_t address, AccessMode mode);
/// Of a strong load, store or atomic.
inline Scope scopeOf(const Inst &inst) {
  return inst.flags & AccessOfBlock     ? BlockScope
         : inst.flags & AccessOfCluster ? ClusterScope
                                        : DeviceScope;
}

/// Inst::flags of a fence: which other threads may observe it.
enum : uint8_t { FenceCluster = 1, FenceDevice = 2 };
void fenceHandler(Warp &, const Inst &, uint32_t);

/// The warps of a warp group, in which wgmma runs.
constexpr uint32_t warpsInGroup = 4;
/// While it lives, reads of the warp are its group's.
class GroupReadScope {
public:
  explicit GroupReadScope(Warp &warp) : warp(warp) {
    warp.readsForGroup = true;
  }
  ~GroupReadScope() { warp.readsForGroup = false; }

private:
  Warp &warp;
};
/// A warp has waited for what its group has read.
void seeGroupReads(Warp &warp);
/// In clocks warp groups come behind the warps: the index of a warp's, and the
/// epoch of its reads.
uint32_t groupIndex(const Warp &warp);
uint32_t &groupEpoch(const Warp &warp);
/// The block of an index that is a warp group's; null if it is a warp's.
const Block *blockOfGroup(const Cluster &cluster, uint32_t index);

/// The number of a warp, counted through its cluster.
inline uint32_t warpInCluster(const Warp &warp) {
  return warp.block->rank * warp.block->launch->warpsPerBlock + warp.index;
}

/// Whether an access of a thread, counted through the cluster, is ordered
/// before what a lane does now.
inline bool isOrdered(const Warp &warp, unsigned lane, uint16_t thread,
                      uint32_t epoch) {
  const WarpClock &clock = *warp.clock;
  unsigned other = thread / 32u;
  if (epoch == 0 || clock.seen.covers(other, thread % 32u, epoch))
    return true;
  if (thread % 32u == lane && other == warpInCluster(warp))
    return true;
  return clock.views.covers(lane, other, thread % 32u, epoch);
}

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CLOCKS_H
