// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_COLLECT_H
#define KVCACHE_LIB_SIMULATOR_COLLECT_H

#include "State.h"

namespace ptxsim {

/// Adds a worker's counts, instruction by instruction, to `out`.
void collectCounters(const Program &program,
                     const std::vector<InstCounts> &counts, Counters &out);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_COLLECT_H
