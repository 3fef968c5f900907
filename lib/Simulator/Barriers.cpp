// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Barriers of a block and of a cluster.
#include "Barriers.h"
#include "Async.h"
#include "Checks.h"
#include "Clocks.h"
#include "Handlers.h"
#include "State.h"

#include <algorithm>

using namespace ptxsim;

namespace {

/// Threads a warp counts for: all 32 once its live lanes have all arrived.
unsigned arrivedThreads(const Warp &warp, uint32_t arrived) {
  return arrived == 0           ? 0
         : arrived == warp.live ? 32
                                : unsigned(__builtin_popcount(arrived));
}

bool isComplete(const Block &block, const NamedBarrier &barrier) {
  if (!barrier.inUse)
    return false;
  if (barrier.expected == 0) {
    for (const Warp &warp : block.warps)
      if (warp.live & ~barrier.arrived[warp.index])
        return false;
    return true;
  }
  unsigned threads = 0;
  for (const Warp &warp : block.warps)
    threads += arrivedThreads(warp, barrier.arrived[warp.index]);
  return threads >= barrier.expected;
}

void giveResult(Warp &warp, const NamedBarrier &barrier, uint32_t lanes) {
  const Inst &inst = *barrier.inst;
  switch (inst.op) {
  case BarrierRedPopc: {
    uint32_t *d = warp.reg<uint32_t>(inst.dst);
    forLanes(lanes, [=](unsigned l) { d[l] = barrier.trueCount; });
    return;
  }
  case BarrierRedAnd:
    warp.setPred(inst.dst, barrier.trueCount == barrier.lanesCount ? ~0u : 0u,
                 lanes);
    return;
  case BarrierRedOr:
    warp.setPred(inst.dst, barrier.trueCount ? ~0u : 0u, lanes);
    return;
  default:
    return;
  }
}

void complete(Block &block, unsigned index) {
  NamedBarrier &barrier = block.barriers[index];
  for (Warp &warp : block.warps) {
    uint32_t masks[32];
    uint32_t pcs[32];
    unsigned n = 0;
    for (unsigned g = 0; g < warp.numGroups;) {
      LaneGroup &group = warp.groups[g];
      if (group.state != LaneGroup::AtBarrier || group.barrier != index) {
        ++g;
        continue;
      }
      masks[n] = group.mask;
      pcs[n++] = group.pc;
      for (unsigned k = g + 1; k < warp.numGroups; ++k)
        warp.groups[k - 1] = warp.groups[k];
      --warp.numGroups;
    }
    for (unsigned k = 0; k < n; ++k) {
      if (barrier.isReduction)
        giveResult(warp, barrier, masks[k]);
      putGroup(warp, pcs[k], masks[k]);
    }
    uint32_t waited = 0;
    for (unsigned k = 0; k < n; ++k)
      waited |= masks[k];
    if (block.shadow)
      block.shadow->aroundBarrier[warp.index] = 0;
    if (waited) {
      acquireFrom(barrier.released, warp, waited);
      warp.meet(waited);
    }
  }
  barrier.released.reset(0);
  barrier.inUse = false;
  std::fill(barrier.arrived.begin(), barrier.arrived.end(), 0);
  barrier.inst = nullptr;
  barrier.isReduction = false;
  barrier.trueCount = barrier.lanesCount = 0;
  ++block.worker->barriers;
}

void arrive(Warp &warp, const Inst &inst, uint32_t mask, uint32_t pc,
            unsigned index, uint32_t expected) {
  Block &block = *warp.block;
  uint32_t tools = block.launch->tools;
  unsigned lane = unsigned(__builtin_ctz(mask));
  NamedBarrier &barrier = block.barriers[index];
  bool reduces = inst.op >= BarrierRedPopc;
  if (barrier.arrived.empty())
    barrier.arrived.assign(block.warps.size(), 0);
  if (!barrier.inUse) {
    barrier.inUse = true;
    barrier.expected = expected;
    barrier.inst = &inst;
    barrier.isReduction = reduces;
  } else if (tools & SyncCheck) {
    if (barrier.expected != expected)
      report(warp, inst, lane, SyncCheck, "barrier-count",
             "barrier " + std::to_string(index) + " is waited for with " +
                 std::to_string(expected) + " threads here and " +
                 std::to_string(barrier.expected) + " elsewhere");
    if (barrier.isReduction != reduces ||
        (reduces && barrier.inst->op != inst.op))
      report(warp, inst, lane, SyncCheck, "barrier-mismatch",
             "barrier " + std::to_string(index) +
                 " is reached by different kinds of barrier instructions");
  }
  if (tools & SyncCheck && inst.flags & BarrierAligned && mask != warp.live)
    report(warp, inst, lane, SyncCheck, "divergent-barrier",
           "barrier reached by " + std::to_string(__builtin_popcount(mask)) +
               " of the " + std::to_string(__builtin_popcount(warp.live)) +
               " threads of the warp");
  if (reduces) {
    uint32_t p = warp.pred(inst.c);
    p = (inst.flags & BarrierNegated ? ~p : p) & mask;
    barrier.trueCount += unsigned(__builtin_popcount(p));
    barrier.lanesCount += unsigned(__builtin_popcount(mask));
  }
  barrier.arrived[warp.index] |= mask;
  releaseTo(barrier.released, warp, mask);
  if (inst.op == BarrierArrive)
    putGroup(warp, pc, mask);
  else
    putGroup(warp, pc, mask, LaneGroup::AtBarrier, uint8_t(index));
  if (isComplete(block, barrier))
    complete(block, index);
}

} // namespace

void ptxsim::arriveAtBarrier(Warp &warp, const Inst &inst, uint32_t mask,
                             uint32_t pc) {
  const uint32_t *indices = warp.reg<uint32_t>(inst.a);
  const uint32_t *counts =
      inst.b == noSlot ? nullptr : warp.reg<uint32_t>(inst.b);
  // Lanes may name different barriers.
  while (mask) {
    unsigned first = unsigned(__builtin_ctz(mask));
    uint32_t index = indices[first], count = counts ? counts[first] : 0;
    uint32_t same = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      same |= uint32_t(indices[l] == index && (!counts || counts[l] == count))
              << l;
    }
    mask &= ~same;
    if (index >= 16 || (counts && (count == 0 || count % 32 ||
                                   count > warp.block->warps.size() * 32))) {
      std::string message =
          index >= 16 ? "barrier " + std::to_string(index) +
                            " does not exist; there are 16"
                      : "barrier count " + std::to_string(count) +
                            " is not a multiple of 32 up to the block's " +
                            std::to_string(warp.block->warps.size() * 32);
      fault(warp, inst, first, SyncCheck, "bad-barrier", message);
      putGroup(warp, pc, same);
      continue;
    }
    arrive(warp, inst, same, pc, index, count);
  }
}

/// The instructions that may come behind one in its function, in the same turn
/// of whatever loop it is in.
static std::vector<bool> reachableFrom(const Program &program, uint32_t pc) {
  std::vector<bool> reached(program.code.size() + 1, false);
  std::vector<uint32_t> work;
  auto reach = [&](int64_t to) {
    if (to < 0 || size_t(to) >= program.code.size() || reached[size_t(to)])
      return;
    reached[size_t(to)] = true;
    work.push_back(uint32_t(to));
  };
  reach(int64_t(pc) + 1);
  while (!work.empty()) {
    uint32_t at = work.back();
    work.pop_back();
    const Inst &inst = program.code[at];
    bool jumps = inst.flow == Flow::Branch || inst.flow == Flow::BranchIndexed;
    bool ends = inst.flow == Flow::Exit || inst.flow == Flow::Return ||
                inst.flow == Flow::Trap;
    auto jump = [&](int32_t target) {
      if (target > int64_t(at))
        reach(target);
    };
    if (inst.flow == Flow::Branch)
      jump(inst.target);
    if (inst.flow == Flow::BranchIndexed)
      for (int32_t target : program.branchTables[size_t(inst.imm)])
        jump(target);
    if (inst.guard != noSlot || !(jumps || ends))
      reach(int64_t(at) + 1);
  }
  return reached;
}

/// Lanes that merely leave the kernel early are not gone around: barriers do
/// not count threads that have exited. Those that go on as behind the barrier
/// are.
void ptxsim::noteDivergentBarrier(Warp &warp, uint32_t pc) {
  const Program &program = *warp.block->launch->program;
  std::vector<bool> &behind = warp.worker->behindBarrier[pc];
  if (behind.empty())
    behind = reachableFrom(program, pc);
  uint32_t around = 0;
  for (unsigned g = 0; g < warp.numGroups; ++g) {
    const LaneGroup &group = warp.groups[g];
    uint32_t next = group.pc;
    for (unsigned jumps = 0; jumps < 8; ++jumps) {
      const Inst &inst = program.code[next];
      if (inst.flow != Flow::Branch || inst.guard != noSlot)
        break;
      next = uint32_t(inst.target);
    }
    if (group.state == LaneGroup::Ready && behind[next] &&
        program.code[next].flow != Flow::Exit)
      around |= group.mask;
  }
  warp.block->shadow->aroundBarrier[warp.index] = around;
}

void ptxsim::lanesExited(Warp &warp, uint32_t mask) {
  Block &block = *warp.block;
  uint32_t around =
      block.shadow ? block.shadow->aroundBarrier[warp.index] & mask : 0;
  // Who waits for these lanes need not any more.
  for (unsigned g = 0; g < warp.numGroups; ++g) {
    LaneGroup &group = warp.groups[g];
    if (group.state != LaneGroup::AtCollective)
      continue;
    group.state = LaneGroup::Ready;
    const Inst &inst = block.launch->program->code[group.pc];
    if (around && inst.flow == Flow::Barrier)
      report(warp, inst, unsigned(__builtin_ctz(group.mask)), SyncCheck,
             "divergent-barrier",
             "barrier reached by " +
                 std::to_string(__builtin_popcount(group.mask)) + " of the " +
                 std::to_string(__builtin_popcount(warp.live)) +
                 " threads of the warp; others go around it and exit");
  }
  warp.live &= ~mask;
  if (!warp.live && ++block.numFinished == block.warps.size() &&
      block.launch->tools & RaceCheck)
    raceAtExit(block);
  for (unsigned index = 0; index < 16; ++index) {
    NamedBarrier &barrier = block.barriers[index];
    if (!barrier.inUse)
      continue;
    if (isComplete(block, barrier))
      complete(block, index);
  }
}

// Clusters
// ------------------------------------------------------------------------

/// Each warp remembers the phase it has arrived in; the phase advances when all
/// live lanes have arrived.
void ptxsim::clusterArriveHandler(Warp &warp, const Inst &inst, uint32_t mask) {
  Cluster &cluster = *warp.block->cluster;
  size_t index = warpInCluster(warp);
  cluster.clusterArrivedLanes[index] |= mask;
  // A relaxed arrival orders what a fence before it has.
  passOnInits(warp, mask);
  if (inst.flags & BarrierRelaxed)
    releaseFenced(cluster.clusterReleased, warp, mask);
  else
    releaseTo(cluster.clusterReleased, warp, mask);
}

static bool clusterComplete(Cluster &cluster) {
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      if (warp.live & ~cluster.clusterArrivedLanes[warpInCluster(warp)])
        return false;
  return true;
}

bool ptxsim::clusterBarrierDone(Warp &warp, const Inst &inst, uint32_t mask) {
  Cluster &cluster = *warp.block->cluster;
  uint32_t arrived = cluster.clusterArrivedLanes[warpInCluster(warp)];
  if (mask & ~arrived && warp.block->launch->tools & SyncCheck)
    report(warp, inst, unsigned(__builtin_ctz(mask & ~arrived)), SyncCheck,
           "cluster-barrier",
           "barrier.cluster.wait without a barrier.cluster.arrive before it");
  return false;
}

bool ptxsim::releaseClusterBarrier(Cluster &cluster) {
  bool anyWaits = false;
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      for (unsigned g = 0; g < warp.numGroups; ++g)
        anyWaits |= warp.groups[g].state == LaneGroup::AtClusterBarrier;
  if (!anyWaits || !clusterComplete(cluster))
    return false;
  // Everyone must be waiting before the next phase may begin; lanes that have
  // arrived but not waited yet will wait for this phase.
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps) {
      uint32_t waiting = 0;
      for (unsigned g = 0; g < warp.numGroups; ++g)
        if (warp.groups[g].state == LaneGroup::AtClusterBarrier)
          waiting |= warp.groups[g].mask;
      if (warp.live & ~waiting)
        return false;
    }
  std::fill(cluster.clusterArrivedLanes.begin(),
            cluster.clusterArrivedLanes.end(), 0);
  // What has exited counts as arrived.
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      if (!warp.live)
        releaseTo(cluster.clusterReleased, warp, ~0u);
  for (Block &block : cluster.blocks) {
    for (Warp &warp : block.warps) {
      uint32_t pcs[32], masks[32], waited = 0;
      unsigned n = 0;
      for (unsigned g = 0; g < warp.numGroups; ++g)
        if (warp.groups[g].state == LaneGroup::AtClusterBarrier) {
          waited |= warp.groups[g].mask;
          pcs[n] = warp.groups[g].pc + 1;
          masks[n++] = warp.groups[g].mask;
        }
      unsigned kept = 0;
      for (unsigned g = 0; g < warp.numGroups; ++g)
        if (warp.groups[g].state != LaneGroup::AtClusterBarrier)
          warp.groups[kept++] = warp.groups[g];
      warp.numGroups = kept;
      for (unsigned k = 0; k < n; ++k)
        putGroup(warp, pcs[k], masks[k]);
      acquireFrom(cluster.clusterReleased, warp, waited);
      warp.meet(waited);
    }
  }
  cluster.clusterReleased.reset(0);
  return true;
}

// Deadlock
// ------------------------------------------------------------------------

void ptxsim::reportDeadlock(Cluster &cluster) {
  Warp *first = nullptr;
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      for (unsigned g = 0; g < warp.numGroups; ++g) {
        const LaneGroup &group = warp.groups[g];
        const Program &program = *block.launch->program;
        unsigned lane = unsigned(__builtin_ctz(group.mask));
        std::string what;
        uint32_t pc = group.pc;
        switch (group.state) {
        case LaneGroup::AtBarrier: {
          const NamedBarrier &barrier = block.barriers[group.barrier];
          unsigned arrived = 0, live = 0;
          for (const Warp &other : block.warps) {
            arrived +=
                unsigned(__builtin_popcount(barrier.arrived[other.index]));
            live += unsigned(__builtin_popcount(other.live));
          }
          what = "waits at barrier " + std::to_string(group.barrier) +
                 ", which " + std::to_string(arrived) + " of " +
                 std::to_string(barrier.expected ? barrier.expected : live) +
                 " threads have reached";
          pc = group.pc - 1;
          break;
        }
        case LaneGroup::AtCollective:
          what = program.code[pc].flow == Flow::WholeWarp
                     ? "waits for the other threads of its warp, which never "
                       "come"
                     : "waits for lanes of its member mask that never come";
          break;
        case LaneGroup::AtClusterBarrier:
          what = "waits at the cluster barrier, which not all threads reach";
          break;
        default:
          what = "spins on a condition that nothing can change";
          // A turn ends behind what gives it up.
          if (pc && program.code[pc - 1].flow == Flow::MayYield)
            --pc;
        }
        report(warp, program.code[pc], lane, SyncCheck, "deadlock",
               "deadlock: the thread " + what);
        if (!first) {
          first = &warp;
          warp.worker->fail(warp, "deadlock: a thread " + what);
        }
      }
}
