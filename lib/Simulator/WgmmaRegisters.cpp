// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registers of wgmma, which runs asynchronously: those that it accumulates
// in, and those that A comes from, are nobody's before a wgmma.wait_group of
// the warp for it, and what accesses them before it must be followed by a
// wgmma.fence. Of wgmmas with accumulators in common and the same shape neither
// is asked. Compilers copy accumulators from register to register, which ptxas
// merges again: what has been copied unfinished is nobody's in the same way.
#include "Async.h"
#include "Checks.h"
#include "Decoder.h"
#include "Matrix.h"

#include <algorithm>

using namespace ptxsim;

// Which instructions access them
// ----------------------------------------------------------------------

namespace {

/// The registers of wgmmas and of their copies, by slot.
class ProductNumbers {
public:
  /// False if it has a number.
  bool add(uint32_t slot) {
    return numbers.try_emplace(slot, uint32_t(numbers.size())).second;
  }
  size_t size() const { return numbers.size(); }
  /// noSlot where it has none.
  uint32_t of(uint32_t slot) const {
    auto it = numbers.find(slot);
    return it == numbers.end() ? noSlot : it->second;
  }

private:
  std::unordered_map<uint32_t, uint32_t> numbers;
};

} // namespace

static bool isCopy(const RegisterUse &use) {
  return use.reads.empty() && !use.writes.empty();
}

/// Adds what registers among them are copied to, and that is.
static void addCopies(const std::vector<const FunctionFrame *> &functions,
                      std::vector<uint32_t> slots, ProductNumbers &numbers) {
  std::unordered_map<uint32_t, std::vector<uint32_t>> copiesOf;
  for (const FunctionFrame *own : functions)
    for (const RegisterUse &use : own->uses)
      if (isCopy(use))
        for (uint32_t from : use.copies)
          for (uint32_t to : use.writes)
            if (from != noSlot && to != noSlot)
              copiesOf[own->registerSlots[from]].push_back(
                  own->registerSlots[to]);
  while (!slots.empty()) {
    auto it = copiesOf.find(slots.back());
    slots.pop_back();
    if (it == copiesOf.end())
      continue;
    for (uint32_t to : it->second)
      if (numbers.add(to))
        slots.push_back(to);
  }
}

void ProgramBuilder::trackProducts() {
  ProductNumbers numbers;
  auto nameRegisters = [&](const FunctionFrame &own,
                           const std::vector<uint32_t> &registers,
                           std::vector<uint32_t> &into) {
    for (uint32_t r : registers) {
      uint32_t number = r == noSlot ? noSlot : numbers.of(own.registerSlots[r]);
      if (number == noSlot)
        continue;
      into.push_back(number);
      program->productRegisters[number] = own.function->registers[r].name;
    }
  };
  std::vector<uint32_t> slots;
  const std::vector<Inst> &code = program->code;
  for (const Inst &inst : code)
    if (inst.fn == wgmmaHandler)
      for (unsigned k = 0; k < inst.numOperands; ++k) {
        uint32_t slot = program->operands[inst.operands + k].slot;
        if (numbers.add(slot))
          slots.push_back(slot);
      }
  program->productEventAt.assign(code.size(), noSlot);
  if (slots.empty())
    return;
  std::vector<const FunctionFrame *> functions;
  functions.reserve(frames.size());
  for (auto &entry : frames)
    functions.push_back(entry.second.get());
  addCopies(functions, std::move(slots), numbers);
  program->productRegisters.resize(numbers.size());
  auto addEvent = [&](uint32_t pc, ProductEvent event) {
    program->productEventAt[pc] = uint32_t(program->productEvents.size());
    program->productEvents.push_back(std::move(event));
  };
  for (uint32_t pc = 0; pc < code.size(); ++pc) {
    if (code[pc].fn != wgmmaHandler)
      continue;
    ProductEvent event;
    for (unsigned k = 0; k < code[pc].numOperands; ++k)
      event.writes.push_back(
          numbers.of(program->operands[code[pc].operands + k].slot));
    addEvent(pc, std::move(event));
  }
  for (const FunctionFrame *own : functions)
    for (const RegisterUse &use : own->uses) {
      ProductEvent event;
      event.isCopy = isCopy(use);
      nameRegisters(*own, use.reads, event.reads);
      nameRegisters(*own, use.copies, event.reads);
      nameRegisters(*own, use.writes, event.writes);
      if (use.pc < code.size() && code[use.pc].fn != wgmmaHandler &&
          !(event.reads.empty() && event.writes.empty())) {
        program->copiesProducts |= event.isCopy && !event.reads.empty();
        addEvent(use.pc, std::move(event));
      }
    }
}

// While the kernel runs
// ------------------------------------------------------------------------

bool ptxsim::checksProducts(const Launch &launch) {
  return launch.tools & (RaceCheck | SyncCheck) &&
         !launch.program->productEvents.empty();
}

static WarpProducts &productsOf(Warp &warp) {
  AsyncState &state = asyncOf(*warp.block);
  state.wgmma.resize(warp.block->warps.size());
  WarpProducts &products = state.wgmma[warp.index];
  products.registers.resize(
      warp.block->launch->program->productRegisters.size());
  return products;
}

static const ProductEvent *eventAt(const Warp &warp, size_t pc) {
  const Program &program = *warp.block->launch->program;
  uint32_t index = program.productEventAt[pc];
  return index == noSlot ? nullptr : &program.productEvents[index];
}

static void reportPending(Warp &warp, const Inst &inst, unsigned lane,
                          uint32_t number) {
  const Program &program = *warp.block->launch->program;
  report(warp, inst, lane,
         warp.block->launch->tools & RaceCheck ? RaceCheck : SyncCheck,
         "missing-wait",
         "access to register '" + program.productRegisters[number] +
             "' of a wgmma that has not been waited for; a "
             "wgmma.wait_group is missing, or a wgmma.commit_group before it");
}

/// Of a group that has not been waited for.
static bool isPending(const WarpProducts &products, int64_t group) {
  return group >= products.waited;
}
static bool isInUse(const WarpProducts &products,
                    const ProductRegister &state) {
  return isPending(products, std::max(state.accumulated, state.held));
}

/// A copy reads what the wgmmas before it give.
static void copyProducts(Warp &warp, WarpProducts &products,
                         const ProductEvent &event) {
  ProductRegister from;
  for (uint32_t number : event.reads) {
    const ProductRegister &state = products.registers[number];
    int64_t group = std::max(state.accumulated, state.copied);
    if (group > from.copied) {
      from.copied = group;
      from.last = state.last;
    }
  }
  if (isPending(products, from.copied))
    performProducts(warp, from.copied + 1);
  for (uint32_t number : event.writes) {
    products.registers[number].copied = from.copied;
    products.registers[number].last = from.last;
  }
}

void ptxsim::checkProductRegisters(Warp &warp, uint32_t pc, unsigned lane) {
  const ProductEvent *event =
      checksProducts(*warp.block->launch) ? eventAt(warp, pc) : nullptr;
  const Inst &inst = warp.block->launch->program->code[pc];
  if (!event || inst.fn == wgmmaHandler)
    return;
  WarpProducts &products = productsOf(warp);
  const uint32_t *reported = nullptr;
  for (const uint32_t &number : event->writes) {
    ProductRegister &state = products.registers[number];
    state.isAccessed |= !event->isCopy;
    if (isInUse(products, state))
      reported = &number;
    else if (!event->isCopy)
      state.copied = -1;
  }
  for (const uint32_t &number : event->reads) {
    if (event->isCopy)
      break;
    ProductRegister &state = products.registers[number];
    state.isAccessed = true;
    if (isInUse(products, state) || isPending(products, state.copied))
      reported = &number;
  }
  if (reported)
    reportPending(warp, inst, lane, *reported);
  if (event->isCopy)
    copyProducts(warp, products, *event);
}

void ptxsim::issueProduct(Warp &warp, const Inst &inst) {
  const Program &program = *warp.block->launch->program;
  uint32_t pc = uint32_t(&inst - program.code.data());
  const std::vector<uint32_t> &numbers = eventAt(warp, pc)->writes;
  MmaShape shape = unpackMma(inst);
  size_t accumulators = shape.n / (shape.halfAccumulator ? 4 : 2);
  WarpProducts &products = productsOf(warp);
  if (!products.hasFenced) {
    report(warp, inst, 0, SyncCheck, "missing-wgmma-fence",
           "wgmma without a wgmma.fence before it");
    products.hasFenced = true;
  }
  auto isOfShape = [&](const ProductRegister &state) {
    MmaShape before = unpackMma(program.code[state.last]);
    return before.n == shape.n && before.k == shape.k;
  };
  bool isReported = false;
  for (size_t k = 0; k < numbers.size() && !isReported; ++k) {
    const ProductRegister &state = products.registers[numbers[k]];
    bool isA = k >= accumulators;
    int64_t result = std::max(state.accumulated, state.copied);
    if ((isPending(products, result) && (isA || !isOfShape(state))) ||
        (isPending(products, state.held) && !isA)) {
      reportPending(warp, inst, 0, numbers[k]);
      isReported = true;
    } else if (state.isAccessed) {
      report(warp, inst, 0, SyncCheck, "missing-wgmma-fence",
             "wgmma of register '" + program.productRegisters[numbers[k]] +
                 "', which has been accessed without a wgmma.fence since");
      isReported = true;
    }
  }
  for (size_t k = 0; k < numbers.size(); ++k) {
    ProductRegister &state = products.registers[numbers[k]];
    if (k >= accumulators) {
      state.held = products.group;
      continue;
    }
    state.accumulated = products.group;
    state.copied = -1;
    state.last = pc;
  }
}

void ptxsim::waitForProducts(Warp &warp, int64_t until) {
  if (!checksProducts(*warp.block->launch))
    return;
  WarpProducts &products = productsOf(warp);
  products.waited = std::max(products.waited, until);
}

void ptxsim::wgmmaFenceHandler(Warp &warp, const Inst &, uint32_t) {
  if (!checksProducts(*warp.block->launch))
    return;
  WarpProducts &products = productsOf(warp);
  products.hasFenced = true;
  for (ProductRegister &state : products.registers)
    state.isAccessed = false;
}
