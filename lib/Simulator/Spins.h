// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting that never ends, told from waiting that does.
#ifndef KVCACHE_LIB_SIMULATOR_SPINS_H
#define KVCACHE_LIB_SIMULATOR_SPINS_H

#include "State.h"

namespace ptxsim {

/// After a round of a cluster in which every warp only waited or used up its
/// turn: looks whether it spins.
void noteIdleRound(Cluster &cluster);
/// There has been progress.
void endSpinning(Cluster &cluster);
/// Whether nothing but another cluster or the time can end what the cluster
/// does now; and whether that is all that it has done for very long.
bool waitsForTime(const Cluster &cluster);
bool waitsForEver(const Cluster &cluster);
/// Everything waits, perhaps for a time. Lets time pass, more and more of it;
/// false once that has been enough for any wait.
bool passTime(Worker &worker,
              const std::vector<std::unique_ptr<Cluster>> &waiting);
/// Time has passed.
void lookAgain(Cluster &cluster);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_SPINS_H
