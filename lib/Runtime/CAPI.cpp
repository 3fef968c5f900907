//===- CAPI.cpp - The runtime's C API -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Runtime/CAPI.h"

#include "Address.h"
#include "Registry.h"
#include "kvcache/Simulator/HostMemory.h"

#include <cstdlib>
#include <cstring>
#include <exception>

using namespace kvrt;

namespace {

std::string &lastError() {
  thread_local std::string text;
  return text;
}

/// Runs the body of an API function; an exception (out of memory) is an error
/// like any other and must not leave through C.
template <typename Body> int guarded(Body body) {
  try {
    Status status = body();
    if (status.ok())
      return 0;
    lastError() = status.message();
  } catch (const std::exception &exception) {
    lastError() = exception.what();
  } catch (...) {
    lastError() = "unknown exception";
  }
  return 1;
}

Status missing(const char *what) {
  return Status::error(std::string("the argument '") + what + "' is null");
}

/// Runs `body(device)` on a live device.
template <typename Body> int withDevice(kvcacheDevice handle, Body body) {
  return guarded([&]() -> Status {
    std::shared_ptr<DeviceEntry> entry = Registry::get().devices.find(handle);
    return entry ? body(entry->device)
                 : Registry::get().devices.explain(handle);
  });
}

/// The same with a stream, null or live.
template <typename Body>
int withStream(kvcacheDevice handle, kvcacheStream streamHandle, Body body) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    Status error;
    auto stream = Registry::get().stream(streamHandle, error);
    return error.ok() ? body(*device, stream ? stream->object.get() : nullptr)
                      : error;
  });
}

/// Stores a created handle.
template <typename Handle>
Status store(Result<void *> created, Handle *handle) {
  if (!created.ok())
    return created.status();
  *handle = static_cast<Handle>(*created);
  return {};
}

Status storeText(const std::string &text, char **out) {
  if (!out)
    return missing("text");
  *out = static_cast<char *>(std::malloc(text.size() + 1));
  if (!*out)
    return Status::error("out of memory");
  std::memcpy(*out, text.c_str(), text.size() + 1);
  return {};
}

template <typename Table, typename Handle>
int destroy(Table &table, Handle handle) {
  return guarded([&]() -> Status {
    return table.remove(handle) ? Status() : table.explain(handle);
  });
}

} // namespace

const char *kvcacheLastError(void) { return lastError().c_str(); }

void kvcacheStringFree(char *text) { std::free(text); }

int kvcacheDeviceCreate(const char *const *settings, kvcacheDevice *device) {
  return guarded([&]() -> Status {
    if (!device)
      return missing("device");
    std::vector<std::string> overrides;
    for (; settings && *settings; ++settings)
      overrides.push_back(*settings);
    Result<Settings> read = readSettings(overrides);
    if (!read.ok())
      return read.status();
    Result<std::shared_ptr<Device>> opened = openDevice(*read);
    if (!opened.ok())
      return opened.status();
    *device = static_cast<kvcacheDevice>(Registry::get().devices.add(
        std::make_shared<DeviceEntry>(DeviceEntry{*opened, *read})));
    return {};
  });
}

int kvcacheDeviceDestroy(kvcacheDevice handle) {
  return guarded([&]() -> Status {
    Registry &registry = Registry::get();
    std::shared_ptr<DeviceEntry> entry = registry.devices.remove(handle);
    if (!entry)
      return registry.devices.explain(handle);
    registry.forget(entry->device);
    return {};
  });
}

int kvcacheDeviceDescription(kvcacheDevice handle, char **text) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    return storeText(device->description(), text);
  });
}

int kvcacheDeviceChip(kvcacheDevice handle, char **text) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    return storeText(device->chip(), text);
  });
}

int kvcacheDeviceSynchronize(kvcacheDevice handle) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    return device->synchronize();
  });
}

int kvcacheMemAlloc(kvcacheDevice handle, uint64_t bytes, int hostShared,
                    void **pointer) {
  return withDevice(
      handle, [&](const std::shared_ptr<Device> &device) -> Status {
        if (!pointer)
          return missing("pointer");
        return store(device->allocate(bytes, hostShared != 0), pointer);
      });
}

int kvcacheMemFree(kvcacheDevice handle, void *pointer, kvcacheStream stream) {
  return withStream(handle, stream, [&](Device &device, Stream *on) {
    return device.free(pointer, on);
  });
}

int kvcacheMemCopy(kvcacheDevice handle, void *dst, const void *src,
                   uint64_t bytes, kvcacheStream stream) {
  return withStream(handle, stream, [&](Device &device, Stream *on) {
    return device.copy(dst, src, bytes, on);
  });
}

int kvcacheMemSet(kvcacheDevice handle, void *dst, uint32_t value,
                  unsigned elementBytes, uint64_t count, kvcacheStream stream) {
  return withStream(handle, stream, [&](Device &device, Stream *on) {
    return device.set(dst, value, elementBytes, count, on);
  });
}

int kvcacheHostRegister(kvcacheDevice handle, void *pointer, uint64_t bytes) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    return device->registerHost(pointer, bytes);
  });
}

int kvcacheHostAccess(const void *pointer, uint64_t bytes) {
  ptxsim::HostAccess access =
      ptxsim::HostMappings().access(toAddress(pointer), bytes);
  return (access.readable ? KVCACHE_HOST_READABLE : 0) |
         (access.writable ? KVCACHE_HOST_WRITABLE : 0);
}

int kvcacheHostUnregister(kvcacheDevice handle, void *pointer) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    return device->unregisterHost(pointer);
  });
}

int kvcacheModuleLoad(kvcacheDevice handle, const void *image, size_t bytes,
                      kvcacheModule *module) {
  const int driverDefault = 4;
  return withDevice(
      handle, [&](const std::shared_ptr<Device> &device) -> Status {
        if (!module)
          return missing("module");
        return store(
            Registry::get().loadModule(device, image, bytes, driverDefault),
            module);
      });
}

int kvcacheModuleUnload(kvcacheModule module) {
  return guarded([&] { return Registry::get().unloadModule(module); });
}

int kvcacheModuleGetKernel(kvcacheModule module, const char *name,
                           kvcacheKernel *kernel) {
  return guarded([&]() -> Status {
    if (!kernel)
      return missing("kernel");
    return store(Registry::get().getKernel(module, name), kernel);
  });
}

namespace {

Result<std::vector<size_t>> paramSizes(kvcacheKernel handle) {
  HandleTable<KernelEntry> &kernels = Registry::get().kernels;
  std::shared_ptr<KernelEntry> entry = kernels.find(handle);
  if (!entry)
    return kernels.explain(handle);
  std::optional<std::vector<size_t>> sizes = entry->kernel->paramSizes();
  if (!sizes)
    return Status::error("the CUDA driver has no cuFuncGetParamInfo; install a "
                         "driver of CUDA 12.4 or newer");
  return std::move(*sizes);
}

} // namespace

int kvcacheKernelGetNumParams(kvcacheKernel kernel, size_t *numParams) {
  return guarded([&]() -> Status {
    if (!numParams)
      return missing("numParams");
    Result<std::vector<size_t>> sizes = paramSizes(kernel);
    if (!sizes.ok())
      return sizes.status();
    *numParams = sizes->size();
    return {};
  });
}

int kvcacheKernelGetParamSize(kvcacheKernel kernel, size_t index,
                              size_t *bytes) {
  return guarded([&]() -> Status {
    if (!bytes)
      return missing("bytes");
    Result<std::vector<size_t>> sizes = paramSizes(kernel);
    if (!sizes.ok())
      return sizes.status();
    if (index >= sizes->size())
      return Status::error("parameter " + std::to_string(index) +
                           " of a kernel with " +
                           std::to_string(sizes->size()));
    *bytes = (*sizes)[index];
    return {};
  });
}

int kvcacheLaunch(kvcacheKernel handle, const kvcacheLaunchConfig *config,
                  void *const *params, size_t numParams, kvcacheStream stream) {
  return guarded([&]() -> Status {
    Registry &registry = Registry::get();
    std::shared_ptr<KernelEntry> entry = registry.kernels.find(handle);
    if (!entry)
      return registry.kernels.explain(handle);
    if (!config)
      return missing("config");
    Status error;
    auto on = registry.stream(stream, error);
    if (!error.ok())
      return error;
    auto extent = [](const int64_t (&sizes)[3]) {
      return Extent{sizes[0], sizes[1], sizes[2]};
    };
    if (Status status = checkReadable(*entry->kernel, params, numParams);
        !status.ok())
      return status;
    LaunchConfig launch;
    launch.grid = extent(config->grid);
    launch.block = extent(config->block);
    if (config->cluster[0] || config->cluster[1] || config->cluster[2])
      launch.cluster = extent(config->cluster);
    launch.dynamicSharedBytes = config->dynamicSharedBytes;
    return entry->device->launch(*entry->kernel, launch, params, numParams,
                                 on ? on->object.get() : nullptr);
  });
}

int kvcacheStreamCreate(kvcacheDevice handle, kvcacheStream *stream) {
  return withDevice(
      handle, [&](const std::shared_ptr<Device> &device) -> Status {
        if (!stream)
          return missing("stream");
        return store(Registry::get().createStream(device), stream);
      });
}

int kvcacheStreamDestroy(kvcacheStream stream) {
  return destroy(Registry::get().streams, stream);
}

int kvcacheStreamSynchronize(kvcacheStream handle) {
  return guarded([&]() -> Status {
    auto &streams = Registry::get().streams;
    auto stream = streams.find(handle);
    return stream ? stream->object->synchronize() : streams.explain(handle);
  });
}

int kvcacheStreamWaitEvent(kvcacheStream streamHandle,
                           kvcacheEvent eventHandle) {
  return guarded([&]() -> Status {
    Registry &registry = Registry::get();
    auto stream = registry.streams.find(streamHandle);
    if (!stream)
      return registry.streams.explain(streamHandle);
    auto event = registry.events.find(eventHandle);
    if (!event)
      return registry.events.explain(eventHandle);
    return stream->object->wait(*event->object);
  });
}

int kvcacheEventCreate(kvcacheDevice handle, kvcacheEvent *event) {
  return withDevice(
      handle, [&](const std::shared_ptr<Device> &device) -> Status {
        if (!event)
          return missing("event");
        return store(Registry::get().createEvent(device, /*timed=*/true),
                     event);
      });
}

int kvcacheEventDestroy(kvcacheEvent event) {
  return destroy(Registry::get().events, event);
}

int kvcacheEventRecord(kvcacheEvent eventHandle, kvcacheStream streamHandle) {
  return guarded([&]() -> Status {
    Registry &registry = Registry::get();
    auto event = registry.events.find(eventHandle);
    if (!event)
      return registry.events.explain(eventHandle);
    auto stream = registry.streams.find(streamHandle);
    if (!stream)
      return registry.streams.explain(streamHandle);
    return event->object->record(*stream->object);
  });
}

int kvcacheEventSynchronize(kvcacheEvent handle) {
  return guarded([&]() -> Status {
    auto &events = Registry::get().events;
    auto event = events.find(handle);
    return event ? event->object->synchronize() : events.explain(handle);
  });
}

int kvcacheEventElapsedTime(kvcacheEvent beginHandle, kvcacheEvent endHandle,
                            float *milliseconds) {
  return guarded([&]() -> Status {
    auto &events = Registry::get().events;
    auto begin = events.find(beginHandle);
    if (!begin)
      return events.explain(beginHandle);
    auto end = events.find(endHandle);
    if (!end)
      return events.explain(endHandle);
    if (!milliseconds)
      return missing("milliseconds");
    Result<float> elapsed = end->object->millisecondsSince(*begin->object);
    if (!elapsed.ok())
      return elapsed.status();
    *milliseconds = *elapsed;
    return {};
  });
}

int kvcacheDeviceGetNumFindings(kvcacheDevice handle, uint64_t *numFindings) {
  return withDevice(handle,
                    [&](const std::shared_ptr<Device> &device) -> Status {
                      if (!numFindings)
                        return missing("numFindings");
                      *numFindings = device->numFindings();
                      return {};
                    });
}

static Status checkFormat(int format) {
  if (format == KVCACHE_TEXT || format == KVCACHE_JSON)
    return {};
  return Status::error("expected format to be KVCACHE_TEXT (0) or KVCACHE_JSON "
                       "(1), got " +
                       std::to_string(format));
}

int kvcacheDeviceGetReports(kvcacheDevice handle, int format, char **text) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    if (Status status = checkFormat(format); !status.ok())
      return status;
    std::vector<ptxsim::Report> reports = device->reports();
    if (format == KVCACHE_JSON)
      return storeText(ptxsim::reportsToJson(reports), text);
    std::string joined;
    for (const ptxsim::Report &report : reports)
      joined += report.text();
    return storeText(joined, text);
  });
}

int kvcacheDeviceGetCounters(kvcacheDevice handle, int format, char **text) {
  return withDevice(handle, [&](const std::shared_ptr<Device> &device) {
    if (Status status = checkFormat(format); !status.ok())
      return status;
    std::vector<KernelCounters> counters = device->counters();
    return storeText(format == KVCACHE_JSON ? countersJson(counters)
                                            : countersText(counters),
                     text);
  });
}

int kvcacheSetProgramDevice(kvcacheDevice handle, kvcacheProblemHandler handler,
                            void *userData) {
  if (!handle)
    return guarded([]() -> Status {
      setProgramDevice({});
      return {};
    });
  return withDevice(
      handle, [&](const std::shared_ptr<Device> &device) -> Status {
        setProgramDevice({device, [=](int kind, const std::string &text) {
                            if (handler)
                              handler(static_cast<kvcacheProblemKind>(kind),
                                      text.c_str(), userData);
                          }});
        return {};
      });
}
