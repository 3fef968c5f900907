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
static constexpr unsigned numJumps = (lastJumpBits - firstJumpBits) / 2 + 1;
static constexpr uint64_t longestWait = uint64_t(1) << 26;
/// Behind these jumps, returns to a state that differs in nothing but what the
/// time makes of registers.
static constexpr unsigned returnsAllowed = 64;

namespace {

class Hash {
public:
  void add(const char *bytes, size_t size) {
    for (; size >= mixedAtOnce; size -= mixedAtOnce, bytes += mixedAtOnce)
      mix(bytes);
    if (size == 0)
      return;
    char rest[mixedAtOnce] = {};
    memcpy(rest, bytes, size);
    mix(rest);
  }
  uint64_t value() const {
    uint64_t all = 0;
    for (uint64_t part : parts)
      all = mixed(all ^ part);
    return all;
  }

private:
  static constexpr size_t mixedAtOnce = 4 * sizeof(uint64_t);
  static uint64_t mixed(uint64_t v) {
    v *= 0xff51afd7ed558ccd;
    return v ^ v >> 29;
  }
  /// Four at once, for none of them depends on the others.
  void mix(const char *bytes) {
    uint64_t words[4];
    memcpy(words, bytes, sizeof words);
    for (unsigned k = 0; k < 4; ++k)
      parts[k] = mixed(parts[k] ^ words[k]);
  }

  uint64_t parts[4] = {0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9,
                       0x94d049bb133111eb, 0x2545f4914f6cdd1d};
};

} // namespace

/// All that decides what comes next but for the time, and without the registers
/// that only the time decides where `besideTime`.
static uint64_t stateOf(const Cluster &cluster, bool besideTime) {
  const Program &program = *cluster.blocks[0].launch->program;
  Hash hash;
  for (const Block &block : cluster.blocks) {
    for (const Warp &warp : block.warps) {
      if (!warp.live)
        continue;
      if (!besideTime)
        hash.add(warp.regs, program.registerBytes);
      else
        for (const auto &[begin, end] : program.registersBesideTime)
          hash.add(warp.regs + begin, end - begin);
      // Which of its groups is next.
      uint64_t rotation = warp.numGroups > 1 ? warp.rotation : 0;
      rotation %= std::max(warp.numGroups, 1u);
      hash.add(reinterpret_cast<const char *>(&rotation), sizeof rotation);
      for (unsigned g = 0; g < warp.numGroups; ++g) {
        uint64_t place[2] = {uint64_t(warp.groups[g].pc) << 32 |
                                 warp.groups[g].mask,
                             uint64_t(warp.groups[g].state)};
        hash.add(reinterpret_cast<const char *>(place), sizeof place);
      }
    }
    hash.add(block.shared.data(), block.shared.size());
    hash.add(block.local.data(), block.local.size());
    for (const ThreadStack &stack : block.stacks) {
      hash.add(stack.bytes.data(), stack.top);
      hash.add(stack.saved.data(), stack.saved.size());
    }
  }
  return hash.value();
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
  uint64_t state =
      stateOf(cluster, /*besideTime=*/false) + worker.modifications;
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

/// Whether time is all that changes while everything waits: the rest has come
/// back to what it was often enough.
static bool onlyTimeChanges(Worker &worker,
                            const std::vector<std::unique_ptr<Cluster>> &of) {
  uint64_t state = 0;
  for (const std::unique_ptr<Cluster> &cluster : of)
    state = state * 0x9e3779b97f4a7c15 + stateOf(*cluster, /*besideTime=*/true);
  unsigned jump = worker.jumps;
  if (jump > numJumps && state == worker.jumpState)
    return ++worker.jumpsToState >= returnsAllowed;
  // It is kept at powers of two.
  if (jump == numJumps || (jump & (jump - 1)) == 0) {
    worker.jumpState = state;
    worker.jumpsToState = 0;
  }
  return false;
}

bool ptxsim::passTime(Worker &worker,
                      const std::vector<std::unique_ptr<Cluster>> &waiting) {
  if (worker.jumpsAt != worker.modifications) {
    worker.jumps = 0;
    worker.jumpsAt = worker.modifications;
    worker.jumpsSince = worker.warpInstructions;
  }
  if (worker.jumps >= numJumps &&
      (onlyTimeChanges(worker, waiting) ||
       worker.warpInstructions - worker.jumpsSince > longestWait))
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
