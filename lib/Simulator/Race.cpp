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
static uint32_t exchanged(const SharedReads &reads, const Warp &warp,
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
static uint32_t unordered(const SharedReads &reads, const Warp &warp,
                          unsigned lane) {
  if (reads.epoch == 0 || warp.clock->seen.coversAll(reads.warp, reads.epoch))
    return 0;
  uint32_t lanes = reads.lanes;
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

/// Reports an access of a lane that is not ordered behind the last ones to a
/// cell.
static void compare(RaceCell &cell, Warp &warp, const Inst &inst, unsigned lane,
                    Block &block, uint32_t offset, AccessMode mode, bool strong,
                    bool sameValue) {
  if (mode == AccessMode::Write && sameValue)
    return;
  auto racesWrite = [&](const SharedWrite &write, bool wasStrong) {
    if (isOrdered(warp, lane, write.thread, write.epoch) ||
        (strong && wasStrong &&
         bothStrong(warp, inst, write.thread / 32u, write.pc)))
      return false;
    reportRace(warp, inst, lane, block, offset, mode, true, write.thread,
               write.pc);
    return true;
  };
  if (racesWrite(cell.weak, false) || racesWrite(cell.strong, true) ||
      mode == AccessMode::Read)
    return;
  auto racesRead = [&](const SharedReads &reads) {
    if (strong && reads.strong && bothStrong(warp, inst, reads.warp, reads.pc))
      return false;
    uint32_t others = unordered(reads, warp, lane);
    if (others)
      others &= ~exchanged(reads, warp, lane);
    if (others)
      reportRace(warp, inst, lane, block, offset, mode, false,
                 uint16_t(reads.warp * 32u + unsigned(__builtin_ctz(others))),
                 reads.pc);
    return others != 0;
  };
  block.shadow->cells.anyReads(cell, racesRead);
}

static void recordRead(RaceCells &cells, RaceCell &cell, const Warp &warp,
                       unsigned lane, const SharedReads &added) {
  const std::vector<Inst> &code = warp.block->launch->program->code;
  bool joined = false;
  auto joins = [&](SharedReads &reads) {
    if (reads.epoch != added.epoch || reads.strong != added.strong ||
        (added.strong && !haveSameSize(code[reads.pc], code[added.pc])))
      return false;
    reads.lanes |= added.lanes;
    reads.pc = added.pc;
    joined = true;
    return true;
  };
  // A lane's later read stands for its own earlier one, and one that others are
  // ordered before for these: what is ordered behind it is ordered behind them.
  // But a strong read says nothing about what a weak one races with.
  cells.dropReads(cell, [&](SharedReads &reads) {
    bool isOwn = reads.warp == added.warp;
    if (isOwn && joins(reads))
      return false;
    if (added.strong && !reads.strong)
      return false;
    if (isOwn && !(reads.epoch == added.epoch && reads.strong == added.strong))
      reads.lanes &= ~added.lanes;
    return !reads.lanes || !unordered(reads, warp, lane);
  });
  if (!joined)
    cells.addReads(cell, added);
}

/// A write of the same value is compared with no reads: it drops none either.
static void recordWrite(RaceCells &cells, RaceCell &cell,
                        const SharedWrite &write, bool strong,
                        bool sameValue = false) {
  if (strong) {
    cell.strong = write;
    if (!sameValue)
      cells.dropReads(cell,
                      [](const SharedReads &reads) { return reads.strong; });
    return;
  }
  cell.weak = write;
  cell.strong.epoch = 0;
  if (!sameValue)
    cells.dropReads(cell, [](const SharedReads &) { return true; });
}

static void visit(RaceCell &cell, Warp &warp, const Inst &inst, unsigned lane,
                  Block &block, uint32_t offset, AccessMode mode,
                  bool sameValue) {
  // Nothing is strong to those that its scope leaves out.
  bool strong = isStrong(warp, inst, mode) &&
                !(inst.flags & AccessOfBlock && &block != warp.block);
  bool forGroup = warp.readsForGroup;
  uint16_t by = uint16_t(forGroup ? groupIndex(warp) : warpInCluster(warp));
  uint32_t epoch = forGroup ? groupEpoch(warp) : warp.clock->epoch;
  uint32_t pc = pcOf(warp, inst);
  compare(cell, warp, inst, lane, block, offset, mode, strong, sameValue);
  warp.clock->touched |= 1u << lane;
  if (mode == AccessMode::Read)
    recordRead(block.shadow->cells, cell, warp, lane,
               {epoch, pc, 1u << lane, by, strong});
  else
    recordWrite(block.shadow->cells, cell,
                {epoch, pc, uint16_t(by * 32u + lane)}, strong, sameValue);
}

void ptxsim::raceAtIssue(Warp &warp, const Inst &inst, unsigned lane,
                         Block &block, uint32_t offset, unsigned bytes) {
  RaceCells &cells = block.shadow->cells;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    cells.open(word * 4);
    if (!cells.split[word]) {
      compare(cells.words[word], warp, inst, lane, block, word * 4,
              AccessMode::Write, false, false);
      continue;
    }
    for (uint32_t k = std::max(word * 4, offset);
         k < std::min(word * 4 + 4, offset + bytes); ++k)
      compare(cells.bytes[k], warp, inst, lane, block, k, AccessMode::Write,
              false, false);
  }
}

void ptxsim::raceWaited(Warp &warp, const Inst &inst, unsigned lane,
                        Block &block, uint32_t offset, unsigned bytes) {
  RaceCells &cells = block.shadow->cells;
  uint16_t self = uint16_t(warpInCluster(warp) * 32 + lane);
  warp.clock->touched |= 1u << lane;
  auto record = [&](RaceCell &cell) {
    recordWrite(cells, cell, {warp.clock->epoch, pcOf(warp, inst), self},
                /*strong=*/false);
  };
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    cells.open(word * 4);
    if (!cells.split[word])
      record(cells.words[word]);
  }
  for (uint32_t k = offset; k < offset + bytes; ++k)
    if (cells.split[k / 4])
      record(cells.bytes[k]);
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
      recordWrite(cells, cells.words[word], {}, /*strong=*/false);
      for (uint32_t k = at; k < upTo; ++k)
        recordWrite(cells, cells.bytes[k], {}, /*strong=*/false);
      at = upTo;
      continue;
    }
    const char *data =
        warp.storeData ? warp.storeData + (at - offset) : nullptr;
    bool same = mode == AccessMode::Write && data &&
                memcmp(block.shared.data() + at, data, upTo - at) == 0;
    if (whole && !cells.split[word]) {
      visit(cells.words[word], warp, inst, lane, block, at, mode, same);
    } else {
      if (!cells.split[word]) {
        cells.split[word] = 1;
        for (uint32_t k = word * 4; k < word * 4 + 4 && k < cells.bytes.size();
             ++k)
          cells.copy(cells.bytes[k], cells.words[word]);
      }
      for (uint32_t k = at; k < upTo; ++k)
        visit(cells.bytes[k], warp, inst, lane, block, k, mode, same);
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
  auto check = [&](uint32_t offset, uint16_t thread, uint32_t epoch,
                   uint32_t pc, AccessMode mode) {
    Cluster &cluster = *block.cluster;
    uint32_t warp = thread / 32u, rank = warp / launch.warpsPerBlock;
    // Accesses before the block began are ordered.
    if (!epoch || rank == block.rank || rank >= cluster.blocks.size() ||
        seen.covers(warp, thread % 32u, epoch))
      return;
    uint64_t address = sharedAddressOf(block, offset);
    report(cluster.blocks[rank].warps[warp % launch.warpsPerBlock],
           launch.program->code[pc], thread % 32u, RaceCheck, "exit-race",
           std::string(modeName(mode)) + " of shared memory of block " +
               triple(block.index) +
               ", which exits without being ordered behind it",
           &address, Space::Shared);
  };
  auto checkReads = [&](uint32_t offset, const SharedReads &reads) {
    for (uint32_t m = reads.lanes; m; m &= m - 1)
      check(offset, uint16_t(reads.warp * 32u + unsigned(__builtin_ctz(m))),
            reads.epoch, reads.pc, AccessMode::Read);
  };
  RaceCells &cells = shadow.cells;
  auto checkCell = [&](uint32_t offset, RaceCell &cell) {
    for (const SharedWrite *write : {&cell.weak, &cell.strong})
      check(offset, write->thread, write->epoch, write->pc, AccessMode::Write);
    cells.anyReads(cell, [&](const SharedReads &reads) {
      checkReads(offset, reads);
      return false;
    });
  };
  for (uint32_t word = 0; word < cells.words.size(); ++word) {
    cells.open(word * 4);
    if (!cells.split[word]) {
      checkCell(word * 4, cells.words[word]);
      continue;
    }
    for (uint32_t k = word * 4; k < word * 4 + 4 && k < cells.bytes.size(); ++k)
      checkCell(k, cells.bytes[k]);
  }
}
