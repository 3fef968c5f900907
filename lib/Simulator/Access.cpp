// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads and stores of every space, with their checks.
#include "Checks.h"
#include "Handlers.h"
#include "Stack.h"
#include "State.h"

#include <algorithm>

using namespace ptxsim;

static const char *spaceName(Space space) {
  switch (space) {
  case Space::Shared:
    return "shared";
  case Space::Local:
    return "local";
  case Space::Param:
    return "parameter";
  case Space::Const:
    return "constant";
  default:
    return "global";
  }
}

const char *ptxsim::modeName(AccessMode mode) {
  return mode == AccessMode::Read    ? "read"
         : mode == AccessMode::Write ? "write"
                                     : "atomic access";
}

static char *illegal(Warp &warp, const Inst &inst, unsigned lane,
                     uint64_t address, Space space, std::string_view kind,
                     const std::string &message) {
  report(warp, inst, lane, MemCheck, kind, message, &address, space);
  // Without the tool the access ends the kernel, as it does on a device.
  if (!(warp.block->launch->tools & MemCheck))
    warp.worker->fail(warp, message);
  return nullptr;
}

static std::string accessWords(AccessMode mode, unsigned bytes, Space space) {
  return std::string(modeName(mode)) + " of " + std::to_string(bytes) +
         " bytes of " + spaceName(space) + " memory";
}

static char *outOfBounds(Warp &warp, const Inst &inst, unsigned lane,
                         uint64_t address, unsigned bytes, Space space,
                         AccessMode mode) {
  return illegal(warp, inst, lane, address, space, "out-of-bounds",
                 accessWords(mode, bytes, space) + " out of bounds");
}

static char *resolveShared(Warp &warp, const Inst &inst, unsigned lane,
                           uint64_t address, unsigned bytes, AccessMode mode) {
  Block *block = warp.block;
  uint64_t rank = (address & 0xffffffff) >> sharedRankShift;
  if (rank != 0) {
    if (rank > block->cluster->blocks.size())
      return outOfBounds(warp, inst, lane, address, bytes, Space::Shared, mode);
    block = &block->cluster->blocks[rank - 1];
    if (block != warp.block && block->numFinished == block->warps.size() &&
        !block->cluster->done)
      return illegal(warp, inst, lane, address, Space::Shared, "exited-block",
                     accessWords(mode, bytes, Space::Shared) + " of block " +
                         triple(block->index) + ", which has exited");
  }
  uint64_t offset = address & sharedOffsetMask;
  if (offset + bytes > block->shared.size())
    return outOfBounds(warp, inst, lane, address, bytes, Space::Shared, mode);
  if (block->launch->tools && block->shadow &&
      !checkShared(warp, inst, lane, *block, uint32_t(offset), bytes, mode))
    return outOfBounds(warp, inst, lane, address, bytes, Space::Shared, mode);
  return block->shared.data() + offset;
}

/// `space` is global or constant, as the instruction says.
static char *resolveGlobal(Warp &warp, const Inst &inst, unsigned lane,
                           uint64_t address, unsigned bytes, Space space,
                           AccessMode mode) {
  const Allocation *a = warp.worker->lastAllocation;
  if (!a || address < a->begin || address >= a->end)
    a = warp.worker->lastAllocation = warp.block->launch->memory->find(address);
  if (!a || bytes > a->end - address)
    return outOfBounds(warp, inst, lane, address, bytes, space, mode);
  if (mode != AccessMode::Read && a->readOnly)
    return illegal(warp, inst, lane, address, Space::Global,
                   "write-to-constant",
                   accessWords(mode, bytes,
                               a->kind == AllocationKind::Host ? Space::Global
                                                               : Space::Const) +
                       ", which is read-only");
  if (warp.block->launch->instrumented)
    checkGlobal(warp, inst, lane, *a, address, bytes, mode);
  if (!a->readOnly)
    warp.ranges[inst.operands] = {a->begin, a->end, a->shadow,
                                  raceShadow(warp, *a)};
  return reinterpret_cast<char *>(address);
}

char *ptxsim::resolve(Warp &warp, const Inst &inst, unsigned lane,
                      uint64_t address, unsigned bytes, unsigned align,
                      Space space, AccessMode mode) {
  if (space == Space::Generic) {
    switch (address & windowMask) {
    case sharedWindow:
      space = Space::Shared;
      break;
    case localWindow:
      space = Space::Local;
      break;
    case paramWindow:
      space = Space::Param;
      break;
    default:
      space = Space::Global;
    }
  }
  if (address & (align - 1))
    return illegal(warp, inst, lane, address, space, "misaligned",
                   accessWords(mode, bytes, space) + " is not aligned to " +
                       std::to_string(align) + " bytes");
  switch (space) {
  case Space::Shared:
    return resolveShared(warp, inst, lane, address, bytes, mode);
  case Space::Local: {
    Block &block = *warp.block;
    uint64_t offset = address & 0xffffffff;
    uint64_t size = block.launch->program->localBytes;
    bool isThere = offset >= stackBase ? insideStack(warp, lane, offset, bytes)
                                       : offset + bytes <= size;
    if (!isThere || !checkLocal(warp, inst, lane, address, bytes, mode))
      return outOfBounds(warp, inst, lane, address, bytes, space, mode);
    return localPlace(warp, lane, offset);
  }
  case Space::Param: {
    uint64_t offset = address & 0xffffffff;
    std::vector<char> &params = warp.block->launch->params;
    if (offset + bytes > warp.block->launch->program->kernel->info.paramBytes)
      return outOfBounds(warp, inst, lane, address, bytes, space, mode);
    if (mode != AccessMode::Read)
      return illegal(warp, inst, lane, address, space, "write-to-parameter",
                     accessWords(mode, bytes, space) + ", which is read-only");
    return params.data() + offset;
  }
  default:
    return resolveGlobal(warp, inst, lane, address, bytes, space, mode);
  }
}

/// `bytes` is 1, 2, 4 or 8.
static uint64_t extend(const char *p, unsigned bytes, bool isSigned) {
  auto load = [&](auto v) {
    memcpy(&v, p, sizeof v);
    using Unsigned = decltype(v);
    return isSigned ? uint64_t(int64_t(std::make_signed_t<Unsigned>(v)))
                    : uint64_t(v);
  };
  switch (bytes) {
  case 1:
    return load(uint8_t());
  case 2:
    return load(uint16_t());
  case 4:
    return load(uint32_t());
  default:
    return load(uint64_t());
  }
}

/// Copies an element of 1, 2, 4, 8 or 16 bytes.
static void copyElement(char *to, const char *from, unsigned bytes) {
  switch (bytes) {
  case 1:
    *to = *from;
    return;
  case 2:
    memcpy(to, from, 2);
    return;
  case 4:
    memcpy(to, from, 4);
    return;
  case 8:
    memcpy(to, from, 8);
    return;
  default:
    memcpy(to, from, 16);
  }
}

static void gatherAddresses(const Warp &w, const Inst &i, uint32_t mask,
                            uint64_t *addresses) {
  forLanes(mask,
           [&, addresses](unsigned l) { addresses[l] = laneAddress(w, i, l); });
}

void ptxsim::loadHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned bytes = unsigned(i.size) * i.count;
  uint64_t addresses[32];
  gatherAddresses(w, i, mask, addresses);
  if (w.block->launch->instrumented)
    countAccess(w, i, mask, addresses, bytes, AccessMode::Read);
  bool isSigned = i.flags & AccessSigned;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    const char *p =
        resolve(w, i, l, addresses[l], bytes, bytes, i.space, AccessMode::Read);
    for (unsigned k = 0; k < i.count; ++k) {
      const OperandSlot &o = w.operands[i.operands + k];
      if (o.discard)
        continue;
      if (o.width == 16) {
        if (p)
          memcpy(w.regs + o.slot + l * 16, p + k * 16, 16);
        else
          memset(w.regs + o.slot + l * 16, 0, 16);
        continue;
      }
      uint64_t v = p ? extend(p + k * i.size, i.size, isSigned) : 0;
      writeLane(w, o.slot, o.width, l, v);
    }
  }
}

void ptxsim::storeHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned bytes = unsigned(i.size) * i.count;
  uint64_t addresses[32];
  gatherAddresses(w, i, mask, addresses);
  if (w.block->launch->instrumented)
    countAccess(w, i, mask, addresses, bytes, AccessMode::Write);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    char data[32];
    for (unsigned k = 0; k < i.count; ++k) {
      const OperandSlot &o = w.operands[i.operands + k];
      copyElement(data + k * i.size, w.regs + o.slot + l * o.width, i.size);
    }
    w.storeData = data;
    char *p = resolve(w, i, l, addresses[l], bytes, bytes, i.space,
                      AccessMode::Write);
    w.storeData = nullptr;
    if (p) {
      w.modifications += memcmp(p, data, bytes) != 0;
      memcpy(p, data, bytes);
    }
  }
  if (!w.block->launch->program->registerEvents.empty())
    spreadUnwritten(w, i, mask, addresses);
}

void ptxsim::loadParamHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (unsigned k = 0; k < i.count; ++k) {
    const OperandSlot &o = w.operands[i.operands + k];
    if (o.discard)
      continue;
    const char *p = w.params + i.imm + k * i.size;
    if (o.width == 16) {
      forLanes(mask,
               [&](unsigned l) { memcpy(w.regs + o.slot + l * 16, p, 16); });
      continue;
    }
    uint64_t v = extend(p, i.size, i.flags & AccessSigned);
    auto spread = [&](auto *d) {
      forLanes(mask, [=](unsigned l) {
        d[l] = std::remove_reference_t<decltype(*d)>(v);
      });
    };
    if (o.width == 2)
      spread(w.reg<uint16_t>(o.slot));
    else if (o.width == 4)
      spread(w.reg<uint32_t>(o.slot));
    else
      spread(w.reg<uint64_t>(o.slot));
  }
}

void ptxsim::bulkStoreHandler(Warp &w, const Inst &i, uint32_t mask) {
  constexpr uint64_t unit = 8, most = 16777216;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = laneAddress(w, i, l),
             bytes = readLane(w, i.b, i.size, l);
    if (bytes % unit || bytes > most) {
      illegal(w, i, l, address, Space::Shared, "bulk-size",
              "bulk store of " + std::to_string(bytes) +
                  " bytes, expected a multiple of 8 up to 16777216");
      continue;
    }
    if (bytes == 0)
      continue;
    if (char *p = resolve(w, i, l, address, unsigned(bytes), unit,
                          Space::Shared, AccessMode::Write))
      memset(p, 0, bytes);
  }
  ++w.modifications;
}

/// What was there counts as never written.
void ptxsim::discardHandler(Warp &w, const Inst &i, uint32_t mask) {
  constexpr unsigned bytes = 128;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = laneAddress(w, i, l);
    if (!resolve(w, i, l, address, bytes, bytes, i.space, AccessMode::Write))
      continue;
    if (uint8_t *written = writtenBytes(w, l, address, bytes, i.space))
      memset(written, 0, bytes);
  }
}

/// A prefetch of a bad address does nothing on a device either.
void ptxsim::prefetchHandler(Warp &, const Inst &, uint32_t) {}
