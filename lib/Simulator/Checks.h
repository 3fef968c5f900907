// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shadow state of the checking tools.
#ifndef KVCACHE_LIB_SIMULATOR_CHECKS_H
#define KVCACHE_LIB_SIMULATOR_CHECKS_H

#include "Handlers.h"
#include "State.h"

namespace ptxsim {

/// What is known of each byte of a block's shared memory.
struct SharedShadow {
  /// 1 where a variable lies.
  std::vector<uint8_t> inside;
  /// 1 where written since the block began.
  std::vector<uint8_t> written;
};

/// Checks an access to a block's shared memory and records it; false if it is
/// outside of every variable.
bool checkShared(Warp &warp, const Inst &inst, unsigned lane, Block &block,
                 uint32_t offset, unsigned bytes, AccessMode mode);
/// False if the access is outside of every local variable.
bool checkLocal(Warp &warp, const Inst &inst, unsigned lane, uint32_t offset,
                unsigned bytes, AccessMode mode);
void checkGlobal(Warp &warp, const Inst &inst, unsigned lane,
                 const Allocation &allocation, uint64_t address,
                 unsigned bytes, AccessMode mode);
/// Makes the shadow of a block whose shared memory has its size.
void prepareShadow(Block &block);
/// Prepares a block's shadow for a new run.
void resetShadow(Block &block);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_CHECKS_H
