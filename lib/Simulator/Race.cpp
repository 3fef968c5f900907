// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The race check. In shared memory an access is compared with the last ones to
// the same place: they must be of the same thread, or ordered by a barrier, a
// warp synchronisation, an mbarrier, or a release and an acquire, also across
// the blocks of a cluster (Clocks.cpp). In global memory the accesses of
// different blocks are compared (RaceSignals.cpp). Two writes of the same value
// are let pass.
#include "Async.h"
#include "Checks.h"
#include "Clocks.h"

#include <algorithm>

using namespace ptxsim;

// Shared memory
// -------------------------------------------------------------------

static void reportRace(Warp &warp, const Inst &inst, unsigned lane,
                       Block &block, uint32_t offset, AccessMode mode,
                       bool otherWrote, uint16_t otherThread,
                       uint32_t otherPc) {
  const Program &program = *warp.block->launch->program;
  Report *report = addFinding(warp, inst, lane, RaceCheck, "shared-race");
  if (!report)
    return;
  uint32_t perBlock = uint32_t(block.warps.size()) * 32;
  const Block *ofGroup = blockOfGroup(*block.cluster, otherThread / 32u);
  Dim3 other = threadIndex(*warp.block->launch, otherThread % perBlock);
  uint32_t otherRank = ofGroup ? ofGroup->rank : otherThread / perBlock;
  report->message =
      std::string(mode == AccessMode::Read    ? "read"
                  : mode == AccessMode::Write ? "write"
                                              : "atomic access") +
      " of shared memory races with a " + (otherWrote ? "write" : "read") +
      (ofGroup
           ? " by a wgmma"
           : " by thread (" + std::to_string(other.x) + "," +
                 std::to_string(other.y) + "," + std::to_string(other.z) + ")");
  if (otherRank != warp.block->rank) {
    const Dim3 &index = block.cluster->blocks[otherRank].index;
    report->message += " of block (" + std::to_string(index.x) + "," +
                       std::to_string(index.y) + "," + std::to_string(index.z) +
                       ")";
  }
  report->hasAddress = true;
  report->address =
      &block == warp.block ? offset : sharedAddressOf(block, offset);
  report->nearest = describeAddress(warp, lane, offset, Space::Shared);
  if (&block != warp.block)
    report->nearest += " of the block of rank " + std::to_string(block.rank);
  report->detail = "the other access is at ptx line " +
                   std::to_string(program.info[otherPc].line) + ": " +
                   instructionText(program, program.code[otherPc]);
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
  if (mode == AccessMode::Read)
    return;
  for (int k = 0; k < 2; ++k)
    if (!isOrdered(warp, lane, cell.readThread[k], cell.readEpoch[k]) &&
        !(strong && cell.readStrong >> k & 1) && !sameValue) {
      reportRace(warp, inst, lane, block, offset, mode, false,
                 cell.readThread[k], cell.readPc[k]);
      break;
    }
}

static void recordRead(RaceCell &cell, const Warp &warp, unsigned lane,
                       uint16_t self, uint32_t epoch, uint32_t pc,
                       bool strong) {
  bool isOld[2];
  for (int k = 0; k < 2; ++k)
    isOld[k] = isOrdered(warp, lane, cell.readThread[k], cell.readEpoch[k]);
  unsigned k = isOld[0] ? 0 : 1;
  if (k == 0 && isOld[1])
    cell.readEpoch[1] = 0;
  if (!isOld[k]) {
    if (cell.readStrong)
      k = cell.readStrong >> 1;
    else if (strong)
      return;
  }
  cell.readThread[k] = self;
  cell.readEpoch[k] = epoch;
  cell.readPc[k] = pc;
  cell.readStrong = uint8_t((cell.readStrong & ~(1u << k)) | strong << k);
}

static void recordWrite(RaceCell &cell, uint16_t self, uint32_t epoch,
                        uint32_t pc, bool strong) {
  cell.writeThread = self;
  cell.writeEpoch = epoch;
  cell.writePc = pc;
  cell.writeStrong = strong;
  cell.readEpoch[0] = cell.readEpoch[1] = 0;
}

static uint32_t pcOf(const Warp &warp, const Inst &inst) {
  return uint32_t(&inst - warp.block->launch->program->code.data());
}

static void visit(RaceCell &cell, Warp &warp, const Inst &inst, unsigned lane,
                  Block &block, uint32_t offset, AccessMode mode,
                  bool sameValue) {
  // Nothing is strong to those that its scope leaves out.
  bool strong = isStrong(warp, inst, mode) &&
                !(inst.flags & AccessOfBlock && &block != warp.block);
  bool forGroup = warp.readsForGroup;
  uint16_t self =
      uint16_t((forGroup ? groupIndex(warp) : warpInCluster(warp)) * 32 + lane);
  uint32_t epoch = forGroup ? groupEpoch(warp) : warp.clock->epoch;
  uint32_t pc = pcOf(warp, inst);
  compare(cell, warp, inst, lane, block, offset, mode, strong, sameValue);
  warp.clock->touched |= 1u << lane;
  if (mode == AccessMode::Read)
    recordRead(cell, warp, lane, self, epoch, pc, strong);
  else
    recordWrite(cell, self, epoch, pc, strong);
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
    recordWrite(cell, self, warp.clock->epoch, pcOf(warp, inst), false);
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
  bool passesOn = !warp.asynchronous && isStrong(warp, inst, mode);
  if (passesOn && mode != AccessMode::Write)
    observe(warp, inst, lane, sharedAddressOf(block, offset));
  for (uint32_t at = offset, end = offset + bytes; at < end;) {
    uint32_t word = at / 4;
    uint32_t upTo = std::min(end, word * 4 + 4);
    bool whole = upTo - at == 4;
    if (forget) {
      shadow.words[word] = RaceCell();
      for (uint32_t k = at; k < upTo; ++k)
        shadow.bytes[k] = RaceCell();
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
          shadow.bytes[k] = shadow.words[word];
      }
      for (uint32_t k = at; k < upTo; ++k)
        visit(shadow.bytes[k], warp, inst, lane, block, k, mode, same);
    }
    at = upTo;
  }
  if (passesOn && mode != AccessMode::Read)
    publish(warp, inst, lane, sharedAddressOf(block, offset));
}

// Global memory
// -------------------------------------------------------------------

GlobalRaces::~GlobalRaces() {
  for (auto &entry : shadows)
    unmapMemory(entry.second.cells, entry.second.bytes);
}

void GlobalRaces::forget(const Allocation &allocation) {
  auto it = shadows.find(&allocation);
  if (it == shadows.end())
    return;
  unmapMemory(it->second.cells, it->second.bytes);
  shadows.erase(it);
  lastAllocation = nullptr;
  lastCells = nullptr;
}

bool GlobalRaces::sameCluster(uint32_t a, uint32_t b) const {
  auto clusterOf = [&](uint64_t block, uint64_t *index) {
    index[0] = block % grid.x / cluster.x;
    index[1] = block / grid.x % grid.y / cluster.y;
    index[2] = block / grid.x / grid.y / cluster.z;
  };
  uint64_t ofA[3], ofB[3];
  clusterOf(a - 1, ofA);
  clusterOf(b - 1, ofB);
  return std::equal(ofA, ofA + 3, ofB);
}

/// Whether an access of `block` at `time` happened before what block `now`
/// does. What was strong itself needs no release: an ordinary load of what
/// others update by atomics is where loops around a compare-and-swap begin.
bool GlobalRaces::ordered(uint32_t block, uint32_t time, bool wasStrong,
                          uint32_t now) const {
  const BlockSignals &signals =
      hasClusters && sameCluster(block, now) ? clusterSignals : deviceSignals;
  return signals.ordered(block, time, !wasStrong, now);
}

/// Forgetting may hide a race but not invent one.
void GlobalRaces::restart() {
  for (auto &entry : shadows) {
    Cell *cells = entry.second.cells;
    // Pages that nothing has touched stay so.
    for (size_t k = 0, n = entry.second.bytes / sizeof(Cell); k < n; ++k)
      if (cells[k].writer || cells[k].reader)
        cells[k] = Cell();
  }
  clusterSignals.clear();
  deviceSignals.clear();
  signaller = {};
  clock = 1;
}

bool GlobalRaces::conflict(Cell &cell, bool isRead, bool strong, bool sameValue,
                           uint32_t self, uint32_t &other) {
  auto clashes = [&](uint32_t who, uint32_t time) {
    if (who == 0 || who == self || (strong && time & strongBit))
      return false;
    // Of several readers not all are known: only without any ordering at all
    // is it certain.
    bool isOrdered =
        who == severalBlocks
            ? !clusterSignals.empty() || !deviceSignals.empty()
            : ordered(who, time & ~strongBit, time & strongBit, self);
    if (!isOrdered)
      other = who;
    return !isOrdered;
  };
  bool race = clashes(cell.writer, cell.writeTime) && !(!isRead && sameValue);
  uint32_t time = stamp(strong);
  if (isRead) {
    cell.reader =
        cell.reader == 0 || cell.reader == self ? self : severalBlocks;
    cell.readTime = time;
    return race;
  }
  race |= clashes(cell.reader, cell.readTime) && !sameValue;
  cell.writer = self;
  cell.writeTime = time;
  cell.reader = 0;
  return race;
}

void ptxsim::raceGlobal(Warp &warp, const Inst &inst, unsigned lane,
                        const Allocation &allocation, uint64_t address,
                        unsigned bytes, AccessMode mode) {
  if (allocation.readOnly)
    return;
  Launch &launch = *warp.block->launch;
  GlobalRaces &races = *launch.globalRaces;
  if (races.lastAllocation != &allocation) {
    auto [it, isNew] = races.shadows.try_emplace(&allocation);
    GlobalRaces::Shadow &shadow = it->second;
    if (isNew) {
      uint64_t units = (allocation.end - allocation.begin) / races.unit + 2;
      shadow.bytes = size_t(units * sizeof(GlobalRaces::Cell));
      shadow.cells = static_cast<GlobalRaces::Cell *>(mapMemory(shadow.bytes));
    }
    if (!shadow.cells) {
      warp.worker->fail(warp, "out of memory for the race check");
      return;
    }
    races.lastAllocation = &allocation;
    races.lastCells = shadow.cells;
  }
  bool strong = isStrong(warp, inst, mode) && !(inst.flags & AccessOfBlock);
  uint32_t self = uint32_t(warp.block->linear + 1);
  uint64_t first = (address - allocation.begin) / races.unit;
  uint64_t last = (address + bytes - 1 - allocation.begin) / races.unit;
  bool same = mode == AccessMode::Write && warp.storeData &&
              memcmp(reinterpret_cast<const char *>(address), warp.storeData,
                     bytes) == 0;
  bool isRead = mode == AccessMode::Read;
  for (uint64_t k = first; k <= last; ++k) {
    uint32_t other = 0;
    if (!races.conflict(races.lastCells[k], isRead, strong, same, self, other))
      continue;
    Report *report = addFinding(warp, inst, lane, RaceCheck, "global-race");
    if (!report)
      continue;
    std::string who = "other blocks";
    if (other != GlobalRaces::severalBlocks) {
      const Dim3 &grid = launch.config.grid;
      uint64_t b = other - 1;
      who = "block (" + std::to_string(b % grid.x) + "," +
            std::to_string(b / grid.x % grid.y) + "," +
            std::to_string(b / grid.x / grid.y) + ")";
    }
    report->message =
        std::string(mode == AccessMode::Read    ? "read"
                    : mode == AccessMode::Write ? "write"
                                                : "atomic access") +
        " of global memory races with an access by " + who;
    report->hasAddress = true;
    report->address = address;
    report->nearest = describeAddress(warp, lane, address, Space::Global);
  }
}

void *ptxsim::raceCells(Warp &warp, const Allocation &allocation) {
  const GlobalRaces *races = warp.block->launch->globalRaces.get();
  return races && races->lastAllocation == &allocation ? races->lastCells
                                                       : nullptr;
}

template <unsigned Bytes>
bool GlobalRaces::passesFor(const AccessRange &range, uint32_t mask,
                            const uint64_t *addresses, uint64_t disp,
                            uint32_t self, bool isRead, bool initialised) {
  Cell *cells = static_cast<Cell *>(range.cells);
  const unsigned count = unit == 1 ? Bytes : (Bytes + 3) / 4;
  const unsigned shift = unit == 1 ? 0 : 2;
  uint64_t origin = range.begin - disp;
  bool clean = true;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    if (initialised)
      clean &= allWritten(range.written + offset, Bytes);
    const Cell *cell = cells + (offset >> shift);
    for (unsigned k = 0; k < count; ++k) {
      clean &= cell[k].writer == 0 || cell[k].writer == self;
      clean &= isRead || cell[k].reader == 0 || cell[k].reader == self;
    }
  }
  if (!clean)
    return false;
  uint32_t time = stamp(false);
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    Cell *cell = cells + (offset >> shift);
    for (unsigned k = 0; k < count; ++k) {
      if (isRead) {
        uint32_t reader = cell[k].reader;
        cell[k].reader = reader == 0 || reader == self ? self : severalBlocks;
        cell[k].readTime = time;
      } else {
        cell[k] = {self, time, 0, cell[k].readTime};
      }
    }
    if (!isRead && range.written)
      memset(range.written + offset, 1, Bytes);
  }
  return true;
}

bool ptxsim::passesChecks(Warp &warp, const Inst &inst, uint32_t mask,
                          const uint64_t *addresses, uint64_t disp,
                          unsigned bytes, AccessMode mode) {
  const Launch &launch = *warp.block->launch;
  const AccessRange &range = warp.ranges[inst.operands];
  bool isRead = mode == AccessMode::Read;
  bool tracksRegisters = !isRead && !launch.program->registerEvents.empty();
  if (inst.flags & AccessStrong || launch.options->counters ||
      tracksRegisters || (launch.globalProxy && !isRead))
    return false;
  bool initialised = isRead && range.written && launch.tools & InitCheck;
  GlobalRaces *races = launch.globalRaces.get();
  if (!races) {
    for (uint32_t m = mask; m && range.written; m &= m - 1) {
      uint8_t *written =
          range.written + (addresses[__builtin_ctz(m)] + disp - range.begin);
      if (!isRead)
        memset(written, 1, bytes);
      else if (initialised && !allWritten(written, bytes))
        return false;
    }
    return true;
  }
  if (!range.cells)
    return false;
  uint32_t self = uint32_t(warp.block->linear + 1);
  auto passes = [&](auto size) {
    return races->passesFor<decltype(size)::value>(range, mask, addresses, disp,
                                                   self, isRead, initialised);
  };
  switch (bytes) {
  case 1:
    return passes(std::integral_constant<unsigned, 1>());
  case 2:
    return passes(std::integral_constant<unsigned, 2>());
  case 4:
    return passes(std::integral_constant<unsigned, 4>());
  case 8:
    return passes(std::integral_constant<unsigned, 8>());
  case 16:
    return passes(std::integral_constant<unsigned, 16>());
  case 32:
    return passes(std::integral_constant<unsigned, 32>());
  default:
    return false;
  }
}

void GlobalRaces::signal(uint32_t block, bool releases, bool toDevice) {
  uint32_t now = tick();
  bool released = false;
  if (hasClusters)
    released = clusterSignals.access(block, now, releases);
  if (toDevice)
    released = deviceSignals.access(block, now, releases);
  strongTime = released ? now : clock;
}

void ptxsim::noteStrong(Warp &warp, const Inst &inst, unsigned lane) {
  GlobalRaces *races = warp.block->launch->globalRaces.get();
  if (!races || inst.flags & AccessOfBlock)
    return;
  auto &last = races->signaller;
  bool again = last.warp == &warp && last.inst == &inst && lane > last.lane &&
               last.clock == races->clock;
  if (!again)
    races->signal(uint32_t(warp.block->linear + 1), inst.flags & AccessRelease,
                  !(inst.flags & AccessOfCluster));
  last = {&warp, &inst, lane, races->clock};
}

void ptxsim::noteClusterBarrier(Warp &warp, bool releases) {
  GlobalRaces *races = warp.block->launch->globalRaces.get();
  if (races && races->hasClusters)
    races->signal(uint32_t(warp.block->linear + 1), releases,
                  /*toDevice=*/false);
}

void ptxsim::noteFence(Warp &warp, const Inst &inst) {
  GlobalRaces *races = warp.block->launch->globalRaces.get();
  if (!races || !(inst.flags & FenceCluster))
    return;
  uint32_t now = races->tick();
  uint32_t block = uint32_t(warp.block->linear + 1);
  if (races->hasClusters)
    races->clusterSignals.fence(block, now);
  if (inst.flags & FenceDevice)
    races->deviceSignals.fence(block, now);
}

void ptxsim::noteEnd(Block &block) {
  GlobalRaces *races = block.launch->globalRaces.get();
  if (!races)
    return;
  races->clusterSignals.finish(uint32_t(block.linear + 1));
  races->deviceSignals.finish(uint32_t(block.linear + 1));
}
