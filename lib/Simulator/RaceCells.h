// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the race check keeps of the last accesses to each place of a block's
// shared memory.
#ifndef KVCACHE_LIB_SIMULATOR_RACECELLS_H
#define KVCACHE_LIB_SIMULATOR_RACECELLS_H

#include "Inst.h"

#include <algorithm>
#include <vector>

namespace ptxsim {

/// Reads of a place by lanes of a warp (or for its group) in one epoch.
struct SharedReads {
  /// 0: none.
  uint32_t epoch = 0;
  /// Of the last.
  uint32_t pc = 0;
  uint32_t lanes = 0;
  /// Counted through the cluster.
  uint16_t warp = 0;
  bool strong = false;
};

struct SharedWrite {
  /// 0: none.
  uint32_t epoch = 0;
  uint32_t pc = 0;
  /// Counted through the cluster.
  uint16_t thread = 0;
};

/// The last accesses to a word (or byte) of shared memory.
struct RaceCell {
  /// The last weak write, and the last strong one since.
  SharedWrite weak, strong;
  /// The reads since the weak write, strong ones since the strong write: first
  /// `reads`, and where there are more those of RaceCells::readers, by the
  /// index there and one.
  uint32_t moreReads = 0;
  SharedReads reads;
};

/// Beside those of the cell itself.
struct SharedReaders {
  /// The warps of the block that have reads in RaceCells::readsOf.
  uint32_t warps = 0;
  /// All that find no place there: of other blocks, of groups, and of lanes of
  /// a warp in further epochs.
  std::vector<SharedReads> others;
};

/// The cells of a block.
class RaceCells {
public:
  /// Per 4-byte word; a word accessed in parts uses its byte cells.
  std::vector<RaceCell> words, bytes;
  std::vector<uint8_t> split;
  /// Eight words of which all accesses have been by as many lanes in a row, one
  /// a word, have one cell: the first word's. That of the next word is the same
  /// but for the lanes, which are the next ones.
  static constexpr unsigned wordsInRow = 8, rowBytes = 32;
  std::vector<RaceCell> rows;

  /// Of a block whose warps are counted from `firstWarp` on.
  void prepare(size_t numBytes, uint32_t firstWarp, uint32_t numWarps) {
    words.resize(numBytes / 4 + 1);
    bytes.resize(numBytes);
    split.assign(numBytes / 4 + 1, 0);
    rows.resize(numBytes / rowBytes + 1);
    timesOpened.assign(rows.size(), 0);
    opened.assign(rows.size(), 0);
    first = firstWarp;
    warps = numWarps;
  }
  bool isOpen(uint32_t row) const { return opened[row]; }
  /// From now on the words of the row that has an offset have their own cells.
  PTXSIM_INLINE void open(uint32_t offset) {
    if (!opened[offset / rowBytes])
      openRow(offset / rowBytes);
  }
  /// All words of an open row have just been written by as many lanes in a row.
  /// It is left open if that does not last.
  void close(uint32_t row, const SharedWrite &write) {
    constexpr unsigned most = 4;
    if (timesOpened[row] >= most)
      return;
    opened[row] = 0;
    rows[row].weak = write;
    std::fill_n(&split[row * wordsInRow], wordsInRow, uint8_t(0));
  }
  /// The further reads of a cell, which must have some, and where those of the
  /// block's warps lie.
  SharedReaders &readers(const RaceCell &cell) {
    return allReaders[cell.moreReads - 1];
  }
  SharedReads *readsOf(const RaceCell &cell) {
    return readsOfWarps.data() + size_t(cell.moreReads - 1) * warps;
  }
  /// Makes room for further reads.
  void addReaders(RaceCell &cell) {
    if (cell.moreReads)
      return;
    if (unused.empty()) {
      allReaders.emplace_back();
      readsOfWarps.resize(readsOfWarps.size() + warps);
      unused.push_back(uint32_t(allReaders.size()));
    }
    cell.moreReads = unused.back();
    unused.pop_back();
  }
  void dropReaders(RaceCell &cell) {
    if (!cell.moreReads)
      return;
    SharedReaders &more = readers(cell);
    more.warps = 0;
    more.others.clear();
    unused.push_back(cell.moreReads);
    cell.moreReads = 0;
  }
  /// Calls `visit(reads)` for all reads of a cell until it gives true; gives
  /// that.
  template <typename Visit> bool anyReads(RaceCell &cell, Visit visit) {
    if (cell.reads.epoch && visit(cell.reads))
      return true;
    if (!cell.moreReads)
      return false;
    SharedReaders &more = readers(cell);
    SharedReads *ofWarps = readsOf(cell);
    for (uint32_t m = more.warps; m; m &= m - 1)
      if (visit(ofWarps[__builtin_ctz(m)]))
        return true;
    return std::any_of(more.others.begin(), more.others.end(), visit);
  }
  /// Drops the reads that `drops(reads)` names.
  template <typename Drops> void dropReads(RaceCell &cell, Drops drops) {
    if (cell.reads.epoch && drops(cell.reads))
      cell.reads.epoch = 0;
    if (!cell.moreReads)
      return;
    SharedReaders &more = readers(cell);
    SharedReads *ofWarps = readsOf(cell);
    for (uint32_t m = more.warps; m; m &= m - 1)
      if (drops(ofWarps[__builtin_ctz(m)]))
        more.warps &= ~(m & -m);
    more.others.erase(
        std::remove_if(more.others.begin(), more.others.end(), drops),
        more.others.end());
    if (!more.warps && more.others.empty())
      dropReaders(cell);
  }
  /// Adds reads that are none of those there.
  void addReads(RaceCell &cell, const SharedReads &added) {
    if (!cell.reads.epoch) {
      cell.reads = added;
      return;
    }
    addReaders(cell);
    SharedReaders &more = readers(cell);
    uint32_t index = added.warp - first;
    if (index >= warps || more.warps >> index & 1) {
      more.others.push_back(added);
      return;
    }
    more.warps |= 1u << index;
    readsOf(cell)[index] = added;
  }
  void copy(RaceCell &to, const RaceCell &from) {
    dropReaders(to);
    to = from;
    if (!from.moreReads)
      return;
    to.moreReads = 0;
    addReaders(to);
    readers(to) = readers(from);
    std::copy_n(readsOf(from), warps, readsOf(to));
  }

private:
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
      to.weak.thread = uint16_t(to.weak.thread + k);
      auto moveLanes = [&](SharedReads &reads) {
        reads.lanes <<= k;
        return false;
      };
      anyReads(to, moveLanes);
    }
    dropReaders(from);
    from = RaceCell();
  }

  std::vector<uint8_t> opened, timesOpened;
  uint32_t first = 0, warps = 0;
  std::vector<SharedReaders> allReaders;
  /// For each of them, those of the block's warps.
  std::vector<SharedReads> readsOfWarps;
  /// Those that no cell refers to.
  std::vector<uint32_t> unused;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_RACECELLS_H
