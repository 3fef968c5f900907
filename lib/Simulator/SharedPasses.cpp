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
      : cells(warp.block->shadow->cells), seen(warp.clock->seen.allLanes()),
        self(uint16_t(warpInCluster(warp))), epoch(warp.clock->epoch),
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
    cell.weak = {epoch, pc, uint16_t(self * 32u + lane)};
    cell.strong.epoch = 0;
    cell.reads.epoch = 0;
    return true;
  }

private:
  SharedReads by(uint32_t lanes) const {
    return {epoch, pc, lanes, self, /*strong=*/false};
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
    if (reads.epoch == epoch && reads.warp == self && !reads.strong) {
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
  /// Per warp of the cluster: the epoch that has been seen of all its lanes.
  const uint32_t *const seen;
  /// Counted through the cluster, and in the block.
  const uint16_t self;
  const uint32_t epoch, index, pc;
};

/// Calls `pass(cell)` for the cells of an access; false if one gives that.
template <unsigned Bytes, typename PassCell>
PTXSIM_INLINE bool passCells(RaceCells &cells, uint32_t offset, PassCell pass) {
  constexpr unsigned numWords = Bytes < 4 ? 1 : Bytes / 4;
  for (unsigned k = 0; k < numWords; ++k) {
    uint32_t word = offset / 4 + k;
    RaceCell *cell = &cells.words[word], *end = cell + 1;
    if (cells.split[word]) {
      cell = &cells.bytes[Bytes < 4 ? offset : word * 4];
      end = cell + (Bytes < 4 ? Bytes : 4);
    } else if (Bytes < 4) {
      return false;
    }
    for (; cell != end; ++cell)
      if (!pass(*cell))
        return false;
  }
  return true;
}

/// What `must` points at is a byte for each of shared memory, or null; all that
/// the lanes access must be 1.
template <unsigned Bytes>
bool passRaces(Warp &warp, const Inst &inst, uint32_t mask,
               const uint32_t *offsets, const uint8_t *must, bool isRead) {
  Pass pass(warp, inst);
  RaceCells &cells = warp.block->shadow->cells;
  warp.clock->touched |= mask;
  if (!isRead) {
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned lane = unsigned(__builtin_ctz(m));
      uint32_t offset = offsets[lane];
      if ((must && !allWritten(must + offset, Bytes)) ||
          !passCells<Bytes>(cells, offset, [&](RaceCell &cell) {
            return pass.write(cell, lane);
          }))
        return false;
    }
    return true;
  }
  // Lanes that read the same are often neighbours, or half a warp apart.
  unsigned halves = 0;
  if (mask == ~0u && memcmp(offsets, offsets + 16, 16 * sizeof *offsets) == 0) {
    halves = 16;
    mask = 0xffff;
  }
  while (mask) {
    uint32_t lanes = mask & -mask, offset = offsets[__builtin_ctz(mask)];
    mask &= mask - 1;
    for (; mask && offsets[__builtin_ctz(mask)] == offset; mask &= mask - 1)
      lanes |= mask & -mask;
    lanes |= lanes << halves;
    if ((must && !allWritten(must + offset, Bytes)) ||
        !passCells<Bytes>(cells, offset, [&](RaceCell &cell) {
          return pass.read(cell, lanes);
        }))
      return false;
  }
  return true;
}

template <unsigned Bytes>
bool passes(Warp &warp, const Inst &inst, uint32_t mask,
            const uint32_t *offsets, bool isRead) {
  const uint32_t tools = warp.block->launch->tools;
  SharedShadow &shadow = *warp.block->shadow;
  // What has been written lies in variables.
  const uint8_t *must = isRead && tools & InitCheck ? shadow.written.data()
                        : tools & MemCheck          ? shadow.inside.data()
                                                    : nullptr;
  if (must == shadow.inside.data() && shadow.allInside)
    must = nullptr;
  bool clean = true;
  if (shadow.numPending && tools & (RaceCheck | SyncCheck))
    for (uint32_t m = mask; m; m &= m - 1)
      for (unsigned k = 0; k < Bytes; ++k)
        clean &= !shadow.pending[offsets[__builtin_ctz(m)] + k];
  if (!(tools & RaceCheck) && must)
    for (uint32_t m = mask; m; m &= m - 1)
      clean &= allWritten(must + offsets[__builtin_ctz(m)], Bytes);
  if (!clean || (tools & RaceCheck &&
                 !passRaces<Bytes>(warp, inst, mask, offsets, must, isRead)))
    return false;
  if (!isRead && tools & InitCheck)
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
