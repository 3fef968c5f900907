// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks a launch, runs it on worker threads and puts their results together.
#include "Checks.h"
#include "Collect.h"
#include "DeviceImpl.h"
#include "PendingSources.h"
#include "Stack.h"
#include "State.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <thread>

using namespace ptxsim;

uint32_t ptxsim::maxSharedBytes(std::string_view target) {
  unsigned number = 0;
  for (char c : target)
    if (c >= '0' && c <= '9')
      number = number * 10 + unsigned(c - '0');
  switch (number) {
  case 80:
  case 87:
    return 163 * 1024;
  case 86:
  case 89:
  case 120:
  case 121:
    return 99 * 1024;
  case 70:
  case 72:
    return 96 * 1024;
  case 75:
    return 64 * 1024;
  default:
    return number >= 90 ? 227 * 1024 : 48 * 1024;
  }
}

Launch::Launch() = default;
Launch::~Launch() = default;

static std::string show(const Dim3 &d) {
  return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " +
         std::to_string(d.z);
}

static bool isZero(const Dim3 &d) { return d.x == 0 && d.y == 0 && d.z == 0; }

static Status checkConfig(const KernelInfo &kernel, std::string_view target,
                          const LaunchConfig &config, const Dim3 &cluster) {
  const Dim3 &grid = config.grid, &block = config.block;
  auto error = [&](const std::string &what) {
    return Status::error("launch of '" + kernel.name + "': " + what);
  };
  if (grid.count() == 0)
    return error("the grid " + show(grid) + " is empty");
  if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
    return error("the grid " + show(grid) +
                 " exceeds 2147483647 x 65535 x 65535");
  if (block.count() == 0)
    return error("the block " + show(block) + " is empty");
  if (block.x > 1024 || block.y > 1024 || block.z > 64 ||
      block.count() > maxThreadsPerBlock)
    return error("the block " + show(block) +
                 " exceeds 1024 threads or 1024 x 1024 x 64");
  if (kernel.maxThreads && block.count() > kernel.maxThreads)
    return error("the block has " + std::to_string(block.count()) +
                 " threads, the kernel allows " +
                 std::to_string(kernel.maxThreads) + " (.maxntid)");
  const Dim3 &required = kernel.requiredBlock;
  if (!isZero(required) &&
      (required.x != block.x || required.y != block.y || required.z != block.z))
    return error("the block is " + show(block) + ", the kernel requires " +
                 show(required) + " (.reqntid)");
  uint64_t shared =
      uint64_t(kernel.staticSharedBytes) + config.dynamicSharedBytes;
  if (shared > maxSharedBytes(target))
    return error(
        "shared memory of " + std::to_string(shared) + " bytes (" +
        std::to_string(kernel.staticSharedBytes) + " static, " +
        std::to_string(config.dynamicSharedBytes) + " dynamic) exceeds the " +
        std::to_string(maxSharedBytes(target)) + " of " + std::string(target));
  if (cluster.count() == 0 || cluster.count() > 16)
    return error("the cluster " + show(cluster) + " exceeds 16 blocks");
  if (grid.x % cluster.x || grid.y % cluster.y || grid.z % cluster.z)
    return error("the grid " + show(grid) +
                 " is not a multiple of the cluster " + show(cluster));
  const Dim3 &requiredCluster = kernel.requiredCluster;
  if (!isZero(requiredCluster) &&
      (requiredCluster.x != cluster.x || requiredCluster.y != cluster.y ||
       requiredCluster.z != cluster.z))
    return error("the cluster is " + show(cluster) + ", the kernel requires " +
                 show(requiredCluster));
  return {};
}

/// The findings of all workers, those of the earliest block first; which worker
/// ran a block must not show.
static void mergeFindings(std::vector<Worker> &workers, LaunchResult &result,
                          unsigned limit) {
  std::map<FindingKey, Finding> merged;
  for (Worker &worker : workers) {
    result.numFindings += worker.numFindings;
    for (auto &entry : worker.findings) {
      auto [it, isNew] = merged.try_emplace(entry.first, entry.second);
      if (isNew)
        continue;
      uint64_t count = it->second.report.count + entry.second.report.count;
      if (entry.second.block < it->second.block)
        it->second = entry.second;
      it->second.report.count = count;
    }
  }
  // By block, then by instruction.
  std::vector<std::pair<uint64_t, const Finding *>> order;
  std::map<const Finding *, size_t> rank;
  for (auto &entry : merged) {
    rank[&entry.second] = rank.size();
    order.emplace_back(entry.second.block, &entry.second);
  }
  std::sort(order.begin(), order.end(), [&](auto &a, auto &b) {
    return a.first != b.first ? a.first < b.first
                              : rank[a.second] < rank[b.second];
  });
  for (auto &entry : order)
    if (!limit || result.reports.size() < limit)
      result.reports.push_back(entry.second->report);
}

static LaunchResult refuse(Status status) {
  LaunchResult result;
  result.outcome = LaunchOutcome::Refused;
  result.status = std::move(status);
  return result;
}

/// The grid in blocks, of a kernel whose launches count clusters.
static Status countBlocks(const KernelInfo &kernel, Dim3 &grid) {
  const Dim3 &cluster = kernel.requiredCluster;
  uint64_t x = uint64_t(grid.x) * cluster.x, y = uint64_t(grid.y) * cluster.y,
           z = uint64_t(grid.z) * cluster.z;
  if (std::max({x, y, z}) > 0x7fffffff)
    return Status::error("launch of '" + kernel.name + "': a grid of " +
                         show(grid) + " clusters of " + show(cluster) +
                         " blocks has too many blocks");
  grid = {uint32_t(x), uint32_t(y), uint32_t(z)};
  return {};
}

static LaunchResult runLaunch(DeviceImpl &device, LoadedModule &loaded,
                              const ast::Function &function,
                              LaunchConfig config, const void *params,
                              const LaunchOptions &options) {
  const KernelInfo *info = loaded.module->findKernel(function.name);
  if (info->gridCountsClusters)
    if (Status counted = countBlocks(*info, config.grid); !counted.ok())
      return refuse(counted);
  Dim3 cluster = config.cluster;
  if (isZero(cluster))
    cluster =
        isZero(info->requiredCluster) ? Dim3{1, 1, 1} : info->requiredCluster;
  Status status = checkConfig(*info, loaded.module->target(), config, cluster);
  if (!status.ok())
    return refuse(status);
  if (options.tools & InitCheck && !device.options.trackInitialisation)
    return refuse(Status::error(
        "initcheck needs a device that tracks initialisation from the start"));

  DecodeOptions decodeOptions;
  decodeOptions.instrumented =
      options.tools || options.counters || device.options.trackInitialisation;
  decodeOptions.redZones = options.tools & MemCheck;
  decodeOptions.trackRegisters = options.tools & InitCheck;
  std::unique_ptr<Program> &program =
      loaded.programs[{&function, decodeOptions.instrumented,
                       decodeOptions.redZones, decodeOptions.trackRegisters}];
  if (!program) {
    AddressOf addressOf = [&](const ast::Variable &variable) -> uint64_t {
      auto it = loaded.aliases.find(&variable);
      return it == loaded.aliases.end() ? 0 : it->second;
    };
    Result<std::unique_ptr<Program>> decoded =
        decode(loaded.module->impl(), function, decodeOptions, addressOf);
    if (!decoded.ok())
      return refuse(decoded.status());
    program = std::move(*decoded);
  }

  Launch launch;
  launch.program = program.get();
  launch.options = &options;
  launch.memory = &device.memory.table;
  launch.manager = &device.memory;
  launch.trackInitialisation = device.options.trackInitialisation;
  launch.config = config;
  launch.clusterDim = cluster;
  launch.clusterBlocks = uint32_t(cluster.count());
  launch.numClusters = config.grid.count() / cluster.count();
  launch.threadsPerBlock = uint32_t(config.block.count());
  launch.warpsPerBlock = (launch.threadsPerBlock + 31) / 32;
  launch.sharedBytes = program->staticSharedBytes + config.dynamicSharedBytes;
  launch.reservedShared = launch.sharedBytes;
  if (program->usesReservedShared) {
    // Away from the dynamic memory, past whose end an access shall show.
    constexpr uint32_t unit = 128;
    launch.reservedShared = (launch.sharedBytes / unit + 2) * unit;
    launch.sharedBytes = launch.reservedShared + reservedSharedBytes;
  }
  launch.localStride = (uint64_t(program->localBytes) + 15) / 16 * 16;
  launch.tools = options.tools;
  launch.gridId = ++device.numLaunches;
  launch.instrumented = decodeOptions.instrumented;
  launch.kernelName = info->name;
  launch.params.assign(info->paramBytes + 16, 0);
  if (info->paramBytes)
    memcpy(launch.params.data(), params, info->paramBytes);
  // Red zones do not count.
  uint64_t local = 0;
  for (const LocalVariable &variable : program->localVariables)
    local += variable.size;
  if (local > stackLimit)
    return refuse(
        Status::error("launch of '" + info->name + "': local memory of " +
                      std::to_string(local) + " bytes a thread exceeds the " +
                      std::to_string(stackLimit) + " that a thread has"));
  if (launch.localStride * launch.warpsPerBlock * 32 > (uint64_t(1) << 33))
    return refuse(Status::error("local memory of " +
                                std::to_string(program->localBytes) +
                                " bytes a thread is too much"));

  device.memory.reviseHostMemory();
  bool hasGridBarrier = false;
  for (const Program::SpecialSlot &slot : program->specials)
    hasGridBarrier |= slot.special == Special::GridWorkspaceLow;
  if (hasGridBarrier) {
    Result<void *> workspace = device.memory.allocate(
        64, "workspace of the grid's barrier", AllocationKind::Global,
        device.options.trackInitialisation);
    if (!workspace.ok())
      return refuse(workspace.status());
    launch.gridWorkspace = uint64_t(*workspace);
    device.memory.setWritten(launch.gridWorkspace, 64);
  }

  unsigned threads =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  if (options.tools & RaceCheck) {
    launch.globalRaces = std::make_unique<GlobalRaces>(
        program->accessesBytes,
        program->ordersBlocks || launch.clusterBlocks > 1);
    launch.pendingSources = std::make_unique<PendingSources>();
  }
  if (options.tools & SyncCheck && program->asyncReadsGlobal &&
      program->writesGlobal)
    launch.globalProxy = std::make_unique<GlobalProxy>();
  // The race check reports the second of two accesses: it needs an order.
  if (program->orderDependent || options.trace || launch.globalRaces ||
      launch.globalProxy)
    threads = 1;
  threads = unsigned(std::min<uint64_t>(
      std::max(threads, 1u), std::min<uint64_t>(launch.numClusters, 256)));
  launch.numWorkers = threads;
  std::vector<Worker> workers(threads);
  for (Worker &worker : workers) {
    worker.launch = &launch;
    worker.timeAhead = device.time;
    // Instructions without operands may name the place behind the last.
    worker.ranges.resize(program->operands.size() + 1);
    if (options.counters)
      worker.counts.resize(program->code.size());
  }
  device.memory.setHostAccess(true);
  std::vector<std::thread> running;
  for (unsigned i = 1; i < threads; ++i)
    running.emplace_back(
        [&, i] { runWorker(launch, workers[i], /*showProgress=*/false); });
  runWorker(launch, workers[0], /*showProgress=*/true);
  for (std::thread &thread : running)
    thread.join();
  device.memory.setHostAccess(false);
  if (launch.gridWorkspace)
    device.memory.release(launch.gridWorkspace);

  LaunchResult result;
  mergeFindings(workers, result, options.reportLimit);
  const Worker *failed = nullptr;
  for (const Worker &worker : workers) {
    device.time = std::max(device.time, worker.time());
    result.warpInstructions += worker.warpInstructions;
    result.threadInstructions += worker.threadInstructions;
    if (worker.failed && (!failed || worker.failedBlock < failed->failedBlock))
      failed = &worker;
    if (options.counters) {
      collectCounters(*program, worker.counts, result.counters);
      result.counters.barriers += worker.barriers;
    }
  }
  if (options.counters) {
    uint64_t blocks = launch.blocksDone;
    result.counters.blocks = blocks;
    result.counters.warps = blocks * launch.warpsPerBlock;
    result.counters.threads = blocks * launch.threadsPerBlock;
  }
  if (failed) {
    result.outcome = LaunchOutcome::Failed;
    result.status =
        Status::error("kernel '" + info->name + "' failed: " + failed->failure);
  }
  return result;
}

LaunchResult Device::launch(LoadedModule *module, std::string_view kernel,
                            const LaunchConfig &config, const void *params,
                            size_t paramBytes, const LaunchOptions &options) {
  std::lock_guard<std::mutex> guard(impl->lock);
  if (!impl->isLoaded(module))
    return refuse(Status::error("the module is not loaded"));
  const KernelInfo *info = module->module->findKernel(kernel);
  if (!info)
    return refuse(Status::error("no kernel '" + std::string(kernel) + "' in " +
                                module->module->name()));
  if (paramBytes != info->paramBytes || (paramBytes && !params))
    return refuse(Status::error(
        "launch of '" + info->name + "': " + std::to_string(paramBytes) +
        " bytes of parameters given, the kernel takes " +
        std::to_string(info->paramBytes)));
  return runLaunch(*impl, *module, *module->module->impl().findFunction(kernel),
                   config, params, options);
}

LaunchResult Device::launch(LoadedModule *module, std::string_view kernel,
                            const LaunchConfig &config, void *const *params,
                            size_t numParams, const LaunchOptions &options) {
  const KernelInfo *info = nullptr;
  {
    std::lock_guard<std::mutex> guard(impl->lock);
    if (impl->isLoaded(module))
      info = module->module->findKernel(kernel);
  }
  std::vector<char> block;
  if (info) {
    if (numParams != info->params.size())
      return refuse(Status::error("launch of '" + info->name +
                                  "': " + std::to_string(numParams) +
                                  " arguments given, the kernel takes " +
                                  std::to_string(info->params.size())));
    block.assign(info->paramBytes, 0);
    for (size_t i = 0; i < numParams; ++i)
      if (info->params[i].size)
        memcpy(&block[info->params[i].offset], params[i], info->params[i].size);
  }
  return launch(module, kernel, config, static_cast<const void *>(block.data()),
                block.size(), options);
}
