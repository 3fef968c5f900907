//===- SimDevice.cpp - The embedded simulator as a device ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimStream.h"

#include "kvcache/Runtime/Device.h"
#include "kvcache/Runtime/Image.h"
#include "kvcache/Runtime/Settings.h"
#include "kvcache/Simulator/Device.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace kvrt;

namespace {

class SimModule;

class SimKernel : public Kernel,
                  public std::enable_shared_from_this<SimKernel> {
public:
  SimKernel(std::shared_ptr<SimModule> module, const ptxsim::KernelInfo &info)
      : module(std::move(module)), info(info) {}
  const std::string &name() const override { return info.name; }
  std::optional<std::vector<size_t>> paramSizes() const override {
    std::vector<size_t> sizes;
    sizes.reserve(info.params.size());
    for (const ptxsim::ParamInfo &param : info.params)
      sizes.push_back(param.size);
    return sizes;
  }

  const std::shared_ptr<SimModule> module;
  const ptxsim::KernelInfo &info;
};

class SimModule : public Module,
                  public std::enable_shared_from_this<SimModule> {
public:
  SimModule(std::shared_ptr<ptxsim::Device> device,
            std::shared_ptr<const ptxsim::Module> parsed,
            ptxsim::LoadedModule *loaded)
      : device(std::move(device)), parsed(std::move(parsed)), loaded(loaded) {}
  ~SimModule() override { (void)device->unload(loaded); }

  Result<std::shared_ptr<Kernel>> kernel(const std::string &name) override {
    if (const ptxsim::KernelInfo *info = parsed->findKernel(name))
      return std::shared_ptr<Kernel>(
          std::make_shared<SimKernel>(shared_from_this(), *info));
    std::string text = "the module has no kernel '" + name + "'; it has ";
    if (parsed->kernels().empty())
      text += "none";
    for (const ptxsim::KernelInfo &info : parsed->kernels())
      text +=
          (&info == &parsed->kernels().front() ? "'" : ", '") + info.name + "'";
    return Status::error(std::move(text));
  }

  const std::shared_ptr<ptxsim::Device> device;
  const std::shared_ptr<const ptxsim::Module> parsed;
  ptxsim::LoadedModule *const loaded;
};

class SimDevice : public Device {
public:
  explicit SimDevice(const Settings &settings);

  std::string description() const override {
    return "sim: embedded PTX simulator";
  }
  std::string chip() const override { return ""; }
  Result<void *> allocate(uint64_t bytes, bool hostShared) override;
  Status free(void *pointer, Stream *stream) override;
  Status copy(void *dst, const void *src, uint64_t bytes,
              Stream *stream) override;
  Status set(void *dst, uint32_t value, unsigned elementBytes, uint64_t count,
             Stream *stream) override;
  Status registerHost(void *pointer, uint64_t bytes) override;
  Status unregisterHost(void *pointer) override;
  Result<std::shared_ptr<Module>> loadModule(const void *image, size_t bytes,
                                             int optLevel) override;
  Status launch(Kernel &kernel, const LaunchConfig &config, void *const *params,
                std::optional<size_t> numParams, Stream *stream) override;
  Result<std::shared_ptr<Stream>> createStream() override {
    return std::shared_ptr<Stream>(std::make_shared<SimStream>(scheduler));
  }
  Result<std::shared_ptr<Event>> createEvent(bool /*timed*/) override {
    return std::shared_ptr<Event>(std::make_shared<SimEvent>(scheduler));
  }
  Status synchronize() override { return scheduler->reachAll(); }
  Status lost() const override { return scheduler->lost(); }
  bool describeFault(const void *address, std::string &place) const override {
    return sim->options().hostUnreadable && sim->tryDescribe(address, place);
  }
  Result<ptxsim::TensorMap> encodeTensorMap(const ptxsim::TensorMapSpec &spec,
                                            uint32_t) override {
    return ptxsim::encodeTensorMap(spec);
  }

  std::vector<ptxsim::Report> reports() const override {
    std::lock_guard<std::mutex> guard(resultsLock);
    return allReports;
  }
  uint64_t numFindings() const override {
    std::lock_guard<std::mutex> guard(resultsLock);
    return findings;
  }
  std::vector<KernelCounters> counters() const override {
    std::lock_guard<std::mutex> guard(resultsLock);
    return allCounters;
  }

private:
  /// Gives work to a stream of this device, or to all of it.
  Status submit(Stream *stream, std::function<Status()> run,
                WorkKind kind = WorkKind::Use);
  Status runLaunch(const SimKernel &kernel, const ptxsim::LaunchConfig &config,
                   const std::vector<char> &params);
  void collect(const std::string &kernel, ptxsim::LaunchResult &result);
  /// Merges into what earlier launches found; the reports of new places.
  std::vector<ptxsim::Report> merge(std::vector<ptxsim::Report> &reports);

  const std::shared_ptr<ptxsim::Device> sim;
  const std::shared_ptr<StreamScheduler> scheduler;
  ptxsim::LaunchOptions launchOptions;
  std::atomic<unsigned> numModules{0};

  mutable std::mutex resultsLock;
  std::vector<ptxsim::Report> allReports;
  uint64_t findings = 0;
  std::vector<KernelCounters> allCounters;
};

ptxsim::DeviceOptions deviceOptions(const Settings &settings) {
  ptxsim::DeviceOptions options;
  options.trackInitialisation = settings.tools & ptxsim::InitCheck;
  options.hostUnreadable = settings.hostUnreadable;
  return options;
}

SimDevice::SimDevice(const Settings &settings)
    : sim(std::make_shared<ptxsim::Device>(deviceOptions(settings))),
      scheduler(std::make_shared<StreamScheduler>(settings.lateStreams)) {
  launchOptions.tools = settings.tools;
  launchOptions.counters = settings.count;
  launchOptions.seed = settings.seed;
  launchOptions.threads = settings.threads;
  launchOptions.reportLimit = settings.printLimit;
  launchOptions.instructionLimit = settings.instructionLimit;
}

Status SimDevice::submit(Stream *stream, std::function<Status()> run,
                         WorkKind kind) {
  if (!stream)
    return scheduler->submit(nullptr, std::move(run), kind);
  auto *own = dynamic_cast<SimStream *>(stream);
  if (!own || own->scheduler != scheduler)
    return Status::error("the stream belongs to another device");
  return scheduler->submit(own->queue, std::move(run), kind);
}

Result<void *> SimDevice::allocate(uint64_t bytes, bool hostShared) {
  if (Status refused = lost(); !refused.ok())
    return refused;
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  return sim->allocate(bytes, {},
                       hostShared ? ptxsim::AllocationKind::HostShared
                                  : ptxsim::AllocationKind::Device);
}

Status SimDevice::free(void *pointer, Stream *stream) {
  if (!pointer)
    return {};
  return submit(stream, [=] { return sim->free(pointer); }, WorkKind::Release);
}

Status SimDevice::copy(void *dst, const void *src, uint64_t bytes,
                       Stream *stream) {
  return submit(stream, [=] { return sim->copy(dst, src, bytes); });
}

Status SimDevice::set(void *dst, uint32_t value, unsigned elementBytes,
                      uint64_t count, Stream *stream) {
  return submit(stream, [=]() -> Status {
    switch (elementBytes) {
    case 1:
      return sim->set8(dst, static_cast<uint8_t>(value), count);
    case 2:
      return sim->set16(dst, static_cast<uint16_t>(value), count);
    case 4:
      return sim->set32(dst, value, count);
    default:
      return Status::error("expected elements of 1, 2 or 4 bytes, got " +
                           std::to_string(elementBytes));
    }
  });
}

Status SimDevice::registerHost(void *pointer, uint64_t bytes) {
  if (Status refused = lost(); !refused.ok())
    return refused;
  return sim->registerHost(pointer, bytes);
}

Status SimDevice::unregisterHost(void *pointer) {
  return sim->unregisterHost(pointer);
}

Result<std::shared_ptr<Module>>
SimDevice::loadModule(const void *image, size_t bytes, int /*optLevel*/) {
  if (Status refused = lost(); !refused.ok())
    return refused;
  Result<std::string> ptx = extractPTX(image, bytes);
  if (!ptx.ok())
    return ptx.status();
  std::string name = "<module " + std::to_string(++numModules) + ">";
  Result<std::shared_ptr<const ptxsim::Module>> parsed =
      ptxsim::Module::parse(*ptx, name);
  if (!parsed.ok())
    return parsed.status();
  Result<ptxsim::LoadedModule *> loaded = sim->load(*parsed);
  if (!loaded.ok())
    return loaded.status();
  return std::shared_ptr<Module>(
      std::make_shared<SimModule>(sim, *parsed, *loaded));
}

ptxsim::Dim3 narrow(const Extent &e) {
  return {static_cast<uint32_t>(e.x), static_cast<uint32_t>(e.y),
          static_cast<uint32_t>(e.z)};
}

Status SimDevice::launch(Kernel &kernel, const LaunchConfig &config,
                         void *const *params, std::optional<size_t> numParams,
                         Stream *stream) {
  auto *own = dynamic_cast<SimKernel *>(&kernel);
  if (!own || own->module->device != sim)
    return Status::error("kernel '" + kernel.name() +
                         "' belongs to another device");
  if (Status status = checkLaunchConfig(kernel.name(), config); !status.ok())
    return status;
  const ptxsim::KernelInfo &info = own->info;
  if (Status status =
          checkNumParams(info.name, info.params.size(), params, numParams);
      !status.ok())
    return status;
  // The values count as they are now, whenever the launch runs.
  std::vector<char> block(info.paramBytes);
  for (size_t i = 0; i < info.params.size(); ++i)
    std::memcpy(block.data() + info.params[i].offset, params[i],
                info.params[i].size);
  ptxsim::LaunchConfig launch;
  launch.grid = narrow(config.grid);
  launch.block = narrow(config.block);
  if (config.cluster)
    launch.cluster = narrow(*config.cluster);
  launch.dynamicSharedBytes = static_cast<uint32_t>(config.dynamicSharedBytes);
  std::shared_ptr<SimKernel> kept = own->shared_from_this();
  return submit(stream, [this, kept, launch, block = std::move(block)] {
    return runLaunch(*kept, launch, block);
  });
}

Status SimDevice::runLaunch(const SimKernel &kernel,
                            const ptxsim::LaunchConfig &config,
                            const std::vector<char> &params) {
  ptxsim::LaunchResult result =
      sim->launch(kernel.module->loaded, kernel.name(), config, params.data(),
                  params.size(), launchOptions);
  collect(kernel.name(), result);
  if (result.outcome == ptxsim::LaunchOutcome::Completed)
    return {};
  // The simulator names the kernel in some messages.
  std::string why = result.status.message();
  for (const char *form : {"launch of '%': ", "kernel '%' failed: "}) {
    std::string prefix = form;
    prefix.replace(prefix.find('%'), 1, kernel.name());
    if (why.compare(0, prefix.size(), prefix) == 0)
      why.erase(0, prefix.size());
  }
  bool refused = result.outcome == ptxsim::LaunchOutcome::Refused;
  std::string text = "launch of kernel '" + kernel.name() +
                     (refused ? "' was refused: " : "' failed: ") + why;
  if (!refused)
    scheduler->lose(text);
  return Status::error(std::move(text));
}

void SimDevice::collect(const std::string &kernel,
                        ptxsim::LaunchResult &result) {
  std::vector<ptxsim::Report> fresh;
  {
    std::lock_guard<std::mutex> guard(resultsLock);
    findings += result.numFindings;
    fresh = merge(result.reports);
    if (launchOptions.counters) {
      auto same = [&](const KernelCounters &c) { return c.kernel == kernel; };
      auto it = std::find_if(allCounters.begin(), allCounters.end(), same);
      if (it == allCounters.end())
        it = allCounters.insert(it, KernelCounters{kernel, 0, {}});
      ++it->launches;
      it->counters.add(result.counters);
    }
  }
  if (onReport)
    for (const ptxsim::Report &report : fresh)
      onReport(report);
}

std::vector<ptxsim::Report>
SimDevice::merge(std::vector<ptxsim::Report> &reports) {
  std::vector<ptxsim::Report> fresh;
  for (ptxsim::Report &report : reports) {
    auto same = [&](const ptxsim::Report &other) {
      return other.tool == report.tool && other.kind == report.kind &&
             other.kernel == report.kernel && other.ptxLine == report.ptxLine &&
             other.ptxText == report.ptxText;
    };
    auto it = std::find_if(allReports.begin(), allReports.end(), same);
    if (it != allReports.end()) {
      it->count += report.count;
    } else if (!launchOptions.reportLimit ||
               allReports.size() < launchOptions.reportLimit) {
      allReports.push_back(report);
      fresh.push_back(std::move(report));
    }
  }
  return fresh;
}

} // namespace

Result<std::shared_ptr<Device>> kvrt::openSimDevice(const Settings &settings) {
  return std::shared_ptr<Device>(std::make_shared<SimDevice>(settings));
}
