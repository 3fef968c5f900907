// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector clocks of the threads of a cluster, for the race check. What happened
// is dated by epochs of its warp. Nearly always all lanes of a warp have been
// seen up to one epoch; where some have been seen further they are listed.
#ifndef KVCACHE_LIB_SIMULATOR_VECTORCLOCK_H
#define KVCACHE_LIB_SIMULATOR_VECTORCLOCK_H

#include "Inst.h"

#include <unordered_map>
#include <vector>

namespace ptxsim {

/// Warps are counted through the cluster. A clock of no warps has seen nothing.
class VectorClock {
public:
  /// Nothing has been seen.
  void reset(size_t numWarps);
  bool empty() const { return all.empty(); }
  size_t size() const { return all.size(); }
  /// Whether an epoch of a lane has been seen the end of.
  PTXSIM_INLINE bool covers(unsigned warp, unsigned lane,
                            uint32_t epoch) const {
    return epoch <= all[warp] ||
           (!some.empty() && coversSome(warp, lane, epoch));
  }
  /// All lanes of a warp up to an epoch.
  PTXSIM_INLINE void raise(unsigned warp, uint32_t epoch) {
    if (epoch > all[warp])
      all[warp] = epoch;
    if (!some.empty())
      prune();
  }
  /// Some of its lanes; `counted` are those that make up all.
  void raise(unsigned warp, uint32_t lanes, uint32_t counted, uint32_t epoch);
  /// What another clock has seen as well.
  void join(const VectorClock &other);

private:
  struct LaneEpochs {
    unsigned warp;
    uint32_t epochs[32];
  };
  bool coversSome(unsigned warp, unsigned lane, uint32_t epoch) const;
  uint32_t *epochsOf(unsigned warp);
  void prune();

  std::vector<uint32_t> all;
  /// Warps of which a lane has been seen beyond `all`.
  std::vector<LaneEpochs> some;
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

/// What a warp has seen.
struct WarpClock {
  /// Of what it does now.
  uint32_t epoch = 1;
  /// All its lanes have seen, and what some have since the warp last met.
  VectorClock seen;
  LaneViews views;
  /// What strong accesses have observed, for the lane's next fence: of the
  /// block or wider.
  LaneViews observed, observedWide;
  /// Lanes that have accessed shared memory since all last met: once they have
  /// exited they meet nobody any more.
  uint32_t touched = 0;
  /// Per lane: the epoch its last fence has ended, and the last that other
  /// blocks may observe; 0 for none.
  uint32_t fenced[32] = {}, fencedWide[32] = {};
};

/// What has been released at a place: to every block of the cluster, and to
/// each by its own threads, for which the scope of a block is enough. A cluster
/// of one block has the former only.
struct Released {
  VectorClock wide;
  std::vector<VectorClock> byBlock;

  void join(const Released &other);
};

/// Places of memory that strong accesses have released something at, and
/// mbarriers.
class ReleasePlaces {
public:
  struct Place {
    Released released;
    /// By arrivals of the current phase of an mbarrier.
    Released arriving;
  };
  /// Shared addresses with their block, or global ones, of which few are told
  /// apart: that may hide a race but not invent one.
  Place *find(uint64_t address);
  Place &at(uint64_t address);
  bool empty() const { return places.empty(); }
  void clear() { places.clear(); }

private:
  static uint64_t keyOf(uint64_t address);
  std::unordered_map<uint64_t, Place> places;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_VECTORCLOCK_H
