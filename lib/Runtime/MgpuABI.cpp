//===- MgpuABI.cpp - The runtime functions MLIR's GPU programs call ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The names and signatures are those that the gpu-to-llvm pass of MLIR 22
// calls. None of them can return an error: see Program.h for what becomes of
// one.
//
//===----------------------------------------------------------------------===//

#include "MemRefDescriptor.h"
#include "Program.h"

#include <exception>

using namespace kvrt;

namespace {

enum class Severity { Error, Fatal };

void tell(Severity severity, const char *function, const std::string &text) {
  if (severity == Severity::Error && Program::get().isOldRefusal(text))
    return;
  std::string message = std::string(function) + ": " + text;
  if (severity == Severity::Fatal)
    Program::get().fatal(message);
  else
    Program::get().error(message);
}

/// Runs `body` and tells its error, an exception (out of memory) included:
/// nothing may unwind into compiled code.
template <typename Body>
void run(Severity severity, const char *function, Body body) {
  try {
    if (Status status = body(); !status.ok())
      tell(severity, function, status.message());
  } catch (const std::exception &exception) {
    tell(severity, function, exception.what());
  }
}

/// The same on the program's device.
template <typename Body>
void runOnDevice(Severity severity, const char *function, Body body) {
  run(severity, function, [&]() -> Status {
    std::shared_ptr<Device> device = Program::get().device();
    return device ? body(device) : Status(); // told already
  });
}

/// The same with a stream, null or live. Its own device is meant then.
template <typename Body>
void runOnStream(const char *function, void *handle, Body body) {
  run(Severity::Error, function, [&]() -> Status {
    Status error;
    auto stream = Registry::get().stream(handle, error);
    if (!error.ok())
      return error;
    if (stream)
      return body(*stream->device, stream->object.get());
    std::shared_ptr<Device> device = Program::get().device();
    return device ? body(*device, nullptr) : Status();
  });
}

/// Calls `onEvent` or `onStream` with the object behind `handle`. MLIR 22's
/// async.yield hands over streams where events are expected; a stream then
/// stands for the work given to it so far.
template <typename OnEvent, typename OnStream>
Status dispatchEvent(void *handle, OnEvent onEvent, OnStream onStream) {
  Registry &registry = Registry::get();
  if (auto event = registry.events.find(handle))
    return onEvent(*event);
  if (auto stream = registry.streams.find(handle))
    return onStream(*stream);
  return registry.events.explain(handle);
}

/// Stores a result or gives its error.
template <typename T> Status unpack(Result<T> result, T &value) {
  if (!result.ok())
    return result.status();
  value = std::move(*result);
  return {};
}

void launch(const char *function, void *handle, LaunchConfig config,
            void *stream, void **params, void **extra,
            std::optional<size_t> numParams) {
  runOnStream(function, stream, [&](Device &, Stream *on) -> Status {
    auto &kernels = Registry::get().kernels;
    std::shared_ptr<KernelEntry> kernel = kernels.find(handle);
    if (!kernel)
      return kernels.explain(handle);
    if (extra)
      return Status::error("launch of kernel '" + kernel->kernel->name() +
                           "': arguments by 'extra' are not supported");
    if (Status status = checkReadable(*kernel->kernel, params, numParams);
        !status.ok())
      return status;
    return kernel->device->launch(*kernel->kernel, config, params, numParams,
                                  on);
  });
}

} // namespace

extern "C" {

// Modules ---------------------------------------------------------------------

void *mgpuModuleLoad(void *image, size_t bytes) {
  void *module = nullptr;
  runOnDevice(Severity::Fatal, __func__, [&](const auto &device) {
    return unpack(Registry::get().loadModule(device, image, bytes, 4), module);
  });
  return module;
}

void *mgpuModuleLoadJIT(void *text, int32_t optLevel) {
  void *module = nullptr;
  runOnDevice(Severity::Fatal, __func__, [&](const auto &device) {
    return unpack(Registry::get().loadModule(device, text, 0, optLevel),
                  module);
  });
  return module;
}

void mgpuModuleUnload(void *module) {
  run(Severity::Error, __func__,
      [&] { return Registry::get().unloadModule(module); });
}

void *mgpuModuleGetFunction(void *module, const char *name) {
  void *kernel = nullptr;
  run(Severity::Fatal, __func__,
      [&] { return unpack(Registry::get().getKernel(module, name), kernel); });
  return kernel;
}

// Launches --------------------------------------------------------------------

void mgpuLaunchKernel(void *kernel, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t dynamicSharedBytes, void *stream,
                      void **params, void **extra, size_t numParams) {
  launch(__func__, kernel,
         {{gridX, gridY, gridZ},
          {blockX, blockY, blockZ},
          std::nullopt,
          dynamicSharedBytes},
         stream, params, extra, numParams);
}

void mgpuLaunchClusterKernel(void *kernel, intptr_t clusterX, intptr_t clusterY,
                             intptr_t clusterZ, intptr_t gridX, intptr_t gridY,
                             intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                             intptr_t blockZ, int32_t dynamicSharedBytes,
                             void *stream, void **params, void **extra) {
  launch(__func__, kernel,
         {{gridX, gridY, gridZ},
          {blockX, blockY, blockZ},
          Extent{clusterX, clusterY, clusterZ},
          dynamicSharedBytes},
         stream, params, extra, std::nullopt);
}

// Streams and events ----------------------------------------------------------

void *mgpuStreamCreate() {
  void *stream = nullptr;
  runOnDevice(Severity::Fatal, __func__, [&](const auto &device) {
    return unpack(Registry::get().createStream(device), stream);
  });
  return stream;
}

void mgpuStreamDestroy(void *stream) {
  run(Severity::Error, __func__, [&]() -> Status {
    auto &streams = Registry::get().streams;
    return streams.remove(stream) ? Status() : streams.explain(stream);
  });
}

void mgpuStreamSynchronize(void *stream) {
  runOnStream(__func__, stream, [](Device &device, Stream *on) {
    return on ? on->synchronize() : device.synchronize();
  });
}

void mgpuStreamWaitEvent(void *stream, void *event) {
  runOnStream(__func__, stream, [&](Device &device, Stream *on) {
    return dispatchEvent(
        event,
        [&](Owned<Event> &point) {
          return on ? on->wait(*point.object) : point.object->synchronize();
        },
        [&](Owned<Stream> &other) -> Status {
          if (!on)
            return other.object->synchronize();
          Result<std::shared_ptr<Event>> now =
              device.createEvent(/*timed=*/false);
          if (!now.ok())
            return now.status();
          if (Status status = (*now)->record(*other.object); !status.ok())
            return status;
          return on->wait(**now);
        });
  });
}

void *mgpuEventCreate() {
  void *event = nullptr;
  runOnDevice(Severity::Fatal, __func__, [&](const auto &device) {
    return unpack(Registry::get().createEvent(device, /*timed=*/false), event);
  });
  return event;
}

void mgpuEventDestroy(void *event) {
  run(Severity::Error, __func__, [&] {
    Registry &registry = Registry::get();
    return dispatchEvent(
        event,
        [&](Owned<Event> &) {
          registry.events.remove(event);
          return Status();
        },
        [&](Owned<Stream> &) {
          registry.streams.remove(event);
          return Status();
        });
  });
}

void mgpuEventSynchronize(void *event) {
  run(Severity::Error, __func__, [&] {
    return dispatchEvent(
        event, [](Owned<Event> &point) { return point.object->synchronize(); },
        [](Owned<Stream> &stream) { return stream.object->synchronize(); });
  });
}

void mgpuEventRecord(void *event, void *stream) {
  run(Severity::Error, __func__, [&]() -> Status {
    Registry &registry = Registry::get();
    auto point = registry.events.find(event);
    if (!point)
      return registry.events.explain(event);
    auto on = registry.streams.find(stream);
    if (!on)
      return registry.streams.explain(stream);
    return point->object->record(*on->object);
  });
}

// Memory ----------------------------------------------------------------------

void *mgpuMemAlloc(uint64_t bytes, void * /*stream*/, bool hostShared) {
  void *pointer = nullptr;
  runOnDevice(Severity::Fatal, __func__, [&](const auto &device) {
    return unpack(device->allocate(bytes, hostShared), pointer);
  });
  return pointer;
}

void mgpuMemFree(void *pointer, void *stream) {
  runOnStream(__func__, stream, [&](Device &device, Stream *on) {
    return device.free(pointer, on);
  });
}

void mgpuMemcpy(void *dst, void *src, size_t bytes, void *stream) {
  runOnStream(__func__, stream, [&](Device &device, Stream *on) {
    return device.copy(dst, src, bytes, on);
  });
}

void mgpuMemset32(void *dst, uint32_t value, size_t count, void *stream) {
  runOnStream(__func__, stream, [&](Device &device, Stream *on) {
    return device.set(dst, value, 4, count, on);
  });
}

void mgpuMemset16(void *dst, uint16_t value, size_t count, void *stream) {
  runOnStream(__func__, stream, [&](Device &device, Stream *on) {
    return device.set(dst, value, 2, count, on);
  });
}

void mgpuMemHostRegisterMemRef(int64_t rank, void *descriptor,
                               int64_t elementBytes) {
  runOnDevice(Severity::Error, __func__, [&](const auto &device) -> Status {
    MemoryRange range;
    if (Status status =
            unpack(memRefRange(rank, descriptor, elementBytes), range);
        !status.ok() || range.bytes == 0)
      return status;
    return device->registerHost(range.begin, range.bytes);
  });
}

void mgpuMemHostUnregisterMemRef(int64_t rank, void *descriptor,
                                 int64_t elementBytes) {
  runOnDevice(Severity::Error, __func__, [&](const auto &device) -> Status {
    MemoryRange range;
    if (Status status =
            unpack(memRefRange(rank, descriptor, elementBytes), range);
        !status.ok() || range.bytes == 0)
      return status;
    return device->unregisterHost(range.begin);
  });
}

void mgpuSetDefaultDevice(int32_t ordinal) {
  run(Severity::Fatal, __func__,
      [&] { return Program::get().selectDevice(ordinal); });
}

void *mgpuTensorMapEncodeTiledMemref(int64_t rank, void *descriptor,
                                     int64_t dtype, int64_t interleave,
                                     int64_t swizzle, int64_t l2Promotion,
                                     int64_t fill, int64_t *boxDims) {
  void *map = nullptr;
  runOnDevice(Severity::Fatal, __func__, [&](const auto &device) -> Status {
    TensorMapRequest request;
    if (Status status =
            unpack(tensorMapRequest(rank, descriptor, dtype, interleave,
                                    swizzle, l2Promotion, fill, boxDims),
                   request);
        !status.ok())
      return status;
    return unpack(Program::get().tensorMap(device, request), map);
  });
  return map;
}

} // extern "C"
