// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host may read, and saying so before or when it faults.
#ifndef KVCACHE_LIB_RUNTIME_HOSTMEMORY_H
#define KVCACHE_LIB_RUNTIME_HOSTMEMORY_H

#include <cstddef>
#include <memory>

namespace kvrt {

class Device;

/// Whether `bytes` at `address` can be read; true where that cannot be told.
bool isReadable(const void *address, size_t bytes);

/// Whether `bytes` at `address` are mapped and their ends can be read, in time
/// that does not grow with them; true where that cannot be told.
bool isMapped(const void *address, size_t bytes);

/// From now on a host access to memory of `device` that the host may not touch
/// ends the process with a message instead of a bare signal. Other faults are
/// left to whoever handled them before.
void nameHostFaults(const std::shared_ptr<Device> &device, int exitCode);

} // namespace kvrt

#endif // KVCACHE_LIB_RUNTIME_HOSTMEMORY_H
