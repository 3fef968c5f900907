// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which registers are nothing but the time, so that a loop which waits is seen
// to come back to where it was: what is made of values that come from it, and
// not of what it was before. A register that goes on from its own value may
// count waits; a loop that counts its waits does get on. So does one that is
// told of the time by a branch or a guard. A register that is not found makes
// nothing wrong; one that should not be found hides how a loop gets on.
#include "Decoder.h"

#include <unordered_map>

using namespace ptxsim;

bool ProgramBuilder::readsTime(const ast::Statement &statement) {
  if (statement.opcode != "mov" || statement.operands.size() != 2)
    return false;
  const ast::Operand &from = statement.operands[1];
  return from.kind == ast::Operand::Name &&
         (from.name.substr(0, 6) == "%clock" ||
          from.name.substr(0, 12) == "%globaltimer");
}

void ProgramBuilder::findTimeRegisters(const FunctionFrame &own) {
  if (!program->readsTime)
    return;
  // The statements that read a register, as often as they do.
  std::vector<std::vector<const RegisterUse *>> readers(
      own.registerSlots.size());
  std::vector<bool> fromTime(own.registerSlots.size(), false);
  std::vector<uint32_t> found;
  auto add = [&](const RegisterUse &use) {
    for (uint32_t r : use.writes)
      if (!fromTime[r]) {
        fromTime[r] = true;
        found.push_back(r);
      }
  };
  for (const RegisterUse &use : own.uses) {
    for (const auto *list : {&use.reads, &use.copies})
      for (uint32_t r : *list)
        if (r != noSlot)
          readers[r].push_back(&use);
    if (program->code[use.pc].fn == timeHandler)
      add(use);
  }
  for (size_t i = 0; i < found.size(); ++i)
    for (const RegisterUse *use : readers[found[i]])
      add(*use);

  // In order: one is nothing else when all that it is made of are. What depends
  // on itself never comes, nor what is made of it.
  std::unordered_map<const RegisterUse *, size_t> missing;
  for (uint32_t r : found)
    for (const RegisterUse *use : readers[r])
      ++missing[use];
  std::vector<size_t> waits(own.registerSlots.size(), 0);
  for (auto [use, count] : missing)
    for (uint32_t r : use->writes)
      ++waits[r];
  std::vector<uint32_t> ready;
  for (uint32_t r : found)
    if (waits[r] == 0)
      ready.push_back(r);
  for (size_t i = 0; i < ready.size(); ++i) {
    if (uint32_t slot = own.registerSlots[ready[i]]; slot != noSlot)
      slots[slot].isTime = true;
    for (const RegisterUse *use : readers[ready[i]])
      if (--missing[use] == 0)
        for (uint32_t r : use->writes)
          if (--waits[r] == 0)
            ready.push_back(r);
  }
}

void ProgramBuilder::layoutBesideTime() {
  uint32_t begin = 0;
  auto add = [&](uint32_t end) {
    if (begin < end)
      program->registersBesideTime.push_back({begin, end});
  };
  // Those of predicates come first.
  for (bool predicates : {true, false})
    for (const SlotInfo &slot : slots)
      if (slot.isTime && (slot.width == 0) == predicates) {
        add(slot.offset);
        begin = slot.offset + (predicates ? 4 : 32u * slot.width);
      }
  add(program->registerBytes);
}
