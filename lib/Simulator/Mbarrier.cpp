// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mbarrier objects: 64 bits of shared memory that count arrivals and bytes.
#include "Async.h"
#include "AsyncHandlers.h"
#include "Checks.h"
#include "Clocks.h"

#include <utility>

using namespace ptxsim;

namespace {

constexpr uint32_t maxCount = (1u << 20) - 1;
/// Told apart from other data in shared memory, most of the time.
constexpr unsigned markBits = 2;

/// The object as this simulator lays it out.
struct Barrier {
  uint64_t pending : 20;
  uint64_t expected : 20;
  uint64_t phase : 1;
  uint64_t mark : markBits;
  int64_t bytes : 21;
};
static_assert(sizeof(Barrier) == 8, "one mbarrier object");
constexpr uint64_t validMark = 2;

/// Barrier objects are read and written by everyone: no race, no
/// initialisation check.
char *find(Warp &warp, const Inst &inst, unsigned lane, uint64_t address) {
  AsyncScope scope(warp);
  return resolve(warp, inst, lane, address, 8, 8, Space::Shared,
                 AccessMode::Write);
}

bool load(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
          Barrier &barrier, char *&place) {
  place = find(warp, inst, lane, address);
  if (!place)
    return false;
  memcpy(&barrier, place, 8);
  // Once everyone has dropped out nothing is expected, nor pending.
  if (barrier.mark == validMark && (barrier.expected || !barrier.pending))
    return true;
  fault(warp, inst, lane, SyncCheck, "mbarrier-uninitialised",
        "use of an mbarrier that has not been initialised", &address,
        Space::Shared);
  return false;
}

void advance(Warp &warp, uint64_t address, Barrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  barrier.phase ^= 1;
  barrier.pending = barrier.expected;
  completeClock(warp, address);
}

uint64_t token(const Barrier &barrier) {
  uint64_t bits;
  memcpy(&bits, &barrier, 8);
  return bits;
}

void noteInit(Warp &warp, const Inst &inst, unsigned lane, uint64_t address) {
  if (!warp.clock)
    return;
  warp.clock->touched |= 1u << lane;
  warp.block->cluster->barrierInits[address] = {
      uint16_t(warpInCluster(warp) * 32 + lane), warp.clock->epoch,
      uint32_t(&inst - warp.block->launch->program->code.data()), false};
}

} // namespace

void ptxsim::checkInitOrder(Warp &warp, const Inst &inst, unsigned lane,
                            uint64_t address) {
  if (!warp.clock)
    return;
  const Cluster &cluster = *warp.block->cluster;
  auto it = cluster.barrierInits.find(address);
  if (it == cluster.barrierInits.end() ||
      isOrdered(warp, lane, it->second.thread, it->second.epoch))
    return;
  Report *report = addFinding(warp, inst, lane, RaceCheck, "barrier-init-race");
  if (!report)
    return;
  const Launch &launch = *warp.block->launch;
  uint32_t perBlock = launch.warpsPerBlock * 32;
  const Block &other = cluster.blocks[it->second.thread / perBlock];
  setOther(*report, launch, other.index, it->second.thread % perBlock,
           it->second.pc);
  report->message = "use of an mbarrier races with its initialisation by "
                    "thread " +
                    triple(report->other.thread);
  if (&other != warp.block)
    report->message += " of block " + triple(other.index);
  report->hasAddress = true;
  report->address = address;
  report->nearest = describeAddress(warp, lane, address, Space::Shared);
}

void ptxsim::fenceInits(Warp &warp, unsigned lane) {
  if (!warp.clock)
    return;
  uint16_t thread = uint16_t(warpInCluster(warp) * 32 + lane);
  for (auto &entry : warp.block->cluster->barrierInits)
    entry.second.isFenced |= entry.second.thread == thread;
}

void ptxsim::passOnInits(Warp &warp, uint32_t lanes) {
  if (!warp.clock)
    return;
  auto &inits = warp.block->cluster->barrierInits;
  for (auto it = inits.begin(); it != inits.end();) {
    const BarrierInit &init = it->second;
    bool isKnown = init.isFenced && init.thread / 32u == warpInCluster(warp) &&
                   lanes >> init.thread % 32u & 1;
    it = isKnown ? inits.erase(it) : std::next(it);
  }
}

void ptxsim::completeTransaction(Warp &warp, const Inst &inst, unsigned lane,
                                 uint64_t address, uint32_t bytes) {
  Barrier barrier;
  char *place;
  if (!load(warp, inst, lane, address, barrier, place))
    return;
  barrier.bytes -= int64_t(bytes);
  advance(warp, address, barrier);
  memcpy(place, &barrier, 8);
}

void ptxsim::arriveOnBarrier(Warp &warp, const Inst &inst, unsigned lane,
                             uint64_t address, uint32_t count) {
  Barrier barrier;
  char *place;
  if (!load(warp, inst, lane, address, barrier, place))
    return;
  if (count > barrier.pending) {
    report(warp, inst, lane, SyncCheck, "mbarrier-overflow",
           std::to_string(count) + " arrivals at an mbarrier that expects " +
               std::to_string(uint64_t(barrier.pending)) + " more",
           &address, Space::Shared);
    count = uint32_t(barrier.pending);
  }
  barrier.pending -= count;
  arriveClock(warp, inst, 1u << lane, address);
  advance(warp, address, barrier);
  memcpy(place, &barrier, 8);
}

void ptxsim::expectArrival(Warp &warp, const Inst &inst, unsigned lane,
                           uint64_t address) {
  Barrier barrier;
  char *place;
  if (!load(warp, inst, lane, address, barrier, place))
    return;
  barrier.pending += 1;
  memcpy(place, &barrier, 8);
}

void ptxsim::mbarrierHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t arriving = 0;
  uint64_t last = 0;
  auto arrive = [&] {
    if (arriving)
      arriveClock(w, i, std::exchange(arriving, 0), last);
  };
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = absoluteShared(*w.block, laneAddress(w, i, l));
    uint32_t value = i.b == noSlot ? 1 : w.reg<uint32_t>(i.b)[l];
    Barrier barrier;
    char *place;
    if (i.op == MbarrierInit) {
      if (value == 0 || value > maxCount) {
        fault(w, i, l, SyncCheck, "mbarrier-count",
              "mbarrier count " + std::to_string(value) +
                  " is not between 1 and " + std::to_string(maxCount));
        return;
      }
      place = find(w, i, l, address);
      if (!place)
        continue;
      barrier.pending = barrier.expected = value;
      barrier.phase = 0;
      barrier.mark = validMark;
      barrier.bytes = 0;
      memcpy(place, &barrier, 8);
      noteBarrierInit(w, l, address);
      noteInit(w, i, l, address);
      continue;
    }
    checkInitOrder(w, i, l, address);
    if (!load(w, i, l, address, barrier, place))
      return;
    uint64_t before = token(barrier);
    switch (i.op) {
    case MbarrierInval:
      memset(place, 0, 8);
      w.block->cluster->barrierInits.erase(address);
      continue;
    case MbarrierExpectTx:
      barrier.bytes += value;
      break;
    case MbarrierCompleteTx:
      barrier.bytes -= value;
      advance(w, address, barrier);
      break;
    case MbarrierArriveExpectTx:
      barrier.bytes += value;
      value = 1;
      [[fallthrough]];
    case MbarrierArrive:
      if (value > barrier.pending ||
          (i.flags & MbarrierNoComplete && value >= barrier.pending)) {
        fault(w, i, l, SyncCheck, "mbarrier-overflow",
              std::to_string(value) + " arrivals at an mbarrier that expects " +
                  std::to_string(uint64_t(barrier.pending)) + " more",
              &address, Space::Shared);
        return;
      }
      barrier.pending -= value;
      if (i.flags & MbarrierDrop)
        barrier.expected -= value;
      // Lanes that arrive at one barrier in one phase do so as one.
      if (address != last)
        arrive();
      last = address;
      arriving |= 1u << l;
      if (!barrier.pending && !barrier.bytes)
        arrive();
      advance(w, address, barrier);
      break;
    default:
      break;
    }
    memcpy(place, &barrier, 8);
    if (i.dst != noSlot)
      w.reg<uint64_t>(i.dst)[l] = before;
  }
  arrive();
  endRelease(w);
}

/// The arrivals that were pending before the one that gave the state.
void ptxsim::mbarrierPendingHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint64_t *state = w.reg<uint64_t>(i.a);
  forLanes(mask, [=](unsigned l) {
    d[l] = uint32_t(bitCast<Barrier>(state[l]).pending);
  });
}

/// test_wait and try_wait: whether the phase has completed.
void ptxsim::mbarrierWaitHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t done = 0, same = 0;
  uint64_t last = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = absoluteShared(*w.block, laneAddress(w, i, l));
    checkInitOrder(w, i, l, address);
    Barrier barrier;
    char *place;
    if (!load(w, i, l, address, barrier, place))
      return;
    uint64_t phase;
    if (i.flags & MbarrierParity) {
      phase = w.reg<uint32_t>(i.b)[l] & 1;
    } else {
      Barrier then = bitCast<Barrier>(w.reg<uint64_t>(i.b)[l]);
      phase = then.phase;
    }
    if (barrier.phase != phase) {
      done |= 1u << l;
      // Lanes that wait for one barrier do so as one.
      if (address != last && same)
        waitClock(w, i, std::exchange(same, 0), last);
      last = address;
      same |= 1u << l;
    }
  }
  if (same)
    waitClock(w, i, same, last);
  w.setPred(i.dst, done, mask);
  // Whoever has to wait lets others run.
  if (done != mask)
    w.yield = true;
}

void ptxsim::mapaHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint32_t *rank = w.reg<uint32_t>(i.b);
  uint32_t ranks = uint32_t(w.block->cluster->blocks.size());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = readLane(w, i.a, i.aWidth, l);
    if (rank[l] >= ranks) {
      fault(w, i, l, MemCheck, "cluster-rank",
            "mapa of rank " + std::to_string(rank[l]) + " in a cluster of " +
                std::to_string(ranks) + " blocks");
      return;
    }
    uint64_t window = i.aWidth == 8 ? address & windowMask : 0;
    uint64_t mapped = window | uint64_t(rank[l] + 1) << sharedRankShift |
                      (address & sharedOffsetMask);
    writeLane(w, i.dst, i.aWidth, l, mapped);
  }
}

void ptxsim::getctarankHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t rank =
        (readLane(w, i.a, i.aWidth, l) & 0xffffffff) >> sharedRankShift;
    d[l] = rank ? uint32_t(rank - 1) : w.block->rank;
  }
}
