// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "HostFaults.h"
#include "kvcache/Runtime/Device.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <unistd.h>

using namespace kvrt;

namespace {

/// Lives as long as the process, since faults may come at any time.
struct FaultHandler {
  std::weak_ptr<Device> device;
  int exitCode = 0;
  struct sigaction before[2] = {};
};
FaultHandler *handler = nullptr;
constexpr int faultSignals[] = {SIGSEGV, SIGBUS};

void onFault(int signal, siginfo_t *info, void *) {
  std::string place;
  std::shared_ptr<Device> device = handler->device.lock();
  if (device && device->describeFault(info->si_addr, place)) {
    char address[32];
    std::snprintf(address, sizeof address, "%p", info->si_addr);
    std::string text = "kvcache: fatal: the host reads or writes device memory "
                       "at " +
                       std::string(address) + ", " + place +
                       ", which KVCACHE_SIM_HOST_ACCESS=deny forbids; copy it "
                       "by gpu.memcpy, or allocate it as host_shared\n";
    std::fflush(stdout);
    ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
    (void)ignored;
    _exit(handler->exitCode);
  }
  // Not ours: the access is made again under the handler before.
  for (int k = 0; k < 2; ++k)
    if (faultSignals[k] == signal)
      sigaction(signal, &handler->before[k], nullptr);
}

} // namespace

void kvrt::nameHostFaults(const std::shared_ptr<Device> &device, int exitCode) {
  bool isNew = !handler;
  if (isNew)
    handler = new FaultHandler;
  handler->device = device;
  handler->exitCode = exitCode;
  if (!isNew)
    return;
  struct sigaction action = {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (int k = 0; k < 2; ++k)
    sigaction(faultSignals[k], &action, &handler->before[k]);
}
