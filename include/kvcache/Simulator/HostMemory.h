// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the process's own memory can be accessed: pointers that come from
// elsewhere must not end it.
#ifndef KVCACHE_SIMULATOR_HOSTMEMORY_H
#define KVCACHE_SIMULATOR_HOSTMEMORY_H

#include <cstddef>
#include <cstdint>

namespace ptxsim {

/// What can be done with all bytes of a range.
struct HostAccess {
  /// They can be read.
  bool readable = true;
  /// They can be written.
  bool writable = true;
};

/// By the mappings of the process as they are now; all is accessible where the
/// system does not tell.
HostAccess hostAccess(uint64_t address, uint64_t bytes);

/// Whether `bytes` at `address` can be read; cheaper for few bytes.
bool isReadable(const void *address, size_t bytes);

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_HOSTMEMORY_H
