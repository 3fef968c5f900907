// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a running grid consists of: workers (host threads), each running
// clusters of blocks, each made of warps.
#ifndef KVCACHE_LIB_SIMULATOR_STATE_H
#define KVCACHE_LIB_SIMULATOR_STATE_H

#include "Memory.h"
#include "Program.h"
#include "VectorClock.h"
#include "kvcache/Simulator/Device.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ptxsim {

// Generic addresses of the other spaces lie in windows no host pointer reaches.
constexpr uint64_t sharedWindow = 0x0100000000000000;
constexpr uint64_t localWindow = 0x0200000000000000;
constexpr uint64_t paramWindow = 0x0300000000000000;
constexpr uint64_t windowMask = 0xff00000000000000;
/// A shared address names a block of the cluster in its upper byte: 0 is the
/// block itself, n the block of rank n - 1.
constexpr unsigned sharedRankShift = 24;
constexpr uint64_t sharedOffsetMask = (uint64_t(1) << sharedRankShift) - 1;

/// Shared memory of a block that the system keeps, zero where the block begins.
/// Cooperative groups synchronise parts of a block there.
constexpr uint32_t reservedSharedBytes = 1024;

/// What an instruction of a warp takes, with what it waits for memory; a cycle
/// is a nanosecond.
constexpr uint64_t cyclesPerInstruction = 32;

struct Launch;
struct Worker;
struct Cluster;

/// One of the sixteen barriers of a block.
struct NamedBarrier {
  /// Lanes that have arrived, per warp.
  std::vector<uint32_t> arrived;
  unsigned numArrivedWarps = 0;
  /// Threads expected, 0: all of the block.
  uint32_t expected = 0;
  bool inUse = false;
  /// Instruction of the first arrival.
  const Inst *inst = nullptr;
  /// For barrier.red: the lanes' values and where results go.
  bool isReduction = false;
  uint32_t trueCount = 0;
  uint32_t lanesCount = 0;
  /// For the race check: what its arrivals have released.
  VectorClock released;
};

struct SharedShadow;
struct ThreadStack;
struct AsyncState;
class GlobalRaces;
class GlobalProxy;
class PendingSources;

struct Block {
  Launch *launch = nullptr;
  Worker *worker = nullptr;
  Cluster *cluster = nullptr;
  Dim3 index{0, 0, 0};
  uint64_t linear = 0;
  uint32_t rank = 0;
  std::vector<Warp> warps;
  char *registers = nullptr;
  size_t registerStride = 0;
  std::vector<char> shared;
  std::vector<char> local;
  /// Per byte of `local`: 1 where written; empty without initcheck.
  std::vector<uint8_t> localWritten;
  /// Per thread; empty if the kernel needs none (Stack.h).
  std::vector<ThreadStack> stacks;
  NamedBarrier barriers[16];
  unsigned numFinished = 0;
  std::unique_ptr<SharedShadow> shadow;
  std::unique_ptr<AsyncState> async;

  Block();
  ~Block();
  Block(Block &&) noexcept;
};

/// Who has initialised an mbarrier, for the race check.
struct BarrierInit {
  /// Counted through the cluster, and the epoch of its warp.
  uint16_t thread = 0;
  uint32_t epoch = 0;
  uint32_t pc = 0;
  /// It has made a fence.mbarrier_init since.
  bool isFenced = false;
};

struct Cluster {
  std::vector<Block> blocks;
  uint64_t firstBlock = 0;
  /// Counted through the grid.
  uint64_t number = 0;
  bool done = false;
  /// Rounds in which every warp only waited or used up its turn.
  unsigned idleRounds = 0;
  /// The last round: whether it modified memory, and whether every warp that
  /// ran gave up its turn to wait.
  bool hasModified = false, onlyWaits = false;
  /// Spin detection (Spins.cpp): idle rounds in a row that modified no memory,
  /// the state seen at some of them, and at how many modifications by the
  /// worker it has come again.
  unsigned stalledRounds = 0;
  uint64_t stallState = 0;
  bool spins = false;
  uint64_t spinsSince = 0;
  /// What its threads are told that the time is while it stands for them.
  bool timeStands = false;
  uint64_t standingTime = 0;
  /// Rounds in a row in which all only waited, at how many modifications.
  uint64_t waitRounds = 0, waitsAt = 0;
  /// barrier.cluster: lanes arrived, per warp of the cluster.
  std::vector<uint32_t> clusterArrivedLanes;
  /// For the race check: what these have released, and what strong accesses
  /// and mbarriers have.
  VectorClock clusterReleased;
  PlaceTable<ReleasePlace> places;
  /// By absolute shared addresses.
  std::map<uint64_t, BarrierInit> barrierInits;
  uint64_t instructions = 0;
};

struct FindingKey {
  uint32_t pc;
  Tool tool;
  std::string_view kind;
  bool operator<(const FindingKey &other) const {
    return std::tie(pc, tool, kind) <
           std::tie(other.pc, other.tool, other.kind);
  }
};

struct Finding {
  Report report;
  uint64_t block = 0;
};

/// Counters of one instruction while a launch runs.
struct InstCounts {
  uint64_t warps = 0, threads = 0;
  Traffic traffic;
  Space space = Space::Generic;
  uint64_t wavefronts = 0, conflicts = 0;
  uint64_t divergent = 0;
};

/// On cache lines of its own: its counters change all the time.
struct alignas(128) Worker {
  Launch *launch = nullptr;
  std::map<FindingKey, Finding> findings;
  uint64_t numFindings = 0;
  /// The allocation the last checked access hit.
  const Allocation *lastAllocation = nullptr;
  /// Warp::ranges.
  std::vector<AccessRange> ranges;
  /// The launch has failed here: block, and what to say.
  bool failed = false;
  uint64_t failedBlock = 0;
  std::string failure;
  uint64_t warpInstructions = 0, threadInstructions = 0;
  /// Parallel to the program's code, with counters only.
  std::vector<InstCounts> counts;
  uint64_t barriers = 0;
  /// The instructions that may come behind an aligned barrier, where the check
  /// of barriers has asked for that.
  std::map<uint32_t, std::vector<bool>> behindBarrier;
  uint64_t random = 0;
  /// Changes of memory, to tell spinning from progress.
  uint64_t modifications = 0;
  /// The time before the launch, with all jumps since; and what the current
  /// turn has issued, null between turns.
  uint64_t timeAhead = 0;
  const uint64_t *issuedInTurn = nullptr;
  /// Jumps of the time while everything waited, since how many instructions, at
  /// how many modifications.
  unsigned jumps = 0;
  uint64_t jumpsSince = 0;
  uint64_t jumpsAt = ~uint64_t(0);
  /// What everything beside the time was at one of them, and how many have
  /// found it so since.
  uint64_t jumpState = 0;
  unsigned jumpsToState = 0;

  /// What %clock (in cycles) and %globaltimer (in nanoseconds) tell.
  uint64_t time() const {
    return timeAhead +
           cyclesPerInstruction *
               (warpInstructions + (issuedInTurn ? *issuedInTurn : 0));
  }

  /// Ends the launch; the first failure of a worker is kept.
  void fail(Warp &warp, std::string message);
};

/// One launch, shared by its workers.
struct Launch {
  const Program *program = nullptr;
  const LaunchOptions *options = nullptr;
  const AllocationTable *memory = nullptr;
  /// For malloc and free, which run on one worker.
  MemoryManager *manager = nullptr;
  bool trackInitialisation = false;
  LaunchConfig config;
  Dim3 clusterDim;
  uint32_t clusterBlocks = 1;
  uint64_t numClusters = 0;
  uint32_t threadsPerBlock = 0;
  uint32_t warpsPerBlock = 0;
  /// Static, dynamic, and what the system keeps.
  uint32_t sharedBytes = 0;
  /// Where the system's part begins.
  uint32_t reservedShared = 0;
  /// Counts the launches of the device.
  uint32_t gridId = 0;
  /// Local memory of a thread, rounded up.
  uint64_t localStride = 0;
  uint32_t tools = 0;
  bool instrumented = false;
  std::vector<char> params;
  /// Of grid-wide barriers; 0 where the kernel has none.
  uint64_t gridWorkspace = 0;
  /// Only for the race check, which runs on one worker.
  std::unique_ptr<GlobalRaces> globalRaces;
  std::unique_ptr<PendingSources> pendingSources;
  /// Only for the synchronisation check of kernels that need it, likewise.
  std::unique_ptr<GlobalProxy> globalProxy;

  Launch();
  ~Launch();
  std::string kernelName;
  std::atomic<bool> stop{false};
  unsigned numWorkers = 1;
  std::atomic<uint64_t> nextCluster{0};
  std::atomic<uint64_t> blocksDone{0};
  std::atomic<uint64_t> instructionsDone{0};
};

// Findings (Findings.cpp)
// ------------------------------------------------------

/// As in (0,0,0).
std::string triple(const Dim3 &index);
/// Counts an occurrence; gives the report to fill in if it is the first of its
/// place and kind.
Report *addFinding(Warp &warp, const Inst &inst, unsigned lane, Tool tool,
                   std::string_view kind);
/// The same with a message, and an address if `address` is not null.
void report(Warp &warp, const Inst &inst, unsigned lane, Tool tool,
            std::string_view kind, const std::string &message,
            const uint64_t *address = nullptr, Space space = Space::Generic);
/// The same for what no launch survives: reports it and ends the launch.
void fault(Warp &warp, const Inst &inst, unsigned lane, Tool tool,
           std::string_view kind, const std::string &message,
           const uint64_t *address = nullptr, Space space = Space::Generic);
/// The address in words; `lane` matters for local memory.
std::string describeAddress(Warp &warp, unsigned lane, uint64_t address,
                            Space space);
/// An offset against the nearest of some local variables.
std::string nearestLocal(uint64_t offset,
                         const std::vector<LocalVariable> &variables);
Dim3 threadIndex(const Launch &launch, uint32_t thread);
/// Names the other of two accesses that a report is about: by a thread of a
/// block, counted.
void setOther(Report &report, const Launch &launch, const Dim3 &block,
              uint32_t thread, uint32_t pc);
std::string instructionText(const Program &program, const Inst &inst);

// Execution (Execute.cpp)
// ------------------------------------------------------

enum class TurnEnd : uint8_t { Blocked, Finished, Yielded };
/// Runs a warp until it finishes, waits, or has used up `budget` instructions.
TurnEnd runWarp(Warp &warp, uint64_t budget);
inline bool isReady(const Warp &warp) {
  for (unsigned i = 0; i < warp.numGroups; ++i)
    if (warp.groups[i].state == LaneGroup::Ready)
      return true;
  return false;
}

// Barriers (Barriers.cpp)
// ------------------------------------------------------

/// Lanes of a warp arrive; they wait (as a group at `pc`) unless the barrier
/// instruction only arrives.
void arriveAtBarrier(Warp &warp, const Inst &inst, uint32_t mask, uint32_t pc);
/// Completes barriers that threads which have exited no longer hold up.
void lanesExited(Warp &warp, uint32_t mask);
void arriveAtClusterBarrier(Warp &warp, const Inst &inst, uint32_t mask);
bool clusterBarrierDone(Warp &warp, const Inst &inst, uint32_t mask);
/// Says why nothing in the cluster can run.
void reportDeadlock(Cluster &cluster);
/// Lets a cluster pass its barrier if all of it waits there.
bool releaseClusterBarrier(Cluster &cluster);

/// Adds a group, merging with one at the same place.
void putGroup(Warp &warp, uint32_t pc, uint32_t mask,
              LaneGroup::State state = LaneGroup::Ready, uint8_t barrier = 0);

// Scheduling (Schedule.cpp)
// ----------------------------------------------------

void runWorker(Launch &launch, Worker &worker, bool showProgress);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_STATE_H
