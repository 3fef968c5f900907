// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An access is compared with the last write of another block to the same place,
// a write with the reads since, too: both must be strong in a scope that has
// both blocks, or the first must have happened before the second (Clocks.cpp).
// A strong write that the block has itself read by a strong access, or written
// over, happened before what follows there. Two writes of the same value are
// let pass; such a write is compared with no reads, and drops none.
#include "GlobalRaces.h"
#include "Checks.h"
#include "Clocks.h"

#include <algorithm>

using namespace ptxsim;

/// From here on all that is known is forgotten: that may hide a race but not
/// invent one.
static constexpr size_t maxSegments = size_t(1) << 24;
static constexpr size_t maxSets = size_t(1) << 20;
/// More than one access adds.
static constexpr size_t spareSets = size_t(1) << 16;
/// From here on any block may have observed any write.
static constexpr size_t maxObserved = size_t(1) << 20;
static constexpr size_t numAddedReaders = 1024;

/// The strength of an access: the widest scope of others it is strong to.
static unsigned strengthOf(const Warp &warp, const Inst &inst,
                           AccessMode mode) {
  if (!isStrong(warp, inst, mode))
    return BlockScope;
  return warp.asynchronous ? DeviceScope : scopeOf(inst);
}

GlobalRaces::GlobalRaces(bool byByte)
    : unit(byByte ? 1 : 4), segments(1), addedReaders(numAddedReaders) {}

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

void GlobalRaces::restart() {
  for (auto &entry : shadows)
    clearMemory(entry.second.cells, entry.second.bytes);
  segments.resize(1);
  lastBlock = ~0u;
  lastAsync = nullptr;
  ++generation;
  sets.clear();
  setsByHash.clear();
  observed.clear();
  addedReaders.assign(numAddedReaders, AddedReader());
}

// Segments
// ----------------------------------------------------------------------

uint32_t GlobalRaces::newSegment(const Warp &warp, uint32_t epoch) {
  if (segments.size() == maxSegments)
    restart();
  uint32_t block = uint32_t(warp.block->linear);
  if (block != lastBlock) {
    lastBlock = block;
    firstOfBlock = uint32_t(segments.size());
  }
  segments.push_back({block, uint32_t(warp.block->cluster->number), epoch,
                      warpInCluster(warp)});
  return uint32_t(segments.size() - 1);
}

uint32_t GlobalRaces::segmentOf(Warp &warp) {
  WarpClock &clock = *warp.clock;
  if (clock.segment < firstOfBlock || clock.segmentEpoch != clock.epoch ||
      clock.segmentGeneration != generation ||
      uint32_t(warp.block->linear) != lastBlock) {
    clock.segment = newSegment(warp, clock.epoch);
    clock.segmentEpoch = clock.epoch;
    clock.segmentGeneration = generation;
  }
  return clock.segment;
}

// Comparing
// ---------------------------------------------------------------------

bool GlobalRaces::isOrdered(const Warp &warp, unsigned lane,
                            Access before) const {
  const Segment &segment = segments[before.segment];
  if (segment.block == uint32_t(warp.block->linear))
    return true;
  unsigned other = laneOf(before);
  return (segment.cluster == uint32_t(warp.block->cluster->number) &&
          ptxsim::isOrdered(warp, lane, uint16_t(segment.warp * 32 + other),
                            segment.epoch)) ||
         warp.clock->seen.grid.covers(segment.cluster, segment.warp, other,
                                      segment.epoch) ||
         warp.clock->views.coversGrid(lane, segment.cluster, segment.warp,
                                      other, segment.epoch);
}

bool GlobalRaces::bothStrong(const Warp &warp, Access now,
                             Access before) const {
  unsigned scope = std::min(strengthOf(now), strengthOf(before));
  return scope == DeviceScope ||
         (scope == ClusterScope && segments[before.segment].cluster ==
                                       uint32_t(warp.block->cluster->number));
}

std::optional<GlobalRaces::Clash>
GlobalRaces::visit(Cell &cell, const Warp &warp, unsigned lane, Access now,
                   bool isRead, bool sameValue) {
  auto races = [&](Access before) {
    return !isOwn(before.segment) && !bothStrong(warp, now, before) &&
           !isOrdered(warp, lane, before);
  };
  auto observation = [&] {
    return std::make_pair(&cell, uint32_t(warp.block->linear));
  };
  auto hasObserved = [&](Access before) {
    if (strengthOf(before) == BlockScope || observed.empty())
      return false;
    auto it = observed.find(observation());
    return it == observed.end() ? observed.size() >= maxObserved
                                : it->second == before;
  };
  // Most atomics come after others.
  if (!isRead && !cell.reader.segment &&
      std::min(strengthOf(now), strengthOf(cell.writer)) == DeviceScope) {
    cell.writer = now;
    return std::nullopt;
  }
  if (!isRead && sameValue) {
    cell.writer = now;
    return std::nullopt;
  }
  std::optional<Clash> clash;
  if (races(cell.writer) && !hasObserved(cell.writer))
    clash = Clash{cell.writer, /*hasWritten=*/true};
  if (isRead) {
    // What it reads so, its block has observed.
    const Program &program = *warp.block->launch->program;
    if (!isOwn(cell.writer.segment) && strengthOf(now) != BlockScope &&
        bothStrong(warp, now, cell.writer) &&
        !isOrdered(warp, lane, cell.writer) && observed.size() < maxObserved &&
        !(program.code[pcOf(now)].flags & AccessGuess))
      observed[observation()] = cell.writer;
    addReader(cell.reader, warp, lane, now);
    return clash;
  }
  if (!clash && cell.reader.segment) {
    ReadSet readers = readersOf(cell.reader);
    for (unsigned k = 0; k < readers.count && !clash; ++k)
      if (races(readers.readers[k]))
        clash = Clash{readers.readers[k], /*hasWritten=*/false};
  }
  cell = {now, {0, 0}};
  return clash;
}

// Readers
// -----------------------------------------------------------------------

GlobalRaces::ReadSet GlobalRaces::readersOf(Access reader) const {
  if (reader.segment & isSet)
    return sets[reader.segment & ~isSet];
  ReadSet one;
  one.readers[one.count++] = reader;
  return one;
}

/// Sets are shared by the cells that have the same.
GlobalRaces::Access GlobalRaces::setOf(const ReadSet &readers,
                                       Access otherwise) {
  if (readers.count == 1)
    return readers.readers[0];
  uint64_t hash = readers.count;
  for (unsigned k = 0; k < readers.count; ++k) {
    hash = (hash ^ readers.readers[k].segment) * 0xff51afd7ed558ccd;
    hash = (hash ^ hash >> 29 ^ readers.readers[k].site) * 0xff51afd7ed558ccd;
  }
  auto [it, isNew] = setsByHash.try_emplace(hash, uint32_t(sets.size()));
  if (!isNew)
    return sets[it->second] == readers ? Access{isSet | it->second, 0}
                                       : otherwise;
  if (sets.size() == maxSets) {
    setsByHash.erase(it);
    return otherwise;
  }
  sets.push_back(readers);
  return {isSet | it->second, 0};
}

void GlobalRaces::addReader(Access &reader, const Warp &warp, unsigned lane,
                            Access added) {
  if (reader.segment == 0) {
    reader = added;
    return;
  }
  uint32_t hash = reader.segment * 0x9e3779b1 ^ reader.site * 0x85ebca77 ^
                  added.segment * 0xc2b2ae3d ^ added.site * 0x27d4eb2f;
  AddedReader &known = addedReaders[(hash ^ hash >> 15) % numAddedReaders];
  if (known.to == reader && known.added == added) {
    reader = known.result;
    return;
  }
  // What is ordered behind the new one is ordered behind those that it is
  // itself ordered behind, but a strong read says nothing about what a weak one
  // races with. Of its own block one of each strength is kept, whether or not
  // the new one is ordered behind it: that may hide a race.
  ReadSet readers = readersOf(reader);
  unsigned kept = 0;
  for (unsigned k = 0; k < readers.count; ++k) {
    Access before = readers.readers[k];
    bool isOfBlock =
        segments[before.segment].block == uint32_t(warp.block->linear);
    bool replaces = isOfBlock ? strengthOf(before) == strengthOf(added)
                              : strengthOf(before) >= strengthOf(added) &&
                                    isOrdered(warp, lane, before);
    if (!replaces)
      readers.readers[kept++] = before;
  }
  readers.count = kept;
  Access before = reader;
  if (kept < maxReaders) {
    readers.readers[readers.count++] = added;
    reader = setOf(readers, reader);
  }
  known = {before, added, reader};
}

// Accesses
// ----------------------------------------------------------------------

static void reportRace(Warp &warp, const Inst &inst, unsigned lane,
                       uint64_t address, AccessMode mode, bool otherWrote,
                       const Dim3 &block, uint32_t thread, uint32_t pc) {
  Report *report = addFinding(warp, inst, lane, RaceCheck, "global-race");
  if (!report)
    return;
  setOther(*report, *warp.block->launch, block, thread, pc);
  report->message = std::string(modeName(mode)) +
                    " of global memory races with a " +
                    (otherWrote ? "write" : "read") + " by thread " +
                    triple(report->other.thread) + " of block " + triple(block);
  report->hasAddress = true;
  report->address = address;
  report->nearest = describeAddress(warp, lane, address, Space::Global);
}

bool GlobalRaces::useCells(Warp &warp, const Allocation &allocation) {
  if (lastAllocation == &allocation)
    return true;
  auto [it, isNew] = shadows.try_emplace(&allocation);
  Shadow &shadow = it->second;
  if (isNew) {
    uint64_t units = (allocation.end - allocation.begin) / unit + 2;
    shadow.bytes = size_t(units * sizeof(Cell));
    shadow.cells = static_cast<Cell *>(mapMemory(shadow.bytes));
  }
  if (!shadow.cells) {
    shadows.erase(it);
    warp.worker->fail(warp, "out of memory for the race check");
    return false;
  }
  lastAllocation = &allocation;
  lastCells = shadow.cells;
  return true;
}

void GlobalRaces::access(Warp &warp, const Inst &inst, unsigned lane,
                         const Allocation &allocation, uint64_t address,
                         unsigned bytes, AccessMode mode) {
  if (allocation.readOnly || !useCells(warp, allocation))
    return;
  bool isRead = mode == AccessMode::Read;
  if (sets.size() + spareSets > maxSets)
    restart();
  uint32_t segment = segmentOf(warp);
  if (warp.asynchronous && isRead && warp.copyEpoch) {
    // What waits for the copy may be another warp: whatever its own has passed
    // on since it issued the copy orders what this has read.
    if (lastAsync != &warp || asyncEpoch != warp.copyEpoch ||
        asyncSegment < firstOfBlock) {
      asyncSegment = newSegment(warp, warp.copyEpoch);
      lastAsync = &warp;
      asyncEpoch = warp.copyEpoch;
    }
    segment = asyncSegment;
  }
  const Program &program = *warp.block->launch->program;
  Access now = accessBy(segment, uint32_t(&inst - program.code.data()), lane,
                        ::strengthOf(warp, inst, mode));
  warp.clock->touched |= 1u << lane;
  bool same = mode == AccessMode::Write && warp.storeData &&
              memcmp(reinterpret_cast<const char *>(address), warp.storeData,
                     bytes) == 0;
  uint64_t first = (address - allocation.begin) / unit;
  uint64_t last = (address + bytes - 1 - allocation.begin) / unit;
  for (uint64_t k = first; k <= last; ++k) {
    std::optional<Clash> clash =
        visit(lastCells[k], warp, lane, now, isRead, same);
    if (!clash)
      continue;
    Access other = clash->access;
    const Launch &launch = *warp.block->launch;
    const Dim3 &grid = launch.config.grid;
    const Segment &of = segments[other.segment];
    Dim3 block = {of.block % grid.x, of.block / grid.x % grid.y,
                  of.block / grid.x / grid.y};
    reportRace(warp, inst, lane, address, mode, clash->hasWritten, block,
               of.warp % launch.warpsPerBlock * 32 + laneOf(other),
               pcOf(other));
  }
}

template <unsigned Bytes>
bool GlobalRaces::passesFor(Warp &warp, const Inst &inst, uint32_t mask,
                            const uint64_t *addresses, uint64_t disp,
                            bool isRead, bool initialised) {
  const AccessRange &range = warp.ranges[inst.operands];
  Cell *cells = static_cast<Cell *>(range.cells);
  const unsigned count = unit == 1 ? Bytes : (Bytes + 3) / 4;
  const unsigned shift = unit == 1 ? 0 : 2;
  uint64_t origin = range.begin - disp;
  if (sets.size() + spareSets > maxSets)
    return false;
  // First of all: it may be another block's turn.
  uint32_t segment = segmentOf(warp);
  bool clean = true;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    if (initialised)
      clean &= allWritten(range.written + offset, Bytes);
    const Cell *cell = cells + (offset >> shift);
    for (unsigned k = 0; k < count; ++k) {
      clean &= isOwn(cell[k].writer.segment);
      clean &= isRead || isOwn(cell[k].reader.segment);
    }
  }
  if (!clean)
    return false;
  const Program &program = *warp.block->launch->program;
  uint32_t pc = uint32_t(&inst - program.code.data());
  warp.clock->touched |= mask;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint64_t offset = addresses[lane] - origin;
    Cell *cell = cells + (offset >> shift);
    Access now = accessBy(segment, pc, lane, BlockScope);
    for (unsigned k = 0; k < count; ++k) {
      if (!isRead)
        cell[k] = {now, {0, 0}};
      else if (isOwn(cell[k].reader.segment))
        cell[k].reader = now;
      else
        addReader(cell[k].reader, warp, lane, now);
    }
    if (!isRead && range.written)
      memset(range.written + offset, 1, Bytes);
  }
  return true;
}

void *ptxsim::raceCells(Warp &warp, const Allocation &allocation) {
  const GlobalRaces *races = warp.block->launch->globalRaces.get();
  return races ? races->cellsOf(allocation) : nullptr;
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
  auto passes = [&](auto size) {
    return races->passesFor<decltype(size)::value>(warp, inst, mask, addresses,
                                                   disp, isRead, initialised);
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
