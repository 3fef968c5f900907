// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DeviceImpl.h"

#include <algorithm>
#include <cstring>

using namespace ptxsim;

Device::Device(DeviceOptions options)
    : impl(std::make_unique<DeviceImpl>(options)) {}
Device::~Device() = default;
const DeviceOptions &Device::options() const { return impl->options; }

// Memory
// ------------------------------------------------------------------------

Result<void *> Device::allocate(uint64_t bytes, std::string_view name,
                                AllocationKind kind) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.allocate(bytes, name, kind,
                               kind == AllocationKind::Device &&
                                   impl->options.trackInitialisation);
}

Status Device::free(void *pointer) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.free(pointer);
}

Status Device::registerHost(void *pointer, uint64_t bytes,
                            std::string_view name) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.registerHost(pointer, bytes, name);
}

Status Device::unregisterHost(void *pointer) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.unregisterHost(pointer);
}

Status Device::copy(void *dst, const void *src, uint64_t bytes) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.copy(dst, src, bytes);
}

Status Device::set8(void *dst, uint8_t value, uint64_t count) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.fill(dst, value, 1, count);
}

Status Device::set16(void *dst, uint16_t value, uint64_t count) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.fill(dst, value, 2, count);
}

Status Device::set32(void *dst, uint32_t value, uint64_t count) {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.fill(dst, value, 4, count);
}

static AllocationInfo infoOf(const Allocation &a, bool freed) {
  AllocationInfo info;
  info.address = a.begin;
  info.size = a.end - a.begin;
  info.kind = a.kind;
  info.freed = freed;
  info.name = a.name;
  return info;
}

bool Device::find(uint64_t address, uint64_t bytes,
                  AllocationInfo *info) const {
  std::lock_guard<std::mutex> guard(impl->lock);
  const Allocation *a = impl->memory.table.find(address);
  if (!a || bytes > a->end - address)
    return false;
  if (info)
    *info = infoOf(*a, false);
  return true;
}

std::string Device::describe(uint64_t address) const {
  std::lock_guard<std::mutex> guard(impl->lock);
  return impl->memory.table.describe(address);
}

bool Device::tryDescribe(const void *address, std::string &words) const {
  std::unique_lock<std::mutex> guard(impl->lock, std::try_to_lock);
  if (!guard.owns_lock() || !impl->memory.table.maps(uint64_t(address)))
    return false;
  words = impl->memory.table.describe(uint64_t(address));
  return true;
}

std::vector<AllocationInfo> Device::allocations() const {
  std::lock_guard<std::mutex> guard(impl->lock);
  std::vector<AllocationInfo> result;
  for (auto &entry : impl->memory.table.live)
    result.push_back(infoOf(entry.second, false));
  for (auto &entry : impl->memory.table.freed)
    result.push_back(infoOf(entry.second, true));
  return result;
}

// Modules
// -------------------------------------------------------------------------

/// Writes initial values; they need the addresses of all variables.
static Status initialise(const LoadedModule &loaded,
                         const ast::Variable &variable, void *memory) {
  if (!variable.hasInit)
    return {};
  std::vector<uint8_t> bytes = variable.init;
  for (const ast::Relocation &relocation : variable.relocations) {
    uint64_t address = 0;
    const ModuleImpl &module = loaded.module->impl();
    if (const ast::Variable *target = module.findVariable(relocation.symbol)) {
      auto it = loaded.addresses.find(target);
      address = it == loaded.addresses.end() ? 0 : it->second;
    } else if (const ast::Function *function =
                   module.findFunction(relocation.symbol)) {
      address = functionAddress(module, *function);
    }
    if (!address)
      return Status::error(module.diagnose(variable.line, 0,
                                           "initial value names '" +
                                               std::string(relocation.symbol) +
                                               "', which has no address"));
    address += uint64_t(relocation.addend);
    uint64_t value =
        (address & relocation.mask) >> __builtin_ctzll(relocation.mask);
    memcpy(&bytes[relocation.offset], &value, relocation.size);
  }
  memcpy(memory, bytes.data(), bytes.size());
  return {};
}

Result<LoadedModule *> Device::load(std::shared_ptr<const Module> module) {
  if (!module)
    return Status::error("no module to load");
  std::lock_guard<std::mutex> guard(impl->lock);
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = std::move(module);
  auto undo = [&] {
    for (auto &entry : loaded->addresses)
      impl->memory.release(entry.second);
  };
  for (const ast::Variable &variable : loaded->module->impl().variables) {
    if (variable.isExtern ||
        (variable.space != Space::Global && variable.space != Space::Const))
      continue;
    bool isConst = variable.space == Space::Const;
    Result<void *> memory = impl->memory.allocate(
        variable.size, variable.name,
        isConst ? AllocationKind::Constant : AllocationKind::Global, false);
    if (!memory.ok()) {
      undo();
      return memory.status();
    }
    loaded->addresses[&variable] = uint64_t(*memory);
  }
  // A declaration stands for its definition.
  for (const ast::Variable &variable : loaded->module->impl().variables) {
    const ast::Variable *known =
        loaded->module->impl().findVariable(variable.name);
    auto it = loaded->addresses.find(known);
    if (it != loaded->addresses.end())
      loaded->aliases[&variable] = it->second;
  }
  for (auto &entry : loaded->addresses) {
    Status status = initialise(*loaded, *entry.first,
                               reinterpret_cast<void *>(entry.second));
    if (!status.ok()) {
      undo();
      return status;
    }
  }
  impl->modules.push_back(std::move(loaded));
  return impl->modules.back().get();
}

Status Device::unload(LoadedModule *module) {
  std::lock_guard<std::mutex> guard(impl->lock);
  auto it = std::find_if(impl->modules.begin(), impl->modules.end(),
                         [&](auto &m) { return m.get() == module; });
  if (it == impl->modules.end())
    return Status::error("unload of a module that is not loaded");
  for (auto &entry : (*it)->addresses)
    impl->memory.release(entry.second);
  impl->modules.erase(it);
  return {};
}

const Module &Device::moduleOf(const LoadedModule *module) {
  return *module->module;
}

Result<AllocationInfo> Device::findGlobal(const LoadedModule *module,
                                          std::string_view name) const {
  std::lock_guard<std::mutex> guard(impl->lock);
  if (!impl->isLoaded(module))
    return Status::error("the module is not loaded");
  const ast::Variable *variable = module->module->impl().findVariable(name);
  auto it =
      variable ? module->addresses.find(variable) : module->addresses.end();
  if (it == module->addresses.end())
    return Status::error("no variable '" + std::string(name) + "' in " +
                         module->module->name());
  return infoOf(*impl->memory.table.find(it->second), false);
}
