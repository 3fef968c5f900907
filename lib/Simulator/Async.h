// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Asynchronous copies. They land as late as is legal, so that a missing wait
// shows every time: a thread's cp.async when the thread waits for it, bulk
// copies when nothing else can go on.
#ifndef KVCACHE_LIB_SIMULATOR_ASYNC_H
#define KVCACHE_LIB_SIMULATOR_ASYNC_H

#include "Handlers.h"
#include "State.h"
#include "kvcache/Simulator/TensorMap.h"

#include <deque>

namespace ptxsim {

enum class CopyKind : uint8_t {
  /// cp.async of one thread, to shared memory.
  Small,
  /// cp.async.mbarrier.arrive: when the thread's copies before it are done.
  ArriveWhenDone,
  /// st.async and red.async: a value of a register.
  Store,
  /// Bulk copies: between linear ranges, or with a tensor map.
  Bulk,
  TensorLoad,
  TensorStore
};

struct PendingCopy {
  CopyKind kind = CopyKind::Small;
  const Inst *inst = nullptr;
  Warp *warp = nullptr;
  unsigned lane = 0;
  /// For the race check: when it was issued.
  uint32_t epoch = 0;
  uint64_t dst = 0, src = 0;
  Space dstSpace = Space::Shared, srcSpace = Space::Global;
  uint32_t bytes = 0;
  /// Bytes read; the rest of `bytes` is zero.
  uint32_t sourceBytes = 0;
  /// Commit group of the thread.
  uint32_t group = 0;
  /// Barrier that counts the bytes, as a shared address.
  bool hasBarrier = false;
  uint64_t barrier = 0;
  /// Blocks of the cluster that receive it, 0: only the one addressed.
  uint32_t multicast = 0;
  /// Elements are combined with those at the destination, null: they replace
  /// them.
  AtomicApply apply = nullptr;
  uint8_t elementBytes = 0;
  /// Which of each 16 bytes a bulk copy to global memory writes.
  uint16_t byteMask = 0xffff;
  /// Of a Store.
  char value[16] = {};
  /// What a copy out of shared memory has read there, once that is waited for.
  bool hasRead = false;
  std::vector<char> held;
  TensorMapSpec map;
  int32_t coordinates[5] = {};
};

/// Asynchronous work of one thread.
struct ThreadCopies {
  std::deque<PendingCopy> small;
  uint32_t group = 0;
  /// Bulk copies out of shared memory, by their own groups.
  std::deque<PendingCopy> bulk;
  uint32_t bulkGroup = 0;
};

/// A wgmma that has been issued.
struct PendingWgmma {
  const Inst *inst = nullptr;
  Warp *warp = nullptr;
  uint64_t descriptorA = 0, descriptorB = 0;
  /// Lanes that add to their accumulators.
  uint32_t accumulate = 0;
  uint32_t group = 0;
};
/// What is known of a register of wgmmas (Program::productRegisters): the
/// groups of the last that accumulates in it, of the last that has A there, and
/// of that whose accumulator was copied to it unfinished, -1 if there is none;
/// the last of the first, also where copied; and whether it has been accessed
/// since the last wgmma.fence.
struct ProductRegister {
  int64_t accumulated = -1, held = -1, copied = -1;
  uint32_t last = 0;
  bool isAccessed = false;
};
struct WarpProducts {
  std::deque<PendingWgmma> pending;
  uint32_t group = 0;
  /// For the checks (WgmmaRegisters.cpp). Groups below this have been waited
  /// for.
  int64_t waited = 0;
  std::vector<ProductRegister> registers;
  bool hasFenced = false;
};

struct AsyncState {
  /// Per warp of the block; empty until the first wgmma.
  std::vector<WarpProducts> wgmma;
  /// Per thread of the block; empty until the first copy.
  std::vector<ThreadCopies> threads;
  /// Bulk copies that complete on barriers, in order of issue.
  std::deque<PendingCopy> bulk;
  /// Copies that have not landed, in all queues.
  size_t numPending = 0;

  ThreadCopies &of(const Warp &warp, unsigned lane) {
    if (threads.empty())
      threads.resize(warp.block->warps.size() * 32);
    return threads[warp.index * 32 + lane];
  }
};

AsyncState &asyncOf(Block &block);
void resetAsync(Block &block);
/// Lets the oldest outstanding copy of the cluster land; false if there is
/// none.
bool advanceAsync(Cluster &cluster);
/// At the end of a block everything lands.
void finishAsync(Block &block);

/// Adds a copy to a queue of the block's. Where too many are outstanding the
/// queue's oldest lands, as any may at any time.
void enqueue(AsyncState &state, std::deque<PendingCopy> &queue,
             PendingCopy copy);
/// Performs a copy and what depends on it.
void land(PendingCopy &copy);
/// Reads the source of a copy out of shared memory, which may change then.
void readSource(PendingCopy &copy);
/// Moves `bytes` to their destination, combining elements where the copy says.
void moveElements(const PendingCopy &copy, char *to, const char *from,
                  uint64_t bytes);
void landTensor(PendingCopy &copy);
/// How elements of a tensor are combined; null if they cannot be.
AtomicApply tensorReduction(AtomicOp op, TensorMapType type);
/// Bytes of a box in shared memory.
uint32_t boxBytes(const TensorMapSpec &spec);
unsigned tensorElementBytes(TensorMapType type);
/// Refuses what tensor maps can say and copies here cannot do.
Status checkTensorCopy(const TensorMapSpec &spec);
/// Host memory of a copy's end, checked; null if it is not accessible.
char *copyTarget(const PendingCopy &copy, uint64_t address, uint32_t bytes,
                 uint32_t align, Space space, AccessMode mode);

/// Whether the registers of wgmmas are looked after (WgmmaRegisters.cpp).
bool checksProducts(const Launch &launch);
/// A warp issues a wgmma, or has waited for those of groups below `until`.
void issueProduct(Warp &warp, const Inst &inst);
void waitForProducts(Warp &warp, int64_t until);
/// Performs a warp's wgmmas of groups below `until`, in order (Wgmma.cpp).
void performProducts(Warp &warp, int64_t until);

// mbarrier (Mbarrier.cpp)

/// For the race check: a use of an mbarrier must be ordered behind its
/// initialisation.
void checkInitOrder(Warp &warp, const Inst &inst, unsigned lane,
                    uint64_t barrier);
/// A thread has made its initialisations known to the cluster by a
/// fence.mbarrier_init, and then arrives at the cluster's barrier.
void fenceInits(Warp &warp, unsigned lane);
void passOnInits(Warp &warp, uint32_t lanes);
/// Counts bytes that have arrived.
void completeTransaction(Warp &warp, const Inst &inst, unsigned lane,
                         uint64_t barrier, uint32_t bytes);
/// One arrival.
void arriveOnBarrier(Warp &warp, const Inst &inst, unsigned lane,
                     uint64_t barrier, uint32_t count);
/// True if a bulk copy has its barrier in this block's shared memory.
constexpr uint64_t sharedAddressOf(const Block &block, uint64_t offset) {
  return (uint64_t(block.rank) + 1) << sharedRankShift | offset;
}
/// The address with its block spelled out.
inline uint64_t absoluteShared(const Block &block, uint64_t address) {
  uint64_t a = address & 0xffffffff;
  return a >> sharedRankShift ? a : sharedAddressOf(block, a);
}

} // namespace ptxsim

#endif // KVCACHE_LIB_SIMULATOR_ASYNC_H
