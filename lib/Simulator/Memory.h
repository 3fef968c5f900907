// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device memory: allocations in the host's address space, their red zones and
// their shadow of written bytes.
#ifndef KVCACHE_LIB_SIMULATOR_MEMORY_H
#define KVCACHE_LIB_SIMULATOR_MEMORY_H

#include "kvcache/Simulator/Device.h"

#include <deque>
#include <map>
#include <string>
#include <vector>

namespace ptxsim {

struct Allocation {
  uint64_t begin = 0, end = 0;
  /// One byte per byte, 1 where written; null where not tracked.
  uint8_t *shadow = nullptr;
  AllocationKind kind = AllocationKind::Device;
  bool readOnly = false;
  std::string name;
  /// The mapping that holds it, red zones included.
  void *mapping = nullptr;
  size_t mappingBytes = 0;
  unsigned references = 1;
  /// Last accesses for the race check between blocks; made on demand.
  void *raceShadow = nullptr;
};

/// Live and freed allocations by address.
class AllocationTable {
public:
  /// The allocation that holds `address`, null if none.
  const Allocation *find(uint64_t address) const;
  Allocation *find(uint64_t address) {
    return const_cast<Allocation *>(
        static_cast<const AllocationTable *>(this)->find(address));
  }
  /// Whether the address lies in an allocation, live or freed, or in its red
  /// zones.
  bool maps(uint64_t address) const;
  /// Words for `address` against the nearest live or freed allocation.
  std::string describe(uint64_t address) const;

  std::map<uint64_t, Allocation> live;
  std::map<uint64_t, Allocation> freed;
};

/// An address as text, as in 0x7f.
std::string hex(uint64_t value);

/// Maps anonymous memory that costs nothing until touched; null on failure.
void *mapMemory(size_t bytes, bool accessible = true);
void unmapMemory(void *pointer, size_t bytes);
/// Makes mapped memory zero, and as cheap as new.
void clearMemory(void *pointer, size_t bytes);

class MemoryManager {
public:
  explicit MemoryManager(const DeviceOptions &options) : options(options) {}
  ~MemoryManager();

  Result<void *> allocate(uint64_t bytes, std::string_view name,
                          AllocationKind kind, bool tracked);
  Status free(void *pointer);
  /// Takes a module's variable away.
  void release(uint64_t address);
  Status registerHost(void *pointer, uint64_t bytes, std::string_view name);
  Status unregisterHost(void *pointer);
  /// Before a launch: registered memory that the host has given up since counts
  /// as freed, what can only be read as constant.
  void reviseHostMemory();
  Status copy(void *dst, const void *src, uint64_t bytes);
  /// Fills `count` elements of `size` bytes.
  Status fill(void *dst, uint32_t value, unsigned size, uint64_t count);
  void setWritten(uint64_t address, uint64_t bytes);
  /// malloc and free of kernels. 0 where the heap has no room; false for what
  /// heapAllocate did not return or has been freed.
  uint64_t heapAllocate(uint64_t bytes, bool tracked);
  bool heapFree(uint64_t address);
  /// Opens or closes device memory to the host where options ask for it.
  void setHostAccess(bool open);

  AllocationTable table;

private:
  Status checkRange(const void *pointer, uint64_t bytes, const char *what,
                    bool isWritten, const Allocation **allocation) const;
  /// The beginning of `bytes` between what is live in the heap, 0 if none.
  uint64_t heapRoom(uint64_t bytes) const;

  const DeviceOptions &options;
  /// Mapped by the first malloc: the memory and a shadow of it.
  char *heap = nullptr;
  uint8_t *heapShadow = nullptr;
  /// Where heap blocks have not been yet.
  uint64_t heapTop = 0;
  unsigned numHeapBlocks = 0;
  uint64_t allocated = 0;
  uint64_t quarantined = 0;
  /// Freed allocations that have mappings, the oldest first.
  std::deque<uint64_t> quarantine;
  unsigned numbered = 0;
};

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_MEMORY_H
