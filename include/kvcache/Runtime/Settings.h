// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's settings: environment variables, or the same names given by the
// program that embeds it.
#ifndef KVCACHE_RUNTIME_SETTINGS_H
#define KVCACHE_RUNTIME_SETTINGS_H

#include "kvcache/Simulator/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kvrt {

/// Which device.
enum class DeviceKind {
  /// The GPU if there is one, else the simulator.
  Auto,
  /// The GPU.
  Cuda,
  /// The simulator.
  Sim
};

/// The runtime's settings, out of environment variables.
struct Settings {
  /// KVCACHE_DEVICE=auto|cuda|sim
  DeviceKind device = DeviceKind::Auto;
  /// KVCACHE_DEVICE_ORDINAL: which CUDA device is device 0 of the program.
  int ordinal = 0;
  /// KVCACHE_VERBOSE=1: say on stderr which device is used, and why.
  bool verbose = false;
  /// KVCACHE_CUDA_LIBRARY: the driver library.
  std::string cudaLibrary = "libcuda.so.1";
  /// KVCACHE_ERROR_EXITCODE: exit status of a process with findings, where the
  /// runtime may end it; 0 leaves the program's own.
  int errorExitCode = 71;
  /// KVCACHE_STOP_AT_FIRST=1: end the process at the first finding.
  bool stopAtFirst = false;

  /// KVCACHE_SIM_TOOL=memcheck,initcheck,racecheck,synccheck|all|none: mask of
  /// ptxsim::Tool.
  uint32_t tools = 0;
  /// KVCACHE_SIM_COUNT=1: count, and print the counters at exit.
  bool count = false;
  /// KVCACHE_SIM_SEED: order of warps.
  uint64_t seed = 0;
  /// KVCACHE_SIM_THREADS: worker threads; 0: one a core.
  unsigned threads = 0;
  /// KVCACHE_SIM_STREAMS=eager|late: run work when it is given, or no sooner
  /// than something waits for it, which shows missing dependencies.
  bool lateStreams = false;
  /// KVCACHE_SIM_HOST_ACCESS=allow|deny: may the host dereference device
  /// memory?
  bool hostUnreadable = false;
  /// KVCACHE_SIM_PRINT_LIMIT: reports kept at most; 0: no limit.
  unsigned printLimit = 100;
  /// KVCACHE_SIM_INSTRUCTION_LIMIT: warp instructions after which a launch is
  /// given up; 0: none.
  uint64_t instructionLimit = 0;
};

/// Reads the environment, then `overrides` of the form "NAME=VALUE" with the
/// same names. Unknown names (in the environment: those with the runtime's own
/// prefix "KVCACHE_SIM_") and wrong values are errors.
ptxsim::Result<Settings>
readSettings(const std::vector<std::string> &overrides);

} // namespace kvrt

#endif // KVCACHE_RUNTIME_SETTINGS_H
