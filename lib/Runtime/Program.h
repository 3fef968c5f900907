// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MLIR's ABI runs on: the device of the compiled program of this process,
// and what becomes of its problems. The ABI's functions cannot return an error,
// so that this decides: an embedding program gets them by its handler; else
// they are printed, and the process ends with a status that says so.
#ifndef KVCACHE_RUNTIME_PROGRAM_H
#define KVCACHE_RUNTIME_PROGRAM_H

#include "MemRefDescriptor.h"
#include "Registry.h"

#include <set>
#include <string>

namespace kvrt {

class Program {
public:
  static Program &get();

  /// The device of the calling thread; null (already reported) if there is
  /// none.
  std::shared_ptr<Device> device();
  /// mgpuSetDefaultDevice: counts from KVCACHE_DEVICE_ORDINAL.
  Status selectDevice(int ordinal);
  void embed(ProgramDevice program);

  /// Device memory with the tensor map of `request`. It lives as long as the
  /// process; equal requests share one.
  Result<void *> tensorMap(const std::shared_ptr<Device> &device,
                           const TensorMapRequest &request);

  /// Whether `text` is what a device that is lost refuses work with, and has
  /// been asked about before: one refusal tells as much as all.
  bool isOldRefusal(const std::string &text);
  /// The program runs on; its exit status will tell.
  void error(const std::string &text);
  /// The program cannot run on; only an embedding program's handler makes this
  /// return.
  void fatal(const std::string &text);

private:
  Program() = default;
  Result<std::shared_ptr<Device>> open(int ordinal);
  void report(const ptxsim::Report &report);
  void problem(const std::string &text);
  static void atExit();

  /// Recursive: a device may report while it is being opened.
  std::recursive_mutex lock;
  ProgramDevice embedded;
  Settings settings;
  std::map<int, std::shared_ptr<Device>> devices;
  /// By device and contents.
  std::map<std::pair<Device *, std::string>, void *> tensorMaps;
  std::set<std::string> refusals;
  uint64_t numProblems = 0;
  bool exitHookSet = false;
};

} // namespace kvrt

#endif // KVCACHE_RUNTIME_PROGRAM_H
