// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All live objects of the process behind their handles; shared by the C API and
// MLIR's ABI, so that a handle of one may be given to the other.
#ifndef KVCACHE_RUNTIME_REGISTRY_H
#define KVCACHE_RUNTIME_REGISTRY_H

#include "HandleTable.h"

#include "kvcache/Runtime/Device.h"
#include "kvcache/Runtime/Settings.h"

#include <map>

namespace kvrt {

struct DeviceEntry {
  std::shared_ptr<Device> device;
  Settings settings;
};

/// A stream or event, which must not outlive its device.
template <typename T> struct Owned {
  std::shared_ptr<Device> device;
  std::shared_ptr<T> object;
};

struct ModuleEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
  std::mutex lock;
  /// Handles of the kernels asked for so far.
  std::map<std::string, void *> kernels;
};

struct KernelEntry {
  std::shared_ptr<Device> device;
  std::shared_ptr<Module> module;
  std::shared_ptr<Kernel> kernel;
};

/// Never destroyed: programs may still call when static objects have died.
class Registry {
public:
  static Registry &get();

  HandleTable<DeviceEntry> devices{HandleKind::Device};
  HandleTable<Owned<Stream>> streams{HandleKind::Stream};
  HandleTable<Owned<Event>> events{HandleKind::Event};
  HandleTable<ModuleEntry> modules{HandleKind::Module};
  HandleTable<KernelEntry> kernels{HandleKind::Kernel};

  Result<void *> createStream(const std::shared_ptr<Device> &device);
  Result<void *> createEvent(const std::shared_ptr<Device> &device, bool timed);
  Result<void *> loadModule(const std::shared_ptr<Device> &device,
                            const void *image, size_t bytes, int optLevel);
  Status unloadModule(void *module);
  Result<void *> getKernel(void *module, const char *name);
  /// Drops everything that belongs to the device.
  void forget(const std::shared_ptr<Device> &device);

  /// The stream of a handle that may be null; `error` is set if it is wrong.
  std::shared_ptr<Owned<Stream>> stream(void *handle, Status &error) const;

private:
  Registry() = default;
};

/// What the program that embeds the runtime asked for by
/// kvcacheSetProgramDevice; null device: nothing.
struct ProgramDevice {
  std::shared_ptr<Device> device;
  std::function<void(int kind, const std::string &text)> handler;
};
void setProgramDevice(ProgramDevice program);

} // namespace kvrt

#endif // KVCACHE_RUNTIME_REGISTRY_H
