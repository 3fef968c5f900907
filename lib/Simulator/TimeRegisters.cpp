// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which registers have values that come from the time, so that a loop which
// waits is seen to come back to where it was. What the time only decides about,
// by a branch, a guard or a selection, is none of them: a loop that counts its
// waits so does get on. A register that is not found makes nothing wrong.
#include "Decoder.h"

#include <algorithm>

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
  std::vector<bool> isTime(own.registerSlots.size(), false);
  auto any = [&](const std::vector<uint32_t> &registers) {
    return std::any_of(registers.begin(), registers.end(),
                       [&](uint32_t r) { return r != noSlot && isTime[r]; });
  };
  for (bool changes = true; changes;) {
    changes = false;
    for (const RegisterUse &use : own.uses) {
      bool fromTime = program->code[use.pc].fn == timeHandler ||
                      any(use.copies) ||
                      (use.moveKind != MoveKind::Select && any(use.reads));
      for (uint32_t r : use.writes)
        if (fromTime && !isTime[r])
          isTime[r] = changes = true;
    }
  }
  for (size_t r = 0; r < isTime.size(); ++r)
    if (isTime[r] && own.registerSlots[r] != noSlot)
      slots[own.registerSlots[r]].isTime = true;
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
