//===- Registry.cpp - Live objects behind handles -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Registry.h"

using namespace kvrt;

Registry &Registry::get() {
  static auto *registry = new Registry;
  return *registry;
}

Result<void *> Registry::createStream(const std::shared_ptr<Device> &device) {
  Result<std::shared_ptr<Stream>> stream = device->createStream();
  if (!stream.ok())
    return stream.status();
  return streams.add(std::make_shared<Owned<Stream>>(
      Owned<Stream>{device, std::move(*stream)}));
}

Result<void *> Registry::createEvent(const std::shared_ptr<Device> &device,
                                     bool timed) {
  Result<std::shared_ptr<Event>> event = device->createEvent(timed);
  if (!event.ok())
    return event.status();
  return events.add(
      std::make_shared<Owned<Event>>(Owned<Event>{device, std::move(*event)}));
}

Result<void *> Registry::loadModule(const std::shared_ptr<Device> &device,
                                    const void *image, size_t bytes,
                                    int optLevel) {
  if (!image)
    return Status::error("the module's image is null");
  Result<std::shared_ptr<Module>> module =
      device->loadModule(image, bytes, optLevel);
  if (!module.ok())
    return module.status();
  auto entry = std::make_shared<ModuleEntry>();
  entry->device = device;
  entry->module = std::move(*module);
  return modules.add(std::move(entry));
}

Status Registry::unloadModule(void *handle) {
  std::shared_ptr<ModuleEntry> entry = modules.remove(handle);
  if (!entry)
    return modules.explain(handle);
  std::lock_guard<std::mutex> guard(entry->lock);
  for (auto &[name, kernel] : entry->kernels)
    kernels.remove(kernel);
  entry->kernels.clear();
  return {};
}

Result<void *> Registry::getKernel(void *module, const char *name) {
  std::shared_ptr<ModuleEntry> entry = modules.find(module);
  if (!entry)
    return modules.explain(module);
  if (!name)
    return Status::error("the kernel's name is null");
  std::lock_guard<std::mutex> guard(entry->lock);
  auto it = entry->kernels.find(name);
  if (it != entry->kernels.end())
    return it->second;
  Result<std::shared_ptr<Kernel>> kernel = entry->module->kernel(name);
  if (!kernel.ok())
    return kernel.status();
  void *handle = kernels.add(std::make_shared<KernelEntry>(
      KernelEntry{entry->device, entry->module, std::move(*kernel)}));
  entry->kernels.emplace(name, handle);
  return handle;
}

void Registry::forget(const std::shared_ptr<Device> &device) {
  auto belongs = [&](const auto &entry) { return entry.device == device; };
  kernels.removeIf(belongs);
  modules.removeIf(belongs);
  events.removeIf(belongs);
  streams.removeIf(belongs);
}

std::shared_ptr<Owned<Stream>> Registry::stream(void *handle,
                                                Status &error) const {
  if (!handle)
    return nullptr;
  std::shared_ptr<Owned<Stream>> stream = streams.find(handle);
  if (!stream)
    error = streams.explain(handle);
  return stream;
}
