// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Checks.h"
#include "Async.h"

#include <algorithm>

using namespace ptxsim;

void ptxsim::prepareShadow(Block &block) {
  Launch &launch = *block.launch;
  if (!launch.tools)
    return;
  block.shadow = std::make_unique<SharedShadow>();
  SharedShadow &shadow = *block.shadow;
  size_t size = block.shared.size();
  shadow.inside.assign(size, 0);
  auto cover = [&](uint64_t offset, uint64_t bytes) {
    for (uint64_t k = offset; k < offset + bytes && k < size; ++k)
      shadow.inside[k] = 1;
  };
  for (const SharedVariable &variable : launch.program->sharedVariables)
    cover(variable.offset, variable.size);
  cover(launch.program->staticSharedBytes, launch.config.dynamicSharedBytes);
  if (launch.tools & InitCheck)
    shadow.written.assign(size, 0);
  shadow.pending.assign(size, 0);
  if (launch.tools & SyncCheck && launch.program->asyncReadsShared) {
    shadow.genericWrites.resize(size / 4 + 1);
    shadow.proxyFences.assign(block.warps.size() * 32, 0);
  }
  if (launch.tools & RaceCheck) {
    shadow.words.resize(size / 4 + 1);
    shadow.bytes.resize(size);
    shadow.split.assign(size / 4 + 1, 0);
    shadow.clocks.assign(block.warps.size() * block.warps.size(), 0);
  }
}

void ptxsim::resetShadow(Block &block) {
  if (!block.shadow)
    return;
  SharedShadow &shadow = *block.shadow;
  std::fill(shadow.written.begin(), shadow.written.end(), 0);
  if (shadow.numPending)
    std::fill(shadow.pending.begin(), shadow.pending.end(), 0);
  shadow.numPending = 0;
  std::fill(shadow.genericWrites.begin(), shadow.genericWrites.end(),
            GenericWrite());
  // Epochs go on from block to block, and all of the last is ordered before.
  size_t warps = block.warps.size();
  for (size_t i = 0; i < shadow.clocks.size(); ++i)
    shadow.clocks[i] = block.warps[i % warps].epoch - 1;
}

/// Shared range a copy will write, within its own block.
static bool pendingRange(const PendingCopy &copy, Block *&block,
                         uint32_t &offset, uint32_t &bytes) {
  if (copy.kind != CopyKind::Small && copy.kind != CopyKind::Bulk &&
      copy.kind != CopyKind::Store)
    return false;
  if (copy.dstSpace != Space::Shared || copy.multicast)
    return false;
  block = copy.warp->block;
  uint64_t rank = (copy.dst & 0xffffffff) >> sharedRankShift;
  if (rank > block->cluster->blocks.size())
    return false;
  if (rank)
    block = &block->cluster->blocks[rank - 1];
  offset = uint32_t(copy.dst & sharedOffsetMask);
  bytes = copy.bytes;
  return block->shadow && uint64_t(offset) + bytes <= block->shared.size();
}

void ptxsim::markPending(const PendingCopy &copy) {
  Block *block;
  uint32_t offset, bytes;
  if (!pendingRange(copy, block, offset, bytes))
    return;
  SharedShadow &shadow = *block->shadow;
  ++shadow.numPending;
  for (uint32_t k = 0; k < bytes; ++k)
    ++shadow.pending[offset + k];
}

void ptxsim::clearPending(const PendingCopy &copy) {
  Block *block;
  uint32_t offset, bytes;
  if (!pendingRange(copy, block, offset, bytes))
    return;
  SharedShadow &shadow = *block->shadow;
  --shadow.numPending;
  for (uint32_t k = 0; k < bytes; ++k)
    --shadow.pending[offset + k];
}

static void uninitialised(Warp &warp, const Inst &inst, unsigned lane,
                          uint64_t address, unsigned bytes, Space space,
                          const char *name) {
  report(warp, inst, lane, InitCheck, "uninitialised-read",
         "read of " + std::to_string(bytes) + " bytes of " + name +
             " memory that nothing has written",
         &address, space);
}

/// What ordinary instructions write is seen by the async proxy only after a
/// fence.proxy.async of the thread that wrote, or of the one that issues what
/// reads.
static void checkProxy(Warp &warp, const Inst &inst, unsigned lane,
                       Block &block, uint32_t offset, unsigned bytes,
                       AccessMode mode) {
  SharedShadow &shadow = *block.shadow;
  unsigned thread = warp.index * 32 + lane;
  bool own = &block == warp.block;
  for (uint32_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word) {
    GenericWrite &write = shadow.genericWrites[word];
    if (mode != AccessMode::Read) {
      write.time = warp.asyncProxy ? 0 : ++shadow.proxyTime;
      write.thread = uint16_t(own ? thread : 0);
      continue;
    }
    if (!warp.asyncProxy || write.time == 0 ||
        shadow.proxyFences[write.thread] > write.time ||
        (own && shadow.proxyFences[thread] > write.time))
      continue;
    uint64_t address = word * 4;
    report(warp, inst, lane, SyncCheck, "missing-proxy-fence",
           "asynchronous read of shared memory that a thread has written "
           "without a fence.proxy.async in between",
           &address, Space::Shared);
    return;
  }
}

void ptxsim::proxyFenceHandler(Warp &warp, const Inst &, uint32_t mask) {
  SharedShadow *shadow = warp.block->shadow.get();
  if (!shadow || shadow->proxyFences.empty())
    return;
  ++shadow->proxyTime;
  forLanes(mask, [&](unsigned l) {
    shadow->proxyFences[warp.index * 32 + l] = shadow->proxyTime;
  });
}

bool ptxsim::checkShared(Warp &warp, const Inst &inst, unsigned lane,
                         Block &block, uint32_t offset, unsigned bytes,
                         AccessMode mode) {
  SharedShadow &shadow = *block.shadow;
  uint32_t tools = block.launch->tools;
  if (tools & MemCheck && !allWritten(shadow.inside.data() + offset, bytes))
    return false;
  // Memory that a copy will still write is nobody's before the wait.
  if (shadow.numPending && !warp.asynchronous &&
      tools & (RaceCheck | SyncCheck))
    for (unsigned k = 0; k < bytes; ++k)
      if (shadow.pending[offset + k]) {
        uint64_t address = offset;
        report(warp, inst, lane, tools & RaceCheck ? RaceCheck : SyncCheck,
               "missing-wait",
               std::string(mode == AccessMode::Read ? "read" : "write") +
                   " of shared memory that an asynchronous copy has yet to "
                   "write; it has not been waited for",
               &address, Space::Shared);
        break;
      }
  if (!shadow.genericWrites.empty())
    checkProxy(warp, inst, lane, block, offset, bytes, mode);
  if (tools & RaceCheck)
    raceShared(warp, inst, lane, block, offset, bytes, mode);
  if (tools & InitCheck) {
    uint8_t *written = shadow.written.data() + offset;
    if (mode != AccessMode::Write && !allWritten(written, bytes))
      uninitialised(warp, inst, lane, offset, bytes, Space::Shared, "shared");
    memset(written, 1, bytes);
  }
  return true;
}

static bool insideLocal(const Program &program, uint64_t offset,
                        unsigned bytes) {
  for (const LocalVariable &variable : program.localVariables)
    if (offset >= variable.offset &&
        offset + bytes <= uint64_t(variable.offset) + variable.size)
      return true;
  return false;
}

bool ptxsim::checkLocal(Warp &warp, const Inst &inst, unsigned lane,
                        uint64_t address, unsigned bytes, AccessMode mode) {
  const Launch &launch = *warp.block->launch;
  if (launch.tools & MemCheck &&
      !insideLocal(*launch.program, address & 0xffffffff, bytes))
    return false;
  uint8_t *written = writtenBytes(warp, lane, address, bytes, Space::Local);
  if (!written)
    return true;
  if (mode == AccessMode::Write) {
    memset(written, 1, bytes);
    return true;
  }
  // Compilers copy structures by wide elements, padding included: an element
  // of eight bytes or more counts as unwritten if all of it is.
  unsigned element = inst.size ? inst.size : bytes;
  for (unsigned at = 0; at + element <= bytes; at += element) {
    unsigned count =
        unsigned(std::count(written + at, written + at + element, uint8_t(1)));
    if (element < 8 ? count == element : count != 0)
      continue;
    uninitialised(warp, inst, lane, address + at, element, Space::Local,
                  "local");
    memset(written + at, 1, element);
  }
  return true;
}

void ptxsim::checkGlobal(Warp &warp, const Inst &inst, unsigned lane,
                         const Allocation &allocation, uint64_t address,
                         unsigned bytes, AccessMode mode) {
  if (warp.block->launch->globalRaces && !warp.asynchronous) {
    if (mode == AccessMode::Atomic || inst.flags & AccessStrong)
      noteStrong(warp);
    raceGlobal(warp, inst, lane, allocation, address, bytes, mode);
  }
  if (!allocation.shadow)
    return;
  uint8_t *written = allocation.shadow + (address - allocation.begin);
  if (mode != AccessMode::Write && warp.block->launch->tools & InitCheck &&
      !allWritten(written, bytes))
    uninitialised(warp, inst, lane, address, bytes, Space::Global, "global");
  if (mode != AccessMode::Read)
    memset(written, 1, bytes);
}
