// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which registers may be read before they are written: definite assignment over
// the control flow of one function. Almost every register of compiled code is
// written on all ways to where it is read; only the others are watched while
// the kernel runs.
//
// Compilers copy registers they never write where a value does not matter. So a
// mov, a prmt of such bytes, a shfl, a selp and a store are no reads: the copy
// is as unwritten as its source, that of the lane or of the two that is taken,
// and what is put together of several is written where one of them is.
#include "Decoder.h"

#include <algorithm>

using namespace ptxsim;

namespace {

using Bits = std::vector<uint64_t>;

bool test(const Bits &bits, uint32_t i) { return bits[i / 64] >> (i % 64) & 1; }
void set(Bits &bits, uint32_t i, bool value) {
  uint64_t bit = uint64_t(1) << (i % 64);
  bits[i / 64] = value ? bits[i / 64] | bit : bits[i / 64] & ~bit;
}

/// Words of all blocks' sets; beyond, everything is watched.
constexpr size_t maxWords = size_t(1) << 25;

class Analysis {
public:
  Analysis(const FunctionFrame &frame, const Program &program, uint32_t begin)
      : frame(frame), program(program), begin(begin),
        numRegisters(uint32_t(frame.registerSlots.size())) {}

  /// Registers to watch.
  std::vector<bool> run();
  /// Calls `visit(use, written)` for each statement with what is written for
  /// certain before it.
  template <typename Visit> void forEachUse(Visit visit) const;

private:
  struct BasicBlock {
    uint32_t begin = 0, end = 0;
    std::vector<uint32_t> successors;
    /// Range of frame.uses.
    size_t firstUse = 0, lastUse = 0;
    Bits written;
  };
  void findBlocks();
  void solve();
  void transfer(const RegisterUse &use, Bits &written) const;
  static bool copied(const RegisterUse &use, const Bits &written) {
    auto isWritten = [&](uint32_t r) {
      return r == noSlot || test(written, r);
    };
    const std::vector<uint32_t> &from = use.copies;
    return from.empty() ||
           (use.moveKind == MoveKind::Select
                ? std::all_of(from.begin(), from.end(), isWritten)
                : std::any_of(from.begin(), from.end(), isWritten));
  }

  const FunctionFrame &frame;
  const Program &program;
  const uint32_t begin, numRegisters;
  std::vector<BasicBlock> blocks;
  bool tooLarge = false;
};

void Analysis::findBlocks() {
  uint32_t end = uint32_t(program.code.size());
  std::vector<bool> leads(end - begin + 1, false);
  auto leader = [&](int64_t pc) {
    if (pc >= begin && pc <= end)
      leads[size_t(pc) - begin] = true;
  };
  leader(begin);
  for (uint32_t pc = begin; pc < end; ++pc) {
    const Inst &inst = program.code[pc];
    if (inst.flow == Flow::Branch)
      leader(inst.target);
    if (inst.flow == Flow::BranchIndexed)
      for (int32_t target : program.branchTables[size_t(inst.imm)])
        leader(target);
    if (inst.flow == Flow::Branch || inst.flow == Flow::BranchIndexed ||
        inst.flow == Flow::Exit || inst.flow == Flow::Return ||
        inst.flow == Flow::Trap)
      leader(pc + 1);
  }
  std::vector<uint32_t> blockAt(end - begin + 1, noSlot);
  for (uint32_t pc = begin; pc < end; ++pc) {
    if (leads[pc - begin]) {
      blocks.emplace_back();
      blocks.back().begin = pc;
    }
    blockAt[pc - begin] = uint32_t(blocks.size() - 1);
    blocks.back().end = pc + 1;
  }
  size_t use = 0;
  for (BasicBlock &block : blocks) {
    block.firstUse = use;
    while (use < frame.uses.size() && frame.uses[use].pc < block.end)
      ++use;
    block.lastUse = use;
    const Inst &last = program.code[block.end - 1];
    bool falls =
        last.guard != noSlot ||
        !(last.flow == Flow::Branch || last.flow == Flow::BranchIndexed ||
          last.flow == Flow::Exit || last.flow == Flow::Return ||
          last.flow == Flow::Trap);
    if (falls && block.end < end)
      block.successors.push_back(blockAt[block.end - begin]);
    if (last.flow == Flow::Branch)
      block.successors.push_back(blockAt[uint32_t(last.target) - begin]);
    if (last.flow == Flow::BranchIndexed)
      for (int32_t target : program.branchTables[size_t(last.imm)])
        block.successors.push_back(blockAt[uint32_t(target) - begin]);
  }
  size_t words = (size_t(numRegisters) + 63) / 64;
  tooLarge = words * blocks.size() > maxWords;
  if (tooLarge)
    return;
  for (BasicBlock &block : blocks)
    block.written.assign(words, ~uint64_t(0));
  std::fill(blocks[0].written.begin(), blocks[0].written.end(), 0);
}

void Analysis::transfer(const RegisterUse &use, Bits &written) const {
  bool value = copied(use, written);
  for (uint32_t r : use.writes) {
    // Under a guard not every lane writes, or overwrites.
    set(written, r, use.guard < 0 ? value : value && test(written, r));
    // The predicate beside a shfl's result is no copy.
    if (use.moveKind == MoveKind::Exchange)
      value = true;
  }
}

template <typename Visit> void Analysis::forEachUse(Visit visit) const {
  Bits written((size_t(numRegisters) + 63) / 64, 0);
  for (const BasicBlock &block : blocks) {
    if (!tooLarge)
      written = block.written;
    for (size_t i = block.firstUse; i < block.lastUse; ++i) {
      visit(frame.uses[i], written);
      if (!tooLarge)
        transfer(frame.uses[i], written);
    }
  }
}

void Analysis::solve() {
  std::vector<uint32_t> work;
  for (uint32_t index = uint32_t(blocks.size()); index-- > 0;)
    work.push_back(index);
  std::vector<bool> queued(blocks.size(), true);
  // Blocks that nothing leads to keep their full sets.
  while (!work.empty() && !tooLarge) {
    uint32_t index = work.back();
    work.pop_back();
    queued[index] = false;
    Bits out = blocks[index].written;
    for (size_t i = blocks[index].firstUse; i < blocks[index].lastUse; ++i)
      transfer(frame.uses[i], out);
    for (uint32_t next : blocks[index].successors) {
      Bits &in = blocks[next].written;
      bool changed = false;
      for (size_t w = 0; w < out.size(); ++w) {
        changed |= (in[w] & ~out[w]) != 0;
        in[w] &= out[w];
      }
      if (changed && !queued[next]) {
        queued[next] = true;
        work.push_back(next);
      }
    }
  }
}

std::vector<bool> Analysis::run() {
  findBlocks();
  solve();
  std::vector<bool> watched(numRegisters, false);
  bool grew = false;
  auto watch = [&](uint32_t r, const Bits &written) {
    if (r == noSlot || test(written, r) || watched[r])
      return;
    watched[r] = true;
    grew = true;
  };
  forEachUse([&](const RegisterUse &use, const Bits &written) {
    for (uint32_t r : use.reads)
      watch(r, written);
    if (use.guard >= 0)
      watch(uint32_t(use.guard), written);
    if (use.writes.empty())
      for (uint32_t r : use.copies)
        watch(r, written);
  });
  // What is copied into a watched register is watched too.
  while (grew) {
    grew = false;
    forEachUse([&](const RegisterUse &use, const Bits &written) {
      for (uint32_t to : use.writes)
        if (watched[to])
          for (uint32_t from : use.copies)
            watch(from, written);
    });
  }
  return watched;
}

} // namespace

void ProgramBuilder::trackRegisters(FunctionFrame &own, uint32_t begin) {
  Analysis analysis(own, *program, begin);
  std::vector<bool> watched = analysis.run();
  std::vector<uint32_t> number(watched.size(), noSlot);
  RegisterEvent entered;
  for (uint32_t r = 0; r < watched.size(); ++r) {
    if (!watched[r])
      continue;
    number[r] = uint32_t(program->trackedRegisters.size());
    entered.clears.push_back(number[r]);
    program->trackedRegisters.push_back(
        {own.function->registers[r].name, newSlot(0)});
  }
  std::vector<uint32_t> &eventAt = program->eventAt;
  eventAt.resize(program->code.size(), noSlot);
  auto add = [&](uint32_t pc, RegisterEvent event) {
    if (pc >= eventAt.size())
      return;
    eventAt[pc] = uint32_t(program->registerEvents.size());
    program->registerEvents.push_back(std::move(event));
  };
  if (entered.clears.empty())
    return;
  if (own.function != &kernel)
    add(begin, entered);
  analysis.forEachUse([&](const RegisterUse &use, const Bits &written) {
    RegisterEvent event;
    auto unsure = [&](uint32_t r) {
      return r != noSlot && !test(written, r) ? number[r] : noSlot;
    };
    for (uint32_t r : use.reads)
      if (unsure(r) != noSlot)
        event.reads.push_back(number[r]);
    if (use.guard >= 0 && unsure(uint32_t(use.guard)) != noSlot)
      event.guards.push_back(number[uint32_t(use.guard)]);
    std::vector<uint32_t> from;
    from.reserve(use.copies.size());
    for (uint32_t r : use.copies)
      from.push_back(unsure(r));
    auto isUnsure = [](uint32_t n) { return n != noSlot; };
    bool anyUnsure = std::any_of(from.begin(), from.end(), isUnsure);
    bool certain =
        use.moveKind == MoveKind::Select
            ? !anyUnsure
            : from.empty() || !std::all_of(from.begin(), from.end(), isUnsure);
    for (uint32_t r : use.writes) {
      if (number[r] != noSlot) {
        if (certain)
          event.writes.push_back(number[r]);
        else if (use.moveKind == MoveKind::Exchange)
          event.exchanges.push_back({number[r], from});
        else if (use.moveKind == MoveKind::Select)
          event.selects.push_back({number[r], from});
        else
          event.moves.push_back({number[r], from});
      }
      if (use.moveKind == MoveKind::Exchange)
        certain = true;
    }
    if (use.writes.empty() && anyUnsure)
      event.stored = from;
    if (!event.reads.empty() || !event.guards.empty() ||
        !event.writes.empty() || !event.moves.empty() ||
        !event.exchanges.empty() || !event.selects.empty() ||
        !event.stored.empty())
      add(use.pc, std::move(event));
  });
}
