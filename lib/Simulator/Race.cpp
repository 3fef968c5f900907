// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The race check in shared memory. An access is compared with the last ones to
// the same place: they must be of the same thread, or ordered by a barrier, a
// warp synchronisation, an mbarrier, or a release and an acquire, also across
// the blocks of a cluster (Clocks.cpp). Two writes of the same value are let
// pass. (For global memory, GlobalRaces.cpp.)
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

/// Whether the access of a lane is ordered behind the last ones to a cell.
static void compare(const RaceCell &cell, Warp &warp, const Inst &inst,
                    unsigned lane, Block &block, uint32_t offset,
                    AccessMode mode, bool strong, bool sameValue) {
  if (!isOrdered(warp, lane, cell.writeThread, cell.writeEpoch) &&
      !(strong && cell.writeStrong) &&
      !(mode == AccessMode::Write && sameValue))
    reportRace(warp, inst, lane, block, offset, mode, true, cell.writeThread,
               cell.writePc);
  if (mode == AccessMode::Read || sameValue)
    return;
  auto races = [&](const SharedReads &reads) {
    if (strong && reads.strong)
      return false;
    uint32_t others = unordered(reads, warp, lane);
    if (others)
      reportRace(warp, inst, lane, block, offset, mode, false,
                 uint16_t(reads.warp * 32u + unsigned(__builtin_ctz(others))),
                 reads.pc);
    return others != 0;
  };
  if (races(cell.reads) || !cell.moreReads)
    return;
  for (const SharedReads &reads : block.shadow->moreReads[cell.moreReads - 1])
    if (races(reads))
      return;
}

/// What cells refer to in a block's shadow.
static void dropMoreReads(SharedShadow &shadow, RaceCell &cell) {
  if (!cell.moreReads)
    return;
  shadow.moreReads[cell.moreReads - 1].clear();
  shadow.unusedReads.push_back(cell.moreReads);
  cell.moreReads = 0;
}

static std::vector<SharedReads> &moreReadsOf(SharedShadow &shadow,
                                             RaceCell &cell) {
  if (!cell.moreReads) {
    if (shadow.unusedReads.empty()) {
      shadow.moreReads.emplace_back();
      shadow.unusedReads.push_back(uint32_t(shadow.moreReads.size()));
    }
    cell.moreReads = shadow.unusedReads.back();
    shadow.unusedReads.pop_back();
  }
  return shadow.moreReads[cell.moreReads - 1];
}

static void recordRead(SharedShadow &shadow, RaceCell &cell, const Warp &warp,
                       unsigned lane, const SharedReads &added) {
  auto joins = [&](SharedReads &reads) {
    if (reads.epoch != added.epoch || reads.warp != added.warp ||
        reads.strong != added.strong)
      return false;
    reads.lanes |= added.lanes;
    reads.pc = added.pc;
    return true;
  };
  // What is ordered behind the new one is ordered behind those before it, but a
  // strong read says nothing about what a weak one races with.
  auto isOld = [&](const SharedReads &reads) {
    return !reads.epoch ||
           ((reads.strong || !added.strong) && !unordered(reads, warp, lane));
  };
  // A lane's later read stands for its own earlier one likewise.
  auto supersede = [&](SharedReads &reads) {
    if (reads.warp != added.warp || (added.strong && !reads.strong) ||
        (reads.epoch == added.epoch && reads.strong == added.strong))
      return;
    reads.lanes &= ~added.lanes;
    if (!reads.lanes)
      reads.epoch = 0;
  };
  if (!cell.moreReads) {
    if (joins(cell.reads))
      return;
    supersede(cell.reads);
    if (isOld(cell.reads))
      cell.reads = added;
    else
      moreReadsOf(shadow, cell).push_back(added);
    return;
  }
  std::vector<SharedReads> &more = moreReadsOf(shadow, cell);
  supersede(cell.reads);
  bool joined = joins(cell.reads);
  for (SharedReads &reads : more) {
    supersede(reads);
    joined = joined || joins(reads);
  }
  if (joined)
    return;
  more.erase(std::remove_if(more.begin(), more.end(), isOld), more.end());
  if (!isOld(cell.reads))
    more.push_back(added);
  else
    cell.reads = added;
  if (more.empty())
    dropMoreReads(shadow, cell);
}

/// A write of the same value is compared with no reads: it drops none either.
static void recordWrite(SharedShadow &shadow, RaceCell &cell, uint16_t self,
                        uint32_t epoch, uint32_t pc, bool strong,
                        bool sameValue = false) {
  cell.writeThread = self;
  cell.writeEpoch = epoch;
  cell.writePc = pc;
  cell.writeStrong = strong;
  if (sameValue)
    return;
  dropMoreReads(shadow, cell);
  cell.reads.epoch = 0;
}

static uint32_t pcOf(const Warp &warp, const Inst &inst) {
  return uint32_t(&inst - warp.block->launch->program->code.data());
}

static void copyCell(SharedShadow &shadow, RaceCell &to, const RaceCell &from) {
  dropMoreReads(shadow, to);
  to = from;
  if (!from.moreReads)
    return;
  to.moreReads = 0;
  std::vector<SharedReads> more = shadow.moreReads[from.moreReads - 1];
  moreReadsOf(shadow, to) = std::move(more);
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
    recordRead(*block.shadow, cell, warp, lane,
               {epoch, pc, 1u << lane, by, strong});
  else
    recordWrite(*block.shadow, cell, uint16_t(by * 32u + lane), epoch, pc,
                strong, sameValue);
}

void ptxsim::raceAtIssue(Warp &warp, const Inst &inst, unsigned lane,
                         Block &block, uint32_t offset, unsigned bytes) {
  SharedShadow &shadow = *block.shadow;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    if (!shadow.split[word]) {
      compare(shadow.words[word], warp, inst, lane, block, word * 4,
              AccessMode::Write, false, false);
      continue;
    }
    for (uint32_t k = std::max(word * 4, offset);
         k < std::min(word * 4 + 4, offset + bytes); ++k)
      compare(shadow.bytes[k], warp, inst, lane, block, k, AccessMode::Write,
              false, false);
  }
}

void ptxsim::raceWaited(Warp &warp, const Inst &inst, unsigned lane,
                        Block &block, uint32_t offset, unsigned bytes) {
  SharedShadow &shadow = *block.shadow;
  uint16_t self = uint16_t(warpInCluster(warp) * 32 + lane);
  warp.clock->touched |= 1u << lane;
  auto record = [&](RaceCell &cell) {
    recordWrite(shadow, cell, self, warp.clock->epoch, pcOf(warp, inst), false);
  };
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word)
    if (!shadow.split[word])
      record(shadow.words[word]);
  for (uint32_t k = offset; k < offset + bytes; ++k)
    if (shadow.split[k / 4])
      record(shadow.bytes[k]);
}

void ptxsim::raceShared(Warp &warp, const Inst &inst, unsigned lane,
                        Block &block, uint32_t offset, unsigned bytes,
                        AccessMode mode) {
  // What copies write is compared when they are issued, and ordered by what
  // waits for them.
  SharedShadow &shadow = *block.shadow;
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
    uint32_t upTo = std::min(end, word * 4 + 4);
    bool whole = upTo - at == 4;
    if (forget) {
      recordWrite(shadow, shadow.words[word], 0, 0, 0, false);
      for (uint32_t k = at; k < upTo; ++k)
        recordWrite(shadow, shadow.bytes[k], 0, 0, 0, false);
      at = upTo;
      continue;
    }
    const char *data =
        warp.storeData ? warp.storeData + (at - offset) : nullptr;
    bool same = mode == AccessMode::Write && data &&
                memcmp(block.shared.data() + at, data, upTo - at) == 0;
    if (whole && !shadow.split[word]) {
      visit(shadow.words[word], warp, inst, lane, block, at, mode, same);
    } else {
      if (!shadow.split[word]) {
        shadow.split[word] = 1;
        for (uint32_t k = word * 4; k < word * 4 + 4 && k < shadow.bytes.size();
             ++k)
          copyCell(shadow, shadow.bytes[k], shadow.words[word]);
      }
      for (uint32_t k = at; k < upTo; ++k)
        visit(shadow.bytes[k], warp, inst, lane, block, k, mode, same);
    }
    at = upTo;
  }
  if (passesOn && mode != AccessMode::Read)
    for (unsigned k = 0; k < bytes; k += element)
      publish(warp, inst, lane, sharedAddressOf(block, offset + k), mode);
}
