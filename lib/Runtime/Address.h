// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses as numbers, as drivers and compiled code pass them, and as
// pointers.
#ifndef KVCACHE_RUNTIME_ADDRESS_H
#define KVCACHE_RUNTIME_ADDRESS_H

#include <cstdint>

namespace kvrt {

inline void *toPointer(uint64_t address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void *>(static_cast<uintptr_t>(address));
}

inline uint64_t toAddress(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

} // namespace kvrt

#endif // KVCACHE_RUNTIME_ADDRESS_H
