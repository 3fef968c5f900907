// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions take and give registers that may be wider than their types: the
// low bits count, integers are extended.
#ifndef KVCACHE_LIB_SIMULATOR_ISA_LANES_H
#define KVCACHE_LIB_SIMULATOR_ISA_LANES_H

#include "Isa.h"

#include <type_traits>

namespace ptxsim {
namespace PTXSIM_ISA {

template <unsigned Bytes>
using UnsignedOf = std::conditional_t<
    Bytes == 1, uint8_t,
    std::conditional_t<Bytes == 2, uint16_t,
                       std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

/// The low bits of 32 registers of `width` bytes, as T.
template <typename T>
PTXSIM_NOINLINE void loadLanes(Warp &w, uint32_t slot, unsigned width, T *out) {
  using U = UnsignedOf<sizeof(T)>;
  switch (width) {
  case 2: {
    const uint16_t *in = w.reg<uint16_t>(slot);
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      out[l] = bitCast<T>(U(in[l]));
    return;
  }
  case 4: {
    const uint32_t *in = w.reg<uint32_t>(slot);
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      out[l] = bitCast<T>(U(in[l]));
    return;
  }
  default: {
    const uint64_t *in = w.reg<uint64_t>(slot);
    PTXSIM_VECTORIZE
    for (unsigned l = 0; l < 32; ++l)
      out[l] = bitCast<T>(U(in[l]));
  }
  }
}

/// Stores T extended to the register: with its sign if it is a signed integer,
/// with zeros otherwise.
template <typename T>
PTXSIM_NOINLINE void storeLanes(Warp &w, uint32_t slot, unsigned width,
                                uint32_t mask, const T *in) {
  auto extend = [=](unsigned l) -> uint64_t {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
      return uint64_t(int64_t(in[l]));
    else
      return uint64_t(bitCast<UnsignedOf<sizeof(T)>>(in[l]));
  };
  switch (width) {
  case 2: {
    uint16_t *out = w.reg<uint16_t>(slot);
    setLanes(mask, out, [=](unsigned l) { return uint16_t(extend(l)); });
    return;
  }
  case 4: {
    uint32_t *out = w.reg<uint32_t>(slot);
    setLanes(mask, out, [=](unsigned l) { return uint32_t(extend(l)); });
    return;
  }
  default: {
    uint64_t *out = w.reg<uint64_t>(slot);
    setLanes(mask, out, [=](unsigned l) { return extend(l); });
  }
  }
}

} // namespace PTXSIM_ISA
} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_ISA_LANES_H
