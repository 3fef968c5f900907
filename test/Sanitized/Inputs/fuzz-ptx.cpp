// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fuzzer over the parser, the decoder and, for a bounded number of
// instructions, the execution of what they accept.
#include "kvcache/Simulator/Device.h"

#include <cstdlib>
#include <cstring>

using namespace ptxsim;

static void require(bool condition) {
  if (!condition)
    abort();
}

static void run(Device &device, LoadedModule *loaded,
                const KernelInfo &kernel) {
  if (kernel.paramBytes > 4096)
    return;
  Result<void *> buffer = device.allocate(256, "buffer");
  require(buffer.ok());
  // Every parameter of eight bytes is the buffer, others are small numbers.
  std::string params(kernel.paramBytes, '\3');
  for (const ParamInfo &param : kernel.params)
    if (param.size == 8)
      memcpy(&params[param.offset], &*buffer, 8);
  LaunchConfig config;
  config.grid = {2, 1, 1};
  config.block = {33, 1, 1};
  for (const Dim3 *required : {&kernel.requiredBlock})
    if (required->count())
      config.block = *required;
  LaunchOptions options;
  options.tools = MemCheck | InitCheck | RaceCheck | SyncCheck;
  options.counters = true;
  options.threads = 1;
  options.instructionLimit = 2000;
  options.print = [](std::string_view) {};
  LaunchResult result = device.launch(loaded, kernel.name, config,
                                      params.data(), params.size(), options);
  require((result.outcome == LaunchOutcome::Completed) == result.status.ok());
  for (const Report &report : result.reports)
    require(!report.text().empty());
  require(device.free(*buffer).ok());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Result<std::shared_ptr<const Module>> module = Module::parse(text, "input");
  if (!module.ok()) {
    // Every refusal names the place.
    require(module.message().compare(0, 6, "input:") == 0);
    return 0;
  }
  DeviceOptions options;
  options.trackInitialisation = true;
  options.memoryLimit = 16 << 20;
  Device device(options);
  Result<LoadedModule *> loaded = device.load(*module);
  for (const KernelInfo &kernel : (*module)->kernels()) {
    Status status = (*module)->check(kernel.name);
    if (loaded.ok() && status.ok())
      run(device, *loaded, kernel);
  }
  return 0;
}
