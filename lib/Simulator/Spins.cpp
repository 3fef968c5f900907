// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cluster spins if it comes back to a state it has been in and nothing has
// written in between. The time that its instructions take would keep a loop
// that reads it from coming back: it stands while the states of some rounds are
// compared, and goes on for as many. Where all clusters spin or only wait it
// jumps ahead. Only what no time ends is a deadlock. Nothing here depends on
// the host's time.
#include "Spins.h"
#include "Stack.h"

#include <algorithm>

using namespace ptxsim;

/// Few rounds are no news; the state is costly to look at.
static constexpr unsigned roundsBefore = 8;
/// A loop that sleeps and counts its turns comes back to no state. After so
/// many rounds of nothing but waits time may jump; after many more they are
/// taken to be for ever.
static constexpr uint64_t roundsOfWaits = 1024;
static constexpr uint64_t roundsOfWaitsForEver = uint64_t(1) << 20;
/// Jumps of the time, from the first to the last that there is room for, each
/// four times the one before it. A row of waits for times may take many more:
/// these end after so many instructions.
static constexpr unsigned firstJumpBits = 10, lastJumpBits = 62;
static constexpr uint64_t longestWait = uint64_t(1) << 26;

static uint64_t stateOf(const Cluster &cluster) {
  const Program &program = *cluster.blocks[0].launch->program;
  uint64_t hash = 0x9e3779b97f4a7c15;
  auto mix = [&](const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 8) {
      uint64_t word = 0;
      memcpy(&word, bytes + i, std::min<size_t>(size - i, 8));
      hash = (hash ^ word) * 0xff51afd7ed558ccd;
      hash ^= hash >> 29;
    }
  };
  for (const Block &block : cluster.blocks) {
    for (const Warp &warp : block.warps) {
      if (!warp.live)
        continue;
      mix(warp.regs, program.registerBytes);
      // Which of its groups is next.
      uint64_t rotation = warp.numGroups > 1 ? warp.rotation : 0;
      rotation %= std::max(warp.numGroups, 1u);
      mix(reinterpret_cast<const char *>(&rotation), sizeof rotation);
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

void ptxsim::noteIdleRound(Cluster &cluster) {
  Worker &worker = *cluster.blocks[0].worker;
  if (cluster.hasModified) {
    endSpinning(cluster);
    return;
  }
  if (!cluster.onlyWaits || cluster.waitsAt != worker.modifications)
    cluster.waitRounds = 0;
  cluster.waitsAt = worker.modifications;
  ++cluster.waitRounds;
  unsigned round = ++cluster.stalledRounds;
  if (round < roundsBefore)
    return;
  // From 8 to 15, from 32 to 63 and so on.
  bool stands = __builtin_clz(round) % 2 == 0;
  if (stands && !cluster.timeStands)
    cluster.standingTime = worker.time();
  cluster.timeStands = stands;
  unsigned inWindow = round - (1u << (31 - __builtin_clz(round)));
  if (inWindow == 0)
    return;
  uint64_t state = stateOf(cluster) + worker.modifications;
  // It is kept at the first of these and at powers of two behind it.
  if (inWindow > 1 && state == cluster.stallState) {
    cluster.spins = true;
    cluster.spinsSince = worker.modifications;
  } else if ((inWindow & (inWindow - 1)) == 0) {
    cluster.stallState = state;
  }
}

void ptxsim::endSpinning(Cluster &cluster) {
  cluster.stalledRounds = 0;
  cluster.waitRounds = 0;
  cluster.spins = false;
  cluster.timeStands = false;
}

static bool isStuck(const Cluster &cluster, uint64_t rounds) {
  uint64_t now = cluster.blocks[0].worker->modifications;
  return (cluster.spins && cluster.spinsSince == now) ||
         (cluster.waitRounds >= rounds && cluster.waitsAt == now);
}

bool ptxsim::waitsForTime(const Cluster &cluster) {
  return isStuck(cluster, roundsOfWaits);
}

bool ptxsim::waitsForEver(const Cluster &cluster) {
  return isStuck(cluster, roundsOfWaitsForEver);
}

void ptxsim::lookAgain(Cluster &cluster) {
  cluster.stalledRounds = std::min(cluster.stalledRounds, roundsBefore - 1);
  cluster.waitRounds = 0;
  cluster.spins = false;
  cluster.timeStands = false;
}

bool ptxsim::passTime(Worker &worker) {
  constexpr unsigned numJumps = (lastJumpBits - firstJumpBits) / 2 + 1;
  if (worker.jumpsAt != worker.modifications) {
    worker.jumps = 0;
    worker.jumpsAt = worker.modifications;
    worker.jumpsSince = worker.warpInstructions;
  }
  if (worker.jumps >= numJumps &&
      worker.warpInstructions - worker.jumpsSince > longestWait)
    return false;
  unsigned bits =
      worker.jumps < numJumps ? firstJumpBits + 2 * worker.jumps : 40;
  ++worker.jumps;
  uint64_t step = uint64_t(1) << bits;
  // Of a clock of 32 bits most of its range passes by as well.
  if (bits >= 32)
    step += 0x60000000;
  worker.timeAhead += step;
  return true;
}
