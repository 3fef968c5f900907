//===- CudaDevice.cpp - A GPU through the CUDA driver ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Address.h"
#include "CudaDriver.h"

#include "kvcache/Runtime/Device.h"
#include "kvcache/Runtime/Image.h"
#include "kvcache/Runtime/Settings.h"

#include <map>
#include <mutex>
#include <vector>

using namespace kvrt;

namespace {

/// The device's primary context; it lives as long as the process, for the
/// driver may already be gone when static objects die.
struct CudaContext {
  std::shared_ptr<const cuda::Driver> driver;
  cuda::Context context = nullptr;
};

/// Makes the context the calling thread's for a scope, and gives the embedding
/// program's own back.
class ContextScope {
public:
  explicit ContextScope(const CudaContext &context)
      : driver(*context.driver),
        status(driver.check(driver.ctxPushCurrent(context.context),
                            "cuCtxPushCurrent")) {}
  ~ContextScope() {
    cuda::Context popped;
    if (status.ok())
      driver.ctxPopCurrent(&popped);
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;

  /// Evaluates `call` unless the context could not be entered.
  template <typename Call> Status run(const char *name, Call call) {
    return status.ok() ? driver.check(call(), name) : status;
  }

private:
  const cuda::Driver &driver;
  Status status;
};

class CudaEvent;

class CudaStream : public Stream {
public:
  CudaStream(CudaContext context, cuda::StreamHandle handle)
      : context(std::move(context)), handle(handle) {}
  ~CudaStream() override {
    (void)ContextScope(context).run("cuStreamDestroy", [&] {
      return context.driver->streamDestroy(handle);
    });
  }
  Status synchronize() override {
    return ContextScope(context).run("cuStreamSynchronize", [&] {
      return context.driver->streamSynchronize(handle);
    });
  }
  Status wait(Event &event) override;

  const CudaContext context;
  const cuda::StreamHandle handle;
};

class CudaEvent : public Event {
public:
  CudaEvent(CudaContext context, cuda::EventHandle handle)
      : context(std::move(context)), handle(handle) {}
  ~CudaEvent() override {
    (void)ContextScope(context).run(
        "cuEventDestroy", [&] { return context.driver->eventDestroy(handle); });
  }
  Status record(Stream &stream) override {
    auto *own = dynamic_cast<CudaStream *>(&stream);
    if (!own)
      return Status::error("the stream belongs to another device");
    return ContextScope(context).run("cuEventRecord", [&] {
      return context.driver->eventRecord(handle, own->handle);
    });
  }
  Status synchronize() override {
    return ContextScope(context).run("cuEventSynchronize", [&] {
      return context.driver->eventSynchronize(handle);
    });
  }
  Result<float> millisecondsSince(Event &begin) override {
    auto *own = dynamic_cast<CudaEvent *>(&begin);
    if (!own)
      return Status::error("the event belongs to another device");
    float milliseconds = 0;
    Status status = ContextScope(context).run("cuEventElapsedTime", [&] {
      return context.driver->eventElapsedTime(&milliseconds, own->handle,
                                              handle);
    });
    if (!status.ok())
      return status;
    return milliseconds;
  }

  const CudaContext context;
  const cuda::EventHandle handle;
};

Status CudaStream::wait(Event &event) {
  auto *own = dynamic_cast<CudaEvent *>(&event);
  if (!own)
    return Status::error("the event belongs to another device");
  return ContextScope(context).run("cuStreamWaitEvent", [&] {
    return context.driver->streamWaitEvent(handle, own->handle, 0);
  });
}

class CudaModule;

class CudaKernel : public Kernel {
public:
  CudaKernel(std::shared_ptr<CudaModule> module, std::string name,
             cuda::Function function);
  const std::string &name() const override { return kernelName; }
  std::optional<std::vector<size_t>> paramSizes() const override;

  const std::shared_ptr<CudaModule> module;
  const std::string kernelName;
  const cuda::Function function;
  /// Dynamic shared memory that has been asked for, so that launches by several
  /// threads do not take it back from each other.
  std::mutex allowedLock;
  int64_t allowedDynamic = 0;
};

class CudaModule : public Module,
                   public std::enable_shared_from_this<CudaModule> {
public:
  CudaModule(CudaContext context, cuda::ModuleHandle handle)
      : context(std::move(context)), handle(handle) {}
  ~CudaModule() override {
    (void)ContextScope(context).run(
        "cuModuleUnload", [&] { return context.driver->moduleUnload(handle); });
  }
  Result<std::shared_ptr<Kernel>> kernel(const std::string &name) override {
    cuda::Function function = nullptr;
    Status status = ContextScope(context).run("cuModuleGetFunction", [&] {
      return context.driver->moduleGetFunction(&function, handle, name.c_str());
    });
    if (!status.ok())
      return Status::error("kernel '" + name + "': " + status.message());
    return std::shared_ptr<Kernel>(
        std::make_shared<CudaKernel>(shared_from_this(), name, function));
  }

  const CudaContext context;
  const cuda::ModuleHandle handle;
};

CudaKernel::CudaKernel(std::shared_ptr<CudaModule> module, std::string name,
                       cuda::Function function)
    : module(std::move(module)), kernelName(std::move(name)),
      function(function) {}

std::optional<std::vector<size_t>> CudaKernel::paramSizes() const {
  const CudaContext &context = module->context;
  if (!context.driver->funcGetParamInfo)
    return std::nullopt;
  ContextScope scope(context);
  std::vector<size_t> sizes;
  for (size_t offset, size;; sizes.push_back(size))
    // The first index that does not exist is an error, which ends the list.
    if (!scope
             .run("cuFuncGetParamInfo",
                  [&] {
                    return context.driver->funcGetParamInfo(
                        function, sizes.size(), &offset, &size);
                  })
             .ok())
      return sizes;
}

class CudaDevice : public Device {
public:
  CudaDevice(CudaContext context, std::string text, std::string chip)
      : context(std::move(context)), text(std::move(text)),
        chipName(std::move(chip)) {}

  std::string description() const override { return text; }
  std::string chip() const override { return chipName; }
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
  Result<std::shared_ptr<Stream>> createStream() override;
  Result<std::shared_ptr<Event>> createEvent(bool timed) override;
  Status synchronize() override {
    return call("cuCtxSynchronize",
                [&] { return context.driver->ctxSynchronize(); });
  }
  Result<ptxsim::TensorMap> encodeTensorMap(const ptxsim::TensorMapSpec &spec,
                                            uint32_t l2Promotion) override;

private:
  template <typename Call> Status call(const char *name, Call body) const {
    return ContextScope(context).run(name, body);
  }
  /// Runs `body` with the stream's handle, or between two waits for everything.
  template <typename Call>
  Status onStream(Stream *stream, const char *name, Call body);
  Status allowDynamicShared(CudaKernel &kernel, int64_t bytes);
  Status allowCluster(const CudaKernel &kernel, const Extent &cluster);

  const CudaContext context;
  const std::string text, chipName;
  std::mutex registrationsLock;
  /// Registered ranges by their beginning. What lies inside of one is only
  /// counted: the driver refuses to register it again.
  struct Registration {
    uint64_t bytes = 0;
    unsigned count = 0;
  };
  using Registrations = std::map<uint64_t, Registration>;
  Registrations::iterator registrationOf(uint64_t address);
  Registrations registrations;
};

template <typename Call>
Status CudaDevice::onStream(Stream *stream, const char *name, Call body) {
  if (!stream) {
    if (Status status = synchronize(); !status.ok())
      return status;
    if (Status status = call(name, [&] { return body(nullptr); }); !status.ok())
      return status;
    return synchronize();
  }
  auto *own = dynamic_cast<CudaStream *>(stream);
  if (!own)
    return Status::error("the stream belongs to another device");
  return call(name, [&] { return body(own->handle); });
}

Result<void *> CudaDevice::allocate(uint64_t bytes, bool hostShared) {
  if (bytes == 0)
    return static_cast<void *>(nullptr);
  cuda::Pointer pointer = 0;
  Status status = hostShared
                      ? call("cuMemAllocManaged",
                             [&] {
                               return context.driver->memAllocManaged(
                                   &pointer, bytes, cuda::memAttachGlobal);
                             })
                      : call("cuMemAlloc", [&] {
                          return context.driver->memAlloc(&pointer, bytes);
                        });
  if (!status.ok())
    return Status::error("allocation of " + std::to_string(bytes) +
                         " bytes: " + status.message());
  return toPointer(pointer);
}

Status CudaDevice::free(void *pointer, Stream * /*freeing waits anyway*/) {
  if (!pointer)
    return {};
  return call("cuMemFree",
              [&] { return context.driver->memFree(toAddress(pointer)); });
}

Status CudaDevice::copy(void *dst, const void *src, uint64_t bytes,
                        Stream *stream) {
  if (bytes == 0)
    return {};
  return onStream(stream, "cuMemcpyAsync", [&](cuda::StreamHandle handle) {
    return context.driver->memcpyAsync(toAddress(dst), toAddress(src), bytes,
                                       handle);
  });
}

Status CudaDevice::set(void *dst, uint32_t value, unsigned elementBytes,
                       uint64_t count, Stream *stream) {
  if (count == 0)
    return {};
  const cuda::Driver &d = *context.driver;
  cuda::Pointer to = toAddress(dst);
  switch (elementBytes) {
  case 1:
    return onStream(stream, "cuMemsetD8Async", [&](cuda::StreamHandle handle) {
      return d.memsetD8Async(to, static_cast<uint8_t>(value), count, handle);
    });
  case 2:
    return onStream(stream, "cuMemsetD16Async", [&](cuda::StreamHandle handle) {
      return d.memsetD16Async(to, static_cast<uint16_t>(value), count, handle);
    });
  case 4:
    return onStream(stream, "cuMemsetD32Async", [&](cuda::StreamHandle handle) {
      return d.memsetD32Async(to, value, count, handle);
    });
  default:
    return Status::error("expected elements of 1, 2 or 4 bytes, got " +
                         std::to_string(elementBytes));
  }
}

CudaDevice::Registrations::iterator
CudaDevice::registrationOf(uint64_t address) {
  auto it = registrations.upper_bound(address);
  if (it == registrations.begin())
    return registrations.end();
  --it;
  return address - it->first < it->second.bytes ? it : registrations.end();
}

Status CudaDevice::registerHost(void *pointer, uint64_t bytes) {
  if (bytes == 0)
    return {};
  std::lock_guard<std::mutex> guard(registrationsLock);
  uint64_t begin = toAddress(pointer);
  auto it = registrationOf(begin);
  if (it != registrations.end()) {
    uint64_t room = it->second.bytes - (begin - it->first);
    if (bytes > room)
      return Status::error(
          "host memory of " + std::to_string(bytes) +
          " bytes overlaps a registered range, which has " +
          std::to_string(room) +
          " bytes from there; register the larger range first");
    ++it->second.count;
    return {};
  }
  if (Status status = call(
          "cuMemHostRegister",
          [&] { return context.driver->memHostRegister(pointer, bytes, 0); });
      !status.ok())
    return status;
  registrations[begin] = {bytes, 1};
  return {};
}

Status CudaDevice::unregisterHost(void *pointer) {
  std::lock_guard<std::mutex> guard(registrationsLock);
  auto it = registrationOf(toAddress(pointer));
  if (it == registrations.end())
    return Status::error("the memory is not registered");
  if (--it->second.count)
    return {};
  void *begin = toPointer(it->first);
  registrations.erase(it);
  return call("cuMemHostUnregister",
              [&] { return context.driver->memHostUnregister(begin); });
}

Result<std::shared_ptr<Module>>
CudaDevice::loadModule(const void *image, size_t bytes, int optLevel) {
  // The driver takes text without a size, up to its NUL.
  std::string text;
  ImageKind kind = classifyImage(image, bytes);
  if (kind == ImageKind::Bitcode)
    return extractPTX(image, bytes).status();
  if (kind == ImageKind::PTX) {
    Result<std::string> ptx = extractPTX(image, bytes);
    if (!ptx.ok())
      return ptx.status();
    text = std::move(*ptx);
    image = text.c_str();
  }
  if (optLevel < 0 || optLevel > 4)
    return Status::error("expected an optimisation level from 0 to 4, got " +
                         std::to_string(optLevel));
  std::string log(8192, '\0');
  int options[] = {cuda::jitErrorLog, cuda::jitErrorLogBytes,
                   cuda::jitOptimizationLevel};
  // The driver takes small values in the pointer itself.
  void *values[] = {&log[0], toPointer(log.size()),
                    toPointer(static_cast<uint64_t>(optLevel))};
  cuda::ModuleHandle module = nullptr;
  Status status = call("cuModuleLoadDataEx", [&] {
    return context.driver->moduleLoadDataEx(&module, image, 3, options, values);
  });
  if (status.ok())
    return std::shared_ptr<Module>(
        std::make_shared<CudaModule>(context, module));
  log.resize(std::char_traits<char>::length(log.c_str()));
  return Status::error(status.message() + (log.empty() ? "" : "\n" + log));
}

/// More than 48 KiB, static shared memory included, must be asked for.
Status CudaDevice::allowDynamicShared(CudaKernel &kernel, int64_t bytes) {
  std::lock_guard<std::mutex> guard(kernel.allowedLock);
  if (bytes <= kernel.allowedDynamic)
    return {};
  int staticBytes = 0;
  if (Status status = call("cuFuncGetAttribute",
                           [&] {
                             return context.driver->funcGetAttribute(
                                 &staticBytes, cuda::functionSharedBytes,
                                 kernel.function);
                           });
      !status.ok())
    return status;
  if (staticBytes + bytes <= 48 * 1024)
    return {};
  Status status = call("cuFuncSetAttribute", [&] {
    return context.driver->funcSetAttribute(kernel.function,
                                            cuda::functionMaxDynamicShared,
                                            static_cast<int>(bytes));
  });
  if (status.ok()) {
    kernel.allowedDynamic = bytes;
    return status;
  }
  return Status::error(std::to_string(bytes) + " bytes of dynamic and " +
                       std::to_string(staticBytes) +
                       " bytes of static shared memory: " + status.message());
}

/// Clusters of more than 8 blocks do not run on every chip that has clusters,
/// so that they must be asked for.
Status CudaDevice::allowCluster(const CudaKernel &kernel,
                                const Extent &cluster) {
  constexpr int64_t portable = 8;
  if (cluster.x * cluster.y * cluster.z <= portable)
    return {};
  return call("cuFuncSetAttribute", [&] {
    return context.driver->funcSetAttribute(
        kernel.function, cuda::functionNonPortableCluster, 1);
  });
}

Status CudaDevice::launch(Kernel &kernel, const LaunchConfig &config,
                          void *const *params, std::optional<size_t> numParams,
                          Stream *stream) {
  auto *own = dynamic_cast<CudaKernel *>(&kernel);
  if (!own)
    return Status::error("kernel '" + kernel.name() +
                         "' belongs to another device");
  if (Status status = checkLaunchConfig(kernel.name(), config); !status.ok())
    return status;
  if (auto sizes = own->paramSizes())
    if (Status status =
            checkNumParams(kernel.name(), sizes->size(), params, numParams);
        !status.ok())
      return status;
  std::string who = "launch of kernel '" + kernel.name() + "': ";
  if (Status status = allowDynamicShared(*own, config.dynamicSharedBytes);
      !status.ok())
    return Status::error(who + status.message());

  const cuda::Driver &d = *context.driver;
  auto u32 = [](int64_t value) { return static_cast<unsigned>(value); };
  const Extent &g = config.grid, &b = config.block;
  void **values = const_cast<void **>(params);
  Status status;
  if (!config.cluster) {
    status = onStream(stream, "cuLaunchKernel", [&](cuda::StreamHandle handle) {
      return d.launchKernel(
          own->function, u32(g.x), u32(g.y), u32(g.z), u32(b.x), u32(b.y),
          u32(b.z), u32(config.dynamicSharedBytes), handle, values, nullptr);
    });
  } else if (!d.launchKernelEx) {
    status = Status::error("the CUDA driver has no cuLaunchKernelEx, which "
                           "clusters need; install a driver of CUDA 11.8 or "
                           "newer");
  } else if (Status allowed = allowCluster(*own, *config.cluster);
             !allowed.ok()) {
    status = allowed;
  } else {
    cuda::LaunchAttribute attribute{};
    attribute.id = cuda::launchClusterDimension;
    attribute.value.cluster = {u32(config.cluster->x), u32(config.cluster->y),
                               u32(config.cluster->z)};
    cuda::KernelLaunch launch{{u32(g.x), u32(g.y), u32(g.z)},
                              {u32(b.x), u32(b.y), u32(b.z)},
                              u32(config.dynamicSharedBytes),
                              nullptr,
                              &attribute,
                              1};
    status =
        onStream(stream, "cuLaunchKernelEx", [&](cuda::StreamHandle handle) {
          launch.stream = handle;
          return d.launchKernelEx(&launch, own->function, values, nullptr);
        });
  }
  return status.ok() ? status : Status::error(who + status.message());
}

Result<std::shared_ptr<Stream>> CudaDevice::createStream() {
  cuda::StreamHandle handle = nullptr;
  Status status = call("cuStreamCreate", [&] {
    return context.driver->streamCreate(&handle, cuda::streamDefault);
  });
  if (!status.ok())
    return status;
  return std::shared_ptr<Stream>(std::make_shared<CudaStream>(context, handle));
}

Result<std::shared_ptr<Event>> CudaDevice::createEvent(bool timed) {
  cuda::EventHandle handle = nullptr;
  Status status = call("cuEventCreate", [&] {
    return context.driver->eventCreate(
        &handle, timed ? cuda::eventDefault : cuda::eventDisableTiming);
  });
  if (!status.ok())
    return status;
  return std::shared_ptr<Event>(std::make_shared<CudaEvent>(context, handle));
}

Result<ptxsim::TensorMap>
CudaDevice::encodeTensorMap(const ptxsim::TensorMapSpec &spec,
                            uint32_t l2Promotion) {
  if (!context.driver->tensorMapEncodeTiled)
    return Status::error("the CUDA driver has no cuTensorMapEncodeTiled; "
                         "install a driver of CUDA 12 or newer");
  // The driver only says "invalid argument"; these checks use words.
  if (Result<ptxsim::TensorMap> checked = ptxsim::encodeTensorMap(spec);
      !checked.ok())
    return checked;
  ptxsim::TensorMap map;
  Status status = call("cuTensorMapEncodeTiled", [&] {
    return context.driver->tensorMapEncodeTiled(
        &map, static_cast<int>(spec.type), spec.rank, toPointer(spec.address),
        spec.dims, spec.strides, spec.box, spec.elementStrides,
        static_cast<int>(spec.interleave), static_cast<int>(spec.swizzle),
        static_cast<int>(l2Promotion), static_cast<int>(spec.fill));
  });
  if (!status.ok())
    return status;
  return map;
}

} // namespace

Result<std::shared_ptr<Device>> kvrt::openCudaDevice(const Settings &settings) {
  Result<std::shared_ptr<const cuda::Driver>> loaded =
      cuda::loadDriver(settings.cudaLibrary);
  if (!loaded.ok())
    return loaded.status();
  CudaContext context{*loaded, nullptr};
  const cuda::Driver &d = **loaded;
  int count = 0;
  cuda::DeviceOrdinal device = 0;
  char name[256] = "";
  int major = 0, minor = 0;
  if (Status s = d.check(d.init(0), "cuInit"); !s.ok())
    return s;
  if (Status s = d.check(d.deviceGetCount(&count), "cuDeviceGetCount"); !s.ok())
    return s;
  if (settings.ordinal >= count)
    return Status::error("there is no CUDA device " +
                         std::to_string(settings.ordinal) +
                         "; the driver has " + std::to_string(count));
  if (Status s = d.check(d.deviceGet(&device, settings.ordinal), "cuDeviceGet");
      !s.ok())
    return s;
  if (Status s = d.check(d.deviceGetName(name, sizeof(name), device),
                         "cuDeviceGetName");
      !s.ok())
    return s;
  name[sizeof(name) - 1] = '\0';
  for (auto [value, attribute] :
       {std::pair{&major, cuda::attributeComputeMajor},
        std::pair{&minor, cuda::attributeComputeMinor}})
    if (Status s = d.check(d.deviceGetAttribute(value, attribute, device),
                           "cuDeviceGetAttribute");
        !s.ok())
      return s;
  if (Status s = d.check(d.primaryCtxRetain(&context.context, device),
                         "cuDevicePrimaryCtxRetain");
      !s.ok())
    return s;
  // From 9.0 on, the "a" targets have instructions of the chip alone.
  std::string chip = "sm_" + std::to_string(major) + std::to_string(minor) +
                     (major >= 9 ? "a" : "");
  std::string text = "cuda:" + std::to_string(settings.ordinal) + ": " + name +
                     " (" + chip + ")";
  return std::shared_ptr<Device>(std::make_shared<CudaDevice>(
      std::move(context), std::move(text), std::move(chip)));
}
