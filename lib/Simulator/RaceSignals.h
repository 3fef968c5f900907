// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What blocks let each other observe, for the race check in global memory.
#ifndef KVCACHE_LIB_SIMULATOR_RACESIGNALS_H
#define KVCACHE_LIB_SIMULATOR_RACESIGNALS_H

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ptxsim {

/// The fences and strong accesses of blocks, of one scope: that of a cluster or
/// that of the device. Blocks are numbered from 1, times count up from 1, and
/// no two signals have the same.
class BlockSignals {
public:
  void fence(uint32_t block, uint32_t now) { of(block).fence = now; }
  /// A strong access; whether the block has fenced by then, so that it releases
  /// what the block did before.
  bool access(uint32_t block, uint32_t now, bool isRelease);
  /// Whether what `block` did at `time` is released, if it needs to be, by an
  /// access that `other` has made a later one than.
  bool ordered(uint32_t block, uint32_t time, bool needsRelease,
               uint32_t other) const;
  /// The block has ended: it observes nothing any more.
  void finish(uint32_t block);
  bool empty() const { return blocks.empty(); }
  void clear();

private:
  struct Release {
    uint32_t fence, access;
  };
  /// The times of a block's last fence, of its strong accesses, and of the
  /// first of these behind each fence (or that release by themselves). Only
  /// those are kept between which another block has made its last.
  struct Signals {
    uint32_t fence = 0;
    std::vector<uint32_t> accesses;
    std::vector<Release> releases;
    std::size_t limit = 64;
  };
  Signals &of(uint32_t block);
  void thin(Signals &signals) const;

  std::unordered_map<uint32_t, Signals> blocks;
  /// Those that have not ended.
  std::vector<uint32_t> running;
  /// Of the last access, and its block's signals.
  uint32_t lastBlock = 0;
  Signals *last = nullptr;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_RACESIGNALS_H
