// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting that never ends, told from waiting that does.
#ifndef KVCACHE_LIB_SIMULATOR_SPINS_H
#define KVCACHE_LIB_SIMULATOR_SPINS_H

#include "State.h"

namespace ptxsim {

/// After a round of a cluster without progress, at how many modifications of
/// memory: whether it spins, that is, comes back to a state that it has been in
/// while the clocks stand.
bool spins(Cluster &cluster, uint64_t modifications);
/// There has been progress.
void endSpinning(Cluster &cluster);
/// Everything spins: it may be that it waits for a time. Lets time pass, more
/// and more of it; false once that has been enough for any wait.
bool passTime(Worker &worker, uint64_t modifications);
/// The clocks have gone on.
void lookAgain(Cluster &cluster);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_SPINS_H
