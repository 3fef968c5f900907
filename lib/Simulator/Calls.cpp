// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of device functions, and the functions the driver provides.
#include "Checks.h"
#include "Handlers.h"
#include "Stack.h"
#include "State.h"

#include <algorithm>
#include <cstdio>
#include <set>

using namespace ptxsim;

/// Inst::imm: offsets from and to in the thread's local memory, behind the
/// frames whose bases a and b hold (noSlot: none); Inst::target: bytes.
void ptxsim::copyLocalHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t from = uint32_t(uint64_t(i.imm) >> 32), to = uint32_t(i.imm);
  size_t bytes = size_t(i.target);
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    auto behind = [&](uint32_t base, uint32_t offset) {
      return base == noSlot ? offset : w.reg<uint64_t>(base)[l] + offset;
    };
    uint64_t source = behind(i.a, from), target = behind(i.b, to);
    memmove(localPlace(w, l, target), localPlace(w, l, source), bytes);
    auto written = [&](uint64_t offset) {
      return writtenBytes(w, l, localWindow | offset, i.target, Space::Local);
    };
    if (uint8_t *known = written(target))
      memmove(known, written(source), bytes);
  }
}

/// Offset of an argument or the result, behind the frame whose base Inst::c
/// holds.
static uint64_t argumentOffset(Warp &w, const Inst &i, unsigned lane,
                               unsigned arg) {
  uint64_t base = i.c == noSlot ? 0 : w.reg<uint64_t>(i.c)[lane];
  return base + *w.reg<uint32_t>(w.operands[i.operands + arg].slot);
}

static uint64_t localValue(Warp &w, const Inst &i, unsigned lane, unsigned arg,
                           unsigned bytes) {
  uint64_t v = 0;
  memcpy(&v, localPlace(w, lane, argumentOffset(w, i, lane, arg)), bytes);
  return v;
}

/// Writes a result that way.
static void setLocal(Warp &w, const Inst &i, unsigned lane, unsigned arg,
                     const void *value, unsigned bytes) {
  uint64_t offset = argumentOffset(w, i, lane, arg);
  memcpy(localPlace(w, lane, offset), value, bytes);
  if (uint8_t *written =
          writtenBytes(w, lane, localWindow | offset, bytes, Space::Local))
    memset(written, 1, bytes);
}

static bool readString(Warp &w, const Inst &i, unsigned lane, uint64_t address,
                       std::string &out) {
  for (unsigned n = 0; n < 65536; ++n) {
    char *p = resolve(w, i, lane, address + n, 1, 1, Space::Generic,
                      AccessMode::Read);
    if (!p)
      return false;
    if (!*p)
      return true;
    out += *p;
  }
  return true;
}

/// Reads the next argument: 4 or 8 bytes, aligned to its size.
static bool nextArgument(Warp &w, const Inst &i, unsigned lane,
                         uint64_t &address, unsigned bytes, uint64_t &value) {
  address = (address + bytes - 1) / bytes * bytes;
  char *p = resolve(w, i, lane, address, bytes, bytes, Space::Generic,
                    AccessMode::Read);
  value = 0;
  if (p)
    memcpy(&value, p, bytes);
  address += bytes;
  return p != nullptr;
}

static std::string format(Warp &w, const Inst &i, unsigned lane,
                          const std::string &text, uint64_t arguments,
                          int &count) {
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '%') {
      out += text[k];
      continue;
    }
    size_t begin = k++;
    if (k < text.size() && text[k] == '%') {
      out += '%';
      continue;
    }
    std::string spec = "%";
    auto digits = [&] {
      std::string width;
      if (k < text.size() && text[k] == '*') {
        uint64_t v = 0;
        nextArgument(w, i, lane, arguments, 4, v);
        width = std::to_string(int32_t(v));
        ++k;
      } else {
        while (k < text.size() && text[k] >= '0' && text[k] <= '9')
          width += text[k++];
      }
      // A width is memory: keep it small.
      return width.size() > 4 ? std::string("9999") : width;
    };
    while (k < text.size() &&
           std::string("-+ #0").find(text[k]) != std::string::npos &&
           spec.size() < 8)
      spec += text[k++];
    spec += digits();
    if (k < text.size() && text[k] == '.') {
      ++k;
      spec += "." + digits();
    }
    unsigned longs = 0;
    while (k < text.size() &&
           std::string("hljztL").find(text[k]) != std::string::npos) {
      longs += text[k] != 'h';
      ++k;
    }
    char kind = k < text.size() ? text[k] : '\0';
    char buffer[16384];
    uint64_t v = 0;
    if (std::string("diouxXc").find(kind) != std::string::npos && kind) {
      if (!nextArgument(w, i, lane, arguments, longs ? 8 : 4, v))
        break;
      spec += kind == 'c' ? "" : "ll";
      spec += kind;
      long long value = longs || (kind != 'd' && kind != 'i')
                            ? static_cast<long long>(v)
                            : static_cast<long long>(int32_t(v));
      if (kind == 'c')
        snprintf(buffer, sizeof buffer, spec.c_str(), int(value));
      else
        snprintf(buffer, sizeof buffer, spec.c_str(), value);
      out += buffer;
    } else if (std::string("aAeEfFgG").find(kind) != std::string::npos &&
               kind) {
      if (!nextArgument(w, i, lane, arguments, 8, v))
        break;
      spec += kind;
      snprintf(buffer, sizeof buffer, spec.c_str(), bitCast<double>(v));
      out += buffer;
    } else if (kind == 'p') {
      if (!nextArgument(w, i, lane, arguments, 8, v))
        break;
      snprintf(buffer, sizeof buffer, "0x%llx",
               static_cast<unsigned long long>(v));
      out += buffer;
    } else if (kind == 's') {
      std::string s;
      if (!nextArgument(w, i, lane, arguments, 8, v) ||
          !readString(w, i, lane, v, s))
        break;
      spec += kind;
      snprintf(buffer, sizeof buffer, spec.c_str(), s.c_str());
      out += buffer;
    } else {
      out += text.substr(begin, k - begin + 1);
      continue;
    }
    ++count;
  }
  return out;
}

static void emitText(Warp &w, const std::string &text) {
  const LaunchOptions &options = *w.block->launch->options;
  // Kernels that print run on one worker, so the order is fixed.
  if (options.print)
    options.print(text);
  else
    fwrite(text.data(), 1, text.size(), stdout);
}

/// The trap or failing assertion that threads behind `inst` come to in any
/// case; null where they may take another way.
static const Inst *findTrapAhead(const Inst &inst) {
  const Inst *next = &inst + 1;
  while (next->flow == Flow::Plain && next->fn != assertFailHandler)
    ++next;
  bool ends = next->flow == Flow::Trap || next->fn == assertFailHandler;
  return ends && next->guard == noSlot ? next : nullptr;
}

/// What threads say of why they trap is one finding: each text is printed once,
/// and the first one is the trap's.
void ptxsim::vprintfHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Inst *trap = findTrapAhead(i);
  std::set<std::string> said;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    std::string text;
    if (!readString(w, i, l, localValue(w, i, l, 0, 8), text))
      continue;
    int count = 0;
    text = format(w, i, l, text, localValue(w, i, l, 1, 8), count);
    if (!trap || said.insert(text).second)
      emitText(w, text);
    if (trap && said.size() == 1) {
      w.trapAhead = trap;
      w.lastSpeaker = l;
      w.lastWords = text.substr(0, text.find_last_not_of('\n') + 1);
    }
    if (i.numOperands > 2)
      setLocal(w, i, l, 2, &count, 4);
  }
}

/// __assertfail(message, file, line, function, char size)
void ptxsim::assertFailHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned l = unsigned(__builtin_ctz(mask));
  std::string message, file, function;
  readString(w, i, l, localValue(w, i, l, 0, 8), message);
  readString(w, i, l, localValue(w, i, l, 1, 8), file);
  readString(w, i, l, localValue(w, i, l, 3, 8), function);
  std::string text = "assertion '" + message + "' failed at " + file + ":" +
                     std::to_string(localValue(w, i, l, 2, 4)) + " in " +
                     function;
  if (w.trapAhead == &i && mask >> w.lastSpeaker & 1)
    text += ": " + w.lastWords;
  fault(w, i, l, MemCheck, "assertion", text);
}

/// malloc(size): null where the heap has no room.
void ptxsim::mallocHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Launch &launch = *w.block->launch;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = launch.manager->heapAllocate(localValue(w, i, l, 0, 8),
                                                    launch.trackInitialisation);
    ++w.modifications;
    if (i.numOperands > 1)
      setLocal(w, i, l, 1, &address, 8);
  }
}

/// free(pointer)
void ptxsim::freeHandler(Warp &w, const Inst &i, uint32_t mask) {
  const Launch &launch = *w.block->launch;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned l = unsigned(__builtin_ctz(m));
    uint64_t address = localValue(w, i, l, 0, 8);
    if (!address)
      continue;
    // Nothing may remember an allocation that goes.
    const Allocation *allocation = launch.memory->find(address);
    if (allocation && launch.globalRaces)
      launch.globalRaces->forget(*allocation);
    if (allocation && launch.globalProxy)
      launch.globalProxy->forget(*allocation);
    w.worker->lastAllocation = nullptr;
    std::fill(w.worker->ranges.begin(), w.worker->ranges.end(), AccessRange());
    ++w.modifications;
    if (launch.manager->heapFree(address))
      continue;
    fault(w, i, l, MemCheck, "bad-free",
          "free of an address that malloc did not return, or that has been "
          "freed",
          &address, Space::Global);
    return;
  }
}

void ptxsim::badCallHandler(Warp &w, const Inst &i, uint32_t mask) {
  unsigned l = unsigned(__builtin_ctz(mask));
  uint64_t address = w.reg<uint64_t>(i.a)[l];
  const Launch &launch = *w.block->launch;
  const ast::Function *function = functionAt(*launch.program->module, address);
  char number[32];
  snprintf(number, sizeof number, "0x%llx",
           static_cast<unsigned long long>(address));
  std::string text =
      "call of " +
      (function ? "function '" + std::string(function->name) +
                      "', whose parameters or results differ"
                : "address " + std::string(number) + ", which is no function");
  fault(w, i, l, MemCheck, "bad-call", text);
}
