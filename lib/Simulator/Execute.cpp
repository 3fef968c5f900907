// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a warp. Lanes that stand at the same instruction form a group; the group
// with the lowest program counter runs until it branches apart, reaches another
// group or waits. Compilers place code so that this meets again where paths
// join. A group that runs for long gives way, so that lanes that wait for
// others of their warp get them.
#include "Async.h"
#include "Barriers.h"
#include "Checks.h"
#include "Handlers.h"
#include "State.h"
#include "Trace.h"

#include <algorithm>

using namespace ptxsim;

/// Instructions after which another group of the warp may go on.
static constexpr uint64_t groupQuantum = 4096;

void ptxsim::putGroup(Warp &warp, uint32_t pc, uint32_t mask,
                      LaneGroup::State state, uint8_t barrier) {
  if (!mask)
    return;
  bool mergeable =
      state == LaneGroup::Ready || state == LaneGroup::AtCollective;
  unsigned at = 0;
  for (; at < warp.numGroups; ++at) {
    LaneGroup &group = warp.groups[at];
    if (mergeable && group.pc == pc &&
        (group.state == LaneGroup::Ready ||
         group.state == LaneGroup::AtCollective)) {
      group.mask |= mask;
      // What waited for company looks again.
      group.state = LaneGroup::Ready;
      return;
    }
    if (group.pc > pc)
      break;
  }
  for (unsigned i = warp.numGroups; i > at; --i)
    warp.groups[i] = warp.groups[i - 1];
  warp.groups[at] = {pc, mask, state, barrier};
  ++warp.numGroups;
}

static LaneGroup takeGroup(Warp &warp, unsigned index) {
  LaneGroup group = warp.groups[index];
  --warp.numGroups;
  for (unsigned i = index; i < warp.numGroups; ++i)
    warp.groups[i] = warp.groups[i + 1];
  return group;
}

/// The ready group to run: the lowest, or after a long turn the next.
static int pickGroup(Warp &warp) {
  unsigned numReady = 0;
  for (unsigned i = 0; i < warp.numGroups; ++i)
    numReady += warp.groups[i].state == LaneGroup::Ready;
  if (!numReady)
    return -1;
  unsigned skip = warp.rotation % numReady;
  for (unsigned i = 0; i < warp.numGroups; ++i)
    if (warp.groups[i].state == LaneGroup::Ready && skip-- == 0)
      return int(i);
  return -1;
}

/// The next place above `pc` where another group stands.
static uint32_t nextMeeting(const Warp &warp, uint32_t pc) {
  for (unsigned i = 0; i < warp.numGroups; ++i)
    if (warp.groups[i].pc > pc &&
        (warp.groups[i].state == LaneGroup::Ready ||
         warp.groups[i].state == LaneGroup::AtCollective))
      return warp.groups[i].pc;
  return ~0u;
}

/// Where nothing else can run, a group that waits at an aligned barrier for the
/// rest of its warp waits in vain: makes it ready. False if there is none.
static bool endGathering(Warp &warp) {
  if (isReady(warp))
    return false;
  const Inst *code = warp.block->launch->program->code.data();
  for (unsigned i = 0; i < warp.numGroups; ++i)
    if (warp.groups[i].state == LaneGroup::AtCollective &&
        code[warp.groups[i].pc].flow == Flow::Barrier) {
      warp.groups[i].state = LaneGroup::Ready;
      return true;
    }
  return false;
}

namespace {

/// One turn of a warp.
class Turn {
public:
  Turn(Warp &warp, uint64_t budget)
      : warp(warp), worker(*warp.worker), program(*warp.block->launch->program),
        code(program.code.data()),
        watchesProducts(checksProducts(*warp.block->launch)), budget(budget) {}

  TurnEnd run() {
    bool counting = warp.block->launch->options->counters;
    bool tracing = bool(warp.block->launch->options->trace);
    bool observed = counting || tracing || !program.registerEvents.empty() ||
                    watchesProducts;
    worker.issuedInTurn = &issued;
    TurnEnd end = observed ? loop<true>() : loop<false>();
    worker.issuedInTurn = nullptr;
    worker.warpInstructions += issued;
    worker.threadInstructions += threads;
    return end;
  }

private:
  template <bool Observed> TurnEnd loop();
  /// Runs `group` as long as it stays together; false if the turn is over.
  template <bool Observed> bool runGroup(LaneGroup group);
  bool control(const Inst &inst, uint32_t &pc, uint32_t &mask, uint32_t active);
  template <typename Body>
  void forMemberSets(const Inst &inst, const uint32_t *members, uint32_t active,
                     Body &&body);
  void collective(const Inst &inst, uint32_t pc, uint32_t active);
  void wholeWarp(const Inst &inst, uint32_t pc, uint32_t active);
  void warpBarrier(const Inst &inst, uint32_t pc, uint32_t active);
  void leaveWarpBarrier(uint32_t pc, uint32_t set);
  void splitByValue(const uint32_t *targets, uint32_t lanes);
  void executeTrap(const Inst &inst, uint32_t active);
  void observe(const Inst &inst, uint32_t pc, uint32_t mask, uint32_t active);

  Warp &warp;
  Worker &worker;
  const Program &program;
  const Inst *code;
  /// Registers of wgmmas are looked after.
  const bool watchesProducts;
  uint64_t budget;
  uint64_t issued = 0, threads = 0;
  /// Instructions since the groups last took turns.
  uint64_t sinceRotation = 0;
};

} // namespace

void Turn::observe(const Inst &inst, uint32_t pc, uint32_t mask,
                   uint32_t active) {
  if (!worker.counts.empty()) {
    InstCounts &c = worker.counts[pc];
    ++c.warps;
    c.threads += unsigned(__builtin_popcount(active));
    if (inst.flow == Flow::Branch && active && active != mask)
      ++c.divergent;
  }
  if (!program.registerEvents.empty())
    checkRegisters(warp, pc, mask, active);
  if (watchesProducts && active)
    checkProductRegisters(warp, pc, unsigned(__builtin_ctz(active)));
  if (warp.block->launch->options->trace)
    traceInstruction(warp, inst, active);
}

template <bool Observed> bool Turn::runGroup(LaneGroup group) {
  uint32_t pc = group.pc, mask = group.mask;
  uint32_t meeting = warp.numGroups ? nextMeeting(warp, pc) : ~0u;
  uint64_t quantum = warp.numGroups ? groupQuantum : budget;
  quantum = std::min(quantum, budget);
  uint64_t left = quantum;
  uint64_t lanes = unsigned(__builtin_popcount(mask));
  auto settle = [&] {
    uint64_t used = quantum - left;
    issued += used;
    threads += used * lanes;
    budget -= used;
  };
  for (;;) {
    const Inst &inst = code[pc];
    uint32_t active = mask;
    if (inst.guard != noSlot) {
      uint32_t p = warp.pred(inst.guard);
      active &= inst.guardNegated ? ~p : p;
    }
    --left;
    if (Observed)
      observe(inst, pc, mask, active);
    if (inst.flow == Flow::Plain) {
      if (active)
        inst.fn(warp, inst, active);
      ++pc;
    } else if (inst.flow == Flow::Branch) {
      if (active == mask) {
        pc = uint32_t(inst.target);
      } else if (!active) {
        ++pc;
      } else {
        settle();
        putGroup(warp, uint32_t(inst.target), active);
        putGroup(warp, pc + 1, mask & ~active);
        return true;
      }
      if (warp.numGroups) {
        settle();
        putGroup(warp, pc, mask);
        // A long loop of one group must not starve the others.
        sinceRotation += quantum - left;
        if (sinceRotation > groupQuantum) {
          sinceRotation = 0;
          ++warp.rotation;
        }
        return budget > 0;
      }
    } else {
      uint32_t before = mask;
      settle();
      if (!control(inst, pc, mask, active))
        return !warp.yield && budget > 0;
      // Still one group: go on.
      quantum = left;
      if (mask != before)
        lanes = unsigned(__builtin_popcount(mask));
      meeting = warp.numGroups ? nextMeeting(warp, pc - 1) : ~0u;
      if (meeting == pc) {
        putGroup(warp, pc, mask);
        return !warp.yield && budget > 0;
      }
    }
    if (warp.yield || left == 0) {
      settle();
      putGroup(warp, pc, mask);
      // What sleeps may wait for another group of its warp.
      ++warp.rotation;
      return !warp.yield && budget > 0;
    }
    if (pc >= meeting) {
      settle();
      putGroup(warp, pc, mask);
      warp.rotation = 0;
      return true;
    }
  }
}

/// Executes an instruction that is not plain. True if the group goes on at
/// `pc` with `mask`; otherwise what was left of it has been put away.
bool Turn::control(const Inst &inst, uint32_t &pc, uint32_t &mask,
                   uint32_t active) {
  switch (inst.flow) {
  case Flow::MayYield:
    if (active && inst.fn)
      inst.fn(warp, inst, active);
    if (warp.again)
      warp.again = false;
    else
      ++pc;
    return true;
  case Flow::Exit:
    if (!active) {
      ++pc;
      return true;
    }
    lanesExited(warp, active);
    mask &= ~active;
    ++pc;
    return mask != 0;
  case Flow::Trap:
    if (!active) {
      ++pc;
      return true;
    }
    executeTrap(inst, active);
    putGroup(warp, pc, mask);
    return false;
  case Flow::Call: {
    if (!active) {
      ++pc;
      return true;
    }
    uint32_t *returns = warp.reg<uint32_t>(inst.a);
    uint32_t back = pc + 1;
    forLanes(active, [=](unsigned l) { returns[l] = back; });
    if (active == mask) {
      pc = uint32_t(inst.target);
      return true;
    }
    putGroup(warp, uint32_t(inst.target), active);
    putGroup(warp, pc + 1, mask & ~active);
    return false;
  }
  case Flow::Return: {
    if (!active) {
      ++pc;
      return true;
    }
    const uint32_t *returns = warp.reg<uint32_t>(inst.a);
    uint32_t first = returns[__builtin_ctz(active)];
    uint32_t same = 0;
    for (uint32_t m = active; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      same |= uint32_t(returns[l] == first) << l;
    }
    if (same == mask) {
      pc = first;
      return true;
    }
    uint32_t targets[32];
    for (unsigned l = 0; l < 32; ++l)
      targets[l] = returns[l];
    splitByValue(targets, active);
    putGroup(warp, pc + 1, mask & ~active);
    return false;
  }
  case Flow::BranchIndexed: {
    if (!active) {
      ++pc;
      return true;
    }
    const std::vector<int32_t> &table = program.branchTables[size_t(inst.imm)];
    const uint32_t *index = warp.reg<uint32_t>(inst.a);
    uint32_t targets[32] = {};
    for (uint32_t m = active; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      if (index[l] >= table.size()) {
        report(warp, inst, l, MemCheck, "branch-index",
               "branch index " + std::to_string(index[l]) + " is beyond the " +
                   std::to_string(table.size()) + " targets");
        worker.fail(warp, "branch index out of range");
        putGroup(warp, pc, mask);
        return false;
      }
      targets[l] = uint32_t(table[index[l]]);
    }
    splitByValue(targets, active);
    putGroup(warp, pc + 1, mask & ~active);
    return false;
  }
  case Flow::Barrier:
    if (!active) {
      ++pc;
      return true;
    }
    putGroup(warp, pc + 1, mask & ~active);
    // The code of the other lanes may lie behind the barrier and lead to it.
    if (inst.flags & BarrierAligned && isReady(warp)) {
      if (warp.block->launch->tools & SyncCheck)
        noteDivergentBarrier(warp, pc);
      putGroup(warp, pc, active, LaneGroup::AtCollective);
      return false;
    }
    arriveAtBarrier(warp, inst, active, pc + 1);
    return false;
  case Flow::ClusterWait:
    if (!active || clusterBarrierDone(warp, inst, active)) {
      ++pc;
      return true;
    }
    putGroup(warp, pc + 1, mask & ~active);
    putGroup(warp, pc, active, LaneGroup::AtClusterBarrier);
    return false;
  case Flow::Collective:
    putGroup(warp, pc + 1, mask & ~active);
    if (active)
      collective(inst, pc, active);
    return false;
  case Flow::WholeWarp:
    putGroup(warp, pc + 1, mask & ~active);
    if (active)
      wholeWarp(inst, pc, active);
    return false;
  case Flow::WarpBarrier:
    putGroup(warp, pc + 1, mask & ~active);
    if (active)
      warpBarrier(inst, pc, active);
    return false;
  default:
    ++pc;
    return true;
  }
}

void Turn::executeTrap(const Inst &inst, uint32_t active) {
  std::string message = "trap instruction executed";
  if (warp.trapAhead == &inst && active >> warp.lastSpeaker & 1)
    message += ": " + warp.lastWords;
  report(warp, inst, unsigned(__builtin_ctz(active)), MemCheck, "trap",
         message);
  worker.fail(warp, message);
}

void Turn::splitByValue(const uint32_t *targets, uint32_t lanes) {
  while (lanes) {
    uint32_t target = targets[__builtin_ctz(lanes)], same = 0;
    for (uint32_t m = lanes; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      same |= uint32_t(targets[l] == target) << l;
    }
    putGroup(warp, target, same);
    lanes &= ~same;
  }
}

/// Calls `body(set, here)` for each member mask that lanes of `active` name,
/// and those of them that do.
template <typename Body>
void Turn::forMemberSets(const Inst &inst, const uint32_t *members,
                         uint32_t active, Body &&body) {
  while (active) {
    uint32_t set = members[__builtin_ctz(active)], here = 0;
    for (uint32_t m = active; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      here |= uint32_t(members[l] == set) << l;
    }
    active &= ~here;
    if (here & ~set && warp.block->launch->tools & SyncCheck)
      report(warp, inst, unsigned(__builtin_ctz(here & ~set)), SyncCheck,
             "bad-member-mask",
             "the member mask does not name the lane that executes it");
    body(set, here);
  }
}

/// Each set of lanes with the same member mask executes when all of it is here.
/// What they have written is not ordered by it: of these instructions only
/// bar.warp.sync does that.
void Turn::collective(const Inst &inst, uint32_t pc, uint32_t active) {
  const uint32_t *members =
      warp.reg<uint32_t>(warp.operands[inst.operands + inst.numOperands].slot);
  uint32_t done = 0, waiting = 0;
  forMemberSets(inst, members, active, [&](uint32_t set, uint32_t here) {
    if (set & warp.live & ~here) {
      waiting |= here;
      return;
    }
    inst.fn(warp, inst, here);
    if (warp.clock)
      exchangeLanes(warp, here);
    done |= here;
  });
  putGroup(warp, pc + 1, done);
  putGroup(warp, pc, waiting, LaneGroup::AtCollective);
}

/// Executes when all lanes that are left are here. It takes operands of every
/// lane, so that its results mean nothing where some are missing.
void Turn::wholeWarp(const Inst &inst, uint32_t pc, uint32_t active) {
  if (warp.live & ~active) {
    putGroup(warp, pc, active, LaneGroup::AtCollective);
    return;
  }
  if (active != ~0u && warp.block->launch->tools & SyncCheck) {
    uint32_t begun =
        std::min(32u, warp.block->launch->threadsPerBlock - warp.index * 32);
    std::string message = "executed by " +
                          std::to_string(__builtin_popcount(active)) +
                          " of 32 threads of the warp; ";
    report(warp, inst, unsigned(__builtin_ctz(active)), SyncCheck,
           "partial-warp",
           message + (begun == uint32_t(__builtin_popcount(active))
                          ? "the block has no more; launch a multiple of 32"
                          : "the others have exited; let all reach it"));
  }
  inst.fn(warp, inst, active);
  if (warp.clock)
    exchangeLanes(warp, active);
  putGroup(warp, pc + 1, active);
}

/// bar.warp.sync: the lanes of a mask may come from different instructions, and
/// lanes that come together may name different masks.
void Turn::warpBarrier(const Inst &inst, uint32_t pc, uint32_t active) {
  putGroup(warp, pc, active, LaneGroup::AtCollective);
  forMemberSets(inst, warp.reg<uint32_t>(inst.a), active,
                [&](uint32_t set, uint32_t) { leaveWarpBarrier(pc, set); });
}

/// Lets the lanes of a mask go on if all of them wait at a bar.warp.sync.
void Turn::leaveWarpBarrier(uint32_t pc, uint32_t set) {
  auto membersOf = [&](const LaneGroup &group, unsigned lane) {
    return warp.reg<uint32_t>(code[group.pc].a)[lane];
  };
  uint32_t arrived = 0;
  for (unsigned g = 0; g < warp.numGroups; ++g) {
    LaneGroup &group = warp.groups[g];
    bool waits = group.state == LaneGroup::AtCollective ||
                 (group.state == LaneGroup::Ready && group.pc == pc);
    if (!waits || code[group.pc].flow != Flow::WarpBarrier)
      continue;
    group.state = LaneGroup::AtCollective;
    for (uint32_t m = group.mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      arrived |= uint32_t(membersOf(group, l) == set) << l;
    }
  }
  if (set & warp.live & ~arrived)
    return;
  warp.meet(arrived);
  struct Moved {
    uint32_t pc, mask;
  } moved[32];
  unsigned numMoved = 0;
  for (unsigned g = 0; g < warp.numGroups;) {
    LaneGroup &group = warp.groups[g];
    uint32_t leaves = code[group.pc].flow == Flow::WarpBarrier &&
                              group.state == LaneGroup::AtCollective
                          ? group.mask & arrived
                          : 0;
    if (!leaves) {
      ++g;
      continue;
    }
    moved[numMoved++] = {group.pc + 1, leaves};
    group.mask &= ~leaves;
    if (group.mask)
      ++g;
    else
      takeGroup(warp, g);
  }
  for (unsigned k = 0; k < numMoved; ++k)
    putGroup(warp, moved[k].pc, moved[k].mask);
}

template <bool Observed> TurnEnd Turn::loop() {
  while (budget > 0 &&
         !warp.block->launch->stop.load(std::memory_order_relaxed)) {
    int index = pickGroup(warp);
    if (index < 0 && endGathering(warp))
      index = pickGroup(warp);
    if (index < 0)
      return warp.live ? TurnEnd::Blocked : TurnEnd::Finished;
    LaneGroup group = takeGroup(warp, unsigned(index));
    if (!runGroup<Observed>(group)) {
      bool ready = isReady(warp) || endGathering(warp);
      warp.yield = false;
      return ready       ? TurnEnd::Yielded
             : warp.live ? TurnEnd::Blocked
                         : TurnEnd::Finished;
    }
  }
  return TurnEnd::Yielded;
}

TurnEnd ptxsim::runWarp(Warp &warp, uint64_t budget) {
  return Turn(warp, budget).run();
}
