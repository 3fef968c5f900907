//===- CheckFrozenTables.cpp - Report writes to frozen tables -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemRefRoots.h"
#include "ReachableAfter.h"

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_CHECKFROZENTABLESPASS
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// Something that happens to a piece of memory: it is frozen, or written.
struct Event {
  /// The operation of the function at hand that does it, maybe by a call.
  Operation *anchor;
  /// The operation that does it itself, `anchor` where there is no call.
  Operation *origin;
  /// The operand of `kvcache.get_paged_cache` (freezing), or whether the memory
  /// is freed (writing).
  StringRef name;
  bool frees = false;
};

/// What happens to memory that the callers of a function can name.
using Summary = llvm::MapVector<MemRefRoot, Event>;

struct Function;

struct Call {
  Operation *op;
  Function *callee;
  OperandRange operands;
};

/// A function, or what stands outside of any.
struct Function {
  Operation *op;
  SmallVector<std::pair<MemRefRoot, Event>> freezes, writes;
  SmallVector<Call> calls;
  SmallVector<Function *> callers;
  /// Operations that what the function returns is computed from.
  DenseSet<Operation *> returned;
  Summary frozen, written;
};

class FrozenTables {
public:
  explicit FrozenTables(ModuleOp module) : module(module), roots(symbols) {}

  LogicalResult check();

private:
  void collect(Function &function);
  void collectWrites(Operation *op, Function &function);
  void collectCall(Operation *op, Operation *callee, OperandRange operands,
                   Function &function);
  void collectReturned(Function &function);
  void summarize();
  bool merge(Function &function);
  void forEachCallEvent(const Call &call, const Summary &summary,
                        function_ref<void(MemRefRoot, const Event &)> visit);
  LogicalResult check(Function &function);
  void report(const Event &write, const Event &freeze, Operation *use);

  ModuleOp module;
  SymbolTableCollection symbols;
  MemRefRoots roots;
  llvm::MapVector<Operation *, std::unique_ptr<Function>> functions;
  DenseSet<Operation *> reported;
};

} // namespace

//===----------------------------------------------------------------------===//
// What a function does
//===----------------------------------------------------------------------===//

void FrozenTables::collectWrites(Operation *op, Function &function) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    bool frees = isa<MemoryEffects::Free>(effect.getEffect());
    Value memory = effect.getValue();
    // Pools, which caches and collections stand for, are no tables.
    if (!memory || !isa<BaseMemRefType>(memory.getType()) ||
        !(frees || isa<MemoryEffects::Write>(effect.getEffect())))
      continue;
    for (MemRefRoot root : roots.get(memory))
      function.writes.push_back({root, {op, op, "", frees}});
  }
}

void FrozenTables::collectCall(Operation *op, Operation *callee,
                               OperandRange operands, Function &function) {
  auto it = functions.find(callee);
  if (it == functions.end())
    return;
  function.calls.push_back({op, it->second.get(), operands});
  it->second->callers.push_back(&function);
}

/// Finds what a function's results are computed from: operands, what regions
/// yield, what branches forward, and the conditions around it.
void FrozenTables::collectReturned(Function &function) {
  SmallVector<Operation *> worklist;
  auto add = [&](Operation *op) {
    if (op && op != function.op && function.returned.insert(op).second)
      worklist.push_back(op);
  };
  auto addTerminators = [&](Region &region) {
    for (Block &block : region)
      if (block.mightHaveTerminator())
        add(block.getTerminator());
  };
  for (Region &region : function.op->getRegions())
    addTerminators(region);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    add(op->getParentOp());
    for (Value operand : op->getOperands())
      add(operand.getDefiningOp());
    for (Region &region : op->getRegions())
      addTerminators(region);
  }
}

void FrozenTables::collect(Function &function) {
  bool makesCollections = false;
  function.op->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function.op)
      return WalkResult::advance();
    if (functions.contains(op))
      return WalkResult::skip();
    if (auto make = dyn_cast<GetPagedCacheOp>(op)) {
      makesCollections = true;
      static constexpr StringLiteral names[] = {
          "cache_lengths", "lookup_table", "max_prompt_length",
          "max_cache_length", "scales_lookup_table"};
      for (auto [name, memref] : llvm::zip(names, make.getFrozenMemRefs()))
        for (MemRefRoot root : roots.get(memref))
          function.freezes.push_back({root, {op, op, name}});
      return WalkResult::advance();
    }
    collectWrites(op, function);
    if (auto call = dyn_cast<CallOpInterface>(op))
      collectCall(op, call.resolveCallableInTable(&symbols),
                  call.getArgOperands(), function);
    else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
      collectCall(op,
                  symbols.lookupNearestSymbolFrom(op, launch.getKernelAttr()),
                  launch.getKernelOperands(), function);
    return WalkResult::advance();
  });
  if (makesCollections || !function.calls.empty())
    collectReturned(function);
}

//===----------------------------------------------------------------------===//
// What it does to its callers' memory
//===----------------------------------------------------------------------===//

/// Whether callers of `function` can name `root`: a global or an argument.
static bool isVisibleToCallers(MemRefRoot root, Function &function) {
  auto value = dyn_cast<Value>(root);
  if (!value)
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner()->getParentOp() == function.op &&
         argument.getOwner()->isEntryBlock();
}

/// Translates what a callee does to the memory that the call passes.
void FrozenTables::forEachCallEvent(
    const Call &call, const Summary &summary,
    function_ref<void(MemRefRoot, const Event &)> visit) {
  for (const auto &[root, event] : summary) {
    Event atCall = event;
    atCall.anchor = call.op;
    auto value = dyn_cast<Value>(root);
    if (!value) {
      visit(root, atCall);
      continue;
    }
    unsigned index = cast<BlockArgument>(value).getArgNumber();
    if (index < call.operands.size())
      for (MemRefRoot passed : roots.get(call.operands[index]))
        visit(passed, atCall);
  }
}

/// Adds what `function` and its callees do to the function's summary; returns
/// whether that is news.
bool FrozenTables::merge(Function &function) {
  bool changed = false;
  auto add = [&](Summary &summary, MemRefRoot root, const Event &event) {
    if (isVisibleToCallers(root, function))
      changed |= summary.insert({root, event}).second;
  };
  for (const auto &[root, event] : function.writes)
    add(function.written, root, event);
  for (const auto &[root, event] : function.freezes)
    if (function.returned.contains(event.anchor))
      add(function.frozen, root, event);
  for (const Call &call : function.calls) {
    forEachCallEvent(call, Summary(call.callee->written),
                     [&](MemRefRoot root, const Event &event) {
                       add(function.written, root, event);
                     });
    if (function.returned.contains(call.op))
      forEachCallEvent(call, Summary(call.callee->frozen),
                       [&](MemRefRoot root, const Event &event) {
                         add(function.frozen, root, event);
                       });
  }
  return changed;
}

/// Summaries only grow and name arguments and globals only, so that recursion
/// ends.
void FrozenTables::summarize() {
  llvm::SetVector<Function *> worklist;
  for (auto &[op, function] : functions)
    worklist.insert(function.get());
  while (!worklist.empty()) {
    Function *function = worklist.pop_back_val();
    if (merge(*function))
      worklist.insert_range(function->callers);
  }
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

/// The block in which memory is made anew each time; null where it outlives
/// the function.
static Block *getDefinition(MemRefRoot root) {
  auto value = dyn_cast<Value>(root);
  return value ? value.getParentBlock() : nullptr;
}

/// An operation computed from what `makers` give that may run after `free`:
/// up to there lookups may sink.
static Operation *findUseAfter(const Event &free, ArrayRef<Event> makers,
                               Function &function, Block *definition) {
  ReachableAfter reachable(function.op, definition);
  reachable.addSource(free.anchor);
  SmallVector<Operation *> worklist;
  DenseSet<Operation *> seen;
  for (const Event &maker : makers)
    worklist.push_back(maker.anchor);
  auto addUsers = [&](ValueRange values) {
    for (Value value : values)
      llvm::append_range(worklist, value.getUsers());
  };
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    if (op != free.anchor && reachable.findSource(op))
      return op;
    addUsers(op->getResults());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        addUsers(block.getArguments());
    for (Block *successor : op->getSuccessors())
      addUsers(successor->getArguments());
    if (op->hasTrait<OpTrait::IsTerminator>() && op->getParentOp() &&
        op->getParentOp() != function.op)
      worklist.push_back(op->getParentOp());
  }
  return nullptr;
}

void FrozenTables::report(const Event &write, const Event &freeze,
                          Operation *use) {
  if (!reported.insert(write.origin).second)
    return;
  InFlightDiagnostic diag = write.origin->emitOpError();
  if (use)
    diag << "frees '" << freeze.name
         << "' of a collection that is still used; free it after the last use";
  else
    diag << "writes '" << freeze.name
         << "', which a collection has frozen; write it before "
            "'kvcache.get_paged_cache'";
  if (write.anchor != write.origin)
    diag.attachNote(write.anchor->getLoc()) << "reached through this call";
  diag.attachNote(freeze.origin->getLoc()) << "the collection is made here";
  if (freeze.anchor != freeze.origin)
    diag.attachNote(freeze.anchor->getLoc())
        << "what this call returns is computed from it";
  if (use)
    diag.attachNote(use->getLoc()) << "what is computed from it is used here";
}

LogicalResult FrozenTables::check(Function &function) {
  struct Memory {
    SmallVector<Event> freezes, writes;
  };
  llvm::MapVector<MemRefRoot, Memory> memories;
  auto addFreeze = [&](MemRefRoot root, const Event &event) {
    memories[root].freezes.push_back(event);
  };
  for (const auto &[root, event] : function.freezes)
    addFreeze(root, event);
  for (const Call &call : function.calls)
    forEachCallEvent(call, call.callee->frozen, addFreeze);
  if (memories.empty())
    return success();
  auto addWrite = [&](MemRefRoot root, const Event &event) {
    if (auto it = memories.find(root); it != memories.end())
      it->second.writes.push_back(event);
  };
  for (const auto &[root, event] : function.writes)
    addWrite(root, event);
  for (const Call &call : function.calls)
    forEachCallEvent(call, call.callee->written, addWrite);

  LogicalResult result = success();
  for (const auto &[root, memory] : memories) {
    if (memory.writes.empty())
      continue;
    Block *definition = getDefinition(root);
    ReachableAfter reachable(function.op, definition);
    for (const Event &freeze : memory.freezes)
      reachable.addSource(freeze.anchor);
    for (const Event &write : memory.writes) {
      Operation *source = reachable.findSource(write.anchor);
      if (!source)
        continue;
      Operation *use = nullptr;
      if (write.frees) {
        use = findUseAfter(write, memory.freezes, function, definition);
        if (!use)
          continue;
      }
      report(write,
             *llvm::find_if(
                 memory.freezes,
                 [&](const Event &event) { return event.anchor == source; }),
             use);
      result = failure();
    }
  }
  return result;
}

LogicalResult FrozenTables::check() {
  functions[module] = std::make_unique<Function>();
  module.walk([&](FunctionOpInterface op) {
    functions[op] = std::make_unique<Function>();
  });
  for (auto &[op, function] : functions) {
    function->op = op;
    collect(*function);
  }
  summarize();
  LogicalResult result = success();
  for (auto &[op, function] : functions)
    if (failed(check(*function)))
      result = failure();
  return result;
}

namespace {
struct CheckFrozenTablesPass
    : public kvcache::impl::CheckFrozenTablesPassBase<CheckFrozenTablesPass> {
  void runOnOperation() override {
    if (failed(FrozenTables(getOperation()).check()))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
