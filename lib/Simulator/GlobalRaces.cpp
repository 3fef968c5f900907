// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An access is compared with the last writes of another block to the same
// place, a weak one and a strong one, a write with the reads since, too: both
// must be strong, of one size, in a scope that has both blocks, or the first
// must have happened before the second (Clocks.cpp). A strong write says
// nothing about the weak accesses before it: they stay beside it. A strong
// write that the block has itself read by a strong access, or written over,
// happened before what follows there. Two writes of the same value are let
// pass; such a write is compared with no reads, and drops none.
#include "GlobalRaces.h"
#include "Checks.h"
#include "Clocks.h"
#include "PendingSources.h"

#include <algorithm>

using namespace ptxsim;

/// From here on all that is known is forgotten: that may hide a race but not
/// invent one.
static constexpr size_t maxSegments = size_t(1) << 24;
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

GlobalRaces::GlobalRaces(bool byByte, bool ordersBlocks)
    : unit(byByte ? 1 : 4), ordersBlocks(ordersBlocks), segments(1),
      addedReaders(numAddedReaders) {}

void GlobalRaces::unmap(Shadow &shadow) {
  unmapMemory(shadow.cells, shadow.units * sizeof(Cell));
  unmapMemory(shadow.strong, shadow.units * sizeof(Access));
  unmapMemory(shadow.rows, (shadow.units / cellsInRow + 1) * sizeof(Cell));
  unmapMemory(shadow.states, shadow.units / cellsInRow + 1);
}

GlobalRaces::~GlobalRaces() {
  for (auto &entry : shadows)
    unmap(entry.second);
}

void GlobalRaces::forget(const Allocation &allocation) {
  auto it = shadows.find(&allocation);
  if (it == shadows.end())
    return;
  unmap(it->second);
  shadows.erase(it);
  lastAllocation = nullptr;
  lastShadow = nullptr;
}

void GlobalRaces::restart() {
  for (auto &entry : shadows) {
    const Shadow &shadow = entry.second;
    clearMemory(shadow.cells, shadow.units * sizeof(Cell));
    clearMemory(shadow.rows, (shadow.units / cellsInRow + 1) * sizeof(Cell));
    clearMemory(shadow.states, shadow.units / cellsInRow + 1);
  }
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
  if (clock.segment < firstOfBlock ||
      (ordersBlocks && clock.segmentEpoch != clock.epoch) ||
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

bool GlobalRaces::haveSameSize(const Warp &warp, Access a, Access b) {
  const std::vector<Inst> &code = warp.block->launch->program->code;
  return ptxsim::haveSameSize(code[pcOf(a)], code[pcOf(b)]);
}

bool GlobalRaces::bothStrong(const Warp &warp, Access now,
                             Access before) const {
  unsigned scope = std::min(strengthOf(now), strengthOf(before));
  return (scope == DeviceScope ||
          (scope == ClusterScope &&
           segments[before.segment].cluster ==
               uint32_t(warp.block->cluster->number))) &&
         haveSameSize(warp, now, before);
}

std::optional<GlobalRaces::Clash>
GlobalRaces::visit(size_t index, const Warp &warp, unsigned lane, Access now,
                   bool isRead, bool sameValue) {
  open(*lastShadow, index / cellsInRow);
  Cell &cell = lastShadow->cells[index];
  Access &lastStrong = lastShadow->strong[index];
  const bool isStrong = strengthOf(now) == DeviceScope;
  const bool hasStrong = cell.writer.segment & strongFollows;
  const Access writer{cell.writer.segment & ~strongFollows, cell.writer.site};
  const Access strong = hasStrong ? lastStrong : Access{0, 0};
  // Most atomics come after others.
  if (!isRead && isStrong && hasStrong && !cell.reader.segment &&
      isOwn(writer.segment) && haveSameSize(warp, now, strong)) {
    lastStrong = now;
    return std::nullopt;
  }
  auto recordWrite = [&] {
    lastShadow->states[index / cellsInRow] &= uint8_t(~RowEnough);
    if (isStrong) {
      cell.writer.segment |= strongFollows;
      lastStrong = now;
    } else {
      cell.writer = now;
    }
  };
  if (!isRead && sameValue) {
    recordWrite();
    return std::nullopt;
  }
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
  std::optional<Clash> clash;
  for (Access before : {writer, strong})
    if (!clash && races(before) && !hasObserved(before))
      clash = Clash{before, /*hasWritten=*/true};
  if (isRead) {
    // What it reads so, its block has observed.
    Access last = hasStrong ? strong : writer;
    const Program &program = *warp.block->launch->program;
    if (!isOwn(last.segment) && strengthOf(now) != BlockScope &&
        bothStrong(warp, now, last) && !isOrdered(warp, lane, last) &&
        observed.size() < maxObserved &&
        !(program.code[pcOf(now)].flags & AccessGuess))
      observed[observation()] = last;
    addReader(cell.reader, warp, lane, now);
    return clash;
  }
  if (!clash && cell.reader.segment) {
    ReadSet readers = readersOf(cell.reader);
    for (unsigned k = 0; k < readers.count && !clash; ++k)
      if (races(readers.readers[k]))
        clash = Clash{readers.readers[k], /*hasWritten=*/false};
  }
  cell.reader = isStrong ? weakerReaders(cell.reader) : Access{0, 0};
  recordWrite();
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

GlobalRaces::Access GlobalRaces::weakerReaders(Access reader) {
  if (!(reader.segment & isSet))
    return strengthOf(reader) == DeviceScope ? Access{0, 0} : reader;
  ReadSet readers = sets[reader.segment & ~isSet];
  unsigned kept = 0;
  for (unsigned k = 0; k < readers.count; ++k)
    if (strengthOf(readers.readers[k]) != DeviceScope)
      readers.readers[kept++] = readers.readers[k];
  if (kept == readers.count)
    return reader;
  readers.count = kept;
  return kept ? setOf(readers, {0, 0}) : Access{0, 0};
}

/// Leaves two weak readers, if there are: of each block there is one at most.
void GlobalRaces::keepEnough(ReadSet &readers) {
  ReadSet weak;
  for (unsigned k = 0; k < readers.count && weak.count < 2; ++k)
    if (isWeak(readers.readers[k]))
      weak.readers[weak.count++] = readers.readers[k];
  if (weak.count == 2)
    readers = weak;
}

/// Sets are shared by the cells that have the same.
GlobalRaces::Access GlobalRaces::setOf(const ReadSet &readers,
                                       Access otherwise) {
  if (readers.count == 1)
    return readers.readers[0];
  uint32_t site = !ordersBlocks && readers.count == 2 &&
                          isWeak(readers.readers[0]) &&
                          isWeak(readers.readers[1])
                      ? isEnough
                      : 0;
  uint64_t hash = readers.count;
  for (unsigned k = 0; k < readers.count; ++k) {
    hash = (hash ^ readers.readers[k].segment) * 0xff51afd7ed558ccd;
    hash = (hash ^ hash >> 29 ^ readers.readers[k].site) * 0xff51afd7ed558ccd;
  }
  auto [it, isNew] = setsByHash.try_emplace(hash, uint32_t(sets.size()));
  if (!isNew)
    return sets[it->second] == readers ? Access{isSet | it->second, site}
                                       : otherwise;
  if (sets.size() == maxSets) {
    setsByHash.erase(it);
    return otherwise;
  }
  sets.push_back(readers);
  return {isSet | it->second, site};
}

/// Whether a read stands for one of its own block before it: of its warp, or
/// ordered; any if nothing orders other blocks behind one of the two alone.
bool GlobalRaces::isReplaced(const Warp &warp, unsigned lane,
                             Access before) const {
  const Segment &segment = segments[before.segment];
  return !ordersBlocks || segment.warp == warpInCluster(warp) ||
         ptxsim::isOrdered(warp, lane,
                           uint16_t(segment.warp * 32 + laneOf(before)),
                           segment.epoch);
}

void GlobalRaces::addReader(Access &reader, const Warp &warp, unsigned lane,
                            Access added) {
  if (areEnough(reader))
    return;
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
  // races with. Of its own warp one of each strength is kept, and of few warps
  // of its block, whether or not the new one is ordered behind: that may hide a
  // race.
  ReadSet readers = readersOf(reader);
  unsigned kept = 0, ofBlock = 0;
  const unsigned mostOfBlock =
      sets.size() < maxBlockSets ? maxReadersOfBlock : 1;
  for (unsigned k = readers.count; k-- > 0;) {
    Access before = readers.readers[k];
    bool isOfBlock =
        segments[before.segment].block == uint32_t(warp.block->linear);
    bool isBefore = isOfBlock ? isReplaced(warp, lane, before)
                              : ordersBlocks && isOrdered(warp, lane, before);
    bool isStronger = strengthOf(before) >= strengthOf(added);
    if (isStronger && (isBefore || (isOfBlock && ++ofBlock >= mostOfBlock)))
      readers.readers[k].segment = 0;
  }
  for (unsigned k = 0; k < readers.count; ++k)
    if (readers.readers[k].segment)
      readers.readers[kept++] = readers.readers[k];
  readers.count = kept;
  Access before = reader;
  if (kept < maxReaders) {
    readers.readers[readers.count++] = added;
    if (!ordersBlocks)
      keepEnough(readers);
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
    shadow.units =
        size_t((allocation.end - firstPlace(allocation.begin)) / unit + 2);
    shadow.cells = static_cast<Cell *>(mapMemory(shadow.units * sizeof(Cell)));
    shadow.strong =
        static_cast<Access *>(mapMemory(shadow.units * sizeof(Access)));
    size_t rows = shadow.units / cellsInRow + 1;
    shadow.rows = static_cast<Cell *>(mapMemory(rows * sizeof(Cell)));
    shadow.states = static_cast<uint8_t *>(mapMemory(rows));
  }
  if (!shadow.cells || !shadow.strong || !shadow.rows || !shadow.states) {
    unmap(shadow);
    shadows.erase(it);
    warp.worker->fail(warp, "out of memory for the race check");
    return false;
  }
  lastAllocation = &allocation;
  lastShadow = &shadow;
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
  const uint64_t origin = firstPlace(allocation.begin);
  uint64_t first = (address - origin) / unit;
  uint64_t last = (address + bytes - 1 - origin) / unit;
  for (uint64_t k = first; k <= last; ++k) {
    std::optional<Clash> clash =
        visit(size_t(k), warp, lane, now, isRead, same);
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

void *ptxsim::raceShadow(Warp &warp, const Allocation &allocation) {
  const GlobalRaces *races = warp.block->launch->globalRaces.get();
  return races ? races->shadowOf(allocation) : nullptr;
}
