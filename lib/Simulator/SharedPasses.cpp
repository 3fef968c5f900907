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
    cell.weak = writeOf(lane);
    cell.strong.epoch = 0;
    cell.reads.epoch = 0;
    return true;
  }

  SharedWrite writeOf(unsigned lane) const {
    return {epoch, pc, uint16_t(self * 32u + lane)};
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

/// Whether each of the lanes of a group follows the one before.
struct LaneGroups {
  explicit LaneGroups(const uint32_t *offsets) {
    for (unsigned g = 0; g < 4; ++g) {
      const uint32_t *of = offsets + 8 * g;
      uint32_t differs = of[0] % RaceCells::rowBytes;
      for (unsigned l = 0; l < 8; ++l)
        differs |= of[l] ^ (of[0] + 4 * l);
      isRow[g] = !differs;
    }
  }
  bool isRow[4];
};

/// Accesses of a whole warp to words: passes those of eight lanes to a row, and
/// takes their lanes from `mask`. False if one must be looked at.
bool passRows(Warp &warp, const Inst &inst, uint32_t &mask,
              const uint32_t *offsets, const uint8_t *must, bool isRead) {
  LaneGroups groups(offsets);
  Pass pass(warp, inst);
  RaceCells &cells = warp.block->shadow->cells;
  for (unsigned g = 0; g < 4; ++g) {
    uint32_t offset = offsets[8 * g], row = offset / RaceCells::rowBytes;
    uint32_t lanes = mask & 1u << 8 * g;
    if (!lanes || !groups.isRow[g] || (isRead && cells.isOpen(row)))
      continue;
    if (must && !allWritten(must + offset, RaceCells::rowBytes))
      return false;
    mask &= ~(0xffu << 8 * g);
    if (isRead) {
      for (unsigned other = g + 1; other < 4; ++other)
        if (groups.isRow[other] && offsets[8 * other] == offset) {
          lanes |= 1u << 8 * other;
          mask &= ~(0xffu << 8 * other);
        }
      if (!pass.read(cells.rows[row], lanes))
        return false;
    } else if (!cells.isOpen(row)) {
      if (!pass.write(cells.rows[row], 8 * g))
        return false;
    } else {
      for (unsigned k = 0; k < 8; ++k)
        if (!passCells<4>(cells, offset + 4 * k, [&](RaceCell &cell) {
              return pass.write(cell, 8 * g + k);
            }))
          return false;
      cells.close(row, pass.writeOf(8 * g));
    }
  }
  return true;
}

/// What `must` points at is a byte for each of shared memory, or null; all that
/// the lanes access must be 1.
template <unsigned Bytes>
bool passRaces(Warp &warp, const Inst &inst, uint32_t mask,
               const uint32_t *offsets, const uint8_t *must, bool isRead) {
  warp.clock->touched |= mask;
  if (Bytes == 4 && mask == ~0u &&
      !passRows(warp, inst, mask, offsets, must, isRead))
    return false;
  if (!mask)
    return true;
  Pass pass(warp, inst);
  RaceCells &cells = warp.block->shadow->cells;
  if (!isRead) {
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned lane = unsigned(__builtin_ctz(m));
      uint32_t offset = offsets[lane];
      cells.open(offset);
      if ((must && !allWritten(must + offset, Bytes)) ||
          !passCells<Bytes>(cells, offset, [&](RaceCell &cell) {
            return pass.write(cell, lane);
          }))
        return false;
    }
    return true;
  }
  // Lanes that read the same are often half a warp apart, or neighbours.
  unsigned halves = 0;
  if (mask == ~0u && memcmp(offsets, offsets + 16, 16 * sizeof *offsets) == 0) {
    halves = 16;
    mask = 0xffff;
  }
  uint32_t likeNext = 0;
  for (unsigned l = 0; l + 1 < 32; ++l)
    likeNext |= uint32_t(offsets[l] == offsets[l + 1]) << l;
  while (mask) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    unsigned more = unsigned(__builtin_ctz(~(likeNext >> lane)));
    uint32_t lanes = mask & ((2u << more) - 1) << lane;
    mask &= ~lanes;
    lanes |= lanes << halves;
    uint32_t offset = offsets[lane];
    cells.open(offset);
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
  return forSize(bytes, [&](auto size) {
    return passes<decltype(size)::value>(warp, inst, mask, offsets, isRead);
  });
}

/// What is known of a word allows an atomic of a lane, and no reads are kept
/// there that it would drop.
static bool allowsAtomic(const RaceCell &cell, const Warp &warp,
                         const Inst &inst, uint32_t pc, unsigned lane) {
  if (cell.moreReads ||
      !isOrdered(warp, lane, cell.weak.thread, cell.weak.epoch))
    return false;
  if (cell.reads.epoch &&
      (cell.reads.strong ||
       !warp.clock->seen.coversAll(cell.reads.warp, cell.reads.epoch)))
    return false;
  const Launch &launch = *warp.block->launch;
  return cell.strong.epoch == 0 ||
         (cell.strong.thread / 32u / launch.warpsPerBlock == warp.block->rank &&
          (cell.strong.pc == pc ||
           haveSameSize(inst, launch.program->code[cell.strong.pc])));
}

bool ptxsim::passesSharedAtomic(Warp &warp, const Inst &inst, uint32_t mask,
                                const uint64_t *addresses, unsigned bytes) {
  Block &block = *warp.block;
  const uint32_t tools = block.launch->tools;
  // What is passed on or observed goes the general way, and what asynchronous
  // copies have to do with.
  if (!block.shadow || bytes % 4 || inst.flags & AccessRelease ||
      block.shadow->numPending || !block.shadow->proxy.writes.empty() ||
      !block.cluster->places.empty())
    return false;
  SharedShadow &shadow = *block.shadow;
  const bool races = tools & RaceCheck;
  uint32_t pc = uint32_t(&inst - block.launch->program->code.data());
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint32_t offset = uint32_t(addresses[lane]);
    if (offset % bytes || uint64_t(offset) + bytes > block.shared.size() ||
        (tools & MemCheck && !shadow.allInside &&
         !allWritten(shadow.inside.data() + offset, bytes)) ||
        (tools & InitCheck &&
         !allWritten(shadow.written.data() + offset, bytes)))
      return false;
    if (!races)
      continue;
    if (warp.clock->fenced[BlockScope][lane])
      return false;
    for (uint32_t word = offset / 4; word < (offset + bytes) / 4; ++word) {
      shadow.cells.open(word * 4);
      if (shadow.cells.split[word] ||
          !allowsAtomic(shadow.cells.words[word], warp, inst, pc, lane))
        return false;
    }
  }
  if (!races)
    return true;
  warp.clock->touched |= mask;
  const uint32_t self = warpInCluster(warp) * 32;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint32_t offset = uint32_t(addresses[lane]);
    for (uint32_t word = offset / 4; word < (offset + bytes) / 4; ++word)
      shadow.cells.words[word].strong = {warp.clock->epoch, pc,
                                         uint16_t(self + lane)};
  }
  return true;
}
