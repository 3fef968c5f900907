// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saying what a fault of the host was.
#ifndef KVCACHE_LIB_RUNTIME_HOSTFAULTS_H
#define KVCACHE_LIB_RUNTIME_HOSTFAULTS_H

#include <memory>

namespace kvrt {

class Device;

/// From now on a host access to memory of `device` that the host may not touch
/// ends the process with a message instead of a bare signal. Other faults are
/// left to whoever handled them before.
void nameHostFaults(const std::shared_ptr<Device> &device, int exitCode);

} // namespace kvrt

#endif // KVCACHE_LIB_RUNTIME_HOSTFAULTS_H
