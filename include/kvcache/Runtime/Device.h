// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One interface to the machines that can run a PTX kernel: a GPU through the
// CUDA driver, or the embedded simulator. Pointers are device addresses that
// fit into a host pointer, as CUDA's unified addressing has it.
//
// Every method may be called from any thread. Nothing here prints, throws or
// ends the process.
#ifndef KVCACHE_RUNTIME_DEVICE_H
#define KVCACHE_RUNTIME_DEVICE_H

#include "kvcache/Simulator/Counters.h"
#include "kvcache/Simulator/Report.h"
#include "kvcache/Simulator/Status.h"
#include "kvcache/Simulator/TensorMap.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvrt {

using ptxsim::Result;
using ptxsim::Status;

struct Settings;

/// Signed and wide, so that a caller's negative or overflowing size arrives
/// here whole and is refused rather than truncated.
struct Extent {
  /// Sizes of the three dimensions.
  int64_t x = 1, y = 1, z = 1;
};

/// The sizes of a launch.
struct LaunchConfig {
  /// Blocks, and threads of a block.
  Extent grid, block;
  /// Blocks of a cluster; absent: what the kernel requires, else none.
  std::optional<Extent> cluster;
  /// Bytes of dynamic shared memory of a block.
  int64_t dynamicSharedBytes = 0;
};

/// Checks what no CUDA device allows: empty or too large grids and blocks, and
/// clusters that do not divide the grid. `kernel` is named in the message.
Status checkLaunchConfig(std::string_view kernel, const LaunchConfig &config);

/// Checks what a launch passes against what a kernel takes.
Status checkNumParams(std::string_view kernel, size_t expected,
                      void *const *params, std::optional<size_t> given);

class Kernel;
/// Checks that the host can read the array of parameters and what it points to;
/// `given` is empty where their number is not known. Nothing is checked where
/// the kernel's own are not, or are others.
Status checkReadable(const Kernel &kernel, void *const *params,
                     std::optional<size_t> given);

class Stream;

/// A point in a stream. Never recorded counts as reached, as in CUDA.
class Event {
public:
  virtual ~Event() = default;
  /// Makes the event the stream's present point.
  virtual Status record(Stream &stream) = 0;
  /// Blocks the host until the point is reached.
  virtual Status synchronize() = 0;
  /// Milliseconds of the device between the points of `begin` and of this
  /// event, which are both reached and were created to be timed.
  virtual Result<float> millisecondsSince(Event &begin) = 0;
};

/// Work in order.
class Stream {
public:
  virtual ~Stream() = default;
  /// Blocks the host until all work is done; the error of failed work.
  virtual Status synchronize() = 0;
  /// Later work waits for the event's present point.
  virtual Status wait(Event &event) = 0;
};

/// A kernel of a loaded module.
class Kernel {
public:
  virtual ~Kernel() = default;
  /// Its name in the module.
  virtual const std::string &name() const = 0;
  /// Bytes of each parameter; nothing where the driver cannot tell.
  virtual std::optional<std::vector<size_t>> paramSizes() const = 0;
};

/// A loaded module; it is unloaded with its last owner.
class Module {
public:
  virtual ~Module() = default;
  /// The error lists the kernels there are, where they are known.
  virtual Result<std::shared_ptr<Kernel>> kernel(const std::string &name) = 0;
};

/// Counters of all launches of one kernel.
struct KernelCounters {
  /// Its name, how often it ran, and what was counted in all of these runs.
  std::string kernel;
  uint64_t launches = 0;
  ptxsim::Counters counters;
};
/// A table for people.
std::string countersText(const std::vector<KernelCounters> &counters);
/// An array of objects with "kernel", "launches" and "counters".
std::string countersJson(const std::vector<KernelCounters> &counters);

/// A null stream means: after all work given so far, and done on return.
class Device {
public:
  virtual ~Device() = default;

  /// One line, e.g. "cuda:0: NVIDIA H200 (sm_90)".
  virtual std::string description() const = 0;
  /// The target to compile for, e.g. "sm_90a"; empty: any.
  virtual std::string chip() const = 0;

  /// Memory aligned to 256 bytes; null for 0 bytes. `hostShared` memory may be
  /// read and written by the host too.
  virtual Result<void *> allocate(uint64_t bytes, bool hostShared) = 0;
  virtual Status free(void *pointer, Stream *stream) = 0;
  /// Between any two of device and host memory.
  virtual Status copy(void *dst, const void *src, uint64_t bytes,
                      Stream *stream) = 0;
  /// Fills `count` elements of 1, 2 or 4 bytes with the low bits of `value`.
  virtual Status set(void *dst, uint32_t value, unsigned elementBytes,
                     uint64_t count, Stream *stream) = 0;
  /// Lets kernels use host memory at its own address. Ranges may be registered
  /// repeatedly; each wants its unregister.
  virtual Status registerHost(void *pointer, uint64_t bytes) = 0;
  virtual Status unregisterHost(void *pointer) = 0;

  /// Loads PTX text, a fatbin, or (not on the simulator) a cubin. `bytes` 0:
  /// the image is NUL-terminated text or knows its own size. `optLevel` (0-4)
  /// is for the driver's compiler.
  virtual Result<std::shared_ptr<Module>>
  loadModule(const void *image, size_t bytes, int optLevel) = 0;

  /// `params`: one pointer per parameter, read before the call returns.
  /// `numParams` is checked where given and where the kernel's count is known.
  virtual Status launch(Kernel &kernel, const LaunchConfig &config,
                        void *const *params, std::optional<size_t> numParams,
                        Stream *stream) = 0;

  /// Streams and events of this device, or why there are none.
  virtual Result<std::shared_ptr<Stream>> createStream() = 0;
  /// Events that are `timed` cost the device a little more.
  virtual Result<std::shared_ptr<Event>> createEvent(bool timed) = 0;
  /// Waits for all work of all streams.
  virtual Status synchronize() = 0;
  /// What all later calls fail with after a kernel has met a fault, for the
  /// device does no more work then: only memory is still given back. Ok where
  /// none has, or where the driver itself tells.
  virtual Status lost() const { return {}; }

  /// The 128-byte tensor map of `spec`, in host memory. `l2Promotion` is
  /// CUtensorMapL2promotion's value.
  virtual Result<ptxsim::TensorMap>
  encodeTensorMap(const ptxsim::TensorMapSpec &spec, uint32_t l2Promotion) = 0;

  /// Whether `address` is device memory that the host may not touch, and where
  /// it lies; for signal handlers: gives up rather than wait.
  virtual bool describeFault(const void * /*address*/,
                             std::string & /*place*/) const {
    return false;
  }

  // Checks and counters: empty on a GPU ---------------------------------------

  /// Called for each new report while a launch returns, on its thread; must not
  /// call back into the device.
  void setReportHandler(std::function<void(const ptxsim::Report &)> handler) {
    onReport = std::move(handler);
  }
  /// What checks have found so far, a report a place.
  virtual std::vector<ptxsim::Report> reports() const { return {}; }
  /// Occurrences, of which each report stands for one or more.
  virtual uint64_t numFindings() const { return 0; }
  virtual std::vector<KernelCounters> counters() const { return {}; }

protected:
  std::function<void(const ptxsim::Report &)> onReport;
};

/// Opens the device that `settings` ask for; "auto" is the first CUDA device,
/// else the simulator.
Result<std::shared_ptr<Device>> openDevice(const Settings &settings);
Result<std::shared_ptr<Device>> openCudaDevice(const Settings &settings);
Result<std::shared_ptr<Device>> openSimDevice(const Settings &settings);

} // namespace kvrt

#endif // KVCACHE_RUNTIME_DEVICE_H
