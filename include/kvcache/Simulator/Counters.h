// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch did, counted exactly: the same numbers on any machine and with
// any number of worker threads.
#ifndef KVCACHE_SIMULATOR_COUNTERS_H
#define KVCACHE_SIMULATOR_COUNTERS_H

#include "kvcache/Simulator/Report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ptxsim {

/// Traffic of one direction in one space.
struct Traffic {
  /// Warp-level instructions issued.
  uint64_t instructions = 0;
  /// Bytes the threads asked for.
  uint64_t bytes = 0;
  /// 32-byte sectors touched, counted once per warp-level instruction.
  uint64_t sectors = 0;

  /// Adds what another one has counted.
  void add(const Traffic &other) {
    instructions += other.instructions;
    bytes += other.bytes;
    sectors += other.sectors;
  }
  /// Bytes asked for per byte moved; 1 where nothing moved.
  double efficiency() const {
    return sectors ? double(bytes) / (32.0 * double(sectors)) : 1.0;
  }
};

/// Classes of instructions.
enum class InstClass : uint8_t {
  /// Arithmetic, logic and shifts of integers.
  Integer,
  /// Arithmetic of floats, packed ones included.
  Float,
  /// `cvt`.
  Convert,
  /// `mov`, selections, packing of registers.
  Move,
  /// `setp` and logic of predicates.
  Predicate,
  /// Branches, calls, `ret`, `exit`.
  Control,
  /// Loads from any space.
  Load,
  /// Stores to any space.
  Store,
  /// `atom` and `red`.
  Atomic,
  /// `cp.async`, bulk and tensor copies.
  AsyncCopy,
  /// `shfl`, `vote`, `match`, `redux`, `elect`.
  Shuffle,
  /// `bar`, `barrier`, `mbarrier`, fences.
  Barrier,
  /// `mma`, `wmma`, `wgmma`, `movmatrix`.
  Matrix,
  /// Hints, and whatever is none of these.
  Special,
  /// The number of classes.
  Count
};
constexpr unsigned numInstClasses = unsigned(InstClass::Count);
const char *instClassName(InstClass c);

/// Counts of one source line, or one PTX line where the PTX has no `.loc`.
struct LineCounters {
  /// The line of the source; not known where `ptxLine` counts.
  SourceLocation source;
  /// The line of the PTX, 1-based; 0 where `source` counts.
  uint32_t ptxLine = 0;
  /// Instructions issued by warps, and by their threads.
  uint64_t warpInstructions = 0;
  uint64_t threadInstructions = 0;
  /// Traffic with global memory.
  Traffic globalLoad, globalStore;
  /// Passes of shared memory beyond the first of each instruction.
  uint64_t sharedConflicts = 0;
};

/// What a launch has counted.
struct Counters {
  /// Per InstClass: instructions issued by warps, and by threads.
  uint64_t warpInstructions[numInstClasses] = {};
  uint64_t threadInstructions[numInstClasses] = {};
  Traffic globalLoad, globalStore, globalAtomic;
  Traffic localLoad, localStore;
  /// Shared memory: bytes asked for; passes ("wavefronts") beyond the least
  /// possible number are bank conflicts.
  uint64_t sharedLoadBytes = 0, sharedStoreBytes = 0;
  uint64_t sharedWavefronts = 0, sharedConflicts = 0;
  /// Barrier completions (per block), and branches that split a warp.
  uint64_t barriers = 0, divergentBranches = 0, branches = 0;
  uint64_t blocks = 0, warps = 0, threads = 0;
  /// Sorted by file, line, column, PTX line.
  std::vector<LineCounters> lines;

  /// Sums, and both in text for people and in JSON.
  uint64_t totalWarpInstructions() const;
  uint64_t totalThreadInstructions() const;
  void add(const Counters &other);
  std::string text() const;
  std::string json() const;
};

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_COUNTERS_H
