// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A simulated device: its memory, the modules loaded onto it, and launches.
//
// Device addresses are host addresses: `allocate` returns memory of this
// process, so a host pointer registered with the device is the same pointer on
// it. Memory is mapped without reserve; only touched pages cost anything.
//
// A Device is safe to use from several threads: its methods take one lock, and
// a launch holds it until the grid has finished.
#ifndef KVCACHE_SIMULATOR_DEVICE_H
#define KVCACHE_SIMULATOR_DEVICE_H

#include "kvcache/Simulator/Counters.h"
#include "kvcache/Simulator/Module.h"
#include "kvcache/Simulator/Report.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ptxsim {

/// What a device is made with.
struct DeviceOptions {
  /// Keep a shadow of which bytes have been written. Needed for
  /// `InitCheck` in launches; costs one shadow byte per touched byte.
  bool trackInitialisation = false;
  /// Make device allocations unreadable for the host outside of launches and of
  /// the copy and set functions, so that a host dereference faults.
  bool hostUnreadable = false;
  /// Unmapped bytes before and after every allocation, rounded up to pages.
  size_t redZoneBytes = 64 * 1024;
  /// Freed address ranges are not used again until this many bytes of address
  /// space wait in quarantine (their pages are given back at once).
  size_t quarantineBytes = size_t(1) << 40;
  /// Upper bound of allocated bytes (not of touched ones); 0: none.
  uint64_t memoryLimit = 0;
  /// What malloc in kernels may give out; CUDA's own default.
  uint64_t heapBytes = uint64_t(8) << 20;
};

/// What an allocation is for.
enum class AllocationKind : uint8_t {
  /// Of the device's own memory.
  Device,
  /// Like Device, but the host may read and write it at any time: it stays
  /// readable, and counts as initialised.
  HostShared,
  /// The host's memory, registered.
  Host,
  /// A module's variable in `.global`.
  Global,
  /// A module's variable in `.const`.
  Constant,
  /// By malloc in a kernel.
  Heap
};

/// An allocation, live or freed.
struct AllocationInfo {
  /// Its first byte.
  uint64_t address = 0;
  /// Bytes.
  uint64_t size = 0;
  /// What it is for.
  AllocationKind kind = AllocationKind::Device;
  /// Whether it is memory no more.
  bool freed = false;
  /// Name given at allocation, or "allocation #3", or the variable's name.
  std::string name;
};

/// The sizes of a launch.
struct LaunchConfig {
  /// Blocks; threads of a block.
  Dim3 grid, block;
  /// {0,0,0}: what the kernel requires, else no clusters.
  Dim3 cluster{0, 0, 0};
  uint32_t dynamicSharedBytes = 0;
};

/// What a launch checks, counts and reports.
struct LaunchOptions {
  /// Mask of Tool.
  uint32_t tools = 0;
  bool counters = false;
  /// Order of the warps of a block; 0 runs them in order.
  uint64_t seed = 0;
  /// Places reported at most, 0: no limit; the rest is counted in numFindings.
  unsigned reportLimit = 100;
  /// Stop the launch at the first finding.
  bool stopAtFirst = false;
  /// Worker threads; 0: one per core. Results do not depend on it.
  unsigned threads = 0;
  /// Warp-level instructions after which the launch is given up; 0: none.
  uint64_t instructionLimit = 0;
  /// Called with a line of text per executed instruction (implies one worker).
  std::function<void(std::string_view line)> trace;
  /// Called now and then once a launch has run for half a second, on the thread
  /// that launches, with blocks finished and blocks in all.
  std::function<void(uint64_t done, uint64_t total)> progress;
  /// Receives what the kernel prints; unset: stdout.
  std::function<void(std::string_view text)> print;
};

/// How a launch ended.
enum class LaunchOutcome : uint8_t {
  /// Every thread ran to its end (there may be findings).
  Completed,
  /// Not started: wrong arguments, limits exceeded, unsupported instruction.
  Refused,
  /// Started and ended by an illegal access, a trap, a deadlock or a limit.
  Failed
};

/// How a launch ended, and what was found and counted.
struct LaunchResult {
  /// Whether it ran to its end.
  LaunchOutcome outcome = LaunchOutcome::Completed;
  /// Not ok unless outcome is Completed.
  Status status;
  /// At most one per tool, kind and instruction.
  std::vector<Report> reports;
  /// Occurrences, reported or not.
  uint64_t numFindings = 0;
  /// Only with LaunchOptions::counters.
  Counters counters;
  /// Always counted.
  uint64_t warpInstructions = 0, threadInstructions = 0;
};

class DeviceImpl;
/// A module on a device: its variables have addresses. Owned by the device.
class LoadedModule;

/// The simulated device: memory, modules, launches.
class Device {
public:
  explicit Device(DeviceOptions options = {});
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  /// As given to the constructor.
  const DeviceOptions &options() const;

  // Memory ------------------------------------------------------------------

  /// Allocates `bytes` (0 is allowed and gives a unique address) aligned to 256
  /// bytes. Contents are zero but count as uninitialised. `kind` is Device or
  /// HostShared.
  Result<void *> allocate(uint64_t bytes, std::string_view name = {},
                          AllocationKind kind = AllocationKind::Device);
  /// Frees what `allocate` returned; null is allowed. Double and foreign frees
  /// are errors.
  Status free(void *pointer);
  /// Lets kernels use `bytes` of host memory at the same address. Registering a
  /// range inside one registered before only counts a reference. An empty range
  /// is allowed and does nothing.
  Status registerHost(void *pointer, uint64_t bytes,
                      std::string_view name = {});
  Status unregisterHost(void *pointer);

  /// Copies between any two ranges, host or device. A range that begins in an
  /// allocation must end in it. Memory from outside of all allocations counts
  /// as the host's own and as initialised; initialisation is copied along
  /// otherwise.
  Status copy(void *dst, const void *src, uint64_t bytes);
  /// Fill `count` elements.
  Status set8(void *dst, uint8_t value, uint64_t count);
  Status set16(void *dst, uint16_t value, uint64_t count);
  Status set32(void *dst, uint32_t value, uint64_t count);

  /// The allocation that holds `bytes` at `address` entirely.
  bool find(uint64_t address, uint64_t bytes, AllocationInfo *info) const;
  /// The address against the nearest live or freed allocation, in words.
  std::string describe(uint64_t address) const;
  std::vector<AllocationInfo> allocations() const;
  /// The same for an address inside of memory this device has mapped; false
  /// elsewhere, and while another call into the device runs.
  bool tryDescribe(const void *address, std::string &words) const;

  // Modules -----------------------------------------------------------------

  /// Places the module's variables in device memory.
  Result<LoadedModule *> load(std::shared_ptr<const Module> module);
  Status unload(LoadedModule *module);
  static const Module &moduleOf(const LoadedModule *module);
  /// Address and size of a `.global` or `.const` variable.
  Result<AllocationInfo> findGlobal(const LoadedModule *module,
                                    std::string_view name) const;

  // Launches ----------------------------------------------------------------

  /// Runs a grid to its end. `params` is the parameter block that
  /// KernelInfo::params describes; its size must be KernelInfo::paramBytes.
  LaunchResult launch(LoadedModule *module, std::string_view kernel,
                      const LaunchConfig &config, const void *params,
                      size_t paramBytes, const LaunchOptions &options = {});
  /// The same with one pointer per parameter, as cuLaunchKernel has it.
  LaunchResult launch(LoadedModule *module, std::string_view kernel,
                      const LaunchConfig &config, void *const *params,
                      size_t numParams, const LaunchOptions &options = {});

private:
  std::unique_ptr<DeviceImpl> impl;
};

/// Largest shared memory of a block, in bytes, for a PTX target ("sm_90a").
uint32_t maxSharedBytes(std::string_view target);
inline constexpr uint32_t maxThreadsPerBlock = 1024;

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_DEVICE_H
