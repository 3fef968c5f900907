// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Async.h"
#include "Checks.h"
#include "PendingSources.h"

#include <algorithm>

using namespace ptxsim;

AsyncState &ptxsim::asyncOf(Block &block) {
  if (!block.async)
    block.async = std::make_unique<AsyncState>();
  return *block.async;
}

void ptxsim::resetAsync(Block &block) { block.async.reset(); }

char *ptxsim::copyTarget(const PendingCopy &copy, uint64_t address,
                         uint32_t bytes, uint32_t align, Space space,
                         AccessMode mode) {
  return resolve(*copy.warp, *copy.inst, copy.lane, address, bytes, align,
                 space, mode);
}

void ptxsim::moveElements(const PendingCopy &copy, char *to, const char *from,
                          uint64_t bytes) {
  if (!copy.apply) {
    memmove(to, from, bytes);
    return;
  }
  for (uint64_t k = 0; k < bytes; k += copy.elementBytes) {
    uint64_t value = 0;
    memcpy(&value, from + k, copy.elementBytes);
    copy.apply(*copy.warp, to + k, value);
  }
}

static AccessMode writeMode(const PendingCopy &copy) {
  return copy.apply ? AccessMode::Atomic : AccessMode::Write;
}

static void landStore(const PendingCopy &copy) {
  uint32_t align = copy.apply ? copy.elementBytes : copy.bytes;
  char *to = copyTarget(copy, copy.dst, copy.bytes, align, Space::Shared,
                        writeMode(copy));
  if (to)
    moveElements(copy, to, copy.value, copy.bytes);
}

/// Writes the bytes of the mask alone, in runs.
static void landMasked(const PendingCopy &copy, uint64_t dst,
                       const char *from) {
  for (uint32_t at = 0; at < copy.bytes;) {
    uint32_t run = 0;
    while (at + run < copy.bytes && copy.byteMask >> (at + run) % 16 & 1)
      ++run;
    if (run) {
      char *to =
          copyTarget(copy, dst + at, run, 1, copy.dstSpace, AccessMode::Write);
      if (!to)
        return;
      memcpy(to, from + at, run);
    }
    at += run + 1;
  }
}

static void landLinear(const PendingCopy &copy, uint64_t dst) {
  uint32_t align = copy.kind == CopyKind::Small ? copy.bytes : 16;
  uint32_t read = std::min(copy.sourceBytes, copy.bytes);
  const char *from = nullptr;
  if (copy.hasRead) {
    if (copy.held.empty() && read)
      return;
    from = copy.held.data();
  } else if (read) {
    from = copyTarget(copy, copy.src, read, align, copy.srcSpace,
                      AccessMode::Read);
    if (!from)
      return;
  }
  if (copy.byteMask != 0xffff) {
    landMasked(copy, dst, from);
    return;
  }
  char *to =
      copyTarget(copy, dst, copy.bytes, align, copy.dstSpace, writeMode(copy));
  if (!to)
    return;
  if (read)
    moveElements(copy, to, from, read);
  memset(to + read, 0, copy.bytes - read);
}

void ptxsim::readSource(PendingCopy &copy) {
  if (copy.hasRead)
    return;
  AsyncScope scope(*copy.warp, /*asyncProxy=*/true);
  bool tensor = copy.kind == CopyKind::TensorStore;
  uint32_t bytes = tensor ? boxBytes(copy.map) : copy.bytes;
  uint32_t align =
      tensor && copy.map.swizzle != TensorMapSwizzle::None ? 128 : 16;
  copy.hasRead = true;
  if (!bytes)
    return;
  const char *from =
      copyTarget(copy, copy.src, bytes, align, Space::Shared, AccessMode::Read);
  if (from)
    copy.held.assign(from, from + bytes);
}

/// More than copies of the least size fill the shared memory of any chip.
static constexpr size_t mostPending = 1 << 16;

void ptxsim::enqueue(AsyncState &state, std::deque<PendingCopy> &queue,
                     PendingCopy copy) {
  queue.push_back(std::move(copy));
  if (++state.numPending <= mostPending)
    return;
  PendingCopy oldest = std::move(queue.front());
  queue.pop_front();
  land(oldest);
}

void ptxsim::land(PendingCopy &copy) {
  Block &block = *copy.warp->block;
  --block.async->numPending;
  AsyncScope scope(*copy.warp, copy.kind >= CopyKind::Bulk, copy.epoch);
  clearPending(copy);
  PendingSources *sources = block.launch->pendingSources.get();
  if (copy.kind == CopyKind::Small && sources)
    sources->remove(copy);
  switch (copy.kind) {
  case CopyKind::ArriveWhenDone:
    arriveOnBarrier(*copy.warp, *copy.inst, copy.lane, copy.barrier, 1);
    return;
  case CopyKind::TensorLoad:
  case CopyKind::TensorStore:
    landTensor(copy);
    return;
  case CopyKind::Store:
    landStore(copy);
    completeTransaction(*copy.warp, *copy.inst, copy.lane, copy.barrier,
                        copy.bytes);
    return;
  default:
    break;
  }
  if (!copy.multicast) {
    landLinear(copy, copy.dst);
    if (copy.hasBarrier)
      completeTransaction(*copy.warp, *copy.inst, copy.lane, copy.barrier,
                          copy.bytes);
    return;
  }
  for (uint32_t rank = 0; rank < block.cluster->blocks.size(); ++rank) {
    if (!(copy.multicast >> rank & 1))
      continue;
    uint64_t place = uint64_t(rank + 1) << sharedRankShift;
    landLinear(copy, place | (copy.dst & sharedOffsetMask));
    if (copy.hasBarrier)
      completeTransaction(*copy.warp, *copy.inst, copy.lane,
                          place | (copy.barrier & sharedOffsetMask),
                          copy.bytes);
  }
}

bool ptxsim::advanceAsync(Cluster &cluster) {
  for (Block &block : cluster.blocks) {
    if (!block.async)
      continue;
    AsyncState &state = *block.async;
    if (!state.bulk.empty()) {
      PendingCopy copy = state.bulk.front();
      state.bulk.pop_front();
      land(copy);
      return true;
    }
    // Small copies that a barrier waits for.
    for (ThreadCopies &thread : state.threads) {
      auto arrive = std::find_if(thread.small.begin(), thread.small.end(),
                                 [](const PendingCopy &copy) {
                                   return copy.kind == CopyKind::ArriveWhenDone;
                                 });
      if (arrive == thread.small.end())
        continue;
      size_t count = size_t(arrive - thread.small.begin()) + 1;
      for (size_t i = 0; i < count; ++i) {
        PendingCopy copy = thread.small.front();
        thread.small.pop_front();
        land(copy);
      }
      return true;
    }
  }
  return false;
}

/// Of the shared memory of a block that ends.
static void reportOutstanding(const PendingCopy &copy) {
  uint32_t tools = copy.warp->block->launch->tools;
  bool writes =
      copy.dstSpace == Space::Shared && copy.kind != CopyKind::TensorStore;
  if (!(tools & (RaceCheck | SyncCheck)) ||
      copy.kind == CopyKind::ArriveWhenDone || (!writes && copy.hasRead))
    return;
  uint64_t address = writes ? copy.dst : copy.src;
  report(*copy.warp, *copy.inst, copy.lane,
         tools & RaceCheck ? RaceCheck : SyncCheck, "missing-wait",
         std::string("the block ends while an asynchronous copy has yet to ") +
             (writes ? "write" : "read") +
             " its shared memory; it has not been waited for",
         &address, Space::Shared);
}

void ptxsim::finishAsync(Block &block) {
  if (!block.async)
    return;
  AsyncState &state = *block.async;
  for (const PendingCopy &copy : state.bulk)
    reportOutstanding(copy);
  for (const ThreadCopies &thread : state.threads)
    for (auto *queue : {&thread.small, &thread.bulk})
      for (const PendingCopy &copy : *queue)
        reportOutstanding(copy);
  while (!state.bulk.empty()) {
    PendingCopy copy = state.bulk.front();
    state.bulk.pop_front();
    land(copy);
  }
  for (ThreadCopies &thread : state.threads)
    for (auto *queue : {&thread.small, &thread.bulk})
      while (!queue->empty()) {
        PendingCopy copy = queue->front();
        queue->pop_front();
        land(copy);
      }
}
