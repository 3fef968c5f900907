// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_BARRIERS_H
#define KVCACHE_LIB_SIMULATOR_BARRIERS_H

#include "Inst.h"

namespace ptxsim {

/// Inst::op of block barriers.
enum : uint8_t {
  BarrierSync,
  BarrierArrive,
  BarrierRedPopc,
  BarrierRedAnd,
  BarrierRedOr
};
/// Inst::flags.
enum : uint8_t { BarrierAligned = 1, BarrierNegated = 2, BarrierRelaxed = 4 };

void clusterArriveHandler(Warp &, const Inst &, uint32_t);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_BARRIERS_H
