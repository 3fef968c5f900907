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
        pc(uint32_t(&inst - warp.block->launch->program->code.data())),
        place(cells.add({epoch, pc, self, /*strong=*/false})),
        ordered(cells.events.orderedBefore(index, warp.clock->seen)),
        own(cells.events.lastTurn()), joined(cells.events.lastWeakOfEpoch()) {}

  /// Lanes that read the same; false if it must be looked at.
  template <unsigned Bytes>
  PTXSIM_INLINE bool read(uint32_t offset, uint32_t lanes) {
    for (unsigned k = 0; k < (Bytes + 3) / 4; ++k) {
      uint32_t word = offset / 4 + k;
      RaceCell &cell = Bytes < 4 ? cells.bytes[offset] : cells.words[word];
      if ((Bytes < 4 && cells.grain[word] != Bytes) ||
          !readsAtOnce(cell, lanes))
        if (!readBehind(word, offset % 4, Bytes, lanes))
          return false;
    }
    return true;
  }
  template <unsigned Bytes>
  PTXSIM_INLINE bool write(uint32_t offset, unsigned lane) {
    for (unsigned k = 0; k < (Bytes + 3) / 4; ++k) {
      uint32_t word = offset / 4 + k;
      RaceCell &cell = Bytes < 4 ? cells.bytes[offset] : cells.words[word];
      if ((Bytes < 4 && cells.grain[word] != Bytes) ||
          !writesAtOnce(cell, lane))
        if (!writeBehind(word, offset % 4, Bytes, lane))
          return false;
    }
    return true;
  }
  PTXSIM_NOINLINE bool readRow(uint32_t row, uint32_t lanes) {
    return readCell(cells.rows[row], lanes);
  }
  PTXSIM_NOINLINE bool writeRow(uint32_t row, unsigned lane) {
    return writeCell(cells.rows[row], lane);
  }
  EventPlace placeOf(unsigned lane) const { return place + lane; }

private:
  /// Of so many bytes of a word, from one of them on; all of it for more.
  PTXSIM_NOINLINE bool readBehind(uint32_t word, uint32_t from, unsigned bytes,
                                  uint32_t lanes) {
    if (!findCells(word, bytes))
      return readCell(cells.words[word], lanes);
    RaceCell *cell = &cells.bytes[word * 4 + from];
    for (unsigned k = 0; k < std::min(bytes, 4u); k += cells.grain[word])
      if (!readCell(cell[k], lanes))
        return false;
    return true;
  }
  PTXSIM_NOINLINE bool writeBehind(uint32_t word, uint32_t from, unsigned bytes,
                                   unsigned lane) {
    if (!findCells(word, bytes))
      return writeCell(cells.words[word], lane);
    RaceCell *cell = &cells.bytes[word * 4 + from];
    for (unsigned k = 0; k < std::min(bytes, 4u); k += cells.grain[word])
      if (!writeCell(cell[k], lane))
        return false;
    if (bytes >= 4)
      cells.unite(word);
    return true;
  }
  /// Opens a word's row, and splits the word for parts; false if it has a cell
  /// of its own.
  PTXSIM_INLINE bool findCells(uint32_t word, unsigned bytes) {
    uint8_t &grain = cells.grain[word];
    if (grain == 4)
      cells.open(word * 4);
    if (grain > bytes)
      cells.split(word, uint8_t(bytes));
    return grain != 4;
  }
  PTXSIM_INLINE bool readCell(RaceCell &cell, uint32_t lanes) {
    return readsAtOnce(cell, lanes) || mayRead(cell, lanes);
  }
  PTXSIM_INLINE bool writeCell(RaceCell &cell, unsigned lane) {
    return writesAtOnce(cell, lane) ||
           (mayWrite(cell, lane) && writesNow(cell, lane));
  }
  /// What a first look allows: what was there lies long before, or is of the
  /// same lanes in the turn that the warp has.
  PTXSIM_INLINE bool readsAtOnce(RaceCell &cell, uint32_t lanes) const {
    SharedReads &reads = cell.reads;
    if (!cell.isBefore(ordered) &&
        !(isWrittenBefore(cell, lanes) && isBefore(reads, lanes))) {
      if (reads.event - joined >= place + 32 - joined ||
          !isWrittenBefore(cell, lanes))
        return false;
      lanes |= reads.lanes;
    }
    reads = {place, lanes};
    return true;
  }
  PTXSIM_INLINE bool writesAtOnce(RaceCell &cell, unsigned lane) const {
    if (!cell.isBefore(ordered) && !(isWrittenBefore(cell, 1u << lane) &&
                                     isBefore(cell.reads, 1u << lane)))
      return false;
    return writesNow(cell, lane);
  }
  PTXSIM_INLINE bool writesNow(RaceCell &cell, unsigned lane) const {
    cell = {place + lane, 0, {}};
    return true;
  }
  PTXSIM_INLINE bool isOwn(EventPlace of) const {
    return of - own < place + 32 - own;
  }
  PTXSIM_INLINE bool isWrittenBefore(const RaceCell &cell,
                                     uint32_t lanes) const {
    return (cell.weak < ordered ||
            (isOwn(cell.weak) && lanes == 1u << cell.weak % 32)) &&
           cell.strong < ordered;
  }
  PTXSIM_INLINE bool isBefore(const SharedReads &reads, uint32_t lanes) const {
    return reads.event < ordered ||
           (isOwn(reads.event) && !(reads.lanes & ~lanes));
  }
  /// If it gives true it has recorded the reads.
  PTXSIM_INLINE bool mayRead(RaceCell &cell, uint32_t lanes) {
    if (!isOrdered(cell.weak, lanes) || !isOrdered(cell.strong, lanes))
      return false;
    if (!cell.hasSeveral()) {
      if (replaces(cell.reads, lanes))
        return true;
      if (cells.events.at(cell.reads.event).warp == self)
        return false;
      cells.addReads(cell, {place, lanes});
      return true;
    }
    SharedReaders &more = cells.readers(cell);
    if (more.first.event && cells.events.at(more.first.event).warp == self)
      return replaces(more.first, lanes);
    SharedReads &ofWarp = cells.readsOf(cell)[index];
    if (more.warps >> index & 1)
      return replaces(ofWarp, lanes);
    ofWarp = {place, lanes};
    more.warps |= 1u << index;
    return true;
  }
  /// If it gives true no further reads are kept.
  PTXSIM_INLINE bool mayWrite(RaceCell &cell, unsigned lane) {
    uint32_t lanes = 1u << lane;
    if (!isOrdered(cell.weak, lanes) || !isOrdered(cell.strong, lanes))
      return false;
    if (!cell.hasSeveral())
      return isOrdered(cell.reads, lanes);
    const SharedReaders &more = cells.readers(cell);
    const SharedReads *reads = cells.readsOf(cell);
    if (!more.others.empty() || !isOrdered(more.first, lanes))
      return false;
    for (uint32_t m = more.warps; m; m &= m - 1)
      if (!isOrdered(reads[__builtin_ctz(m)], lanes))
        return false;
    cells.dropReads(cell);
    return true;
  }
  /// Certainly before what all of some lanes do, by what has been seen.
  PTXSIM_INLINE bool isOrdered(EventPlace write, uint32_t lanes) const {
    const SharedEvent &event = cells.events.at(write);
    return event.epoch <= seen[event.warp] ||
           (event.warp == self && lanes == 1u << write % 32);
  }
  PTXSIM_INLINE bool isOrdered(const SharedReads &reads, uint32_t lanes) const {
    const SharedEvent &event = cells.events.at(reads.event);
    return event.epoch <= seen[event.warp] ||
           (event.warp == self && !(reads.lanes & ~lanes));
  }
  /// Lets reads stand for earlier ones, or joins them.
  PTXSIM_INLINE bool replaces(SharedReads &reads, uint32_t lanes) const {
    const SharedEvent &event = cells.events.at(reads.event);
    if (event.epoch == epoch && event.warp == self && !event.strong) {
      reads.lanes |= lanes;
      reads.event = place;
      return true;
    }
    if (!isOrdered(reads, lanes))
      return false;
    reads = {place, lanes};
    return true;
  }

  RaceCells &cells;
  /// Per warp of the cluster: the epoch that has been seen of all its lanes.
  const uint32_t *const seen;
  /// Counted through the cluster, and in the block.
  const uint16_t self;
  const uint32_t epoch, index, pc;
  const EventPlace place;
  /// What lies before is ordered; since when all has been the warp's own, and
  /// also weak and in its epoch.
  const EventPlace ordered, own, joined;
};

/// Whether each of the lanes of a group follows the one before.
struct LaneGroups {
  PTXSIM_INLINE explicit LaneGroups(const uint32_t *offsets) {
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

/// Reads of words by a whole warp: passes those of eight lanes to a closed row,
/// and takes their lanes from `mask`. False if one must be looked at.
bool passReadRows(Pass &pass, RaceCells &cells, uint32_t &mask,
                  const uint32_t *offsets, const uint8_t *must) {
  LaneGroups groups(offsets);
  for (unsigned g = 0; g < 4; ++g) {
    uint32_t offset = offsets[8 * g], row = offset / RaceCells::rowBytes;
    uint32_t lanes = mask & 1u << 8 * g;
    if (!lanes || !groups.isRow[g] || cells.isOpen(row))
      continue;
    if (must && !allWritten(must + offset, RaceCells::rowBytes))
      return false;
    mask &= ~(0xffu << 8 * g);
    for (unsigned other = g + 1; other < 4; ++other)
      if (groups.isRow[other] && offsets[8 * other] == offset) {
        lanes |= 1u << 8 * other;
        mask &= ~(0xffu << 8 * other);
      }
    if (!pass.readRow(row, lanes))
      return false;
  }
  return true;
}

template <unsigned Bytes>
bool passWrites(Pass &pass, uint32_t mask, const uint32_t *offsets,
                const uint8_t *must) {
  for (; mask; mask &= mask - 1) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    uint32_t offset = offsets[lane];
    if ((must && !allWritten(must + offset, Bytes)) ||
        !pass.write<Bytes>(offset, lane))
      return false;
  }
  return true;
}

/// Writes of words by a whole warp. They come in the order of lanes, as where
/// they are done again: of lanes that write one place the first ones are.
bool passWriteRows(Pass &pass, RaceCells &cells, const uint32_t *offsets,
                   const uint8_t *must) {
  LaneGroups groups(offsets);
  for (unsigned g = 0; g < 4; ++g) {
    uint32_t offset = offsets[8 * g], row = offset / RaceCells::rowBytes;
    if (!groups.isRow[g] || cells.isOpen(row)) {
      if (!passWrites<4>(pass, 0xffu << 8 * g, offsets, must))
        return false;
      if (groups.isRow[g])
        cells.close(row, pass.placeOf(8 * g));
      continue;
    }
    if ((must && !allWritten(must + offset, RaceCells::rowBytes)) ||
        !pass.writeRow(row, 8 * g))
      return false;
  }
  return true;
}

/// The lanes whose next one has the same offset.
PTXSIM_INLINE uint32_t lanesLikeNext(const uint32_t *offsets) {
  uint32_t likeNext = 0;
  unsigned l = 0;
#if defined(__x86_64__)
  for (; l < 28; l += 4) {
    auto load = [](const uint32_t *of) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i *>(of));
    };
    __m128i same = _mm_cmpeq_epi32(load(offsets + l), load(offsets + l + 1));
    likeNext |= uint32_t(_mm_movemask_ps(_mm_castsi128_ps(same))) << l;
  }
#endif
  for (; l + 1 < 32; ++l)
    likeNext |= uint32_t(offsets[l] == offsets[l + 1]) << l;
  return likeNext;
}

template <unsigned Bytes>
bool passReads(Pass &pass, uint32_t mask, const uint32_t *offsets,
               const uint8_t *must) {
  if (!mask)
    return true;
  // Lanes that read the same are often half a warp apart, or neighbours.
  unsigned halves = 0;
  if (mask == ~0u && memcmp(offsets, offsets + 16, 16 * sizeof *offsets) == 0) {
    halves = 16;
    mask = 0xffff;
  }
  uint32_t likeNext = lanesLikeNext(offsets);
  while (mask) {
    unsigned lane = unsigned(__builtin_ctz(mask));
    unsigned more = unsigned(__builtin_ctz(~(likeNext >> lane)));
    uint32_t lanes = mask & ((2u << more) - 1) << lane;
    mask &= ~lanes;
    lanes |= lanes << halves;
    uint32_t offset = offsets[lane];
    if ((must && !allWritten(must + offset, Bytes)) ||
        !pass.read<Bytes>(offset, lanes))
      return false;
  }
  return true;
}

/// What `must` points at is a byte for each of shared memory, or null; all that
/// the lanes access must be 1.
template <unsigned Bytes>
bool passRaces(Warp &warp, const Inst &inst, uint32_t mask,
               const uint32_t *offsets, const uint8_t *must, bool isRead) {
  warp.clock->touched |= mask;
  Pass pass(warp, inst);
  RaceCells &cells = warp.block->shadow->cells;
  bool mayHaveRows = Bytes == 4 && mask == ~0u;
  if (isRead)
    return (!mayHaveRows || passReadRows(pass, cells, mask, offsets, must)) &&
           passReads<Bytes>(pass, mask, offsets, must);
  return mayHaveRows ? passWriteRows(pass, cells, offsets, must)
                     : passWrites<Bytes>(pass, mask, offsets, must);
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
static bool allowsAtomic(const RaceCell &cell, const SharedEvents &events,
                         const Warp &warp, const Inst &inst, uint32_t pc,
                         unsigned lane) {
  const SharedEvent &weak = events.at(cell.weak);
  if (cell.hasSeveral() ||
      !isOrdered(warp, lane, uint16_t(weak.warp * 32u + cell.weak % 32),
                 weak.epoch))
    return false;
  const SharedEvent &reads = events.at(cell.reads.event);
  if (reads.epoch &&
      (reads.strong || !warp.clock->seen.coversAll(reads.warp, reads.epoch)))
    return false;
  const Launch &launch = *warp.block->launch;
  const SharedEvent &strong = events.at(cell.strong);
  return strong.epoch == 0 ||
         (strong.warp / launch.warpsPerBlock == warp.block->rank &&
          (strong.pc == pc ||
           haveSameSize(inst, launch.program->code[strong.pc])));
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
      if (shadow.cells.grain[word] != 4 ||
          !allowsAtomic(shadow.cells.words[word], shadow.cells.events, warp,
                        inst, pc, lane))
        return false;
    }
  }
  if (!races)
    return true;
  warp.clock->touched |= mask;
  EventPlace place = shadow.cells.add(
      {warp.clock->epoch, pc, uint16_t(warpInCluster(warp)), /*strong=*/true});
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = unsigned(__builtin_ctz(m));
    uint32_t offset = uint32_t(addresses[lane]);
    for (uint32_t word = offset / 4; word < (offset + bytes) / 4; ++word)
      shadow.cells.words[word].strong = place + lane;
  }
  return true;
}
