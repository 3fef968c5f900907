// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frames of recursive functions, and alloca.
//
// A call of a function with a frame makes room for the frame, copies the
// arguments there, saves the caller's registers if they are the callee's too,
// and jumps. Behind the call the frame and the registers are taken back, and
// the results are copied from where the frame was. All of that is per lane:
// lanes at the same instruction may be at different depths.
#include "Stack.h"
#include "Checks.h"
#include "Handlers.h"

#include <algorithm>

using namespace ptxsim;

void ThreadStack::clear() {
  top = 0;
  frames.clear();
  allocations.clear();
  saved.clear();
}

void ThreadStack::dropAllocations() {
  while (!allocations.empty() &&
         (allocations.back().begin >= top || allocations.back().end > top))
    allocations.pop_back();
}

ThreadStack &ptxsim::stackOf(Warp &warp, unsigned lane) {
  return warp.block->stacks[warp.index * 32 + lane];
}

char *ptxsim::localPlace(Warp &warp, unsigned lane, uint64_t offset) {
  if (offset >= stackBase)
    return stackOf(warp, lane).bytes.data() + (offset - stackBase);
  return warp.block->local.data() +
         (warp.index * 32 + lane) * warp.block->launch->localStride + offset;
}

/// Makes the bytes [begin, end) the stack's last. False, and reported, if that
/// is more than a thread has.
static bool extend(Warp &w, const Inst &i, unsigned lane, uint64_t begin,
                   uint64_t end, uint64_t savedBytes, std::string_view what) {
  ThreadStack &stack = stackOf(w, lane);
  if (end + stack.saved.size() + savedBytes > stackLimit) {
    fault(w, i, lane, MemCheck, "stack-overflow",
          "stack overflow: " + std::string(what) + ", " +
              std::to_string(stack.frames.size()) +
              " calls deep, needs more than the " + std::to_string(stackLimit) +
              " bytes that a thread has for frames and saved registers");
    return false;
  }
  if (stack.bytes.size() < end)
    stack.bytes.resize(std::max<size_t>(size_t(end), 2 * stack.bytes.size()));
  if (w.block->launch->tools & InitCheck) {
    stack.written.resize(stack.bytes.size());
    std::fill(stack.written.begin() + std::ptrdiff_t(begin),
              stack.written.begin() + std::ptrdiff_t(end), uint8_t(0));
  }
  return true;
}

static uint64_t alignUp(uint64_t value, uint64_t align) {
  return (value + align - 1) / align * align;
}

/// Inst::target: the callee's layout; Inst::imm: the one to save, or -1.
void ptxsim::prepareFrameHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Program &program = *w.block->launch->program;
  const FrameLayout &layout = program.frames[size_t(i.target)];
  uint64_t saved =
      i.imm < 0 ? 0 : program.frames[size_t(i.imm)].savedBytesPerLane;
  uint64_t *bases = w.reg<uint64_t>(program.calleeBaseSlot);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t begin = alignUp(stackOf(w, l).top, layout.align);
    if (!extend(w, i, l, begin, begin + layout.bytes, saved,
                "a call of '" + std::string(layout.name) + "'"))
      return;
    bases[l] = stackBase + begin;
  }
}

/// The same operands.
void ptxsim::pushFrameHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Program &program = *w.block->launch->program;
  const FrameLayout &layout = program.frames[size_t(i.target)];
  uint64_t *bases = w.reg<uint64_t>(program.frameBaseSlot);
  const uint64_t *callee = w.reg<uint64_t>(program.calleeBaseSlot);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    ThreadStack &stack = stackOf(w, l);
    uint32_t begin = uint32_t(callee[l] - stackBase);
    stack.frames.push_back({begin, stack.top, uint32_t(i.target), bases[l],
                            int32_t(i.imm), stack.saved.size()});
    stack.top = begin + layout.bytes;
    bases[l] = callee[l];
    if (i.imm < 0)
      continue;
    const FrameLayout &own = program.frames[size_t(i.imm)];
    size_t at = stack.saved.size();
    stack.saved.resize(at + own.savedBytesPerLane);
    char *to = stack.saved.data() + at;
    for (const OperandSlot &slot : own.saved) {
      if (slot.width == 0) {
        *to++ = char(w.pred(slot.slot) >> l & 1);
        continue;
      }
      memcpy(to, w.regs + slot.slot + l * slot.width, slot.width);
      to += slot.width;
    }
  }
}

void ptxsim::popFrameHandler(Warp &w, const Inst &, uint32_t mask) {
  const Program &program = *w.block->launch->program;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    ThreadStack &stack = stackOf(w, l);
    ThreadStack::Frame frame = stack.frames.back();
    stack.frames.pop_back();
    stack.top = frame.oldTop;
    stack.dropAllocations();
    if (frame.savedLayout >= 0) {
      const char *from = stack.saved.data() + frame.savedAt;
      for (const OperandSlot &slot :
           program.frames[size_t(frame.savedLayout)].saved) {
        if (slot.width == 0) {
          w.setPred(slot.slot, *from++ ? ~0u : 0, 1u << l);
          continue;
        }
        memcpy(w.regs + slot.slot + l * slot.width, from, slot.width);
        from += slot.width;
      }
      stack.saved.resize(frame.savedAt);
    }
    w.reg<uint64_t>(program.calleeBaseSlot)[l] = stackBase + frame.base;
    w.reg<uint64_t>(program.frameBaseSlot)[l] = frame.callerBase;
  }
}

/// Address of a variable of the frame: dst = a + imm.
void ptxsim::frameAddressHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    writeLane(w, i.dst, i.dstWidth, l, laneAddress(w, i, l));
  }
}

/// Inst::a: bytes; Inst::imm: alignment.
void ptxsim::allocaHandler(Warp &w, const Inst &i, uint32_t mask) {
  // Between arrays that lie side by side an access past the end would not show.
  uint64_t gap = w.block->launch->tools & MemCheck ? 16 : 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t bytes = readLane(w, i.a, i.aWidth, l);
    ThreadStack &stack = stackOf(w, l);
    uint64_t begin = alignUp(stack.top + gap, uint64_t(i.imm));
    uint64_t clamped = std::min<uint64_t>(bytes, stackLimit + 1);
    if (!extend(w, i, l, begin, begin + clamped, 0,
                "alloca of " + std::to_string(bytes) + " bytes"))
      return;
    stack.top = uint32_t(begin + bytes);
    stack.allocations.push_back({uint32_t(begin), stack.top});
    writeLane(w, i.dst, i.dstWidth, l, stackBase + begin);
  }
}

void ptxsim::stackSaveHandler(Warp &w, const Inst &i, uint32_t mask) {
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    writeLane(w, i.dst, i.dstWidth, l, stackBase + stackOf(w, l).top);
  }
}

void ptxsim::stackRestoreHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Program &program = *w.block->launch->program;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    ThreadStack &stack = stackOf(w, l);
    uint64_t to = readLane(w, i.a, i.aWidth, l);
    uint64_t least =
        stack.frames.empty()
            ? 0
            : stack.frames.back().base +
                  uint64_t(program.frames[stack.frames.back().layout].bytes);
    if (to < stackBase + least || to > stackBase + stack.top) {
      fault(w, i, l, MemCheck, "bad-stackrestore",
            "stackrestore of a value that stacksave did not give in this "
            "function, or that is above the stack");
      return;
    }
    stack.top = uint32_t(to - stackBase);
    stack.dropAllocations();
  }
}

// What lies where -------------------------------------------------------------

/// The innermost frame that begins at or before an offset of the stack.
static const ThreadStack::Frame *frameAt(const ThreadStack &stack,
                                         uint64_t at) {
  auto it = std::upper_bound(
      stack.frames.begin(), stack.frames.end(), at,
      [](uint64_t v, const ThreadStack::Frame &f) { return v < f.base; });
  return it == stack.frames.begin() ? nullptr : &*std::prev(it);
}

static const ThreadStack::Range *allocationAt(const ThreadStack &stack,
                                              uint64_t at) {
  auto it = std::upper_bound(
      stack.allocations.begin(), stack.allocations.end(), at,
      [](uint64_t v, const ThreadStack::Range &r) { return v < r.begin; });
  return it == stack.allocations.begin() ? nullptr : &*std::prev(it);
}

bool ptxsim::insideStack(Warp &warp, unsigned lane, uint64_t offset,
                         unsigned bytes) {
  if (warp.block->stacks.empty())
    return false;
  const Launch &launch = *warp.block->launch;
  const ThreadStack &stack = stackOf(warp, lane);
  uint64_t at = offset - stackBase;
  if (at + bytes > stack.top)
    return false;
  if (!(launch.tools & MemCheck))
    return true;
  const ThreadStack::Range *range = allocationAt(stack, at);
  if (range && at + bytes <= range->end)
    return true;
  const ThreadStack::Frame *frame = frameAt(stack, at);
  if (!frame)
    return false;
  for (const LocalVariable &v : launch.program->frames[frame->layout].variables)
    if (at >= uint64_t(frame->base) + v.offset &&
        at + bytes <= uint64_t(frame->base) + v.offset + v.size)
      return true;
  return false;
}

std::string ptxsim::describeStack(Warp &warp, unsigned lane, uint64_t offset) {
  if (warp.block->stacks.empty())
    return "the kernel has no stack";
  const Program &program = *warp.block->launch->program;
  const ThreadStack &stack = stackOf(warp, lane);
  uint64_t at = offset - stackBase;
  if (offset < stackBase)
    return std::to_string(stackBase - offset) + " bytes before the stack";
  std::vector<LocalVariable> near;
  const ThreadStack::Frame *frame = frameAt(stack, at);
  if (frame)
    for (LocalVariable v : program.frames[frame->layout].variables) {
      v.offset += frame->base;
      near.push_back(v);
    }
  if (const ThreadStack::Range *range = allocationAt(stack, at))
    near.push_back({"alloca", range->begin, range->end - range->begin});
  if (near.empty())
    return "on the stack, near nothing that is there";
  std::string where =
      frame ? "in the frame of '" +
                  std::string(program.frames[frame->layout].name) + "' "
            : "";
  return nearestLocal(at, near) +
         (where.empty() ? ""
                        : ", " + where + "at depth " +
                              std::to_string(frame - &stack.frames[0] + 1));
}
