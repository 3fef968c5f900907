// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the process's own memory can be accessed: pointers that come from
// elsewhere must not end it.
#ifndef KVCACHE_SIMULATOR_HOSTMEMORY_H
#define KVCACHE_SIMULATOR_HOSTMEMORY_H

#include <cstddef>
#include <cstdint>

namespace ptxsim {

/// Whether all bytes of a range can be read, and written.
struct HostAccess {
  bool readable = true, writable = true;
};

/// By the mappings of the process as they are now; all is accessible where the
/// system does not tell.
HostAccess hostAccess(uint64_t address, uint64_t bytes);

/// Whether `bytes` at `address` can be read; cheaper for few bytes.
bool isReadable(const void *address, size_t bytes);

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_HOSTMEMORY_H
