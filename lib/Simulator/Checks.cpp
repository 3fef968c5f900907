// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Checks.h"

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
}

void ptxsim::resetShadow(Block &block) {
  if (!block.shadow)
    return;
  std::fill(block.shadow->written.begin(), block.shadow->written.end(), 0);
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
  if (tools & MemCheck)
    for (unsigned k = 0; k < bytes; ++k)
      if (!shadow.inside[offset + k])
        return false;
  if (tools & InitCheck) {
    uint8_t *written = shadow.written.data() + offset;
    if (mode != AccessMode::Write) {
      for (unsigned k = 0; k < bytes; ++k)
        if (!written[k]) {
          uninitialised(warp, inst, lane, offset, bytes, Space::Shared,
                        "shared");
          break;
        }
    }
    memset(written, 1, bytes);
  }
  return true;
}

bool ptxsim::checkLocal(Warp &warp, const Inst &, unsigned, uint32_t offset,
                        unsigned bytes, AccessMode) {
  const Launch &launch = *warp.block->launch;
  if (!(launch.tools & MemCheck))
    return true;
  for (const LocalVariable &variable : launch.program->localVariables)
    if (offset >= variable.offset &&
        offset + bytes <= uint64_t(variable.offset) + variable.size)
      return true;
  return false;
}

void ptxsim::checkGlobal(Warp &warp, const Inst &inst, unsigned lane,
                         const Allocation &allocation, uint64_t address,
                         unsigned bytes, AccessMode mode) {
  if (!allocation.shadow)
    return;
  uint8_t *written = allocation.shadow + (address - allocation.begin);
  if (mode != AccessMode::Write &&
      warp.block->launch->tools & InitCheck)
    for (unsigned k = 0; k < bytes; ++k)
      if (!written[k]) {
        uninitialised(warp, inst, lane, address, bytes, Space::Global,
                      "global");
        break;
      }
  if (mode != AccessMode::Read)
    memset(written, 1, bytes);
}
