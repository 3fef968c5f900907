// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Checks.h"
#include "Async.h"
#include "Clocks.h"
#include "PendingSources.h"
#include "Stack.h"

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
  if (launch.program->usesReservedShared)
    cover(launch.reservedShared, reservedSharedBytes);
  shadow.allInside = std::count(shadow.inside.begin(), shadow.inside.end(),
                                uint8_t(1)) == std::ptrdiff_t(size);
  if (launch.tools & InitCheck)
    shadow.written.assign(size, 0);
  shadow.aroundBarrier.assign(block.warps.size(), 0);
  shadow.pending.assign(size, 0);
  prepareProxy(block);
  if (launch.tools & RaceCheck) {
    prepareClocks(block);
    shadow.cells.prepare(size, block.rank * launch.warpsPerBlock,
                         launch.warpsPerBlock, shadow.clocks[0].seen.size());
  }
}

void ptxsim::resetShadow(Block &block) {
  if (!block.shadow)
    return;
  SharedShadow &shadow = *block.shadow;
  std::fill(shadow.written.begin(), shadow.written.end(), 0);
  const Launch &launch = *block.launch;
  if (launch.program->usesReservedShared && !shadow.written.empty())
    std::fill_n(shadow.written.begin() + launch.reservedShared,
                reservedSharedBytes, uint8_t(1));
  if (shadow.numPending)
    std::fill(shadow.pending.begin(), shadow.pending.end(), 0);
  shadow.numPending = 0;
  shadow.usedByOthers = false;
  std::fill(shadow.aroundBarrier.begin(), shadow.aroundBarrier.end(), 0);
  resetProxy(block);
}

/// Calls `body(block, offset)` for each place in shared memory that a copy will
/// write.
template <typename Body>
static void forPending(const PendingCopy &copy, Body body) {
  if (copy.dstSpace != Space::Shared || copy.kind == CopyKind::ArriveWhenDone ||
      copy.kind == CopyKind::TensorStore)
    return;
  std::vector<Block> &blocks = copy.warp->block->cluster->blocks;
  uint32_t offset = uint32_t(copy.dst & sharedOffsetMask);
  auto visit = [&](Block &block) {
    if (block.shadow && copy.bytes &&
        uint64_t(offset) + copy.bytes <= block.shared.size())
      body(block, offset);
  };
  uint64_t rank = (copy.dst & 0xffffffff) >> sharedRankShift;
  if (!copy.multicast) {
    if (rank <= blocks.size())
      visit(rank ? blocks[rank - 1] : *copy.warp->block);
    return;
  }
  for (size_t k = 0; k < blocks.size(); ++k)
    if (copy.multicast >> k & 1)
      visit(blocks[k]);
}

void ptxsim::markPending(const PendingCopy &copy) {
  forPending(copy, [&](Block &block, uint32_t offset) {
    if (block.launch->tools & RaceCheck && !copy.apply)
      raceAtIssue(*copy.warp, *copy.inst, copy.lane, block, offset, copy.bytes);
    SharedShadow &shadow = *block.shadow;
    ++shadow.numPending;
    for (uint32_t k = 0; k < copy.bytes; ++k)
      ++shadow.pending[offset + k];
  });
}

void ptxsim::clearPending(const PendingCopy &copy) {
  forPending(copy, [&](Block &block, uint32_t offset) {
    SharedShadow &shadow = *block.shadow;
    --shadow.numPending;
    for (uint32_t k = 0; k < copy.bytes; ++k)
      --shadow.pending[offset + k];
  });
}

void ptxsim::markWaited(const PendingCopy &copy) {
  if (!(copy.warp->block->launch->tools & RaceCheck))
    return;
  forPending(copy, [&](Block &block, uint32_t offset) {
    raceWaited(*copy.warp, *copy.inst, copy.lane, block, offset, copy.bytes);
  });
}

/// Whether what an instruction uses of the bytes it reads has been written.
static bool readsWritten(const Inst &inst, const uint8_t *written,
                         unsigned bytes) {
  if (allWritten(written, bytes))
    return true;
  if (!inst.usedBytes)
    return false;
  for (unsigned k = 0; k < bytes && k < 32; ++k)
    if (inst.usedBytes >> k & 1 && !written[k])
      return false;
  return true;
}

static void uninitialised(Warp &warp, const Inst &inst, unsigned lane,
                          uint64_t address, unsigned bytes, Space space,
                          const char *name) {
  report(warp, inst, lane, InitCheck, "uninitialised-read",
         "read of " + std::to_string(bytes) + " bytes of " + name +
             " memory that nothing has written",
         &address, space);
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
  if (!shadow.proxy.writes.empty())
    checkProxy(warp, inst, lane, block, offset, bytes, mode);
  if (tools & RaceCheck)
    raceShared(warp, inst, lane, block, offset, bytes, mode);
  if (tools & InitCheck) {
    uint8_t *written = shadow.written.data() + offset;
    bool isMissing =
        mode != AccessMode::Write && !readsWritten(inst, written, bytes);
    if (isMissing)
      uninitialised(warp, inst, lane, offset, bytes, Space::Shared, "shared");
    if (isMissing || mode != AccessMode::Read)
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
  uint64_t offset = address & 0xffffffff;
  if (launch.tools & MemCheck && offset < stackBase &&
      !insideLocal(*launch.program, offset, bytes))
    return false;
  uint8_t *written = writtenBytes(warp, lane, address, bytes, Space::Local);
  if (!written)
    return true;
  if (mode == AccessMode::Write) {
    memset(written, 1, bytes);
    return true;
  }
  if (inst.usedBytes && readsWritten(inst, written, bytes))
    return true;
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
  Launch &launch = *warp.block->launch;
  if (launch.globalProxy)
    launch.globalProxy->access(warp, inst, lane, allocation, address, bytes,
                               mode);
  if (mode != AccessMode::Read && launch.pendingSources &&
      !launch.pendingSources->empty())
    launch.pendingSources->check(warp, inst, lane, address, bytes);
  if (launch.globalRaces) {
    bool passesOn = !warp.asynchronous && isStrong(warp, inst, mode) &&
                    !(mode == AccessMode::Read && inst.flags & AccessGuess);
    // A vector is as many accesses as it has elements.
    unsigned element = passesOn && inst.size ? inst.size : bytes;
    // Most atomics pass nothing on.
    if (passesOn && mode != AccessMode::Write &&
        !(launch.globalRaces->places.empty() &&
          warp.block->cluster->places.empty()))
      for (unsigned at = 0; at < bytes; at += element)
        observeGlobal(warp, inst, lane, address + at);
    launch.globalRaces->access(warp, inst, lane, allocation, address, bytes,
                               mode);
    if (passesOn &&
        (mode == AccessMode::Write || (mode == AccessMode::Atomic &&
                                       (inst.flags & AccessRelease ||
                                        warp.clock->fenced[BlockScope][lane]))))
      for (unsigned at = 0; at < bytes; at += element)
        publishGlobal(warp, inst, lane, address + at, mode);
  }
  if (!allocation.shadow)
    return;
  uint8_t *written = allocation.shadow + (address - allocation.begin);
  if (mode != AccessMode::Write && launch.tools & InitCheck &&
      !readsWritten(inst, written, bytes))
    uninitialised(warp, inst, lane, address, bytes, Space::Global, "global");
  if (mode != AccessMode::Read)
    memset(written, 1, bytes);
}
