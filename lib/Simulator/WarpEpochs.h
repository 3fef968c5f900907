// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is seen of the threads of a cluster, for the race check. What happened
// is dated by epochs of its warp. Nearly always all lanes of a warp have been
// seen up to one epoch; where some have been seen further they are listed.
#ifndef KVCACHE_LIB_SIMULATOR_WARPEPOCHS_H
#define KVCACHE_LIB_SIMULATOR_WARPEPOCHS_H

#include "Inst.h"

#include <vector>

namespace ptxsim {

/// Warps are counted through the cluster. Of no warps nothing has been seen.
class WarpEpochs {
public:
  /// Nothing has been seen.
  void reset(size_t numWarps);
  bool empty() const { return all.empty(); }
  size_t size() const { return all.size(); }
  /// Per warp: the last epoch that has been seen of all its lanes.
  const uint32_t *allLanes() const { return all.data(); }
  /// Another number once more has been seen.
  uint32_t changes() const { return numChanges; }
  /// Whether an epoch of a lane has been seen the end of.
  PTXSIM_INLINE bool covers(unsigned warp, unsigned lane,
                            uint32_t epoch) const {
    return epoch <= all[warp] ||
           (!some.empty() && coversSome(warp, lane, epoch));
  }
  /// Of all lanes of a warp.
  PTXSIM_INLINE bool coversAll(unsigned warp, uint32_t epoch) const {
    return epoch <= all[warp];
  }
  /// All lanes of a warp up to an epoch.
  PTXSIM_INLINE void raise(unsigned warp, uint32_t epoch) {
    if (epoch > all[warp])
      all[warp] = epoch;
    ++numChanges;
    if (!some.empty())
      prune();
  }
  /// Some of its lanes; `counted` are those that make up all.
  void raise(unsigned warp, uint32_t lanes, uint32_t counted, uint32_t epoch);
  /// What another has seen as well.
  void join(const WarpEpochs &other);
  /// Whether joining the other would change nothing.
  bool contains(const WarpEpochs &other) const;

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
  uint32_t numChanges = 0;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_WARPEPOCHS_H
