// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which blocks run where and which of their warps next. A worker takes clusters
// in order and runs each to its end; one that only waits makes room for the
// next, so that blocks may wait for each other.
#include "Async.h"
#include "Checks.h"
#include "Clocks.h"
#include "Handlers.h"
#include "Spins.h"
#include "Stack.h"
#include "State.h"

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace ptxsim;

/// Instructions a warp may issue before the next one runs.
static constexpr uint64_t turnBudget = 200000;
/// The same while they modify no memory: it may be that they spin. Some times
/// what the groups of a warp take in turns.
static constexpr uint64_t watchedBudget = 10000;
/// Rounds without an event after which another cluster gets its chance: if all
/// its warps wait, and if some may be computing.
static constexpr unsigned idleRoundsAllowed = 4, busyRoundsAllowed = 8;
static constexpr size_t maxResidentBytes = size_t(1) << 30;

Block::Block() = default;
Block::~Block() { free(registers); }
Block::Block(Block &&other) noexcept
    : launch(other.launch), worker(other.worker), cluster(other.cluster),
      warps(std::move(other.warps)), registers(other.registers),
      registerStride(other.registerStride), shared(std::move(other.shared)),
      local(std::move(other.local)),
      localWritten(std::move(other.localWritten)),
      stacks(std::move(other.stacks)), shadow(std::move(other.shadow)),
      async(std::move(other.async)) {
  other.registers = nullptr;
}

namespace {

using HostClock = std::chrono::steady_clock;
/// A launch is long after the first of these; then progress is shown this
/// often.
constexpr std::chrono::milliseconds firstProgress(500), progressInterval(100);

class Runner {
public:
  Runner(Launch &launch, Worker &worker)
      : launch(launch), worker(worker), program(*launch.program) {}

  void run(bool showProgress);

private:
  bool allocate(Cluster &cluster);
  void begin(Cluster &cluster, uint64_t number);
  void beginBlock(Block &block);
  void fillSpecials(Block &block, Warp &warp);
  /// Runs every warp that can run once; false if none could.
  bool round(Cluster &cluster);
  void finish(Cluster &cluster);
  /// Instructions until the limit of the launch; fails the launch at none.
  uint64_t instructionsLeft();
  /// Runs a warp for up to a budget of instructions; less if it may spin.
  TurnEnd turn(Warp &warp, uint64_t budget);
  size_t residentBytes() const;
  bool all(bool (*is)(const Cluster &)) const;
  /// No other worker has anything left to run.
  bool isLast() const;

  Launch &launch;
  Worker &worker;
  const Program &program;
  std::vector<std::unique_ptr<Cluster>> free;
  std::vector<std::unique_ptr<Cluster>> resident;
  std::vector<Warp *> order;
};

} // namespace

static uint64_t nextRandom(uint64_t &state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

size_t Runner::residentBytes() const {
  size_t perBlock = size_t(program.registerBytes) * launch.warpsPerBlock +
                    launch.sharedBytes +
                    launch.localStride * launch.warpsPerBlock * 32;
  if (launch.tools & RaceCheck)
    perBlock += launch.sharedBytes * sizeof(RaceCell) * 5 / 4;
  return perBlock * launch.clusterBlocks * (resident.size() + 1);
}

bool Runner::all(bool (*is)(const Cluster &)) const {
  return std::all_of(resident.begin(), resident.end(),
                     [&](const auto &cluster) { return is(*cluster); });
}

bool Runner::isLast() const {
  return launch.numWorkers == 1 ||
         launch.blocksDone.load() + resident.size() * launch.clusterBlocks ==
             launch.config.grid.count();
}

bool Runner::allocate(Cluster &cluster) {
  cluster.blocks.resize(launch.clusterBlocks);
  uint32_t rank = 0;
  for (Block &block : cluster.blocks) {
    block.launch = &launch;
    block.worker = &worker;
    block.cluster = &cluster;
    block.rank = rank++;
    block.registerStride = (program.registerBytes + 255) / 256 * 256;
    size_t bytes =
        std::max<size_t>(block.registerStride, 256) * launch.warpsPerBlock;
    void *memory = nullptr;
    if (posix_memalign(&memory, 256, bytes) != 0)
      return false;
    memset(memory, 0, bytes);
    block.registers = static_cast<char *>(memory);
    block.shared.assign(launch.sharedBytes, 0);
    block.local.assign(launch.localStride * launch.warpsPerBlock * 32, 0);
    if (program.usesStack)
      block.stacks.resize(size_t(launch.warpsPerBlock) * 32);
    block.warps.resize(launch.warpsPerBlock);
    for (uint32_t index = 0; index < launch.warpsPerBlock; ++index) {
      Warp &warp = block.warps[index];
      warp.regs = block.registers + index * block.registerStride;
      warp.params = launch.params.data();
      warp.operands = program.operands.data();
      warp.ranges = worker.ranges.data();
      warp.sharedBase = block.shared.data();
      warp.sharedSize = block.shared.size();
      warp.block = &block;
      warp.worker = &worker;
      warp.index = index;
      for (const Program::Constant &constant : program.constants) {
        if (constant.width == 0) {
          warp.pred(constant.slot) = uint32_t(constant.low);
          continue;
        }
        uint64_t value[2] = {constant.low, constant.high};
        for (unsigned l = 0; l < 32; ++l)
          memcpy(warp.regs + constant.slot + l * constant.width, value,
                 constant.width);
      }
    }
    prepareShadow(block);
  }
  return true;
}

void Runner::fillSpecials(Block &block, Warp &warp) {
  const LaunchConfig &config = launch.config;
  const Dim3 &cluster = launch.clusterDim;
  auto perBlock = [&](Special special) -> uint32_t {
    switch (special) {
    case Special::GridId:
      return launch.gridId;
    case Special::NtidX:
      return config.block.x;
    case Special::NtidY:
      return config.block.y;
    case Special::NtidZ:
      return config.block.z;
    case Special::CtaidX:
      return block.index.x;
    case Special::CtaidY:
      return block.index.y;
    case Special::CtaidZ:
      return block.index.z;
    case Special::NctaidX:
      return config.grid.x;
    case Special::NctaidY:
      return config.grid.y;
    case Special::NctaidZ:
      return config.grid.z;
    case Special::ClusteridX:
      return block.index.x / cluster.x;
    case Special::ClusteridY:
      return block.index.y / cluster.y;
    case Special::ClusteridZ:
      return block.index.z / cluster.z;
    case Special::NclusteridX:
      return config.grid.x / cluster.x;
    case Special::NclusteridY:
      return config.grid.y / cluster.y;
    case Special::NclusteridZ:
      return config.grid.z / cluster.z;
    case Special::ClusterCtaidX:
      return block.index.x % cluster.x;
    case Special::ClusterCtaidY:
      return block.index.y % cluster.y;
    case Special::ClusterCtaidZ:
      return block.index.z % cluster.z;
    case Special::ClusterNctaidX:
      return cluster.x;
    case Special::ClusterNctaidY:
      return cluster.y;
    case Special::ClusterNctaidZ:
      return cluster.z;
    case Special::ClusterCtarank:
      return block.rank;
    case Special::ClusterNctarank:
      return launch.clusterBlocks;
    case Special::Warpid:
      return warp.index;
    case Special::Nwarpid:
      return launch.warpsPerBlock;
    case Special::Nsmid:
      return 1;
    case Special::DynamicSmemSize:
      return config.dynamicSharedBytes;
    case Special::TotalSmemSize:
      return program.staticSharedBytes + config.dynamicSharedBytes;
    case Special::AggrSmemSize:
      return program.staticSharedBytes + config.dynamicSharedBytes +
             reservedSharedBytes;
    case Special::ReservedSmemBegin:
    case Special::ReservedSmemFirst:
      return launch.reservedShared;
    case Special::ReservedSmemSecond:
      return launch.reservedShared + reservedSharedBytes / 2;
    case Special::ReservedSmemEnd:
      return launch.reservedShared + reservedSharedBytes;
    case Special::ReservedSmemCap:
      return reservedSharedBytes;
    case Special::IsExplicitCluster:
      return launch.clusterBlocks > 1;
    case Special::GridWorkspaceHigh:
      return uint32_t(launch.gridWorkspace >> 32);
    case Special::GridWorkspaceLow:
      return uint32_t(launch.gridWorkspace);
    default:
      return 0;
    }
  };
  for (const Program::SpecialSlot &slot : program.specials) {
    uint32_t *d = warp.reg<uint32_t>(slot.slot);
    for (uint32_t l = 0; l < 32; ++l) {
      uint32_t thread = warp.index * 32 + l;
      switch (slot.special) {
      case Special::TidX:
        d[l] = thread % config.block.x;
        break;
      case Special::TidY:
        d[l] = thread / config.block.x % config.block.y;
        break;
      case Special::TidZ:
        d[l] = thread / config.block.x / config.block.y;
        break;
      case Special::Laneid:
        d[l] = l;
        break;
      case Special::LanemaskEq:
        d[l] = 1u << l;
        break;
      case Special::LanemaskLt:
        d[l] = (1u << l) - 1;
        break;
      case Special::LanemaskLe:
        d[l] = (2u << l) - 1;
        break;
      case Special::LanemaskGt:
        d[l] = ~((2u << l) - 1);
        break;
      case Special::LanemaskGe:
        d[l] = ~((1u << l) - 1);
        break;
      default:
        d[l] = perBlock(slot.special);
      }
    }
  }
}

void Runner::beginBlock(Block &block) {
  block.numFinished = 0;
  for (NamedBarrier &barrier : block.barriers)
    barrier = NamedBarrier();
  for (Warp &warp : block.warps) {
    uint32_t first = warp.index * 32;
    uint32_t lanes = std::min(32u, launch.threadsPerBlock - first);
    warp.live = lanes == 32 ? ~0u : (1u << lanes) - 1;
    warp.yield = false;
    warp.rotation = 0;
    warp.trapAhead = nullptr;
    warp.numGroups = 1;
    warp.groups[0] = {program.entry, warp.live, LaneGroup::Ready, 0};
    fillSpecials(block, warp);
  }
  for (ThreadStack &stack : block.stacks)
    stack.clear();
  if (program.usesReservedShared)
    memset(block.shared.data() + launch.reservedShared, 0, reservedSharedBytes);
  resetShadow(block);
  resetInitialisation(block);
  resetAsync(block);
}

void Runner::begin(Cluster &cluster, uint64_t number) {
  const Dim3 &grid = launch.config.grid, &dim = launch.clusterDim;
  uint64_t clustersX = grid.x / dim.x, clustersY = grid.y / dim.y;
  Dim3 origin = {uint32_t(number % clustersX) * dim.x,
                 uint32_t(number / clustersX % clustersY) * dim.y,
                 uint32_t(number / clustersX / clustersY) * dim.z};
  cluster.number = number;
  cluster.done = false;
  cluster.idleRounds = 0;
  endSpinning(cluster);
  cluster.instructions = 0;
  cluster.clusterArrivedLanes.assign(
      size_t(launch.clusterBlocks) * launch.warpsPerBlock, 0);
  for (Block &block : cluster.blocks) {
    uint32_t rank = block.rank;
    block.index = {origin.x + rank % dim.x, origin.y + rank / dim.x % dim.y,
                   origin.z + rank / dim.x / dim.y};
    block.linear = (uint64_t(block.index.z) * grid.y + block.index.y) * grid.x +
                   block.index.x;
    beginBlock(block);
  }
  resetClocks(cluster);
  cluster.firstBlock = cluster.blocks[0].linear;
}

uint64_t Runner::instructionsLeft() {
  uint64_t limit = launch.options->instructionLimit;
  if (!limit)
    return ~uint64_t(0);
  uint64_t issued = launch.instructionsDone.load() + worker.warpInstructions;
  if (issued < limit)
    return limit - issued;
  worker.failed = true;
  worker.failure =
      std::to_string(limit) + " instructions issued, which is the limit given";
  launch.stop = true;
  return 0;
}

TurnEnd Runner::turn(Warp &warp, uint64_t budget) {
  uint64_t before = warp.modifications;
  uint64_t watched = std::min(watchedBudget, budget);
  uint64_t issued = worker.warpInstructions;
  TurnEnd end = runWarp(warp, watched);
  bool isUsed = worker.warpInstructions - issued >= watched;
  if (isUsed && end == TurnEnd::Yielded && warp.modifications != before)
    end = runWarp(warp, budget - watched);
  return end;
}

bool Runner::round(Cluster &cluster) {
  order.clear();
  for (Block &block : cluster.blocks)
    for (Warp &warp : block.warps)
      if (warp.live)
        order.push_back(&warp);
  if (launch.options->seed) {
    uint64_t state = launch.options->seed * 0x2545f4914f6cdd1d +
                     cluster.firstBlock + cluster.instructions;
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[nextRandom(state) % i]);
  }
  bool ran = false, waited = true, onlyWaits = true;
  uint64_t modifications = worker.modifications;
  for (Warp *warp : order) {
    if (!isReady(*warp))
      continue;
    ran = true;
    uint64_t left = instructionsLeft();
    if (!left)
      return true;
    uint64_t before = worker.warpInstructions;
    uint64_t modified = warp->modifications;
    uint64_t budget = std::min(turnBudget, left);
    TurnEnd end = turn(*warp, budget);
    worker.modifications += warp->modifications - modified;
    uint64_t issued = worker.warpInstructions - before;
    cluster.instructions += issued;
    waited &= end == TurnEnd::Yielded;
    onlyWaits &= issued < std::min(watchedBudget, budget);
    if (launch.stop.load(std::memory_order_relaxed))
      return true;
  }
  cluster.done = true;
  for (Block &block : cluster.blocks)
    cluster.done &= block.numFinished == block.warps.size();
  cluster.idleRounds = ran && waited ? cluster.idleRounds + 1 : 0;
  cluster.onlyWaits = onlyWaits;
  cluster.hasModified = worker.modifications != modifications;
  return ran;
}

void Runner::finish(Cluster &cluster) {
  for (Block &block : cluster.blocks)
    finishAsync(block);
  launch.blocksDone.fetch_add(launch.clusterBlocks, std::memory_order_relaxed);
}

void Runner::run(bool showProgress) {
#if defined(__x86_64__)
  // Denormals as IEEE 754 has them, whatever the embedding process does.
  unsigned savedState = _mm_getcsr();
  _mm_setcsr(0x1f80);
#endif
  size_t current = 0;
  bool exhausted = false;
  const auto &progress = launch.options->progress;
  auto nextProgress = HostClock::now() + firstProgress;
  auto mayShowProgress = [&] {
    if (!showProgress || !progress || HostClock::now() < nextProgress)
      return;
    nextProgress = HostClock::now() + progressInterval;
    progress(launch.blocksDone, launch.config.grid.count());
  };
  auto open = [&]() -> bool {
    if (exhausted)
      return false;
    uint64_t number = launch.nextCluster.fetch_add(1);
    if (number >= launch.numClusters) {
      exhausted = true;
      return false;
    }
    if (free.empty()) {
      free.push_back(std::make_unique<Cluster>());
      if (!allocate(*free.back())) {
        worker.failed = true;
        worker.failure = "out of memory for the registers of a block";
        launch.stop = true;
        return false;
      }
    }
    resident.push_back(std::move(free.back()));
    free.pop_back();
    begin(*resident.back(), number);
    current = resident.size() - 1;
    return true;
  };

  while (!launch.stop.load(std::memory_order_relaxed)) {
    if (resident.empty() && !open())
      break;
    current %= resident.size();
    Cluster &cluster = *resident[current];
    bool ran = round(cluster);
    mayShowProgress();
    if (launch.stop.load(std::memory_order_relaxed))
      break;
    if (cluster.done) {
      finish(cluster);
      free.push_back(std::move(resident[current]));
      resident.erase(resident.begin() + long(current));
      continue;
    }
    if (!ran) {
      // Everyone waits: first for the cluster barrier, then for copies.
      if (releaseClusterBarrier(cluster))
        continue;
      if (advanceAsync(cluster)) {
        ++worker.modifications;
        continue;
      }
      reportDeadlock(cluster);
      break;
    }
    if (!cluster.idleRounds) {
      endSpinning(cluster);
    } else if (advanceAsync(cluster)) {
      ++worker.modifications;
      endSpinning(cluster);
    } else {
      noteIdleRound(cluster);
      if (cluster.idleRounds >=
          (cluster.onlyWaits ? idleRoundsAllowed : busyRoundsAllowed)) {
        cluster.idleRounds = 0;
        // What it waits for may be the work of another block.
        bool opened = residentBytes() < maxResidentBytes && open();
        if (!opened && all(waitsForTime)) {
          if (program.readsTime && passTime(worker, resident)) {
            for (auto &waiting : resident)
              lookAgain(*waiting);
          } else if (isLast() && all(waitsForEver)) {
            for (auto &stuck : resident)
              reportDeadlock(*stuck);
            break;
          }
        }
        if (!opened)
          ++current;
      }
    }
  }
  launch.instructionsDone.fetch_add(worker.warpInstructions);
#if defined(__x86_64__)
  _mm_setcsr(savedState);
#endif
}

void ptxsim::runWorker(Launch &launch, Worker &worker, bool showProgress) {
  Runner(launch, worker).run(showProgress);
}
