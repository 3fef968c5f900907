// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of accesses of a warp to one allocation in global memory in which
// they find nothing. Most warps access cells in a row, eight lanes at least:
// these are kept once.
#include "Checks.h"
#include "Clocks.h"
#include "GlobalRaces.h"
#include "PendingSources.h"

#include <algorithm>

using namespace ptxsim;

void GlobalRaces::openRow(Shadow &shadow, uint64_t row) {
  const Cell of = shadow.rows[row];
  const unsigned shift = shadow.states[row] & RowShift;
  shadow.states[row] |= RowOpen;
  Cell *cells = shadow.cells + row * cellsInRow;
  const unsigned count =
      unsigned(std::min<uint64_t>(cellsInRow, shadow.units - row * cellsInRow));
  if (!of.writer.segment && !of.reader.segment)
    return;
  for (unsigned k = 0; k < count; ++k) {
    const uint32_t further = k >> shift;
    auto moved = [&](Access access) {
      return Access{access.segment,
                    access.segment ? access.site + further : access.site};
    };
    cells[k].writer = moved(of.writer);
    if (!(of.reader.segment & isSet)) {
      cells[k].reader = moved(of.reader);
      continue;
    }
    ReadSet readers = readersOf(of.reader);
    for (unsigned r = 0; r < readers.count; ++r)
      readers.readers[r] = moved(readers.readers[r]);
    cells[k].reader = setOf(readers, readers.readers[0]);
    if (!areEnough(cells[k].reader))
      shadow.states[row] &= uint8_t(~RowEnough);
  }
}

/// Whether a read stands for one before it, for all lanes of the warp.
bool GlobalRaces::isReplacedByAll(const Warp &warp, Access before,
                                  uint32_t segment) const {
  if (before.segment == 0 || before.segment == segment)
    return true;
  if (!isOwn(before.segment))
    return false;
  const Segment &of = segments[before.segment];
  return !ordersBlocks || sets.size() >= maxBlockSets ||
         of.warp == warpInCluster(warp) ||
         warp.clock->seen.coversAll(of.warp, of.epoch);
}

GlobalRaces::RowsPass
GlobalRaces::looksAtRows(const Warp &warp, const Shadow &shadow, uint64_t row,
                         unsigned shift, uint32_t segment, bool isRead) const {
  for (uint64_t r = row; r < row + (uint64_t(1) << shift); ++r) {
    const Cell &cell = shadow.rows[r];
    if (shadow.states[r] & RowOpen)
      return RowsPass::ByCells;
    if (!isOwn(cell.writer.segment) || (!isRead && !isOwn(cell.reader.segment)))
      return RowsPass::No;
    bool isEmpty = !cell.writer.segment && !cell.reader.segment;
    if (isRead &&
        ((!isEmpty && (shadow.states[r] & RowShift) != shift) ||
         (ordersBlocks && !isReplacedByAll(warp, cell.reader, segment))))
      return RowsPass::ByCells;
  }
  return RowsPass::Yes;
}

void GlobalRaces::recordRows(const Warp &warp, Shadow &shadow, uint64_t row,
                             unsigned shift, Access first, bool isRead) {
  for (uint64_t r = row; r < row + (uint64_t(1) << shift); ++r) {
    Cell &cell = shadow.rows[r];
    const unsigned further = unsigned((r - row) * cellsInRow >> shift);
    const Access now{first.segment, first.site + further};
    shadow.states[r] = uint8_t(shift);
    if (!isRead) {
      cell = {now, {0, 0}};
      continue;
    }
    // Where it depends on the lane the rows have been opened.
    if (isReplacedByAll(warp, cell.reader, now.segment))
      cell.reader = now;
    else
      addReader(cell.reader, warp, laneOf(now), now);
    if (areEnough(cell.reader) && !cell.writer.segment)
      shadow.states[r] |= RowEnough;
  }
}

template <unsigned Bytes>
bool GlobalRaces::passesFor(Warp &warp, const Inst &inst, uint32_t mask,
                            const uint64_t *addresses, uint64_t disp,
                            bool inRow, bool isRead, bool initialised) {
  const AccessRange &range = warp.ranges[inst.operands];
  Shadow &shadow = *static_cast<Shadow *>(range.races);
  const unsigned count = unit == 1 ? Bytes : (Bytes + 3) / 4;
  const unsigned shift = unit == 1 ? 0 : 2;
  const uint64_t origin = firstPlace(range.begin) - disp;
  const uint64_t lead = range.begin - firstPlace(range.begin);
  auto writtenAt = [&](uint64_t offset) {
    return range.written + (offset - lead);
  };
  if (sets.size() + spareSets > maxSets)
    return false;
  // First of all: it may be another block's turn.
  const uint32_t segment = segmentOf(warp);
  const Program &program = *warp.block->launch->program;
  const uint32_t pc = uint32_t(&inst - program.code.data());
  auto rowOf = [&](uint64_t offset) { return (offset >> shift) / cellsInRow; };

  // Lanes of which eight in a row access whole rows of cells, and the others;
  // of these that read the same the last stands for all.
  constexpr unsigned lanesOf = cellsInRow, numGroups = 32 / lanesOf;
  const unsigned rowShift = unsigned(__builtin_ctz(count));
  uint64_t offsets[numGroups];
  uint32_t inRows = 0, single = mask;
  for (unsigned g = 0; g < numGroups; ++g) {
    const uint64_t *of = addresses + lanesOf * g;
    offsets[g] = of[0] - origin;
    if (mask != ~0u || (unit != 1 && Bytes < 4) ||
        (offsets[g] >> shift) % cellsInRow != 0)
      continue;
    uint64_t differs = 0;
    if (!inRow)
      for (unsigned l = 0; l < lanesOf; ++l)
        differs |= of[l] ^ (of[0] + l * Bytes);
    if (differs)
      continue;
    inRows |= 1u << g;
    single &= ~(((1u << lanesOf) - 1) << lanesOf * g);
  }
  uint32_t repeated = 0;
  if (isRead && single)
    for (unsigned l = 0; l + 1 < 32; ++l)
      repeated |= uint32_t(addresses[l] == addresses[l + 1]) << l;
  single &= ~(repeated & single >> 1);

  bool clean = true, known = isRead;
  for (uint32_t m = inRows; m; m &= m - 1) {
    uint64_t offset = offsets[__builtin_ctz(m)];
    if (initialised)
      clean &= allWritten(writtenAt(offset), lanesOf * Bytes);
    for (uint64_t k = 0; k < count; ++k)
      known &= bool(shadow.states[rowOf(offset) + k] & RowEnough);
  }
  for (uint32_t m = single; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    if (initialised)
      clean &= allWritten(writtenAt(offset), Bytes);
    for (uint64_t r = rowOf(offset); r <= rowOf(offset + Bytes - 1); ++r) {
      open(shadow, r);
      known &= bool(shadow.states[r] & RowEnough);
    }
  }
  if (known || !clean) {
    warp.clock->touched |= mask;
    return clean;
  }

  // Rows of several groups may overlap: all are kept alike.
  uint32_t byCells = 0;
  for (uint32_t m = inRows; m; m &= m - 1) {
    RowsPass pass = looksAtRows(warp, shadow, rowOf(offsets[__builtin_ctz(m)]),
                                rowShift, segment, isRead);
    if (pass == RowsPass::No)
      return false;
    if (pass == RowsPass::ByCells)
      byCells = inRows;
  }
  for (uint32_t m = byCells; m; m &= m - 1) {
    unsigned g = unsigned(__builtin_ctz(m));
    for (uint64_t k = 0; k < count; ++k)
      open(shadow, rowOf(offsets[g]) + k);
    single |= ((1u << lanesOf) - 1) << lanesOf * g;
  }
  for (uint32_t m = single; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    const Cell *cell = shadow.cells + (offset >> shift);
    for (unsigned k = 0; k < count; ++k) {
      clean &= isOwn(cell[k].writer.segment);
      clean &= isRead || isOwn(cell[k].reader.segment);
    }
  }
  if (!clean)
    return false;

  warp.clock->touched |= mask;
  for (uint32_t m = inRows & ~byCells; m; m &= m - 1) {
    unsigned g = unsigned(__builtin_ctz(m));
    recordRows(warp, shadow, rowOf(offsets[g]), rowShift,
               accessBy(segment, pc, g * lanesOf, BlockScope), isRead);
    if (!isRead && range.written)
      memset(writtenAt(offsets[g]), 1, lanesOf * Bytes);
  }
  uint32_t notEnough = 0;
  for (uint32_t m = single; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint64_t offset = addresses[lane] - origin;
    Cell *cell = shadow.cells + (offset >> shift);
    Access now = accessBy(segment, pc, lane, BlockScope);
    bool enough = isRead;
    for (unsigned k = 0; k < count; ++k) {
      if (!isRead)
        cell[k] = {now, {0, 0}};
      else if (cell[k].reader.segment == 0 ||
               cell[k].reader.segment == segment ||
               (isOwn(cell[k].reader.segment) &&
                (sets.size() >= maxBlockSets ||
                 isReplaced(warp, lane, cell[k].reader))))
        cell[k].reader = now;
      else
        addReader(cell[k].reader, warp, lane, now);
      enough &= areEnough(cell[k].reader) && !cell[k].writer.segment;
    }
    notEnough |= uint32_t(!enough) << lane / lanesOf;
    if (!isRead && range.written)
      memset(writtenAt(offset), 1, Bytes);
  }
  for (uint32_t m = byCells & ~notEnough; m; m &= m - 1)
    for (uint64_t k = 0; k < count; ++k)
      shadow.states[rowOf(offsets[__builtin_ctz(m)]) + k] |= RowEnough;
  return true;
}

bool GlobalRaces::passAtomics(Warp &warp, const Inst &inst, uint32_t mask,
                              const uint64_t *addresses, unsigned bytes) {
  const AccessRange &range = warp.ranges[inst.operands];
  if (!range.races || scopeOf(inst) != DeviceScope)
    return false;
  // First of all: it may be another block's turn.
  uint32_t segment = segmentOf(warp);
  Shadow &shadow = *static_cast<Shadow *>(range.races);
  const std::vector<Inst> &code = warp.block->launch->program->code;
  uint32_t pc = uint32_t(&inst - code.data());
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - firstPlace(range.begin);
    for (uint64_t k = offset / unit; k <= (offset + bytes - 1) / unit; ++k) {
      open(shadow, k / cellsInRow);
      const Cell &cell = shadow.cells[k];
      if (cell.reader.segment || !isOwn(cell.writer.segment & ~strongFollows))
        return false;
      if (cell.writer.segment & strongFollows && pcOf(shadow.strong[k]) != pc &&
          !ptxsim::haveSameSize(inst, code[pcOf(shadow.strong[k])]))
        return false;
    }
  }
  warp.clock->touched |= mask;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint64_t offset = addresses[lane] - firstPlace(range.begin);
    for (uint64_t k = offset / unit; k <= (offset + bytes - 1) / unit; ++k) {
      shadow.cells[k].writer.segment |= strongFollows;
      shadow.strong[k] = accessBy(segment, pc, lane, DeviceScope);
    }
    if (range.written)
      memset(range.written + (addresses[lane] - range.begin), 1, bytes);
  }
  return true;
}

bool ptxsim::passesAtomicChecks(Warp &warp, const Inst &inst, uint32_t mask,
                                const uint64_t *addresses, unsigned bytes) {
  const Launch &launch = *warp.block->launch;
  const AccessRange &range = warp.ranges[inst.operands];
  GlobalRaces *races = launch.globalRaces.get();
  if (range.end - range.begin < bytes || range.begin > range.end || !races ||
      launch.globalProxy || !launch.pendingSources->empty())
    return false;
  // What is passed on or observed goes the general way.
  if (inst.flags & AccessRelease || !races->places.empty() ||
      !warp.block->cluster->places.empty())
    return false;
  uint64_t last = range.end - range.begin - bytes;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint64_t offset = addresses[lane] - range.begin;
    if (offset > last || addresses[lane] % bytes ||
        warp.clock->fenced[BlockScope][lane] ||
        (range.written && launch.tools & InitCheck &&
         !allWritten(range.written + offset, bytes)))
      return false;
  }
  return races->passAtomics(warp, inst, mask, addresses, bytes);
}

bool ptxsim::passesChecks(Warp &warp, const Inst &inst, uint32_t mask,
                          const uint64_t *addresses, uint64_t disp,
                          unsigned bytes, bool inRow, AccessMode mode) {
  const Launch &launch = *warp.block->launch;
  const AccessRange &range = warp.ranges[inst.operands];
  bool isRead = mode == AccessMode::Read;
  bool tracksRegisters = !isRead && !launch.program->registerEvents.empty();
  if (inst.flags & AccessStrong || launch.options->counters ||
      tracksRegisters ||
      (!isRead && (launch.globalProxy ||
                   (launch.pendingSources && !launch.pendingSources->empty()))))
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
  if (!range.races)
    return false;
  return forSize(bytes, [&](auto size) {
    return races->passesFor<decltype(size)::value>(
        warp, inst, mask, addresses, disp, inRow, isRead, initialised);
  });
}
