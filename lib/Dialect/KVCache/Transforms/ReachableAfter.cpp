//===- ReachableAfter.cpp - What may run after an operation ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReachableAfter.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::kvcache;

void ReachableAfter::markWhole(Block *block, Operation *source) {
  SmallVector<Block *> worklist = {block};
  while (!worklist.empty()) {
    Block *reached = worklist.pop_back_val();
    if (reached == definition)
      continue;
    auto [it, inserted] = marks.try_emplace(reached, Mark{nullptr, source});
    if (!inserted) {
      if (!it->second.after)
        continue;
      it->second = {nullptr, source};
    }
    llvm::append_range(worklist, reached->getSuccessors());
  }
}

void ReachableAfter::markSuccessors(Block *block, Operation *source) {
  for (Block *successor : block->getSuccessors())
    markWhole(successor, source);
}

/// Marks the regions of the same operation that control may go to from
/// `region`, itself among them where it is a loop's.
void ReachableAfter::markNextRegions(Region *region, Operation *source) {
  if (definition && region->isAncestor(definition->getParent()))
    return;
  Operation *parent = region->getParentOp();
  SmallVector<Region *> worklist;
  llvm::SmallPtrSet<Region *, 4> seen;
  auto appendNext = [&](Region *from) {
    SmallVector<RegionSuccessor> successors;
    for (Block &block : *from) {
      if (block.empty())
        continue;
      auto terminator =
          dyn_cast<RegionBranchTerminatorOpInterface>(block.back());
      if (!terminator)
        continue;
      SmallVector<Attribute> unknown(block.back().getNumOperands());
      terminator.getSuccessorRegions(unknown, successors);
    }
    for (const RegionSuccessor &successor : successors)
      if (Region *next = successor.getSuccessor())
        worklist.push_back(next);
  };

  if (isa<RegionBranchOpInterface>(parent))
    appendNext(region);
  else if (!isa<LoopLikeOpInterface>(parent))
    // Nothing is known of the order of an unknown operation's regions.
    for (Region &other : parent->getRegions())
      if (&other != region)
        worklist.push_back(&other);
  if (isa<LoopLikeOpInterface>(parent))
    worklist.push_back(region);

  while (!worklist.empty()) {
    Region *next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    for (Block &block : *next)
      markWhole(&block, source);
    if (isa<RegionBranchOpInterface>(parent))
      appendNext(next);
  }
}

void ReachableAfter::addSource(Operation *source) {
  for (Operation *op = source; op && op != body && op->getBlock();
       op = op->getParentOp()) {
    Block *block = op->getBlock();
    auto [it, inserted] = marks.try_emplace(block, Mark{op, source});
    if (!inserted) {
      // Where this block leads to is marked already.
      Mark &mark = it->second;
      if (mark.after && op != mark.after && op->isBeforeInBlock(mark.after))
        mark = {op, source};
      return;
    }
    markSuccessors(block, source);
    if (block->getParentOp() != body)
      markNextRegions(block->getParent(), source);
  }
}

Operation *ReachableAfter::findSource(Operation *op) const {
  for (; op && op != body && op->getBlock(); op = op->getParentOp()) {
    auto it = marks.find(op->getBlock());
    if (it == marks.end())
      continue;
    const Mark &mark = it->second;
    if (!mark.after || (mark.after != op && mark.after->isBeforeInBlock(op)))
      return mark.source;
  }
  return nullptr;
}
