// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// initcheck of registers that may be read before they are written, and of local
// memory.
#include "Checks.h"
#include "Stack.h"

#include <algorithm>

using namespace ptxsim;

static uint32_t &writtenLanes(Warp &warp, const Program &program,
                              uint32_t number) {
  return warp.pred(program.trackedRegisters[number].slot);
}

static void requireWritten(Warp &warp, const Program &program, const Inst &inst,
                           uint32_t number, uint32_t lanes) {
  uint32_t &written = writtenLanes(warp, program, number);
  uint32_t missing = lanes & ~written;
  if (!missing)
    return;
  for (uint32_t m = missing; m; m &= m - 1)
    report(warp, inst, unsigned(__builtin_ctz(m)), InitCheck,
           "uninitialised-register",
           "read of register '" + program.trackedRegisters[number].name +
               "', which nothing has written");
  // What depends on it is not reported again.
  written |= missing;
}

void ptxsim::checkRegisters(Warp &warp, uint32_t pc, uint32_t mask,
                            uint32_t active) {
  const Program &program = *warp.block->launch->program;
  uint32_t index = pc < program.eventAt.size() ? program.eventAt[pc] : noSlot;
  if (index == noSlot)
    return;
  const RegisterEvent &event = program.registerEvents[index];
  const Inst &inst = program.code[pc];
  for (uint32_t number : event.guards)
    requireWritten(warp, program, inst, number, mask);
  for (uint32_t number : event.reads)
    requireWritten(warp, program, inst, number, active);
  for (uint32_t number : event.clears)
    writtenLanes(warp, program, number) &= ~active;
  for (uint32_t number : event.writes)
    writtenLanes(warp, program, number) |= active;
  for (const RegisterEvent::Move &move : event.moves) {
    uint32_t any = 0;
    for (uint32_t from : move.from)
      any |= from == noSlot ? ~0u : writtenLanes(warp, program, from);
    uint32_t &to = writtenLanes(warp, program, move.to);
    to = (to & ~active) | (any & active);
  }
  for (const RegisterEvent::Move &select : event.selects) {
    auto written = [&](unsigned k) {
      return select.from[k] == noSlot
                 ? ~0u
                 : writtenLanes(warp, program, select.from[k]);
    };
    uint32_t first = warp.pred(inst.c);
    uint32_t chosen = (first & written(0)) | (~first & written(1));
    uint32_t &to = writtenLanes(warp, program, select.to);
    to = (to & ~active) | (chosen & active);
  }
}

void ptxsim::exchangeWritten(Warp &warp, const Inst &inst, uint32_t mask,
                             const uint8_t *sources) {
  const Program &program = *warp.block->launch->program;
  uint32_t index = program.eventAt[size_t(&inst - program.code.data())];
  if (index == noSlot)
    return;
  for (const RegisterEvent::Move &move :
       program.registerEvents[index].exchanges) {
    uint32_t from = writtenLanes(warp, program, move.from[0]), taken = 0;
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned lane = unsigned(__builtin_ctz(m));
      taken |= (from >> sources[lane] & 1) << lane;
    }
    uint32_t &to = writtenLanes(warp, program, move.to);
    to = (to & ~mask) | taken;
  }
}

void ptxsim::spreadUnwritten(Warp &warp, const Inst &inst, uint32_t mask,
                             const uint64_t *addresses) {
  const Program &program = *warp.block->launch->program;
  size_t pc = size_t(&inst - program.code.data());
  uint32_t index = pc < program.eventAt.size() ? program.eventAt[pc] : noSlot;
  if (index == noSlot)
    return;
  const std::vector<uint32_t> &stored = program.registerEvents[index].stored;
  for (size_t k = 0; k < stored.size(); ++k) {
    if (stored[k] == noSlot)
      continue;
    uint32_t missing = mask & ~writtenLanes(warp, program, stored[k]);
    for (; missing; missing &= missing - 1) {
      unsigned lane = unsigned(__builtin_ctz(missing));
      uint64_t at = addresses[lane] + k * inst.size;
      if (uint8_t *written =
              writtenBytes(warp, lane, at, inst.size, inst.space))
        memset(written, 0, inst.size);
    }
  }
}

uint8_t *ptxsim::writtenBytes(Warp &warp, unsigned lane, uint64_t address,
                              unsigned bytes, Space space) {
  if (space == Space::Generic)
    space = (address & windowMask) == sharedWindow  ? Space::Shared
            : (address & windowMask) == localWindow ? Space::Local
                                                    : Space::Global;
  Block *block = warp.block;
  switch (space) {
  case Space::Shared: {
    uint64_t rank = (address & 0xffffffff) >> sharedRankShift;
    if (rank > block->cluster->blocks.size())
      return nullptr;
    if (rank)
      block = &block->cluster->blocks[rank - 1];
    uint64_t offset = address & sharedOffsetMask;
    if (!block->shadow || offset + bytes > block->shadow->written.size())
      return nullptr;
    return block->shadow->written.data() + offset;
  }
  case Space::Local: {
    uint64_t offset = address & 0xffffffff;
    if (offset >= stackBase) {
      if (block->stacks.empty())
        return nullptr;
      std::vector<uint8_t> &written = stackOf(warp, lane).written;
      return offset - stackBase + bytes > written.size()
                 ? nullptr
                 : written.data() + (offset - stackBase);
    }
    if (block->localWritten.empty() ||
        offset + bytes > block->launch->program->localBytes)
      return nullptr;
    return block->localWritten.data() +
           (warp.index * 32 + lane) * block->launch->localStride + offset;
  }
  case Space::Global: {
    const Allocation *a = block->launch->memory->find(address);
    return a && a->shadow && bytes <= a->end - address
               ? a->shadow + (address - a->begin)
               : nullptr;
  }
  default:
    return nullptr;
  }
}

void ptxsim::resetInitialisation(Block &block) {
  const Launch &launch = *block.launch;
  if (!(launch.tools & InitCheck))
    return;
  block.localWritten.assign(block.local.size(), 0);
  for (Warp &warp : block.warps)
    for (const TrackedRegister &tracked : launch.program->trackedRegisters)
      warp.pred(tracked.slot) = 0;
}
