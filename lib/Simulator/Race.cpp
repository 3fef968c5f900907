// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The race check in shared memory. An access is compared with the last ones to
// the same place: they must be of the same thread, or ordered by a barrier, a
// warp synchronisation, an mbarrier, or a release and an acquire, also across
// the blocks of a cluster (Clocks.cpp), or both be strong. A strong write says
// nothing about the weak accesses before it: they stay beside it. Two writes of
// the same value are let pass. (For global memory, GlobalRaces.cpp.)
#include "Async.h"
#include "Checks.h"
#include "Clocks.h"

#include <algorithm>

using namespace ptxsim;

static void reportRace(Warp &warp, const Inst &inst, unsigned lane,
                       Block &block, uint32_t offset, AccessMode mode,
                       bool otherWrote, uint16_t otherThread,
                       uint32_t otherPc) {
  const Launch &launch = *warp.block->launch;
  Report *report = addFinding(warp, inst, lane, RaceCheck, "shared-race");
  if (!report)
    return;
  uint32_t perBlock = launch.warpsPerBlock * 32;
  const Block *ofGroup = blockOfGroup(*block.cluster, otherThread / 32u);
  const Block &other =
      ofGroup ? *ofGroup : block.cluster->blocks[otherThread / perBlock];
  setOther(*report, launch, other.index, otherThread % perBlock, otherPc);
  report->message =
      std::string(modeName(mode)) + " of shared memory races with a " +
      (otherWrote ? "write" : "read") +
      (ofGroup ? " by a wgmma" : " by thread " + triple(report->other.thread));
  if (&other != warp.block)
    report->message += " of block " + triple(other.index);
  report->hasAddress = true;
  report->address =
      &block == warp.block ? offset : sharedAddressOf(block, offset);
  report->nearest = describeAddress(warp, lane, offset, Space::Shared);
  if (&block != warp.block)
    report->nearest += " of the block of rank " + std::to_string(block.rank);
}

void ptxsim::exchangeLanes(Warp &warp, uint32_t lanes) {
  WarpExchanges &of = warp.block->shadow->exchanges[warp.index];
  WarpExchanges::Exchange *to = of.last;
  for (WarpExchanges::Exchange &exchange : of.last) {
    if (exchange.lanes == lanes) {
      to = &exchange;
      break;
    }
    if (exchange.epoch < to->epoch)
      to = &exchange;
  }
  // It orders nothing that other blocks may see.
  WarpClock &clock = *warp.clock;
  if (clock.segmentEpoch == clock.epoch)
    ++clock.segmentEpoch;
  *to = {lanes, clock.epoch++};
}

/// Those that have since exchanged values with a lane of their warp.
static uint32_t exchanged(const SharedEvent &reads, const Warp &warp,
                          unsigned lane) {
  uint32_t lanes = 0;
  if (reads.warp == warpInCluster(warp))
    for (const WarpExchanges::Exchange &exchange :
         warp.block->shadow->exchanges[warp.index].last)
      if (exchange.epoch >= reads.epoch && exchange.lanes >> lane & 1)
        lanes |= exchange.lanes;
  return lanes;
}

/// The lanes whose reads are not ordered before what a lane does now.
static uint32_t unordered(const SharedEvent &reads, uint32_t lanes,
                          const Warp &warp, unsigned lane) {
  if (reads.epoch == 0 || warp.clock->seen.coversAll(reads.warp, reads.epoch))
    return 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    unsigned other = unsigned(__builtin_ctz(m));
    if (isOrdered(warp, lane, uint16_t(reads.warp * 32u + other), reads.epoch))
      lanes &= ~(1u << other);
  }
  return lanes;
}

static uint32_t pcOf(const Warp &warp, const Inst &inst) {
  return uint32_t(&inst - warp.block->launch->program->code.data());
}

/// Whether a strong access and one before it, which was strong, are strong to
/// each other.
static bool bothStrong(const Warp &warp, const Inst &inst, uint32_t otherWarp,
                       uint32_t otherPc) {
  const Launch &launch = *warp.block->launch;
  const Inst &other = launch.program->code[otherPc];
  return haveSameSize(inst, other) &&
         (otherWarp / launch.warpsPerBlock == warp.block->rank ||
          !((inst.flags | other.flags) & AccessOfBlock));
}

/// Whether an access of a lane is not ordered behind the last ones to a cell;
/// reports it.
static bool compare(RaceCell &cell, Warp &warp, const Inst &inst, unsigned lane,
                    Block &block, uint32_t offset, AccessMode mode, bool strong,
                    bool sameValue) {
  if (mode == AccessMode::Write && sameValue)
    return false;
  RaceCells &cells = block.shadow->cells;
  auto racesWrite = [&](EventPlace place, bool wasStrong) {
    const SharedEvent &write = cells.events.at(place);
    uint16_t thread = uint16_t(write.warp * 32u + place % 32);
    if (isOrdered(warp, lane, thread, write.epoch) ||
        (strong && wasStrong && bothStrong(warp, inst, write.warp, write.pc)))
      return false;
    reportRace(warp, inst, lane, block, offset, mode, true, thread, write.pc);
    return true;
  };
  if (racesWrite(cell.weak, false) || racesWrite(cell.strong, true))
    return true;
  if (mode == AccessMode::Read)
    return false;
  auto racesRead = [&](const SharedReads &of) {
    const SharedEvent &reads = cells.events.at(of.event);
    if (strong && reads.strong && bothStrong(warp, inst, reads.warp, reads.pc))
      return false;
    uint32_t others = unordered(reads, of.lanes, warp, lane);
    if (others)
      others &= ~exchanged(reads, warp, lane);
    if (others)
      reportRace(warp, inst, lane, block, offset, mode, false,
                 uint16_t(reads.warp * 32u + unsigned(__builtin_ctz(others))),
                 reads.pc);
    return others != 0;
  };
  return cells.anyReads(cell, racesRead);
}

static void recordRead(RaceCells &cells, RaceCell &cell, const Warp &warp,
                       unsigned lane, const SharedReads &added) {
  const std::vector<Inst> &code = warp.block->launch->program->code;
  const SharedEvent now = cells.events.at(added.event);
  bool joined = false;
  auto joins = [&](SharedReads &reads) {
    const SharedEvent &before = cells.events.at(reads.event);
    if (before.epoch != now.epoch || before.strong != now.strong ||
        (now.strong && !haveSameSize(code[before.pc], code[now.pc])))
      return false;
    reads.lanes |= added.lanes;
    reads.event = added.event;
    joined = true;
    return true;
  };
  // A lane's later read stands for its own earlier one, and one that others are
  // ordered before for these: what is ordered behind it is ordered behind them.
  // But a strong read says nothing about what a weak one races with.
  cells.dropReads(cell, [&](SharedReads &reads) {
    const SharedEvent &before = cells.events.at(reads.event);
    bool isOwn = before.warp == now.warp;
    if (isOwn && joins(reads))
      return false;
    if (now.strong && !before.strong)
      return false;
    if (isOwn && !(before.epoch == now.epoch && before.strong == now.strong))
      reads.lanes &= ~added.lanes;
    return !reads.lanes || !unordered(before, reads.lanes, warp, lane);
  });
  if (!joined)
    cells.addReads(cell, added);
}

/// A write of the same value is compared with no reads: it drops none either.
static void recordWrite(RaceCells &cells, RaceCell &cell, EventPlace write,
                        bool strong, bool sameValue = false) {
  if (strong) {
    cell.strong = write;
    if (!sameValue)
      cells.dropReads(cell, [&](const SharedReads &reads) {
        return cells.events.at(reads.event).strong;
      });
    return;
  }
  cell.weak = write;
  cell.strong = 0;
  if (!sameValue)
    cells.dropReads(cell);
}

/// Compares the access unless it is known to race, and records it.
static void visit(RaceCell &cell, Warp &warp, const Inst &inst, unsigned lane,
                  Block &block, uint32_t offset, AccessMode mode,
                  bool sameValue, bool &races) {
  // Nothing is strong to those that its scope leaves out.
  bool strong = isStrong(warp, inst, mode) &&
                !(inst.flags & AccessOfBlock && &block != warp.block);
  bool forGroup = warp.readsForGroup;
  uint16_t by = uint16_t(forGroup ? groupIndex(warp) : warpInCluster(warp));
  uint32_t epoch = forGroup ? groupEpoch(warp) : warp.clock->epoch;
  if (!races)
    races =
        compare(cell, warp, inst, lane, block, offset, mode, strong, sameValue);
  warp.clock->touched |= 1u << lane;
  RaceCells &cells = block.shadow->cells;
  EventPlace place = cells.add({epoch, pcOf(warp, inst), by, strong});
  if (mode == AccessMode::Read)
    recordRead(cells, cell, warp, lane, {place, 1u << lane});
  else
    recordWrite(cells, cell, place + lane, strong, sameValue);
}

void ptxsim::raceAtIssue(Warp &warp, const Inst &inst, unsigned lane,
                         Block &block, uint32_t offset, unsigned bytes) {
  RaceCells &cells = block.shadow->cells;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    cells.open(word * 4);
    auto races = [&](RaceCell &cell, uint32_t at) {
      return compare(cell, warp, inst, lane, block, at, AccessMode::Write,
                     /*strong=*/false, /*sameValue=*/false);
    };
    uint32_t grain = cells.grain[word];
    if (grain == 4) {
      races(cells.words[word], word * 4);
      continue;
    }
    for (uint32_t k = std::max(word * 4, offset);
         k < std::min(word * 4 + 4, offset + bytes); ++k)
      if (races(cells.bytes[k / grain * grain], k))
        break;
  }
}

void ptxsim::raceWaited(Warp &warp, const Inst &inst, unsigned lane,
                        Block &block, uint32_t offset, unsigned bytes) {
  RaceCells &cells = block.shadow->cells;
  warp.clock->touched |= 1u << lane;
  EventPlace place =
      lane + cells.add({warp.clock->epoch, pcOf(warp, inst),
                        uint16_t(warpInCluster(warp)), /*strong=*/false});
  auto record = [&](RaceCell &cell) {
    recordWrite(cells, cell, place, /*strong=*/false);
  };
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    cells.open(word * 4);
    if (cells.grain[word] == 4) {
      record(cells.words[word]);
      continue;
    }
    uint32_t from = std::max(word * 4, offset);
    uint32_t to = std::min(word * 4 + 4, offset + bytes);
    if ((from | to) % cells.grain[word])
      cells.split(word, 1);
    for (uint32_t k = from; k < to; k += cells.grain[word])
      record(cells.bytes[k]);
  }
}

void ptxsim::raceShared(Warp &warp, const Inst &inst, unsigned lane,
                        Block &block, uint32_t offset, unsigned bytes,
                        AccessMode mode) {
  // What copies write is compared when they are issued, and ordered by what
  // waits for them.
  RaceCells &cells = block.shadow->cells;
  block.shadow->usedByOthers |= &block != warp.block;
  bool forget = warp.asynchronous && mode != AccessMode::Read;
  bool passesOn = !warp.asynchronous && isStrong(warp, inst, mode) &&
                  !(mode == AccessMode::Read && inst.flags & AccessGuess);
  // A vector is as many accesses as it has elements.
  unsigned element = passesOn && inst.size ? inst.size : bytes;
  if (passesOn && mode != AccessMode::Write)
    for (unsigned k = 0; k < bytes; k += element)
      observe(warp, inst, lane, sharedAddressOf(block, offset + k));
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t word = at / 4;
    cells.open(at);
    uint32_t upTo = std::min(end, word * 4 + 4);
    bool whole = upTo - at == 4;
    if (forget) {
      if (cells.grain[word] == 4) {
        recordWrite(cells, cells.words[word], 0, /*strong=*/false);
      } else {
        if ((at | upTo) % cells.grain[word])
          cells.split(word, 1);
        for (uint32_t k = at; k < upTo; k += cells.grain[word])
          recordWrite(cells, cells.bytes[k], 0, /*strong=*/false);
      }
      at = upTo;
      continue;
    }
    const char *data =
        warp.storeData ? warp.storeData + (at - offset) : nullptr;
    bool same = mode == AccessMode::Write && data &&
                memcmp(block.shared.data() + at, data, upTo - at) == 0;
    bool races = false;
    if (whole && cells.grain[word] == 4) {
      visit(cells.words[word], warp, inst, lane, block, at, mode, same, races);
    } else {
      if ((at | upTo) % cells.grain[word])
        cells.split(word, (at | upTo) % 2 ? 1 : 2);
      for (uint32_t k = at; k < upTo; k += cells.grain[word])
        visit(cells.bytes[k], warp, inst, lane, block, k, mode, same, races);
    }
    at = upTo;
  }
  if (passesOn && mode != AccessMode::Read)
    for (unsigned k = 0; k < bytes; k += element)
      publish(warp, inst, lane, sharedAddressOf(block, offset + k), mode);
}

void ptxsim::raceAtExit(Block &block) {
  SharedShadow &shadow = *block.shadow;
  if (!shadow.usedByOthers)
    return;
  // Each of its threads has exited by now: what one has seen comes before.
  VectorClock seen;
  for (WarpClock &clock : shadow.clocks) {
    seen.join(clock.seen);
    clock.views.joinTo(seen, ~0u);
  }
  const Launch &launch = *block.launch;
  RaceCells &cells = shadow.cells;
  auto check = [&](uint32_t offset, EventPlace place, AccessMode mode) {
    Cluster &cluster = *block.cluster;
    const SharedEvent &event = cells.events.at(place);
    uint32_t warp = event.warp, lane = place % 32;
    uint32_t rank = warp / launch.warpsPerBlock;
    // Accesses before the block began are ordered.
    if (!event.epoch || rank == block.rank || rank >= cluster.blocks.size() ||
        seen.covers(warp, lane, event.epoch))
      return;
    uint64_t address = sharedAddressOf(block, offset);
    report(cluster.blocks[rank].warps[warp % launch.warpsPerBlock],
           launch.program->code[event.pc], lane, RaceCheck, "exit-race",
           std::string(modeName(mode)) + " of shared memory of block " +
               triple(block.index) +
               ", which exits without being ordered behind it",
           &address, Space::Shared);
  };
  auto checkCell = [&](uint32_t offset, RaceCell &cell) {
    check(offset, cell.weak, AccessMode::Write);
    check(offset, cell.strong, AccessMode::Write);
    cells.anyReads(cell, [&](const SharedReads &reads) {
      for (uint32_t m = reads.lanes; m; m &= m - 1)
        check(offset, reads.event + unsigned(__builtin_ctz(m)),
              AccessMode::Read);
      return false;
    });
  };
  for (uint32_t word = 0; word < cells.words.size(); ++word) {
    cells.open(word * 4);
    uint32_t grain = cells.grain[word];
    if (grain == 4) {
      checkCell(word * 4, cells.words[word]);
      continue;
    }
    for (uint32_t k = word * 4; k < word * 4 + 4; k += grain)
      checkCell(k, cells.bytes[k]);
  }
}
