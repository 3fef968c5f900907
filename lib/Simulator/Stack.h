// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a thread's local memory that grows while it runs: frames of
// functions that may run several times at once, and what alloca takes. All
// other local memory is laid out before the launch.
#ifndef KVCACHE_LIB_SIMULATOR_STACK_H
#define KVCACHE_LIB_SIMULATOR_STACK_H

#include "State.h"

namespace ptxsim {

/// Where stacks begin in the local address space.
constexpr uint64_t stackBase = 0x40000000;
/// Bytes a thread's stack may hold, saved registers among them; the most local
/// memory that a thread of a device can have.
constexpr uint64_t stackLimit = 512 * 1024;

struct ThreadStack {
  struct Frame {
    /// Offsets in `bytes`.
    uint32_t base, oldTop;
    /// Of Program::frames.
    uint32_t layout;
    uint64_t callerBase;
    /// Layout whose registers `saved` holds, -1: none; and where.
    int32_t savedLayout;
    size_t savedAt;
  };
  struct Range {
    uint32_t begin, end;
  };
  /// Room in use: [stackBase, stackBase + top).
  uint32_t top = 0;
  std::vector<char> bytes;
  /// Per byte 1 where written; empty without initcheck.
  std::vector<uint8_t> written;
  std::vector<Frame> frames;
  /// What alloca has given, in order.
  std::vector<Range> allocations;
  std::vector<char> saved;

  void clear();
  /// Forgets what alloca has given beyond `top`.
  void dropAllocations();
};

/// The stack of a lane.
ThreadStack &stackOf(Warp &warp, unsigned lane);
/// A place of local memory that is known to be there.
char *localPlace(Warp &warp, unsigned lane, uint64_t offset);
/// Whether the bytes at an offset of at least stackBase may be accessed.
bool insideStack(Warp &warp, unsigned lane, uint64_t offset, unsigned bytes);
/// The offset against the nearest variable of the frames.
std::string describeStack(Warp &warp, unsigned lane, uint64_t offset);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_STACK_H
