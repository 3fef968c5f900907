// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What of the process's own memory can be accessed: pointers that come from
// elsewhere must not end it.
#ifndef KVCACHE_SIMULATOR_HOSTMEMORY_H
#define KVCACHE_SIMULATOR_HOSTMEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptxsim {

/// What can be done with all bytes of a range.
struct HostAccess {
  /// They can be read.
  bool readable = true;
  /// They can be written.
  bool writable = true;
};

/// The mappings of the process as they are while this lives; all is accessible
/// where the system does not tell. Looks only when first asked.
class HostMappings {
public:
  HostMappings() = default;
  HostMappings(const HostMappings &) = delete;
  HostMappings &operator=(const HostMappings &) = delete;
  ~HostMappings();

  /// What can be done with all of `bytes` at `address`.
  HostAccess access(uint64_t address, uint64_t bytes);

private:
  /// Addresses from `begin` to before `end`.
  struct Mapping {
    uint64_t begin = 0, end = 0;
    HostAccess access;
  };

  void open();
  /// The mapping that has `address`, or one without a size.
  Mapping find(uint64_t address) const;

  bool isOpen = false;
  /// Of /proc/self/maps, where the kernel answers for single addresses.
  int file = -1;
  /// All of them by ascending addresses, where it does not.
  std::vector<Mapping> listed;
};

/// Whether `bytes` at `address` can be read; cheaper for few bytes.
bool isReadable(const void *address, size_t bytes);

} // namespace ptxsim

#endif // KVCACHE_SIMULATOR_HOSTMEMORY_H
