// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The race check in global memory, between the blocks of a launch.
#ifndef KVCACHE_LIB_SIMULATOR_GLOBALRACES_H
#define KVCACHE_LIB_SIMULATOR_GLOBALRACES_H

#include "Handlers.h"
#include "State.h"

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

namespace ptxsim {

/// The accesses of blocks to global memory, for one launch. Each is kept with
/// its thread and epoch (Clocks.cpp); those of one block are not compared.
class GlobalRaces {
public:
  /// Cells of bytes, or of words. Without `ordersBlocks` nothing in the launch
  /// can order an access behind one of another block.
  GlobalRaces(bool byByte, bool ordersBlocks);
  ~GlobalRaces();
  /// The allocation is about to go.
  void forget(const Allocation &allocation);
  /// What is kept of an allocation, null if it is not the one accessed last.
  void *shadowOf(const Allocation &allocation) const {
    return lastAllocation == &allocation ? lastShadow : nullptr;
  }
  /// Compares an access of a lane with those before it, and records it.
  void access(Warp &warp, const Inst &inst, unsigned lane,
              const Allocation &allocation, uint64_t address, unsigned bytes,
              AccessMode mode);
  /// passesChecks for accesses of one size.
  template <unsigned Bytes>
  bool passesFor(Warp &warp, const Inst &inst, uint32_t mask,
                 const uint64_t *addresses, uint64_t disp, bool inRow,
                 bool isRead, bool initialised);
  /// passesAtomicChecks for lanes that lie in the instruction's range.
  bool passAtomics(Warp &warp, const Inst &inst, uint32_t mask,
                   const uint64_t *addresses, unsigned bytes);

  /// What is released to the device.
  PlaceTable<GridPlace> places;

private:
  /// What a warp did in an epoch. They count up from 1; those of the block that
  /// has come last are the last.
  struct Segment {
    uint32_t block, cluster, epoch;
    /// Counted through the cluster.
    uint32_t warp;
  };
  /// Who accessed a cell: segment 0 for nobody. `site` has the instruction, the
  /// lane, and whom the access is strong to.
  struct Access {
    uint32_t segment, site;
    bool operator==(const Access &other) const {
      return segment == other.segment && site == other.site;
    }
  };
  struct Clash {
    Access access;
    bool hasWritten;
  };
  /// The last write that is not strong to the device, with `strongFollows` if
  /// one that is came behind it; and the reads since, of which a strong write
  /// leaves the weaker ones: one, or a set of `isSet`.
  struct Cell {
    Access writer, reader;
  };
  static constexpr uint32_t isSet = 0x80000000, strongFollows = 0x80000000;
  /// Access::site of the set of two weak reads of different blocks that nothing
  /// orders: whatever races with a further read races with one of them.
  static constexpr uint32_t isEnough = 1;
  /// More readers that nothing orders are not kept.
  static constexpr unsigned maxReaders = 12, maxReadersOfBlock = 4;
  /// More sets of them are not kept either: then all that is known is
  /// forgotten. From maxBlockSets on, of a block one reader is kept; spareSets
  /// are more than one access adds.
  static constexpr size_t maxSets = size_t(1) << 20, maxBlockSets = maxSets / 4,
                          spareSets = size_t(1) << 16;
  struct ReadSet {
    unsigned count = 0;
    Access readers[maxReaders];
    bool operator==(const ReadSet &other) const {
      return count == other.count &&
             std::equal(readers, readers + count, other.readers);
    }
  };
  struct Shadow {
    Cell *cells = nullptr;
    /// Per cell: the strong write that follows.
    Access *strong = nullptr;
    /// Per row of cells: what the first one holds, unless the row is open. That
    /// of cell k is the same but for the lane, which is k >> shift further.
    Cell *rows = nullptr;
    /// Per row: RowState, and the shift.
    uint8_t *states = nullptr;
    size_t units = 0;
  };
  static constexpr unsigned cellsInRow = 8;
  /// Where the cells of an allocation begin. Host memory may begin anywhere; so
  /// no aligned access has parts of two words, or lies in two rows of words.
  static uint64_t firstPlace(uint64_t begin) {
    return begin & ~uint64_t(cellsInRow * 4 - 1);
  }
  enum RowState : uint8_t {
    RowShift = 7,
    /// Its cells hold what is known.
    RowOpen = 64,
    /// None of them has been written, and the readers of all are enough: reads
    /// need not look at them.
    RowEnough = 128
  };
  void open(Shadow &shadow, uint64_t row) {
    if (!(shadow.states[row] & RowOpen))
      openRow(shadow, row);
  }
  void openRow(Shadow &shadow, uint64_t row);
  enum class RowsPass : uint8_t { No, Yes, ByCells };
  bool isReplacedByAll(const Warp &warp, Access before, uint32_t segment) const;
  /// Whether an access of lanes in a row, as many as a row has cells, to as
  /// many rows as each has cells, 1 << shift, finds nothing in closed rows.
  RowsPass looksAtRows(const Warp &warp, const Shadow &shadow, uint64_t row,
                       unsigned shift, uint32_t segment, bool isRead) const;
  /// Records it; `first` is that of the first lane.
  void recordRows(const Warp &warp, Shadow &shadow, uint64_t row,
                  unsigned shift, Access first, bool isRead);
  static void unmap(Shadow &shadow);
  struct AddedReader {
    Access to{0, 0}, added{0, 0}, result{0, 0};
  };

  static Access accessBy(uint32_t segment, uint32_t pc, unsigned lane,
                         unsigned strength) {
    return {segment, pc << 8 | strength << 5 | lane};
  }
  static unsigned laneOf(Access access) { return access.site & 31; }
  static unsigned strengthOf(Access access) { return access.site >> 5 & 3; }
  static bool isWeak(Access access) { return strengthOf(access) == BlockScope; }
  static uint32_t pcOf(Access access) { return access.site >> 8; }
  /// Certainly nobody, or one thread of the block that has come last.
  bool isOwn(uint32_t segment) const {
    return segment == 0 || int32_t(segment) >= int32_t(firstOfBlock);
  }
  uint32_t segmentOf(Warp &warp);
  uint32_t newSegment(const Warp &warp, uint32_t epoch);
  bool useCells(Warp &warp, const Allocation &allocation);
  bool isOrdered(const Warp &warp, unsigned lane, Access before) const;
  bool bothStrong(const Warp &warp, Access now, Access before) const;
  static bool haveSameSize(const Warp &warp, Access a, Access b);
  /// Compares and records; gives an access that races.
  std::optional<Clash> visit(size_t index, const Warp &warp, unsigned lane,
                             Access now, bool isRead, bool sameValue);
  bool isReplaced(const Warp &warp, unsigned lane, Access before) const;
  void addReader(Access &reader, const Warp &warp, unsigned lane, Access added);
  /// The set of what reads a cell, be it one.
  ReadSet readersOf(Access reader) const;
  /// Those that are not strong to the device.
  Access weakerReaders(Access reader);
  static void keepEnough(ReadSet &readers);
  Access setOf(const ReadSet &readers, Access otherwise);
  void restart();

  /// Nothing is to be added to readers.
  static bool areEnough(Access reader) {
    return reader.segment & isSet && reader.site == isEnough;
  }

  const unsigned unit;
  const bool ordersBlocks;
  std::map<const Allocation *, Shadow> shadows;
  /// The shadow of the last access.
  const Allocation *lastAllocation = nullptr;
  Shadow *lastShadow = nullptr;

  std::vector<Segment> segments;
  uint32_t lastBlock = ~0u, firstOfBlock = 1;
  /// Of the last asynchronous read: by whom, and its epoch and segment.
  const Warp *lastAsync = nullptr;
  uint32_t asyncEpoch = 0, asyncSegment = 0;
  /// Counts the restarts.
  uint32_t generation = 1;

  struct CellAndBlockHash {
    size_t operator()(const std::pair<const Cell *, uint32_t> &key) const {
      return (size_t(key.first) / sizeof(Cell) ^
              size_t(key.second) * 0x9e3779b97f4a7c15) *
             0xff51afd7ed558ccd;
    }
  };
  /// By a cell and a block that has read it by a strong access while nothing
  /// ordered the write there: that write.
  std::unordered_map<std::pair<const Cell *, uint32_t>, Access,
                     CellAndBlockHash>
      observed;
  std::vector<ReadSet> sets;
  std::unordered_map<uint64_t, uint32_t> setsByHash;
  std::vector<AddedReader> addedReaders;
};

/// The checks of an atomic, as passesChecks, whose lanes may lie elsewhere.
bool passesAtomicChecks(Warp &warp, const Inst &inst, uint32_t mask,
                        const uint64_t *addresses, unsigned bytes);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_GLOBALRACES_H
