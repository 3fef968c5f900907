// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies. They land as late as is legal, so that a missing wait
// shows every time.
#ifndef KVCACHE_LIB_SIMULATOR_ASYNC_H
#define KVCACHE_LIB_SIMULATOR_ASYNC_H

#include "State.h"

namespace ptxsim {

struct AsyncState {};

void resetAsync(Block &block);
/// Lets the oldest outstanding copy of the cluster land; false if there is
/// none.
bool advanceAsync(Cluster &cluster);
/// At the end of a block everything lands.
void finishAsync(Block &block);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_ASYNC_H
