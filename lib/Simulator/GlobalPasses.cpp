// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of accesses of a warp to one allocation in global memory in which
// they find nothing, all lanes in a row.
#include "Checks.h"
#include "Clocks.h"
#include "GlobalRaces.h"
#include "PendingSources.h"

#include <algorithm>

using namespace ptxsim;

template <unsigned Bytes>
bool GlobalRaces::passesFor(Warp &warp, const Inst &inst, uint32_t mask,
                            const uint64_t *addresses, uint64_t disp,
                            bool inRow, bool isRead, bool initialised) {
  const AccessRange &range = warp.ranges[inst.operands];
  const Shadow &shadow = *static_cast<const Shadow *>(range.races);
  const unsigned count = unit == 1 ? Bytes : (Bytes + 3) / 4;
  const unsigned shift = unit == 1 ? 0 : 2;
  uint64_t origin = range.begin - disp;
  if (sets.size() + spareSets > maxSets)
    return false;
  // First of all: it may be another block's turn.
  uint32_t segment = segmentOf(warp);
  if (isRead && inRow) {
    uint64_t offset = addresses[0] - origin;
    const uint8_t *row = shadow.enough + (offset >> shift) / cellsInRow;
    const uint8_t *last =
        shadow.enough + ((offset + 32 * Bytes - 1) >> shift) / cellsInRow;
    if (std::all_of(row, last + 1, [](uint8_t enough) { return enough; }) &&
        !(initialised && !allWritten(range.written + offset, 32 * Bytes))) {
      warp.clock->touched = ~0u;
      return true;
    }
  }
  // Of lanes in a row that read the same the last stands for all.
  uint32_t repeated = 0;
  if (isRead && !inRow)
    for (unsigned l = 0; l + 1 < 32; ++l)
      repeated |= uint32_t(addresses[l] == addresses[l + 1]) << l;
  const uint32_t lanes = mask;
  mask &= ~(repeated & mask >> 1);
  bool clean = true, known = isRead;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    if (initialised)
      clean &= allWritten(range.written + offset, Bytes);
    known &= shadow.enough[(offset >> shift) / cellsInRow] &&
             shadow.enough[((offset + Bytes - 1) >> shift) / cellsInRow];
  }
  if (known || !clean) {
    warp.clock->touched |= lanes;
    return clean;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - origin;
    const Cell *cell = shadow.cells + (offset >> shift);
    for (unsigned k = 0; k < count; ++k) {
      clean &= isOwn(cell[k].writer.segment);
      clean &= isRead || isOwn(cell[k].reader.segment);
    }
  }
  if (!clean)
    return false;
  const Program &program = *warp.block->launch->program;
  uint32_t pc = uint32_t(&inst - program.code.data());
  warp.clock->touched |= lanes;
  bool enough = isRead && inRow;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint64_t offset = addresses[lane] - origin;
    Cell *cell = shadow.cells + (offset >> shift);
    if (!isRead)
      shadow.enough[(offset >> shift) / cellsInRow] = 0;
    Access now = accessBy(segment, pc, lane, BlockScope);
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
    if (!isRead && range.written)
      memset(range.written + offset, 1, Bytes);
  }
  uint64_t first = (addresses[0] - origin) >> shift;
  if (enough && first % cellsInRow == 0)
    memset(shadow.enough + first / cellsInRow, 1, 32 * count / cellsInRow);
  return true;
}

bool GlobalRaces::passAtomics(Warp &warp, const Inst &inst, uint32_t mask,
                              const uint64_t *addresses, unsigned bytes) {
  const AccessRange &range = warp.ranges[inst.operands];
  if (!range.races || scopeOf(inst) != DeviceScope)
    return false;
  // First of all: it may be another block's turn.
  uint32_t segment = segmentOf(warp);
  const Shadow &shadow = *static_cast<const Shadow *>(range.races);
  const std::vector<Inst> &code = warp.block->launch->program->code;
  uint32_t pc = uint32_t(&inst - code.data());
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t offset = addresses[__builtin_ctz(m)] - range.begin;
    for (uint64_t k = offset / unit; k <= (offset + bytes - 1) / unit; ++k) {
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
    uint64_t offset = addresses[lane] - range.begin;
    for (uint64_t k = offset / unit; k <= (offset + bytes - 1) / unit; ++k) {
      shadow.enough[k / cellsInRow] = 0;
      shadow.cells[k].writer.segment |= strongFollows;
      shadow.strong[k] = accessBy(segment, pc, lane, DeviceScope);
    }
    if (range.written)
      memset(range.written + offset, 1, bytes);
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
  auto passes = [&](auto size) {
    return races->passesFor<decltype(size)::value>(
        warp, inst, mask, addresses, disp, inRow, isRead, initialised);
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
