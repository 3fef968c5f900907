// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of proxies. Bulk copies and wgmma are of the async proxy: what
// ordinary instructions write is seen by it only after a fence.proxy.async of
// the thread that wrote, or of the one that issues what reads. An mbarrier on
// which copies of other blocks of the cluster complete must have been made
// known to them by that fence or by fence.mbarrier_init; within its block a
// barrier of the threads does (libcu++'s own copies rely on that).
#include "Proxy.h"
#include "Async.h"
#include "Checks.h"

using namespace ptxsim;

void ptxsim::prepareProxy(Block &block) {
  const Program &program = *block.launch->program;
  if (!(block.launch->tools & SyncCheck) || !program.usesAsyncProxy)
    return;
  ProxyShadow &shadow = block.shadow->proxy;
  shadow.fences.assign(block.warps.size() * 32, 0);
  shadow.initFences.assign(block.warps.size() * 32, 0);
  if (program.asyncReadsShared)
    shadow.writes.resize(block.shared.size() / 4 + 1);
}

void ptxsim::resetProxy(Block &block) {
  ProxyShadow &shadow = block.shadow->proxy;
  std::fill(shadow.writes.begin(), shadow.writes.end(), GenericWrite());
  shadow.barriers.clear();
}

void ptxsim::checkProxy(Warp &warp, const Inst &inst, unsigned lane,
                        Block &block, uint32_t offset, unsigned bytes,
                        AccessMode mode) {
  ProxyShadow &shadow = block.shadow->proxy;
  unsigned thread = warp.index * 32 + lane;
  bool own = &block == warp.block;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    GenericWrite &write = shadow.writes[word];
    if (mode != AccessMode::Read) {
      write.time = warp.asyncProxy ? 0 : ++shadow.time;
      write.thread = own ? thread : 0;
      continue;
    }
    if (!warp.asyncProxy || write.time == 0 ||
        shadow.fences[write.thread] > write.time ||
        (own && shadow.fences[thread] > write.time))
      continue;
    uint64_t address = word * 4;
    report(warp, inst, lane, SyncCheck, "missing-proxy-fence",
           "asynchronous read of shared memory that a thread has written "
           "without a fence.proxy.async in between",
           &address, Space::Shared);
    return;
  }
}

/// The block whose mbarrier lies at an absolute shared address, if that is
/// kept.
static Block *barrierBlock(Warp &warp, uint64_t address) {
  Cluster &cluster = *warp.block->cluster;
  uint64_t rank = (address & 0xffffffff) >> sharedRankShift;
  if (rank == 0 || rank > cluster.blocks.size())
    return nullptr;
  Block &block = cluster.blocks[rank - 1];
  return block.shadow && !block.shadow->proxy.fences.empty() ? &block : nullptr;
}

void ptxsim::noteBarrierInit(Warp &warp, unsigned lane, uint64_t address) {
  if (Block *block = barrierBlock(warp, address)) {
    ProxyShadow &shadow = block->shadow->proxy;
    shadow.barriers[uint32_t(address & sharedOffsetMask)] = {
        ++shadow.time, warp.index * 32 + lane};
  }
}

void ptxsim::checkBarrierInit(Warp &warp, const Inst &inst, unsigned lane,
                              uint64_t address) {
  Block *block = barrierBlock(warp, address);
  if (!block || block == warp.block)
    return;
  ProxyShadow &shadow = block->shadow->proxy;
  auto it = shadow.barriers.find(uint32_t(address & sharedOffsetMask));
  if (it == shadow.barriers.end())
    return;
  const GenericWrite &init = it->second;
  if (shadow.fences[init.thread] > init.time ||
      shadow.initFences[init.thread] > init.time)
    return;
  report(warp, inst, lane, SyncCheck, "missing-init-fence",
         "asynchronous copy on an mbarrier that a thread of another block has "
         "initialised without a fence.mbarrier_init or fence.proxy.async in "
         "between",
         &address, Space::Shared);
}

/// Inst::flags: ProxyFence.
void ptxsim::proxyFenceHandler(Warp &warp, const Inst &inst, uint32_t mask) {
  GlobalProxy *global = warp.block->launch->globalProxy.get();
  if (global && inst.flags & FenceGlobal)
    forLanes(mask, [&](unsigned l) { global->fence(warp, l); });
  if (inst.flags & FenceInit)
    forLanes(mask, [&](unsigned l) { fenceInits(warp, l); });
  SharedShadow *shadow = warp.block->shadow.get();
  if (!shadow || shadow->proxy.fences.empty())
    return;
  ProxyShadow &proxy = shadow->proxy;
  ++proxy.time;
  forLanes(mask, [&](unsigned l) {
    unsigned thread = warp.index * 32 + l;
    if (inst.flags & FenceShared)
      proxy.fences[thread] = proxy.time;
    if (inst.flags & FenceInit)
      proxy.initFences[thread] = proxy.time;
  });
}

// Global memory
// -------------------------------------------------------------------

GlobalProxy::~GlobalProxy() {
  for (auto &entry : shadows)
    unmapMemory(entry.second.writes, entry.second.bytes);
}

void GlobalProxy::forget(const Allocation &allocation) {
  auto it = shadows.find(&allocation);
  if (it == shadows.end())
    return;
  unmapMemory(it->second.writes, it->second.bytes);
  shadows.erase(it);
}

uint32_t GlobalProxy::threadOf(const Warp &warp, unsigned lane) {
  return uint32_t(warp.block->linear * maxThreadsPerBlock + warp.index * 32 +
                  lane);
}

void GlobalProxy::fence(const Warp &warp, unsigned lane) {
  fences[threadOf(warp, lane)] = ++time;
}

void GlobalProxy::access(Warp &warp, const Inst &inst, unsigned lane,
                         const Allocation &allocation, uint64_t address,
                         unsigned bytes, AccessMode mode) {
  if (allocation.readOnly || (mode == AccessMode::Read && !warp.asyncProxy))
    return;
  auto [it, isNew] = shadows.try_emplace(&allocation);
  Shadow &shadow = it->second;
  if (isNew) {
    uint64_t words = (allocation.end - allocation.begin) / 4 + 2;
    shadow.bytes = size_t(words * sizeof(GenericWrite));
    shadow.writes = static_cast<GenericWrite *>(mapMemory(shadow.bytes));
  }
  if (!shadow.writes) {
    warp.worker->fail(warp, "out of memory for the check of proxies");
    return;
  }
  auto fencedAfter = [&](uint32_t thread, uint32_t when) {
    auto fence = fences.find(thread);
    return fence != fences.end() && fence->second > when;
  };
  uint32_t thread = threadOf(warp, lane);
  uint64_t first = (address - allocation.begin) / 4;
  uint64_t last = (address + bytes - 1 - allocation.begin) / 4;
  for (uint64_t word = first; word <= last; ++word) {
    GenericWrite &write = shadow.writes[word];
    if (mode != AccessMode::Read) {
      // An untouched page stays untouched.
      if (!warp.asyncProxy)
        write = {++time, thread};
      else if (write.time)
        write = {};
      continue;
    }
    if (write.time == 0 || fencedAfter(write.thread, write.time) ||
        fencedAfter(thread, write.time))
      continue;
    uint64_t place = allocation.begin + word * 4;
    report(warp, inst, lane, SyncCheck, "missing-proxy-fence",
           "asynchronous read of global memory that a thread has written "
           "without a fence.proxy.async in between",
           &place, Space::Global);
    return;
  }
}
