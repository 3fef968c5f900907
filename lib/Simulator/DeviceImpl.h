// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_DEVICEIMPL_H
#define KVCACHE_LIB_SIMULATOR_DEVICEIMPL_H

#include "Ast.h"
#include "Memory.h"
#include "Program.h"

#include <map>
#include <memory>
#include <mutex>
#include <tuple>

namespace ptxsim {

class LoadedModule {
public:
  std::shared_ptr<const Module> module;
  std::map<const ast::Variable *, uint64_t> addresses;
  /// Of declarations too.
  std::map<const ast::Variable *, uint64_t> aliases;
  /// Kernels decoded so far, by function and decode options.
  std::map<std::tuple<const ast::Function *, bool, bool, bool>,
           std::unique_ptr<Program>>
      programs;
};

class DeviceImpl {
public:
  explicit DeviceImpl(const DeviceOptions &options)
      : options(options), memory(this->options) {}
  bool isLoaded(const LoadedModule *module) const {
    for (auto &m : modules)
      if (m.get() == module)
        return true;
    return false;
  }

  const DeviceOptions options;
  mutable std::mutex lock;
  MemoryManager memory;
  std::vector<std::unique_ptr<LoadedModule>> modules;
  uint32_t numLaunches = 0;
  /// Where the next launch begins, in nanoseconds.
  uint64_t time = 1000000000;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_DEVICEIMPL_H
