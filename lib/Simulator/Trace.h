// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_TRACE_H
#define KVCACHE_LIB_SIMULATOR_TRACE_H

#include "State.h"

namespace ptxsim {

/// Hands one line to LaunchOptions::trace: block, warp, lanes, instruction.
void traceInstruction(Warp &warp, const Inst &inst, uint32_t active);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_TRACE_H
