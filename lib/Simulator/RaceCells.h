// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the race check keeps of the last accesses to each place of a block's
// shared memory.
#ifndef KVCACHE_LIB_SIMULATOR_RACECELLS_H
#define KVCACHE_LIB_SIMULATOR_RACECELLS_H

#include "SharedEvents.h"

#include <algorithm>
#include <vector>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace ptxsim {

/// Reads of a place by lanes of a warp (or for its group) in one epoch.
struct SharedReads {
  /// The last, of lane 0.
  EventPlace event = 0;
  uint32_t lanes = 0;
};

/// The last accesses to a word (or byte) of shared memory.
struct RaceCell {
  /// What `weak` is where other cells have what is known.
  static constexpr EventPlace elsewhere = noPlace;
  /// What `reads.event` is where RaceCells::readers has the reads, by the index
  /// `reads.lanes`.
  static constexpr EventPlace several = noPlace;

  /// The last weak write, and the last strong one since.
  EventPlace weak = 0, strong = 0;
  /// Those since the weak write, strong ones since the strong write.
  SharedReads reads;

  bool hasSeveral() const { return reads.event == several; }
  /// Whether all of it lies before a place; not where some is elsewhere.
  PTXSIM_INLINE bool isBefore(EventPlace place) const {
#if defined(__x86_64__)
    // Places are no negative numbers. The lanes do not count.
    __m128i cell = _mm_loadu_si128(reinterpret_cast<const __m128i *>(this));
    __m128i before = _mm_cmpgt_epi32(_mm_set1_epi32(int(place)), cell);
    return (_mm_movemask_ps(_mm_castsi128_ps(before)) & 7) == 7;
#else
    return std::max(std::max(weak, strong), reads.event) < place;
#endif
  }
};

/// The reads of a cell that has no place for them.
struct SharedReaders {
  SharedReads first;
  /// The warps of the block that have further ones in RaceCells::readsOf.
  uint32_t warps = 0;
  /// All that find no place there: of other blocks, of groups, and of lanes of
  /// a warp in further epochs.
  std::vector<SharedReads> others;
};

/// The cells of a block.
class RaceCells {
public:
  /// Per 4-byte word, and for words accessed in parts per byte.
  std::vector<RaceCell> words, bytes;
  /// Per word: the bytes that a cell stands for, 4 where it is that of the
  /// word, 2 where the first and the third byte's stand for its halves.
  std::vector<uint8_t> grain;
  /// Eight words of which all accesses have been by as many lanes in a row, one
  /// a word, have one cell: the first word's. That of the next word is the same
  /// but for the lanes, which are the next ones.
  static constexpr unsigned wordsInRow = 8, rowBytes = 32;
  std::vector<RaceCell> rows;
  SharedEvents events;

  /// Of a block whose warps are counted from `firstWarp` on, in a cluster of
  /// `numSources` warps and warp groups.
  void prepare(size_t numBytes, uint32_t firstWarp, uint32_t numWarps,
               size_t numSources) {
    words.resize(numBytes / 4 + 1);
    for (RaceCell &cell : words)
      cell.weak = RaceCell::elsewhere;
    bytes.resize(words.size() * 4);
    grain.assign(numBytes / 4 + 1, 4);
    rows.resize(numBytes / rowBytes + 1);
    timesOpened.assign(rows.size(), 0);
    opened.assign(rows.size(), 0);
    first = firstWarp;
    warps = numWarps;
    // As many as a cache takes, or as there are places to visit.
    constexpr size_t fewEvents = 8192;
    events.prepare(numSources, numWarps, std::max(fewEvents, numBytes));
  }
  /// The place of what a warp does, with lane 0.
  PTXSIM_INLINE EventPlace add(const SharedEvent &event) {
    if (events.isFull())
      events.renumber([&](auto visit) { forPlaces(visit); });
    return events.add(event);
  }
  bool isOpen(uint32_t row) const { return opened[row]; }
  /// From now on the words of the row that has an offset have their own cells.
  PTXSIM_INLINE void open(uint32_t offset) {
    if (!opened[offset / rowBytes])
      openRow(offset / rowBytes);
  }
  /// All words of an open row have just been written by as many lanes in a row.
  /// It is left open if that does not last.
  void close(uint32_t row, EventPlace write) {
    constexpr unsigned most = 4;
    if (timesOpened[row] >= most)
      return;
    opened[row] = 0;
    rows[row].weak = write;
    std::fill_n(&grain[row * wordsInRow], wordsInRow, uint8_t(4));
    for (unsigned k = 0; k < wordsInRow; ++k)
      leave(words[row * wordsInRow + k]);
  }
  /// From now on cells stand for so many bytes of a word, less than before,
  /// whose row is open.
  PTXSIM_NOINLINE void split(uint32_t word, uint8_t most) {
    uint8_t before = grain[word];
    grain[word] = most;
    RaceCell *of = &bytes[word * 4];
    if (before == 4)
      for (unsigned k = 0; k < 4; k += most)
        copy(of[k], words[word]);
    else
      for (unsigned k = 0; k < 4; k += 2)
        copy(of[k + 1], of[k]);
    leave(words[word]);
  }
  /// All cells of a split word are alike, and have no reads.
  void unite(uint32_t word) {
    words[word] = bytes[word * 4];
    grain[word] = 4;
  }
  /// The reads of a cell that has several, and where those of the block's warps
  /// lie.
  SharedReaders &readers(const RaceCell &cell) {
    return allReaders[cell.reads.lanes];
  }
  SharedReads *readsOf(const RaceCell &cell) {
    return readsOfWarps.data() + size_t(cell.reads.lanes) * warps;
  }
  PTXSIM_INLINE void dropReads(RaceCell &cell) {
    if (cell.hasSeveral())
      dropReaders(cell);
    cell.reads = SharedReads();
  }
  /// Calls `visit(reads)` for all reads of a cell until it gives true; gives
  /// that.
  template <typename Visit> bool anyReads(RaceCell &cell, Visit visit) {
    if (!cell.hasSeveral())
      return cell.reads.event && visit(cell.reads);
    SharedReaders &more = readers(cell);
    SharedReads *ofWarps = readsOf(cell);
    if (more.first.event && visit(more.first))
      return true;
    for (uint32_t m = more.warps; m; m &= m - 1)
      if (visit(ofWarps[__builtin_ctz(m)]))
        return true;
    return std::any_of(more.others.begin(), more.others.end(), visit);
  }
  /// Drops the reads that `drops(reads)` names.
  template <typename Drops> void dropReads(RaceCell &cell, Drops drops) {
    if (!cell.hasSeveral()) {
      if (cell.reads.event && drops(cell.reads))
        cell.reads = SharedReads();
      return;
    }
    SharedReaders &more = readers(cell);
    SharedReads *ofWarps = readsOf(cell);
    if (more.first.event && drops(more.first))
      more.first = SharedReads();
    for (uint32_t m = more.warps; m; m &= m - 1)
      if (drops(ofWarps[__builtin_ctz(m)]))
        more.warps &= ~(m & -m);
    more.others.erase(
        std::remove_if(more.others.begin(), more.others.end(), drops),
        more.others.end());
    if (more.warps || !more.others.empty())
      return;
    SharedReads last = more.first;
    dropReads(cell);
    cell.reads = last;
  }
  /// Adds reads that are none of those there.
  void addReads(RaceCell &cell, const SharedReads &added) {
    if (!cell.hasSeveral()) {
      if (!cell.reads.event) {
        cell.reads = added;
        return;
      }
      addReaders(cell);
    }
    SharedReaders &more = readers(cell);
    if (!more.first.event) {
      more.first = added;
      return;
    }
    uint32_t index = events.at(added.event).warp - first;
    if (index >= warps || more.warps >> index & 1) {
      more.others.push_back(added);
      return;
    }
    more.warps |= 1u << index;
    readsOf(cell)[index] = added;
  }

private:
  PTXSIM_NOINLINE void dropReaders(RaceCell &cell) {
    SharedReaders &more = readers(cell);
    more.warps = 0;
    more.others.clear();
    unused.push_back(cell.reads.lanes);
  }
  /// It is kept elsewhere.
  void leave(RaceCell &cell) {
    dropReads(cell);
    cell.weak = RaceCell::elsewhere;
    cell.strong = 0;
  }
  void addReaders(RaceCell &cell) {
    if (unused.empty()) {
      unused.push_back(uint32_t(allReaders.size()));
      allReaders.emplace_back();
      readsOfWarps.resize(readsOfWarps.size() + warps);
    }
    SharedReads before = cell.reads;
    cell.reads = {RaceCell::several, unused.back()};
    unused.pop_back();
    readers(cell).first = before;
  }
  PTXSIM_INLINE void copy(RaceCell &to, const RaceCell &from) {
    dropReads(to);
    to = from;
    if (from.hasSeveral())
      copyReaders(to, from);
  }
  PTXSIM_NOINLINE void copyReaders(RaceCell &to, const RaceCell &from) {
    to.reads = SharedReads();
    addReaders(to);
    readers(to) = readers(from);
    std::copy_n(readsOf(from), warps, readsOf(to));
  }
  template <typename Visit> void forPlaces(Visit visit) {
    for (std::vector<RaceCell> *cells : {&words, &bytes, &rows})
      for (RaceCell &cell : *cells) {
        if (cell.weak != RaceCell::elsewhere)
          visit(cell.weak);
        visit(cell.strong);
        anyReads(cell, [&](SharedReads &reads) {
          visit(reads.event);
          return false;
        });
      }
  }
  PTXSIM_NOINLINE void openRow(uint32_t row) {
    opened[row] = 1;
    timesOpened[row] += timesOpened[row] < 255;
    RaceCell &from = rows[row];
    for (unsigned k = 0; k < wordsInRow; ++k) {
      size_t word = size_t(row) * wordsInRow + k;
      if (word >= words.size())
        break;
      RaceCell &to = words[word];
      copy(to, from);
      to.weak += k;
      auto moveLanes = [&](SharedReads &reads) {
        reads.lanes <<= k;
        return false;
      };
      anyReads(to, moveLanes);
    }
    dropReads(from);
    from = RaceCell();
  }

  std::vector<uint8_t> opened, timesOpened;
  uint32_t first = 0, warps = 0;
  std::vector<SharedReaders> allReaders;
  /// For each of them, of the block's warps.
  std::vector<SharedReads> readsOfWarps;
  /// Those that no cell refers to.
  std::vector<uint32_t> unused;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_RACECELLS_H
