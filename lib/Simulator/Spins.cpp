// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cluster spins if it comes back to a state it has been in and nothing has
// written in between. So that loops that read a clock do, its clocks stand
// still once it has waited a while; they jump ahead when all else spins, too.
// Only what no time ends is a deadlock.
#include "Spins.h"
#include "Stack.h"

#include <algorithm>

using namespace ptxsim;

using HostClock = std::chrono::steady_clock;

/// Few rounds are no news; the state is costly to look at.
static constexpr unsigned roundsBefore = 8;
/// A loop that counts its turns comes back to no state: waiting of everyone
/// that changes no memory is for ever if it takes longer.
static constexpr std::chrono::seconds longestCount(10);
/// Jumps of the clocks, from the first to the last that there is room for, each
/// four times the one before it. A row of waits for times may take many more.
static constexpr unsigned firstJumpBits = 10, lastJumpBits = 62;
static constexpr std::chrono::seconds longestWait(2);

static uint64_t stateOf(const Cluster &cluster) {
  const Program &program = *cluster.blocks[0].launch->program;
  uint64_t hash = 0x9e3779b97f4a7c15;
  auto mix = [&](const char *bytes, size_t size) {
    for (size_t i = 0; i + 8 <= size; i += 8) {
      uint64_t word;
      memcpy(&word, bytes + i, 8);
      hash = (hash ^ word) * 0xff51afd7ed558ccd;
      hash ^= hash >> 29;
    }
  };
  for (const Block &block : cluster.blocks) {
    for (const Warp &warp : block.warps) {
      if (!warp.live)
        continue;
      mix(warp.regs, program.registerBytes);
      for (unsigned g = 0; g < warp.numGroups; ++g) {
        uint64_t place[2] = {uint64_t(warp.groups[g].pc) << 32 |
                                 warp.groups[g].mask,
                             uint64_t(warp.groups[g].state)};
        mix(reinterpret_cast<const char *>(place), sizeof place);
      }
    }
    mix(block.shared.data(), block.shared.size());
    mix(block.local.data(), block.local.size());
    for (const ThreadStack &stack : block.stacks) {
      mix(stack.bytes.data(), stack.top);
      mix(stack.saved.data(), stack.saved.size());
    }
  }
  return hash;
}

bool ptxsim::spins(Cluster &cluster, uint64_t modifications) {
  if (++cluster.stalledRounds < roundsBefore)
    return cluster.spins;
  cluster.clocksStand = true;
  uint64_t state = stateOf(cluster) + modifications;
  if (cluster.stalledRounds > roundsBefore && state == cluster.stallState) {
    cluster.spins = true;
    cluster.spinsSince = modifications;
  } else if ((cluster.stalledRounds & (cluster.stalledRounds - 1)) == 0) {
    cluster.stallState = state;
  }
  // Long computing between two looks at a clock is to take some time.
  if ((cluster.stalledRounds & (cluster.stalledRounds + 1)) == 0)
    ++cluster.blocks[0].worker->clock;
  if (!cluster.onlyWaits || cluster.waitsAt != modifications) {
    cluster.waitsAt = cluster.onlyWaits ? modifications : ~uint64_t(0);
    cluster.waitsSince = HostClock::now();
  } else if (HostClock::now() - cluster.waitsSince > longestCount) {
    cluster.spins = true;
    cluster.spinsSince = modifications;
  }
  return cluster.spins;
}

void ptxsim::endSpinning(Cluster &cluster) {
  cluster.stalledRounds = 0;
  cluster.spins = false;
  cluster.clocksStand = cluster.clocksJumped = false;
}

void ptxsim::lookAgain(Cluster &cluster) {
  cluster.stalledRounds = std::min(cluster.stalledRounds, roundsBefore - 1);
  cluster.spins = false;
  cluster.clocksJumped = true;
}

bool ptxsim::passTime(Worker &worker, uint64_t modifications) {
  constexpr unsigned numJumps = (lastJumpBits - firstJumpBits) / 2 + 1;
  if (worker.jumpsAt != modifications) {
    worker.jumps = 0;
    worker.jumpsAt = modifications;
    worker.jumpsSince = HostClock::now();
  }
  if (worker.jumps >= numJumps &&
      HostClock::now() - worker.jumpsSince > longestWait)
    return false;
  unsigned bits =
      worker.jumps < numJumps ? firstJumpBits + 2 * worker.jumps : 40;
  ++worker.jumps;
  uint64_t step = uint64_t(1) << bits;
  // Of a clock of 32 bits most of its range passes by as well.
  if (bits >= 32)
    step += 0x60000000;
  worker.clock += step;
  worker.timerAhead += step;
  worker.timer += step;
  return true;
}
