// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is ordered before what in shared memory, for the race check: vector
// clocks of a cluster's warps. Barriers join them. An mbarrier, and every place
// that strong accesses use, passes on what was released to it: by an access
// that releases, or by one behind a fence; to one that acquires, or to what
// comes behind the next fence. All lanes of a warp count as one here, and an
// access behind a fence passes on what the warp saw after the fence, too: that
// can hide a race but not invent one.
#include "Checks.h"

#include <algorithm>

using namespace ptxsim;

/// Of 16 blocks of 1024 threads.
static constexpr size_t maxWarpsInCluster = 512;

static size_t warpsInCluster(const Block &block) {
  return size_t(block.launch->warpsPerBlock) * block.launch->clusterBlocks;
}

static bool hasClocks(const Block &block) {
  return block.shadow && !block.shadow->clocks.empty();
}

/// The epochs that a warp has seen the end of.
static uint32_t *clocksOf(const Warp &warp) {
  return warp.block->shadow->clocks.data() +
         warp.index * warpsInCluster(*warp.block);
}

/// Those that it will have seen at its next fence.
static uint32_t *observedBy(const Warp &warp) {
  return warp.block->shadow->observed.data() +
         warp.index * warpsInCluster(*warp.block);
}

bool ptxsim::isOrdered(const Warp &warp, unsigned lane, uint16_t thread,
                       uint32_t epoch) {
  if (epoch == 0)
    return true;
  unsigned other = thread / 32u;
  if (other == warpInCluster(warp))
    return thread % 32u == lane || epoch < warp.metEpoch;
  return epoch <= clocksOf(warp)[other];
}

static void raise(uint32_t &clock, uint32_t value) {
  clock = std::max(clock, value);
}

void ptxsim::joinClocks(Block &block, const std::vector<uint32_t> &arrived,
                        uint32_t released) {
  if (!block.shadow || block.shadow->clocks.empty())
    return;
  size_t all = warpsInCluster(block);
  uint32_t joined[maxWarpsInCluster];
  std::fill(joined, joined + all, 0);
  for (const Warp &warp : block.warps) {
    if (!arrived[warp.index])
      continue;
    const uint32_t *seen = clocksOf(warp);
    for (size_t u = 0; u < all; ++u)
      raise(joined[u], seen[u]);
    raise(joined[warpInCluster(warp)], warp.epoch);
  }
  for (const Warp &warp : block.warps)
    if (released >> warp.index & 1)
      for (size_t u = 0; u < all; ++u)
        if (u != warpInCluster(warp))
          raise(clocksOf(warp)[u], joined[u]);
}

void ptxsim::joinClusterClocks(Cluster &cluster) {
  Block &first = cluster.blocks[0];
  if (!first.shadow || first.shadow->clocks.empty())
    return;
  size_t all = warpsInCluster(first);
  std::vector<uint32_t> joined = cluster.clusterArrivedEpochs;
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps) {
      for (size_t u = 0; u < all; ++u)
        raise(joined[u], clocksOf(warp)[u]);
      // What has exited counts as arrived.
      if (!warp.live)
        raise(joined[warpInCluster(warp)], warp.epoch);
    }
  for (const Block &block : cluster.blocks)
    for (const Warp &warp : block.warps)
      for (size_t u = 0; u < all; ++u)
        if (u != warpInCluster(warp))
          raise(clocksOf(warp)[u], joined[u]);
}

void ptxsim::resetClocks(Cluster &cluster) {
  // Epochs go on from cluster to cluster, and all of the last is ordered
  // before.
  for (const Block &block : cluster.blocks)
    if (block.shadow && !block.shadow->clocks.empty())
      for (const Warp &warp : block.warps)
        for (const Block &other : cluster.blocks)
          for (const Warp &seen : other.warps)
            clocksOf(warp)[warpInCluster(seen)] = seen.epoch - 1;
}

/// What is passed on at an offset of a block's shared memory.
static std::vector<uint32_t> &clockAt(Block &block, uint32_t offset) {
  std::vector<uint32_t> &clock = block.shadow->places[offset];
  clock.resize(warpsInCluster(block), 0);
  return clock;
}

/// Makes what a clock has part of what a warp has seen.
static void see(Warp &warp, const uint32_t *clock) {
  uint32_t *seen = clocksOf(warp);
  for (size_t u = 0, all = warpsInCluster(*warp.block); u < all; ++u)
    if (u != warpInCluster(warp))
      raise(seen[u], clock[u]);
    else
      // Other lanes of the warp.
      raise(warp.metEpoch, clock[u] + 1);
}

/// Makes what a warp has seen, and its own epochs up to `own`, part of a clock.
static void passOn(const Warp &warp, uint32_t own, uint32_t *clock) {
  const uint32_t *seen = clocksOf(warp);
  for (size_t u = 0, all = warpsInCluster(*warp.block); u < all; ++u)
    raise(clock[u], u == warpInCluster(warp) ? own : seen[u]);
}

/// The block whose shared memory an mbarrier lies in; null without the check.
static Block *blockOf(Warp &warp, uint64_t barrier) {
  Block *block = warp.block;
  uint64_t rank = (barrier & 0xffffffff) >> sharedRankShift;
  if (!hasClocks(*block) || rank > block->cluster->blocks.size())
    return nullptr;
  return rank ? &block->cluster->blocks[rank - 1] : block;
}

void ptxsim::releaseClock(Warp &warp, uint64_t barrier) {
  Block *block = warp.asynchronous ? nullptr : blockOf(warp, barrier);
  if (!block)
    return;
  passOn(warp, warp.epoch,
         clockAt(*block, uint32_t(barrier & sharedOffsetMask)).data());
  ++warp.epoch;
}

void ptxsim::acquireClock(Warp &warp, uint64_t barrier) {
  Block *block = blockOf(warp, barrier);
  if (!block)
    return;
  see(warp, clockAt(*block, uint32_t(barrier & sharedOffsetMask)).data());
  // Lanes of the warp that have arrived are ordered as well.
  warp.meet();
}

void ptxsim::observe(Warp &warp, const Inst &inst, Block &block,
                     uint32_t offset) {
  // Most atomics pass nothing on.
  auto it = block.shadow->places.find(offset);
  if (it == block.shadow->places.end())
    return;
  const std::vector<uint32_t> &clock = it->second;
  uint32_t *observed = observedBy(warp);
  for (size_t u = 0; u < clock.size(); ++u)
    raise(observed[u], clock[u]);
  if (inst.flags & AccessAcquire)
    see(warp, clock.data());
}

void ptxsim::publish(Warp &warp, const Inst &inst, Block &block,
                     uint32_t offset) {
  uint32_t own = &block == warp.block ? warp.fencedEpoch : warp.wideFencedEpoch;
  if (inst.flags & AccessRelease)
    own = warp.epoch++;
  if (own)
    passOn(warp, own, clockAt(block, offset).data());
}

/// Lanes are not told apart: a fence of one is one of its warp.
void ptxsim::fenceHandler(Warp &warp, const Inst &inst, uint32_t) {
  warp.fencedEpoch = warp.epoch++;
  if (inst.flags & FenceWide)
    warp.wideFencedEpoch = warp.fencedEpoch;
  if (hasClocks(*warp.block))
    see(warp, observedBy(warp));
}
