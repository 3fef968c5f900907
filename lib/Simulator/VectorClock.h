// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What warps have seen and what places of memory pass on, for the race check.
#ifndef KVCACHE_LIB_SIMULATOR_VECTORCLOCK_H
#define KVCACHE_LIB_SIMULATOR_VECTORCLOCK_H

#include "GridClock.h"

#include <unordered_map>
#include <vector>

namespace ptxsim {

/// What has been seen of the own cluster, and of all clusters of the grid by
/// what passes from one to another. Nothing of the own cluster: nothing at all.
class VectorClock : public WarpEpochs {
public:
  void reset(size_t numWarps) {
    WarpEpochs::reset(numWarps);
    grid = GridClock();
  }
  void join(const VectorClock &other) {
    WarpEpochs::join(other);
    grid.join(other.grid);
  }

  GridClock grid;
};

/// What only some lanes of a warp have seen: clocks by masks of lanes.
class LaneViews {
public:
  bool empty() const { return used == 0; }
  void clear() { used = 0; }
  void add(uint32_t lanes, const VectorClock &clock);
  PTXSIM_INLINE bool covers(unsigned seer, unsigned warp, unsigned lane,
                            uint32_t epoch) const {
    for (unsigned k = 0; k < used; ++k)
      if (views[k].lanes >> seer & 1 &&
          views[k].clock.covers(warp, lane, epoch))
        return true;
    return false;
  }
  /// The same of another cluster.
  bool coversGrid(unsigned seer, uint32_t cluster, unsigned warp, unsigned lane,
                  uint32_t epoch) const {
    for (unsigned k = 0; k < used; ++k)
      if (views[k].lanes >> seer & 1 &&
          views[k].clock.grid.covers(cluster, warp, lane, epoch))
        return true;
    return false;
  }
  /// Adds what any of the lanes has seen.
  void joinTo(VectorClock &clock, uint32_t lanes) const;
  /// These lanes have seen nothing any more.
  void drop(uint32_t lanes);

private:
  struct View {
    uint32_t lanes = 0;
    VectorClock clock;
  };
  View *find(uint32_t lanes);
  void addView(uint32_t lanes, const VectorClock &clock);

  /// The first `used` of them; the others keep their memory.
  std::vector<View> views;
  unsigned used = 0;
};

/// Who may observe what is released, and what is released to whom.
enum Scope : unsigned { BlockScope, ClusterScope, DeviceScope, numScopes };

/// What a warp has seen.
struct WarpClock {
  /// Of what it does now, and of what it did first since its block began.
  uint32_t epoch = 1, firstEpoch = 1;
  /// All its lanes have seen, and what some have since the warp last met.
  VectorClock seen;
  LaneViews views;
  /// What strong accesses have observed, for the lane's next fence of a scope.
  LaneViews observed[numScopes];
  /// Lanes that have accessed memory since all last met: once they have exited
  /// they meet nobody any more.
  uint32_t touched = 0;
  /// Per lane: the epoch that its last fence of a scope has ended; 0 for none.
  uint32_t fenced[numScopes][32] = {};
  /// Per lane: its last strong access that observed something, so that polling
  /// takes in but once what is there: by which instruction, at which address,
  /// at which version of the places.
  struct Observation {
    const Inst *inst;
    uint64_t address, version;
  };
  Observation lastObserved[32] = {};
  /// Its last segment among those of GlobalRaces, and the epoch up to which
  /// that serves.
  uint32_t segment = 0, segmentEpoch = 0, segmentGeneration = 0;
};

/// What has been released at a place: to every block of the cluster, and to
/// each by its own threads, for which the scope of a block is enough. A cluster
/// of one block has the former only.
struct Released {
  VectorClock wide;
  std::vector<VectorClock> byBlock;

  void join(const Released &other);
};

/// What is kept of places in memory, by their addresses. Of very many places
/// some share an entry: that may hide a race but not invent one.
template <typename T> class PlaceTable {
public:
  /// Null if there is nothing.
  T *find(uint64_t address) {
    auto it = places.find(keyOf(address));
    return it == places.end() ? nullptr : &it->second;
  }
  /// For changing it.
  T &at(uint64_t address) {
    ++version;
    return places[keyOf(address)];
  }
  /// Whether the entry of a place is that of no other.
  bool isAlone(uint64_t address) const { return keyOf(address) == address; }
  bool empty() const { return places.empty(); }
  void clear() {
    places.clear();
    ++version;
  }

  /// Counts the changes of entries; what changes one that it has found counts,
  /// too.
  uint64_t version = 0;

private:
  static constexpr size_t maxAlone = size_t(1) << 16;
  static constexpr uint64_t numShared = 4096;
  uint64_t keyOf(uint64_t address) const {
    if (places.size() < maxAlone || places.count(address))
      return address;
    // Of no memory.
    return ~(address / 4 % numShared);
  }

  std::unordered_map<uint64_t, T> places;
};

/// Who has released something at a place: a thread, or several.
struct Releaser {
  uint64_t thread = 0;

  void add(uint64_t other) {
    thread = thread == 0 || thread == other ? other : several;
  }
  /// Whether a strong store of a thread goes on with what has been released:
  /// not unless the thread may have released it.
  bool mayBe(uint64_t other) const {
    return thread == other || thread == several;
  }

private:
  static constexpr uint64_t several = ~uint64_t(0);
};

/// A place that strong accesses of a cluster have released something at, or an
/// mbarrier.
struct ReleasePlace {
  Released released;
  Releaser releaser;
  /// By arrivals of the current phase of an mbarrier.
  Released arriving;
};

/// A place in global memory and what has been released there to the device.
struct GridPlace {
  GridClock released;
  Releaser releaser;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_VECTORCLOCK_H
