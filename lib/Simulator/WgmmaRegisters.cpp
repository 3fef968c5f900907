// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registers of wgmma, which runs asynchronously: those that it accumulates
// in, and those that A comes from, are nobody's before a wgmma.wait_group of
// the warp for it, and what accesses them before it must be followed by a
// wgmma.fence. Of wgmmas with accumulators in common and the same shape neither
// is asked.
#include "Async.h"
#include "Checks.h"
#include "Decoder.h"
#include "Matrix.h"

#include <algorithm>

using namespace ptxsim;

// Which instructions access them
// ----------------------------------------------------------------------

void ProgramBuilder::trackProducts() {
  std::unordered_map<uint32_t, uint32_t> numbers;
  auto addEvent = [&](uint32_t pc, ProductEvent event) {
    program->productEventAt[pc] = uint32_t(program->productEvents.size());
    program->productEvents.push_back(std::move(event));
  };
  const std::vector<Inst> &code = program->code;
  program->productEventAt.assign(code.size(), noSlot);
  for (uint32_t pc = 0; pc < code.size(); ++pc) {
    if (code[pc].fn != wgmmaHandler)
      continue;
    ProductEvent event;
    for (unsigned k = 0; k < code[pc].numOperands; ++k) {
      uint32_t slot = program->operands[code[pc].operands + k].slot;
      event.registers.push_back(
          numbers.try_emplace(slot, uint32_t(numbers.size())).first->second);
    }
    addEvent(pc, std::move(event));
  }
  program->productRegisters.resize(numbers.size());
  if (numbers.empty())
    return;
  for (auto &entry : frames) {
    const FunctionFrame &own = *entry.second;
    for (const RegisterUse &use : own.uses) {
      if (use.pc >= code.size() || code[use.pc].fn == wgmmaHandler)
        continue;
      ProductEvent event;
      event.isCopy = use.reads.empty() && !use.writes.empty();
      for (auto *registers : {&use.reads, &use.copies, &use.writes})
        for (uint32_t r : *registers) {
          auto it =
              r == noSlot ? numbers.end() : numbers.find(own.registerSlots[r]);
          if (it == numbers.end())
            continue;
          event.registers.push_back(it->second);
          program->productRegisters[it->second] =
              own.function->registers[r].name;
        }
      if (!event.registers.empty())
        addEvent(use.pc, std::move(event));
    }
  }
}

// While the kernel runs
// ------------------------------------------------------------------------

static bool isChecked(const Warp &warp) {
  const Launch &launch = *warp.block->launch;
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

void ptxsim::checkProductRegisters(Warp &warp, uint32_t pc, unsigned lane) {
  const ProductEvent *event = isChecked(warp) ? eventAt(warp, pc) : nullptr;
  const Inst &inst = warp.block->launch->program->code[pc];
  if (!event || inst.fn == wgmmaHandler)
    return;
  WarpProducts &products = productsOf(warp);
  bool isReported = false;
  for (uint32_t number : event->registers) {
    ProductRegister &state = products.registers[number];
    state.isAccessed |= !event->isCopy;
    if (isReported || (!state.pendingD && !state.pendingA))
      continue;
    reportPending(warp, inst, lane, number);
    isReported = true;
  }
}

void ptxsim::issueProduct(Warp &warp, const Inst &inst) {
  if (!isChecked(warp))
    return;
  const Program &program = *warp.block->launch->program;
  uint32_t pc = uint32_t(&inst - program.code.data());
  const std::vector<uint32_t> &numbers = eventAt(warp, pc)->registers;
  MmaShape shape = unpackMma(inst);
  size_t accumulators = shape.n / (shape.halfAccumulator ? 4 : 2);
  WarpProducts &products = productsOf(warp);
  if (!products.hasFenced) {
    report(warp, inst, 0, SyncCheck, "missing-wgmma-fence",
           "wgmma without a wgmma.fence before it");
    products.hasFenced = true;
  }
  bool isReported = false;
  for (size_t k = 0; k < numbers.size() && !isReported; ++k) {
    const ProductRegister &state = products.registers[numbers[k]];
    bool isA = k >= accumulators;
    bool sameShape = false;
    if (!isA && state.pendingD) {
      MmaShape before = unpackMma(program.code[state.lastD]);
      sameShape = before.n == shape.n && before.k == shape.k;
    }
    if ((state.pendingD && !sameShape) || (state.pendingA && !isA)) {
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
      ++state.pendingA;
      continue;
    }
    ++state.pendingD;
    state.lastD = pc;
  }
  products.unwaited.push_back({pc, products.group});
}

void ptxsim::waitForProducts(Warp &warp, int64_t until) {
  if (!isChecked(warp))
    return;
  WarpProducts &products = productsOf(warp);
  while (!products.unwaited.empty() &&
         int64_t(products.unwaited.front().group) < until) {
    uint32_t pc = products.unwaited.front().pc;
    products.unwaited.pop_front();
    const Inst &inst = warp.block->launch->program->code[pc];
    MmaShape shape = unpackMma(inst);
    size_t accumulators = shape.n / (shape.halfAccumulator ? 4 : 2);
    const std::vector<uint32_t> &numbers = eventAt(warp, pc)->registers;
    for (size_t k = 0; k < numbers.size(); ++k) {
      ProductRegister &state = products.registers[numbers[k]];
      --(k < accumulators ? state.pendingD : state.pendingA);
    }
  }
}

void ptxsim::wgmmaFenceHandler(Warp &warp, const Inst &, uint32_t) {
  if (!isChecked(warp))
    return;
  WarpProducts &products = productsOf(warp);
  products.hasFenced = true;
  for (ProductRegister &state : products.registers)
    state.isAccessed = false;
}
