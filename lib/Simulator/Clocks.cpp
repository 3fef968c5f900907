// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is ordered before what, for the race check: vector clocks of a cluster's
// threads. A lane passes on what it has done itself, what its warp did before
// the warp last met, and what it has taken in; what it takes in the rest of the
// warp sees when the warp meets. Barriers, mbarriers and places that strong
// accesses use pass on what was released to them: by what releases, or by an
// access behind a fence; to what acquires, or to what comes behind the next
// fence. A scope of a block reaches no other block. An access behind a fence
// passes on what the lane took in after the fence, too: that can hide a race
// but not invent one.
#include "Clocks.h"
#include "AsyncHandlers.h"
#include "Checks.h"

#include <algorithm>

using namespace ptxsim;

static size_t warpsInCluster(const Block &block) {
  return size_t(block.launch->warpsPerBlock) * block.launch->clusterBlocks;
}

static uint32_t groupsInBlock(const Launch &launch) {
  return (launch.warpsPerBlock + warpsInGroup - 1) / warpsInGroup;
}

static size_t clockSize(const Block &block) {
  const Launch &launch = *block.launch;
  return warpsInCluster(block) +
         size_t(groupsInBlock(launch)) * launch.clusterBlocks;
}

static uint32_t indexOfGroup(const Block &block, uint32_t group) {
  return uint32_t(warpsInCluster(block)) +
         block.rank * groupsInBlock(*block.launch) + group;
}

uint32_t ptxsim::groupIndex(const Warp &warp) {
  return indexOfGroup(*warp.block, warp.index / warpsInGroup);
}

uint32_t &ptxsim::groupEpoch(const Warp &warp) {
  return warp.block->shadow->groupEpochs[warp.index / warpsInGroup];
}

const Block *ptxsim::blockOfGroup(const Cluster &cluster, uint32_t index) {
  const Block &first = cluster.blocks[0];
  size_t warps = warpsInCluster(first);
  return index < warps
             ? nullptr
             : &cluster.blocks[(index - warps) / groupsInBlock(*first.launch)];
}

void ptxsim::seeGroupReads(Warp &warp) {
  if (warp.clock)
    warp.clock->seen.raise(groupIndex(warp), groupEpoch(warp)++);
}

void ptxsim::prepareClocks(Block &block) {
  block.shadow->groupEpochs.assign(groupsInBlock(*block.launch), 1);
  std::vector<WarpClock> &clocks = block.shadow->clocks;
  clocks.resize(block.warps.size());
  block.shadow->exchanges.resize(block.warps.size());
  for (Warp &warp : block.warps) {
    warp.clock = &clocks[warp.index];
    warp.clock->seen.reset(clockSize(block));
  }
}

void ptxsim::resetClocks(Cluster &cluster) {
  if (!cluster.blocks[0].warps[0].clock)
    return;
  cluster.places.clear();
  cluster.barrierInits.clear();
  cluster.clusterReleased.reset(0);
  for (Block &block : cluster.blocks) {
    for (uint32_t &epoch : block.shadow->groupEpochs)
      ++epoch;
    for (Warp &warp : block.warps) {
      uint32_t epoch = warp.clock->epoch + 1;
      VectorClock seen = std::move(warp.clock->seen);
      *warp.clock = WarpClock();
      warp.clock->epoch = warp.clock->firstEpoch = epoch;
      seen.reset(clockSize(block));
      warp.clock->seen = std::move(seen);
    }
  }
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      for (const Block &other : cluster.blocks) {
        for (const Warp &seen : other.warps)
          warp.clock->seen.raise(warpInCluster(seen), seen.clock->epoch - 1);
        for (uint32_t group = 0; group < groupsInBlock(*other.launch); ++group)
          warp.clock->seen.raise(indexOfGroup(other, group),
                                 other.shadow->groupEpochs[group] - 1);
      }
}

/// The lanes that make up a warp: those that have exited, too, while what they
/// did is not ordered.
static uint32_t countedLanes(const Warp &warp) {
  return warp.live | warp.clock->touched;
}

void ptxsim::meetLanes(Warp &warp, uint32_t lanes) {
  WarpClock &clock = *warp.clock;
  uint32_t before = clock.epoch++;
  uint32_t counted = countedLanes(warp);
  if (!(warp.live & ~lanes)) {
    if (!clock.views.empty()) {
      clock.views.joinTo(clock.seen, lanes);
      clock.views.clear();
    }
    if (counted & ~lanes) {
      clock.seen.raise(warpInCluster(warp), lanes, counted, before);
    } else {
      clock.seen.raise(warpInCluster(warp), before);
      clock.touched = 0;
    }
    return;
  }
  VectorClock met;
  met.reset(clock.seen.size());
  clock.views.joinTo(met, lanes);
  met.raise(warpInCluster(warp), lanes, counted, before);
  clock.views.drop(lanes);
  clock.views.add(lanes, met);
}

// Releases and acquires
// -----------------------------------------------------------------------

/// Passes on what lanes have taken in.
static void passOn(VectorClock &clock, const Warp &warp, uint32_t lanes) {
  clock.join(warp.clock->seen);
  warp.clock->views.joinTo(clock, lanes);
}

/// The same, with what they have done themselves up to now.
static void passOnAll(VectorClock &clock, const Warp &warp, uint32_t lanes) {
  passOn(clock, warp, lanes);
  uint32_t counted = countedLanes(warp);
  if (counted & ~lanes)
    clock.raise(warpInCluster(warp), lanes, counted, warp.clock->epoch);
  else
    clock.raise(warpInCluster(warp), warp.clock->epoch);
}

/// With what each has done up to its last fence of a scope; nothing without
/// one.
static void passOnFenced(VectorClock &clock, const Warp &warp, uint32_t lanes,
                         Scope scope) {
  for (uint32_t m = lanes; m; m &= m - 1) {
    uint32_t epoch = warp.clock->fenced[scope][__builtin_ctz(m)];
    if (!epoch)
      continue;
    passOn(clock, warp, m & -m);
    clock.raise(warpInCluster(warp), m & -m, countedLanes(warp), epoch);
  }
}

void ptxsim::endRelease(Warp &warp) {
  if (warp.clock)
    ++warp.clock->epoch;
}

void ptxsim::releaseTo(VectorClock &clock, Warp &warp, uint32_t lanes) {
  if (!warp.clock)
    return;
  passOnAll(clock, warp, lanes);
  endRelease(warp);
}

void ptxsim::releaseFenced(VectorClock &clock, Warp &warp, uint32_t lanes) {
  if (warp.clock)
    passOnFenced(clock, warp, lanes, ClusterScope);
}

void ptxsim::acquireFrom(const VectorClock &clock, Warp &warp, uint32_t lanes) {
  if (!warp.clock)
    return;
  if (warp.live & ~lanes)
    warp.clock->views.add(lanes, clock);
  else
    warp.clock->seen.join(clock);
}

// Places
// -----------------------------------------------------------------------

/// What is released to the warp's own block, whatever the scope.
static VectorClock &ownClock(Released &released, const Warp &warp) {
  uint32_t blocks = warp.block->launch->clusterBlocks;
  if (blocks == 1)
    return released.wide;
  released.byBlock.resize(blocks);
  return released.byBlock[warp.block->rank];
}

/// A release by lanes; `isWide` where its scope reaches other blocks.
static void releaseAt(Released &to, Warp &warp, uint32_t lanes, bool isWide) {
  VectorClock &own = ownClock(to, warp);
  passOnAll(own, warp, lanes);
  if (isWide && &own != &to.wide)
    passOnAll(to.wide, warp, lanes);
}

/// The same by relaxed accesses behind a fence.
static void releaseFencedAt(Released &to, Warp &warp, uint32_t lanes,
                            bool isWide) {
  VectorClock &own = ownClock(to, warp);
  passOnFenced(own, warp, lanes, BlockScope);
  if (isWide && &own != &to.wide)
    passOnFenced(to.wide, warp, lanes, ClusterScope);
}

/// What an access observes, for the lane's next fence or at once.
static void take(Released &from, Warp &warp, uint32_t lanes, bool isWide,
                 bool acquires) {
  VectorClock &own = ownClock(from, warp);
  bool others = isWide && &own != &from.wide;
  if (acquires) {
    acquireFrom(own, warp, lanes);
    if (others)
      acquireFrom(from.wide, warp, lanes);
    return;
  }
  warp.clock->observed[BlockScope].add(lanes, own);
  if (others)
    warp.clock->observed[ClusterScope].add(lanes, from.wide);
}

void ptxsim::arriveClock(Warp &warp, const Inst &inst, uint32_t lanes,
                         uint64_t barrier) {
  if (!warp.clock || warp.asynchronous)
    return;
  Released &to = warp.block->cluster->places.at(barrier).arriving;
  bool isWide = !(inst.flags & MbarrierOfBlock);
  if (inst.flags & MbarrierRelaxed)
    releaseFencedAt(to, warp, lanes, isWide);
  else
    releaseAt(to, warp, lanes, isWide);
}

void ptxsim::completeClock(Warp &warp, uint64_t barrier) {
  if (!warp.clock)
    return;
  ReleasePlace *place = warp.block->cluster->places.find(barrier);
  if (!place)
    return;
  ++warp.block->cluster->places.version;
  place->released.join(place->arriving);
  place->arriving = Released();
}

void ptxsim::waitClock(Warp &warp, const Inst &inst, uint32_t lanes,
                       uint64_t barrier) {
  if (!warp.clock)
    return;
  if (ReleasePlace *place = warp.block->cluster->places.find(barrier))
    take(place->released, warp, lanes, !(inst.flags & MbarrierOfBlock),
         !(inst.flags & MbarrierRelaxed));
}

// Strong accesses and fences
// ---------------------------------------------------------------------

/// Whether a lane's last observation was the same, of what is still there.
static bool hasTakenIn(Warp &warp, const Inst &inst, unsigned lane,
                       uint64_t address, uint64_t version) {
  WarpClock::Observation &last = warp.clock->lastObserved[lane];
  if (last.inst == &inst && last.address == address && last.version == version)
    return true;
  last = {&inst, address, version};
  return false;
}

static void observePlace(Warp &warp, const Inst &inst, unsigned lane,
                         uint64_t address) {
  // Most atomics pass nothing on.
  if (ReleasePlace *place = warp.block->cluster->places.find(address))
    take(place->released, warp, 1u << lane, scopeOf(inst) != BlockScope,
         inst.flags & AccessAcquire);
}

/// What a place takes over from a strong access: a store replaces what others
/// have released there, an atomic adds to it.
template <typename Place, typename PassOn>
static void passOnAt(PlaceTable<Place> &places, uint64_t address,
                     AccessMode mode, const Warp &warp, unsigned lane,
                     bool releases, PassOn passOn) {
  Place *place = releases         ? &places.at(address)
                 : places.empty() ? nullptr
                                  : places.find(address);
  if (!place)
    return;
  uint64_t self = (warp.block->linear << 5 | warp.index) << 5 | lane;
  if (mode == AccessMode::Write && places.isAlone(address) &&
      (releases || !place->releaser.mayBe(self + 1))) {
    ++places.version;
    *place = Place();
  }
  if (!releases)
    return;
  passOn(*place);
  place->releaser.add(self + 1);
}

void ptxsim::publish(Warp &warp, const Inst &inst, unsigned lane,
                     uint64_t address, AccessMode mode) {
  bool isWide = scopeOf(inst) != BlockScope;
  bool releases = inst.flags & AccessRelease;
  passOnAt(warp.block->cluster->places, address, mode, warp, lane,
           releases || warp.clock->fenced[BlockScope][lane],
           [&](ReleasePlace &place) {
             if (releases)
               releaseAt(place.released, warp, 1u << lane, isWide);
             else
               releaseFencedAt(place.released, warp, 1u << lane, isWide);
           });
  if (releases)
    endRelease(warp);
}

void ptxsim::observe(Warp &warp, const Inst &inst, unsigned lane,
                     uint64_t address) {
  if (!hasTakenIn(warp, inst, lane, address,
                  warp.block->cluster->places.version))
    observePlace(warp, inst, lane, address);
}

void ptxsim::observeGlobal(Warp &warp, const Inst &inst, unsigned lane,
                           uint64_t address) {
  PlaceTable<GridPlace> &places = warp.block->launch->globalRaces->places;
  if (hasTakenIn(warp, inst, lane, address,
                 places.version + warp.block->cluster->places.version))
    return;
  observePlace(warp, inst, lane, address);
  if (places.empty())
    return;
  GridPlace *place = places.find(address);
  if (!place || place->released.empty())
    return;
  WarpClock &clock = *warp.clock;
  VectorClock taken;
  // What the cluster itself has released, or has come back to it through
  // others, orders its shared memory, too: for that the access must acquire.
  if (const WarpEpochs *own =
          place->released.find(uint32_t(warp.block->cluster->number))) {
    static_cast<WarpEpochs &>(taken) = *own;
    if (scopeOf(inst) != DeviceScope)
      taken.grid = place->released;
    if (inst.flags & AccessAcquire)
      acquireFrom(taken, warp, 1u << lane);
    else
      clock.observed[scopeOf(inst)].add(1u << lane, taken);
  }
  if (scopeOf(inst) != DeviceScope || clock.seen.grid.isSame(place->released))
    return;
  taken.reset(clock.seen.size());
  taken.grid = place->released;
  acquireFrom(taken, warp, 1u << lane);
}

void ptxsim::publishGlobal(Warp &warp, const Inst &inst, unsigned lane,
                           uint64_t address, AccessMode mode) {
  bool releases = inst.flags & AccessRelease;
  bool passesOn = scopeOf(inst) == DeviceScope &&
                  (releases || warp.clock->fenced[DeviceScope][lane]);
  Cluster &cluster = *warp.block->cluster;
  passOnAt(warp.block->launch->globalRaces->places, address, mode, warp, lane,
           passesOn, [&](GridPlace &place) {
             VectorClock passed;
             if (releases)
               passOnAll(passed, warp, 1u << lane);
             else
               passOnFenced(passed, warp, 1u << lane, DeviceScope);
             // An atomic has observed what was there.
             if (mode == AccessMode::Atomic || place.released.empty())
               place.released = passed.grid;
             else
               place.released.join(passed.grid);
             place.released.join(uint32_t(cluster.number), passed);
           });
  if (!passesOn) {
    publish(warp, inst, lane, address, mode);
    return;
  }
  // Narrower scopes find it there, too.
  passOnAt(cluster.places, address, mode, warp, lane, false,
           [](ReleasePlace &) {});
  if (releases)
    endRelease(warp);
}

void ptxsim::fenceHandler(Warp &warp, const Inst &inst, uint32_t mask) {
  if (!warp.clock)
    return;
  WarpClock &clock = *warp.clock;
  unsigned widest = inst.flags & FenceDevice    ? DeviceScope
                    : inst.flags & FenceCluster ? ClusterScope
                                                : BlockScope;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    VectorClock taken;
    for (unsigned scope = BlockScope; scope <= widest; ++scope) {
      clock.fenced[scope][lane] = clock.epoch;
      clock.observed[scope].joinTo(taken, 1u << lane);
    }
    acquireFrom(taken, warp, 1u << lane);
  }
  ++clock.epoch;
  for (unsigned scope = BlockScope; scope <= widest; ++scope)
    clock.observed[scope].drop(mask);
}
