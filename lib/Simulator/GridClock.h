// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is seen of the clusters of a grid, for the race check between blocks.
// Clocks are persistent tries by the number of a cluster: what two have in
// common they share, so that one that adds a cluster to another costs a path,
// and joining two costs what they differ in.
#ifndef KVCACHE_LIB_SIMULATOR_GRIDCLOCK_H
#define KVCACHE_LIB_SIMULATOR_GRIDCLOCK_H

#include "WarpEpochs.h"

#include <memory>

namespace ptxsim {

class GridClock {
public:
  bool empty() const { return !root; }
  /// Of a cluster; null if nothing.
  const WarpEpochs *find(uint32_t cluster) const;
  void join(const GridClock &other) {
    if (other.root != root)
      root = joined(root, other.root);
  }
  /// Adds what is seen of one cluster.
  void join(uint32_t cluster, const WarpEpochs &seen);
  /// Whether an epoch of a lane of a cluster has been seen the end of.
  bool covers(uint32_t cluster, unsigned warp, unsigned lane,
              uint32_t epoch) const {
    const WarpEpochs *seen = root ? find(cluster) : nullptr;
    return seen && seen->covers(warp, lane, epoch);
  }
  /// They are one; two that are not may still be equal.
  bool isSame(const GridClock &other) const { return root == other.root; }

private:
  struct Node;
  using Link = std::shared_ptr<const Node>;
  static Link above(Link node);
  static Link joined(const Link &a, const Link &b);

  Link root;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_GRIDCLOCK_H
