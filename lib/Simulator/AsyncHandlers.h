// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef KVCACHE_LIB_SIMULATOR_ASYNCHANDLERS_H
#define KVCACHE_LIB_SIMULATOR_ASYNCHANDLERS_H

#include "Inst.h"

namespace ptxsim {

/// Inst::flags of bulk copies. BulkReduce: Inst::op is the AtomicOp and, but
/// for tensors, Inst::imm the function and Inst::size the element's bytes.
enum : uint8_t {
  BulkToGlobal = 1,
  BulkFromShared = 2,
  BulkMulticast = 4,
  BulkReduce = 8,
  /// Inst::c says which of each 16 bytes are written.
  BulkMasked = 16
};
/// Of waits for bulk copies: only for the reading.
enum : uint8_t { BulkWaitRead = 1 };

void cpAsyncHandler(Warp &, const Inst &, uint32_t);
void cpCommitHandler(Warp &, const Inst &, uint32_t);
void cpWaitHandler(Warp &, const Inst &, uint32_t);
void cpArriveHandler(Warp &, const Inst &, uint32_t);
/// st.async and red.async: addresses of the place and of the barrier, then
/// Inst::count values of Inst::size bytes; Inst::imm: the reduction or null.
void asyncStoreHandler(Warp &, const Inst &, uint32_t);
void bulkHandler(Warp &, const Inst &, uint32_t);
void tensorHandler(Warp &, const Inst &, uint32_t);
/// Inst::op: the TensorMapField, Inst::count: the dimension; b holds the value,
/// of Inst::size bytes.
void tensorMapReplaceHandler(Warp &, const Inst &, uint32_t);
/// Operands: addresses in global and in shared memory, the same in all lanes.
void tensorMapCopyHandler(Warp &, const Inst &, uint32_t);
void bulkCommitHandler(Warp &, const Inst &, uint32_t);
void bulkWaitHandler(Warp &, const Inst &, uint32_t);

// Mbarrier.cpp
/// Inst::op of mbarrier instructions.
enum : uint8_t {
  MbarrierInit,
  MbarrierInval,
  MbarrierArrive,
  MbarrierArriveExpectTx,
  MbarrierExpectTx,
  MbarrierCompleteTx,
  MbarrierTestWait,
  MbarrierTryWait,
  MbarrierPending
};
/// Inst::flags.
enum : uint8_t {
  MbarrierParity = 1,
  MbarrierNoComplete = 2,
  /// The arrival is one less to expect in later phases, too.
  MbarrierDrop = 4,
  /// Releases or acquires nothing by itself; for threads of the block only.
  MbarrierRelaxed = 8,
  MbarrierOfBlock = 16
};
void mbarrierHandler(Warp &, const Inst &, uint32_t);
void mbarrierPendingHandler(Warp &, const Inst &, uint32_t);
void mbarrierWaitHandler(Warp &, const Inst &, uint32_t);
/// One more arrival is expected in the current phase.
void expectArrival(Warp &warp, const Inst &inst, unsigned lane,
                   uint64_t barrier);
void mapaHandler(Warp &, const Inst &, uint32_t);
void getctarankHandler(Warp &, const Inst &, uint32_t);

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_ASYNCHANDLERS_H
