//===- Device.cpp - What both devices share -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Runtime/Device.h"

#include "kvcache/Runtime/Settings.h"
#include "kvcache/Simulator/HostMemory.h"

#include <cstdio>

using namespace kvrt;

namespace {

std::string spell(const Extent &e) {
  return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " +
         std::to_string(e.z);
}

/// Sizes must lie in 1..limit in each dimension.
Status checkExtent(const std::string &who, const char *what, const Extent &e,
                   const Extent &limit) {
  if (e.x <= 0 || e.y <= 0 || e.z <= 0)
    return Status::error(who + what + " " + spell(e) +
                         ": every size must be at least 1; launch nothing "
                         "where there is no work");
  if (e.x > limit.x || e.y > limit.y || e.z > limit.z)
    return Status::error(who + what + " " + spell(e) + " is above the limit " +
                         spell(limit));
  return {};
}

} // namespace

Status kvrt::checkLaunchConfig(std::string_view kernel,
                               const LaunchConfig &config) {
  // The limits of every compute capability from 3.0 on.
  const Extent maxGrid{0x7fffffff, 65535, 65535}, maxBlock{1024, 1024, 64};
  const int64_t maxThreads = 1024;
  std::string who = "launch of kernel '" + std::string(kernel) + "': ";
  if (Status s = checkExtent(who, "grid", config.grid, maxGrid); !s.ok())
    return s;
  if (Status s = checkExtent(who, "block", config.block, maxBlock); !s.ok())
    return s;
  int64_t threads = config.block.x * config.block.y * config.block.z;
  if (threads > maxThreads)
    return Status::error(who + "block " + spell(config.block) + " has " +
                         std::to_string(threads) + " threads, the limit is " +
                         std::to_string(maxThreads));
  if (config.dynamicSharedBytes < 0 || config.dynamicSharedBytes > 0x7fffffff)
    return Status::error(who + std::to_string(config.dynamicSharedBytes) +
                         " bytes of dynamic shared memory, expected 0 to "
                         "2147483647");
  if (!config.cluster)
    return {};
  const Extent &cluster = *config.cluster;
  if (Status s = checkExtent(who, "cluster", cluster, maxGrid); !s.ok())
    return s;
  if (config.grid.x % cluster.x || config.grid.y % cluster.y ||
      config.grid.z % cluster.z)
    return Status::error(who + "grid " + spell(config.grid) +
                         " is no multiple of the cluster " + spell(cluster));
  return {};
}

Status kvrt::checkNumParams(std::string_view kernel, size_t expected,
                            void *const *params, std::optional<size_t> given) {
  std::string who = "launch of kernel '" + std::string(kernel) + "': ";
  if (given && *given != expected)
    return Status::error(who + "the kernel takes " + std::to_string(expected) +
                         " parameters, the launch passes " +
                         std::to_string(*given));
  for (size_t i = 0; i < expected; ++i)
    if (!params || !params[i])
      return Status::error(who + "parameter " + std::to_string(i) + " of " +
                           std::to_string(expected) + " is missing");
  return {};
}

Status kvrt::checkReadable(const Kernel &kernel, void *const *params,
                           std::optional<size_t> given) {
  std::optional<std::vector<size_t>> sizes = kernel.paramSizes();
  if (!sizes || (given && (*given != sizes->size() || !params)))
    return {};
  for (size_t i = 0; i < sizes->size(); ++i)
    if (!ptxsim::isReadable(static_cast<const void *>(params + i),
                            sizeof *params) ||
        (!(given && !params[i]) && !ptxsim::isReadable(params[i], (*sizes)[i])))
      return Status::error(
          "launch of kernel '" + kernel.name() + "': argument " +
          std::to_string(i) + " of " + std::to_string(sizes->size()) + " (" +
          std::to_string((*sizes)[i]) + " bytes) cannot be read" +
          (given ? ""
                 : "; the kernel takes " + std::to_string(sizes->size()) +
                       " arguments, were fewer passed?"));
  return {};
}

std::string kvrt::countersText(const std::vector<KernelCounters> &all) {
  std::string text;
  for (const KernelCounters &c : all)
    text += "kernel '" + c.kernel + "', " + std::to_string(c.launches) +
            (c.launches == 1 ? " launch:\n" : " launches:\n") +
            c.counters.text();
  return text;
}

std::string kvrt::countersJson(const std::vector<KernelCounters> &all) {
  std::string text = "[";
  for (const KernelCounters &c : all) {
    // PTX identifiers need no escapes.
    text += std::string(&c == all.data() ? "" : ",") + "{\"kernel\":\"" +
            c.kernel + "\",\"launches\":" + std::to_string(c.launches) +
            ",\"counters\":" + c.counters.json() + "}";
  }
  return text + "]";
}

Result<std::shared_ptr<Device>> kvrt::openDevice(const Settings &settings) {
  if (settings.device == DeviceKind::Sim)
    return openSimDevice(settings);
  Result<std::shared_ptr<Device>> cuda = openCudaDevice(settings);
  if (cuda.ok() || settings.device == DeviceKind::Cuda)
    return cuda;
  if (settings.verbose)
    std::fprintf(stderr, "kvcache: no CUDA device: %s\n",
                 cuda.message().c_str());
  return openSimDevice(settings);
}
