//===- MemRefRoots.cpp - The memory behind a memref -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemRefRoots.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::kvcache;

void MemRefRoots::appendForwarded(RegionBranchOpInterface op, Value input,
                                  SmallVectorImpl<Value> &sources) {
  auto [it, inserted] = forwarded.try_emplace(op);
  if (inserted)
    op.getSuccessorInputOperandMapping(it->second);
  auto found = it->second.find(input);
  if (found == it->second.end())
    return;
  for (OpOperand *operand : found->second)
    sources.push_back(operand->get());
}

void MemRefRoots::appendSources(Value value, SmallVectorImpl<Value> &sources) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Block *block = argument.getOwner();
    for (auto it = block->pred_begin(), end = block->pred_end(); it != end;
         ++it) {
      auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator());
      if (!branch)
        continue;
      SuccessorOperands operands =
          branch.getSuccessorOperands(it.getSuccessorIndex());
      unsigned index = argument.getArgNumber();
      if (index < operands.size() && operands[index])
        sources.push_back(operands[index]);
    }
    if (auto parent = dyn_cast_or_null<RegionBranchOpInterface>(
            block->isEntryBlock() ? block->getParentOp() : nullptr))
      appendForwarded(parent, value, sources);
    return;
  }

  Operation *op = value.getDefiningOp();
  if (isa<GetPagedCacheOp, GetPagePoolsOp>(op))
    return;
  if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
    if (view.getViewDest() == value)
      sources.push_back(view.getViewSource());
  } else if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    appendForwarded(branch, value, sources);
  } else if (auto distinct = dyn_cast<memref::DistinctObjectsOp>(op)) {
    sources.push_back(
        distinct.getOperands()[cast<OpResult>(value).getResultNumber()]);
  } else if (isMemoryEffectFree(op)) {
    // A cast, a select, …: what allocates nothing gives on what it got.
    llvm::copy_if(
        op->getOperands(), std::back_inserter(sources),
        [](Value operand) { return !operand.getType().isIntOrIndexOrFloat(); });
  }
}

ArrayRef<MemRefRoot> MemRefRoots::get(Value memref) {
  if (auto it = known.find(memref); it != known.end())
    return it->second;

  llvm::SmallSetVector<MemRefRoot, 2> roots;
  SmallVector<Value> worklist = {memref}, sources;
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto it = known.find(value); it != known.end()) {
      roots.insert_range(it->second);
      continue;
    }
    if (auto global = value.getDefiningOp<memref::GetGlobalOp>()) {
      Operation *declared =
          symbols.lookupNearestSymbolFrom(global, global.getNameAttr());
      roots.insert(declared ? MemRefRoot(declared) : MemRefRoot(value));
      continue;
    }
    sources.clear();
    appendSources(value, sources);
    if (sources.empty())
      roots.insert(value);
    // The first source is looked at first.
    llvm::append_range(worklist, llvm::reverse(sources));
  }
  return known[memref] = llvm::to_vector<1>(roots);
}
