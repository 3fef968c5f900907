// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks of plain accesses of a warp to its block's own shared memory in
// which they find nothing, all lanes in a row; what is recorded is what
// Race.cpp records. Where something may be found the access is done again the
// general way, which is why recording a lane's access twice must be like once.
#include "Checks.h"
#include "Clocks.h"

using namespace ptxsim;

namespace {

class Pass {
public:
  Pass(Warp &warp, const Inst &inst)
      : cells(warp.block->shadow->cells), clock(*warp.clock),
        seen(warp.clock->seen.allLanes()), self(uint16_t(warpInCluster(warp))),
        index(warp.index),
        pc(uint32_t(&inst - warp.block->launch->program->code.data())) {}

  /// Lanes that read the same; false if it must be looked at.
  PTXSIM_INLINE bool read(RaceCell &cell, uint32_t lanes) {
    if (!isOrdered(cell.weak, lanes) || !isOrdered(cell.strong, lanes))
      return false;
    if (SharedReads &first = cell.reads; !cell.moreReads) {
      if (replaces(first, lanes))
        return true;
      if (first.warp == self)
        return false;
      cells.addReads(cell, by(lanes));
      return true;
    }
    if (cell.reads.warp == self && cell.reads.epoch)
      return replaces(cell.reads, lanes);
    SharedReaders &more = cells.readers(cell);
    SharedReads &own = cells.readsOf(cell)[index];
    if (more.warps >> index & 1)
      return replaces(own, lanes);
    own = by(lanes);
    more.warps |= 1u << index;
    return true;
  }

  PTXSIM_INLINE bool write(RaceCell &cell, unsigned lane) {
    uint32_t lanes = 1u << lane;
    if (!isOrdered(cell.weak, lanes) || !isOrdered(cell.strong, lanes) ||
        !isOrdered(cell.reads, lanes))
      return false;
    if (cell.moreReads) {
      const SharedReaders &more = cells.readers(cell);
      const SharedReads *reads = cells.readsOf(cell);
      if (!more.others.empty())
        return false;
      for (uint32_t m = more.warps; m; m &= m - 1)
        if (!isOrdered(reads[__builtin_ctz(m)], lanes))
          return false;
      cells.dropReaders(cell);
    }
    cell.weak = {clock.epoch, pc, uint16_t(self * 32u + lane)};
    cell.strong.epoch = 0;
    cell.reads.epoch = 0;
    return true;
  }

private:
  SharedReads by(uint32_t lanes) const {
    return {clock.epoch, pc, lanes, self, /*strong=*/false};
  }
  /// Certainly before what all of some lanes do.
  PTXSIM_INLINE bool isOrdered(const SharedWrite &write, uint32_t lanes) const {
    return write.epoch <= seen[write.thread / 32u] ||
           (write.thread / 32u == self && lanes == 1u << write.thread % 32u);
  }
  PTXSIM_INLINE bool isOrdered(const SharedReads &reads, uint32_t lanes) const {
    return reads.epoch <= seen[reads.warp] ||
           (reads.warp == self && !(reads.lanes & ~lanes));
  }
  /// Lets reads stand for earlier ones, or joins them.
  PTXSIM_INLINE bool replaces(SharedReads &reads, uint32_t lanes) const {
    if (reads.epoch == clock.epoch && reads.warp == self && !reads.strong) {
      reads.lanes |= lanes;
      reads.pc = pc;
      return true;
    }
    if (!isOrdered(reads, lanes))
      return false;
    reads = by(lanes);
    return true;
  }

  RaceCells &cells;
  const WarpClock &clock;
  /// Per warp of the cluster: the epoch that has been seen of all its lanes.
  const uint32_t *const seen;
  /// Counted through the cluster, and in the block.
  const uint16_t self;
  const uint32_t index, pc;
};

/// Calls `pass(cell)` for the cells of an access; false if one gives that.
template <unsigned Bytes, typename PassCell>
PTXSIM_INLINE bool passCells(RaceCells &cells, uint32_t offset, PassCell pass) {
  constexpr unsigned numWords = Bytes < 4 ? 1 : Bytes / 4;
  for (unsigned k = 0; k < numWords; ++k) {
    uint32_t word = offset / 4 + k;
    if (!cells.split[word]) {
      if (Bytes < 4 || !pass(cells.words[word]))
        return false;
      continue;
    }
    uint32_t first = Bytes < 4 ? offset : word * 4;
    for (uint32_t b = first; b < first + (Bytes < 4 ? Bytes : 4); ++b)
      if (!pass(cells.bytes[b]))
        return false;
  }
  return true;
}

template <unsigned Bytes>
bool passRaces(Warp &warp, const Inst &inst, uint32_t mask,
               const uint32_t *offsets, bool isRead) {
  Pass pass(warp, inst);
  RaceCells &cells = warp.block->shadow->cells;
  warp.clock->touched |= mask;
  while (mask) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    uint32_t lanes = mask & -mask, offset = offsets[lane];
    mask &= mask - 1;
    if (!isRead) {
      if (!passCells<Bytes>(cells, offset, [&](RaceCell &cell) {
            return pass.write(cell, lane);
          }))
        return false;
      continue;
    }
    for (; mask && offsets[__builtin_ctz(mask)] == offset; mask &= mask - 1)
      lanes |= mask & -mask;
    if (!passCells<Bytes>(cells, offset, [&](RaceCell &cell) {
          return pass.read(cell, lanes);
        }))
      return false;
  }
  return true;
}

template <unsigned Bytes>
bool passes(Warp &warp, const Inst &inst, uint32_t mask,
            const uint32_t *offsets, bool isRead) {
  const Launch &launch = *warp.block->launch;
  SharedShadow &shadow = *warp.block->shadow;
  bool reads = isRead && launch.tools & InitCheck;
  uint32_t last = 0;
  bool clean = true;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint32_t offset = offsets[__builtin_ctz(m)];
    last = std::max(last, offset);
    if (reads)
      clean &= allWritten(shadow.written.data() + offset, Bytes);
  }
  if (launch.tools & MemCheck && last + Bytes > shadow.insideEnd)
    for (uint32_t m = mask; m; m &= m - 1)
      clean &=
          allWritten(shadow.inside.data() + offsets[__builtin_ctz(m)], Bytes);
  if (shadow.numPending && launch.tools & (RaceCheck | SyncCheck))
    for (uint32_t m = mask; m; m &= m - 1)
      for (unsigned k = 0; k < Bytes; ++k)
        clean &= !shadow.pending[offsets[__builtin_ctz(m)] + k];
  if (!clean || (launch.tools & RaceCheck &&
                 !passRaces<Bytes>(warp, inst, mask, offsets, isRead)))
    return false;
  if (!isRead && launch.tools & InitCheck)
    for (uint32_t m = mask; m; m &= m - 1)
      memset(shadow.written.data() + offsets[__builtin_ctz(m)], 1, Bytes);
  return true;
}

} // namespace

bool ptxsim::passesShared(Warp &warp, const Inst &inst, uint32_t mask,
                          const uint32_t *offsets, unsigned bytes,
                          AccessMode mode) {
  const Launch &launch = *warp.block->launch;
  bool isRead = mode == AccessMode::Read;
  if (inst.flags & AccessStrong || launch.options->counters ||
      (!isRead && !launch.program->registerEvents.empty()))
    return false;
  if (!warp.block->shadow)
    return true;
  if (!isRead && !warp.block->shadow->proxy.writes.empty())
    return false;
  switch (bytes) {
  case 1:
    return passes<1>(warp, inst, mask, offsets, isRead);
  case 2:
    return passes<2>(warp, inst, mask, offsets, isRead);
  case 4:
    return passes<4>(warp, inst, mask, offsets, isRead);
  case 8:
    return passes<8>(warp, inst, mask, offsets, isRead);
  case 16:
    return passes<16>(warp, inst, mask, offsets, isRead);
  case 32:
    return passes<32>(warp, inst, mask, offsets, isRead);
  default:
    return false;
  }
}
