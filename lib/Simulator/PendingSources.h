// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_PENDINGSOURCES_H
#define KVCACHE_LIB_SIMULATOR_PENDINGSOURCES_H

#include "Handlers.h"
#include "State.h"

#include <unordered_map>

namespace ptxsim {

struct PendingCopy;

/// What cp.async has yet to read in global memory, for the race check: whoever
/// writes there before the wait changes what is copied.
class PendingSources {
public:
  bool empty() const { return granules.empty(); }
  void add(const PendingCopy &copy);
  void remove(const PendingCopy &copy);
  /// A write of a lane.
  void check(Warp &warp, const Inst &inst, unsigned lane, uint64_t address,
             unsigned bytes);

private:
  /// Of the bytes that the largest copy reads, which are aligned: how many
  /// copies read each, and the last of these.
  static constexpr unsigned granuleBytes = 16;
  struct Granule {
    uint16_t counts[granuleBytes] = {};
    unsigned numCopies = 0;
    const Inst *inst = nullptr;
    Dim3 block{0, 0, 0};
    uint32_t thread = 0;
  };
  std::unordered_map<uint64_t, Granule> granules;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_PENDINGSOURCES_H
