//===- TensorCopies.cpp - Copies that bufferization would make ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCopies.h"

#include "ReachableAfter.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// The program as it was analysed
//===----------------------------------------------------------------------===//

/// The operation that makes `tensor`, where that is a copy that was put in to
/// resolve a conflict: the analysis does not know it.
static AllocTensorOp getInsertedCopy(Value tensor,
                                     const OneShotAnalysisState &state) {
  auto alloc = tensor.getDefiningOp<AllocTensorOp>();
  if (!alloc || !alloc.getCopy())
    return {};
  bool analyzed = false;
  state.applyOnEquivalenceClass(tensor, [&](Value) { analyzed = true; });
  return analyzed ? AllocTensorOp() : alloc;
}

/// `tensor`, or what it was before a copy was put in its place.
static Value getAnalyzed(Value tensor, const OneShotAnalysisState &state) {
  while (AllocTensorOp copy = getInsertedCopy(tensor, state))
    tensor = copy.getCopy();
  return tensor;
}

/// Visits the uses of `tensor`, those of copies that were put in among them.
static void forEachUse(Value tensor, const OneShotAnalysisState &state,
                       function_ref<void(OpOperand &)> visit) {
  for (OpOperand &use : tensor.getUses()) {
    auto alloc = dyn_cast<AllocTensorOp>(use.getOwner());
    if (alloc && getInsertedCopy(alloc, state))
      forEachUse(alloc, state, visit);
    else
      visit(use);
  }
}

/// Whether `operand` gets a copy of its tensor, with the contents.
static bool isCopied(OpOperand &operand, const OneShotAnalysisState &state) {
  if (!state.getOptions().dynCastBufferizableOp(operand.getOwner()) ||
      state.isInPlace(operand))
    return false;
  return getInsertedCopy(operand.get(), state) ||
         !state.canOmitTensorCopy(operand);
}

//===----------------------------------------------------------------------===//
// What forces a copy
//===----------------------------------------------------------------------===//

/// What defines the contents of an operand's tensor.
static SetVector<Value> findDefinitions(OpOperand &operand,
                                        const OneShotAnalysisState &state) {
  if (AllocTensorOp copy = getInsertedCopy(operand.get(), state))
    return findDefinitions(*copy.getCopyMutable().begin(), state);
  return state.findDefinitions(&operand);
}

/// The innermost loop around `op` into which what `definition` defines comes
/// from outside.
static Operation *getLoop(Operation *op, Block *definition) {
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (definition && llvm::any_of(parent->getRegions(), [&](Region &region) {
          return region.isAncestor(definition->getParent());
        }))
      return nullptr;
    if (isa<LoopLikeOpInterface>(parent))
      return parent;
  }
  return nullptr;
}

static void explainRepetition(InFlightDiagnostic &error, Operation *op,
                              Block *definition) {
  if (Operation *loop = getLoop(op, definition))
    error.attachNote(loop->getLoc())
        << "each iteration of this loop starts from the old contents; pass the "
           "tensor as an iteration argument and yield the result";
  else
    error.attachNote(op->getLoc())
        << "it runs again, on the old contents; pass the result on instead";
}

/// Whether `tensor`, in a region of `op`, is a view of what is there before
/// `op` rather than of an argument of the region.
static bool comesFromOutside(Value tensor, Operation *op,
                             const OneShotAnalysisState &state) {
  while (op->isAncestor(tensor.getParentBlock()->getParentOp())) {
    AliasingOpOperandList sources = isa<BlockArgument>(tensor)
                                        ? AliasingOpOperandList()
                                        : state.getAliasingOpOperands(tensor);
    if (sources.getNumAliases() != 1)
      return false;
    tensor = sources.getAliases().front().opOperand->get();
  }
  return true;
}

bool mlir::kvcache::isWrittenAnew(OpOperand &written,
                                  const OneShotAnalysisState &state) {
  Operation *op = written.getOwner();
  SetVector<Value> definitions = findDefinitions(written, state);
  auto function = op->getParentOfType<FunctionOpInterface>();
  // Of several one comes from the turn before.
  if (!function || definitions.size() != 1)
    return false;
  ReachableAfter reachable(function,
                           Value(definitions.front()).getParentBlock());
  reachable.addSource(op);
  return reachable.findSource(op);
}

/// In place, what `copied` becomes would share its buffer with another argument
/// of a loop's block: names the uses of that.
static void explainSwap(InFlightDiagnostic &error, OpOperand &copied,
                        const SetVector<Value> &definitions,
                        const ReachableAfter &reachable,
                        SmallPtrSetImpl<Operation *> &named,
                        const OneShotAnalysisState &state) {
  auto getSwapped = [&](OpOperand &use) -> BlockArgument {
    if (!state.bufferizesToMemoryRead(use) &&
        !isa<BranchOpInterface>(use.getOwner()))
      return {};
    for (Value value : findDefinitions(use, state))
      if (auto argument = dyn_cast<BlockArgument>(value))
        if (llvm::any_of(definitions, [&](Value own) {
              auto other = dyn_cast<BlockArgument>(own);
              return other && other != argument &&
                     other.getOwner() == argument.getOwner();
            }))
          return argument;
    return {};
  };
  for (AliasingValue result : state.getAliasingValues(copied))
    state.applyOnAliases(result.value, [&](Value alias) {
      forEachUse(alias, state, [&](OpOperand &use) {
        Operation *user = use.getOwner();
        BlockArgument swapped = getSwapped(use);
        if (swapped && reachable.findSource(user) && named.insert(user).second)
          error.attachNote(user->getLoc())
              << "argument #" << swapped.getArgNumber()
              << " of the block is used here, and would lie in the same "
                 "buffer; pass each tensor on at the place that it came from";
      });
    });
}

void mlir::kvcache::explainCopy(InFlightDiagnostic &error, OpOperand &copied,
                                const OneShotAnalysisState &state) {
  Operation *op = copied.getOwner();
  auto function = op->getParentOfType<FunctionOpInterface>();
  SetVector<Value> definitions = findDefinitions(copied, state);
  Block *definition = definitions.size() == 1
                          ? Value(definitions.front()).getParentBlock()
                          : nullptr;
  ReachableAfter reachable(function, definition);
  reachable.addSource(op);
  auto readsOldContents = [&](OpOperand &use) {
    return state.bufferizesToMemoryRead(use) &&
           llvm::any_of(findDefinitions(use, state), [&](Value value) {
             return definitions.contains(value);
           });
  };

  SmallPtrSet<Operation *, 4> named;
  state.applyOnAliases(getAnalyzed(copied.get(), state), [&](Value alias) {
    forEachUse(alias, state, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      bool isInside =
          op->isProperAncestor(user) && comesFromOutside(use.get(), op, state);
      if (&use == &copied || !readsOldContents(use) ||
          (user != op && !isInside && !reachable.findSource(user)) ||
          !named.insert(user).second)
        return;
      error.attachNote(user->getLoc())
          << (user == op ? "the same operation uses it once more"
                         : "its old contents are used here");
    });
  });
  if (named.empty())
    explainSwap(error, copied, definitions, reachable, named, state);
  if (reachable.findSource(op) && named.insert(op).second)
    explainRepetition(error, op, definition);
  if (!named.empty())
    return;
  for (Value origin : definitions)
    if (!state.isWritable(origin))
      error.attachNote(origin.getLoc())
          << "it comes from here and may not be written; a function's argument "
             "may be where it is marked 'bufferization.writable = true'";
}

//===----------------------------------------------------------------------===//
// Where a buffer goes
//===----------------------------------------------------------------------===//

namespace {

/// Follows the buffers of an operation's tensors, to where they come from and
/// to their other uses.
class TensorCopies {
public:
  /// With `throughWrites` a buffer is followed through operations that write
  /// it, and into callees; else only its present contents are. Without
  /// `bufferizationState` only the operation's own function is analysed as yet,
  /// and only copies by loops are looked for.
  TensorCopies(WithBuffersOp op, bool throughWrites,
               const OneShotAnalysisState &state,
               const BufferizationState *bufferizationState)
      : op(op), throughWrites(throughWrites), state(state),
        bufferizationState(bufferizationState) {}

  /// Follows the operation's tensors: pools, and where only contents are
  /// followed, what is written else.
  LogicalResult check(ArrayRef<bool> isPool);

private:
  /// Adds a tensor. Only `inCallers` are those of the callers of its function
  /// followed: one that was reached by a call is followed at that call.
  void follow(Value tensor, bool inCallers);
  void followSource(OpOperand &source, bool inCallers);
  void followSources(Value tensor, bool inCallers);
  void followUse(OpOperand &use, bool inCallers);
  bool isCopiedByLoop(OpOperand &yielded);
  bool isCopiedByReshape(OpOperand &reshaped);
  func::FuncOp getCallee(Operation *call);
  func::FuncOp getFollowedCallee(Operation *call);
  ArrayRef<func::CallOp> getCalls(Operation *function);
  void report(OpOperand &copied, const Twine &remedy);
  void reportCopied(OpOperand &copied);
  void reportReshaped(OpOperand &copied);

  WithBuffersOp op;
  bool throughWrites;
  const OneShotAnalysisState &state;
  const BufferizationState *bufferizationState;
  SymbolTableCollection symbols;
  std::optional<DenseMap<Operation *, SmallVector<func::CallOp>>> calls;
  DenseMap<Operation *, RegionBranchSuccessorMapping> inputs;
  DenseMap<Operation *, RegionBranchInverseSuccessorMapping> operands;
  /// Tensors reached, and whether callers count.
  DenseMap<Value, bool> reached;
  SmallVector<Value> worklist;
  SmallPtrSet<OpOperand *, 4> reported;
};

} // namespace

func::FuncOp TensorCopies::getCallee(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  return call ? dyn_cast_or_null<func::FuncOp>(
                    call.resolveCallableInTable(&symbols))
              : func::FuncOp();
}

func::FuncOp TensorCopies::getFollowedCallee(Operation *op) {
  return throughWrites && bufferizationState ? getCallee(op) : func::FuncOp();
}

ArrayRef<func::CallOp> TensorCopies::getCalls(Operation *function) {
  if (!calls) {
    calls.emplace();
    op->getParentOfType<ModuleOp>().walk([&](func::CallOp call) {
      if (func::FuncOp callee = getCallee(call))
        (*calls)[callee].push_back(call);
    });
  }
  return (*calls)[function];
}

void TensorCopies::follow(Value tensor, bool inCallers) {
  tensor = getAnalyzed(tensor, state);
  if (!isa<RankedTensorType>(tensor.getType()))
    return;
  auto [it, inserted] = reached.try_emplace(tensor, inCallers);
  if (!inserted && (it->second || !inCallers))
    return;
  it->second = inCallers;
  worklist.push_back(tensor);
}

void TensorCopies::followSource(OpOperand &source, bool inCallers) {
  if (isCopied(source, state))
    reportCopied(source);
  follow(source.get(), inCallers);
}

/// Whether what may alias a tensor may have all of its buffer. Of a declared
/// function every result may alias every operand.
static bool mayHoldAll(OpOperand &operand, Value alias,
                       BufferRelation relation) {
  return relation == BufferRelation::Equivalent ||
         operand.get().getType() == alias.getType() ||
         isa<tensor::CollapseShapeOp, tensor::ReshapeOp>(operand.getOwner());
}

void TensorCopies::followSources(Value tensor, bool inCallers) {
  Operation *owner = getOwnerOfValue(tensor);
  if (auto function = dyn_cast<FunctionOpInterface>(owner)) {
    auto argument = cast<BlockArgument>(tensor);
    if (argument.getOwner()->isEntryBlock()) {
      if (inCallers && state.getOptions().bufferizeFunctionBoundaries)
        for (func::CallOp call : getCalls(function))
          followSource(call->getOpOperand(argument.getArgNumber()), true);
      return;
    }
  }
  if (!state.getOptions().dynCastBufferizableOp(owner))
    return;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(owner)) {
    auto [it, inserted] = operands.try_emplace(owner);
    if (inserted)
      branch.getSuccessorInputOperandMapping(it->second);
    for (OpOperand *operand : it->second.lookup(tensor))
      followSource(*operand, inCallers);
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(owner))
    if (auto argument = dyn_cast<BlockArgument>(tensor))
      if (OpOperand *init = loop.getTiedLoopInit(argument))
        followSource(*init, inCallers);
  for (AliasingOpOperand alias : state.getAliasingOpOperands(tensor)) {
    OpOperand &operand = *alias.opOperand;
    if (!throughWrites && state.bufferizesToMemoryWrite(operand))
      continue;
    if (isCopiedByReshape(operand))
      reportReshaped(operand);
    // Whoever copies a tensor copies its slices.
    if (isa<tensor::ExtractSliceOp>(owner) ||
        mayHoldAll(operand, tensor, alias.relation))
      followSource(operand, inCallers);
  }
  if (func::FuncOp callee = getFollowedCallee(owner))
    for (func::ReturnOp end : callee.getOps<func::ReturnOp>())
      follow(end.getOperand(cast<OpResult>(tensor).getResultNumber()), false);
}

void TensorCopies::followUse(OpOperand &use, bool inCallers) {
  Operation *user = use.getOwner();
  // A slice may be copied: it is not the tensor.
  if (!state.getOptions().dynCastBufferizableOp(user) ||
      isa<tensor::ExtractSliceOp>(user))
    return;
  if (isCopied(use, state))
    reportCopied(use);
  if (isCopiedByLoop(use))
    report(use, "yield each tensor at the place that it came from");
  if (isCopiedByReshape(use))
    reportReshaped(use);

  Operation *owner = isa<RegionBranchOpInterface>(user) ? user
                     : isa<RegionBranchTerminatorOpInterface>(user)
                         ? user->getParentOp()
                         : nullptr;
  if (auto branch = dyn_cast_or_null<RegionBranchOpInterface>(owner)) {
    auto [it, inserted] = inputs.try_emplace(owner);
    if (inserted)
      branch.getSuccessorOperandInputMapping(it->second);
    for (Value input : it->second.lookup(&use))
      follow(input, inCallers);
  }
  if (auto loop = dyn_cast<LoopLikeOpInterface>(user))
    if (BlockArgument argument = loop.getTiedLoopRegionIterArg(&use))
      follow(argument, inCallers);
  if (throughWrites || !state.bufferizesToMemoryWrite(use))
    for (AliasingValue alias : state.getAliasingValues(use))
      if (mayHoldAll(use, alias.value, alias.relation))
        follow(alias.value, inCallers);
  if (func::FuncOp callee = getFollowedCallee(user))
    if (!callee.isExternal())
      follow(callee.getArgument(use.getOperandNumber()), false);
  if (isa<func::ReturnOp>(user) && inCallers &&
      state.getOptions().bufferizeFunctionBoundaries)
    for (func::CallOp call : getCalls(user->getParentOp()))
      follow(call.getResult(use.getOperandNumber()), true);
}

/// Whether a loop copies what it yields, to the buffer of the argument at the
/// same place. Without the option for it that is an error of the loop, too.
bool TensorCopies::isCopiedByLoop(OpOperand &yielded) {
  Operation *user = yielded.getOwner();
  unsigned index = yielded.getOperandNumber();
  Block::BlockArgListType arguments;
  if (auto loop = dyn_cast<scf::ForOp>(user->getParentOp())) {
    arguments = loop.getRegionIterArgs();
  } else if (auto loop = dyn_cast<scf::WhileOp>(user->getParentOp())) {
    // Of a condition the first operand is the condition.
    bool before = isa<scf::ConditionOp>(user);
    arguments = before ? loop.getBeforeArguments() : loop.getAfterArguments();
    index -= before;
  }
  if (!isa<scf::YieldOp, scf::ConditionOp>(user) || index >= arguments.size())
    return false;
  return !state.areEquivalentBufferizedValues(getAnalyzed(yielded.get(), state),
                                              arguments[index]);
}

/// Whether a reshape copies its source, whose buffer has strides that no view
/// of the new shape has.
bool TensorCopies::isCopiedByReshape(OpOperand &reshaped) {
  Operation *reshape = reshaped.getOwner();
  if (!isa<tensor::CollapseShapeOp, tensor::ReshapeOp>(reshape) ||
      reshaped.getOperandNumber() != 0 || !bufferizationState)
    return false;
  FailureOr<BufferLikeType> buffer =
      getBufferType(reshaped.get(), state.getOptions(), *bufferizationState);
  auto type = succeeded(buffer) ? dyn_cast<MemRefType>(*buffer) : MemRefType();
  if (!type)
    return false;
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape))
    return !memref::CollapseShapeOp::isGuaranteedCollapsible(
        type, collapse.getReassociationIndices());
  return !type.getLayout().isIdentity();
}

void TensorCopies::report(OpOperand &copied, const Twine &remedy) {
  if (!reported.insert(&copied).second)
    return;
  InFlightDiagnostic error = copied.getOwner()->emitOpError("operand #")
                             << copied.getOperandNumber() << " of type "
                             << copied.get().getType()
                             << " would be copied, but 'kvcache.with_buffers' "
                                "needs it in place; "
                             << remedy;
  if (isCopied(copied, state))
    explainCopy(error, copied, state);
  error.attachNote(op.getLoc()) << "it is needed in place here";
}

void TensorCopies::reportCopied(OpOperand &copied) {
  if (!bufferizationState)
    return;
  func::FuncOp callee = getCallee(copied.getOwner());
  if (callee && callee.isExternal())
    report(copied, "use the call's result afterwards instead, or mark the "
                   "argument of '@" +
                       callee.getSymName() +
                       "' with 'bufferization.access = \"read\"' where it is "
                       "only read");
  else
    report(copied, "use the operation's result afterwards instead");
}

void TensorCopies::reportReshaped(OpOperand &copied) {
  report(copied, "give functions identity layouts "
                 "(function-boundary-type-conversion=identity-layout-map)");
}

LogicalResult TensorCopies::check(ArrayRef<bool> isPool) {
  for (OpOperand &operand : op->getOpOperands())
    if (bool pool = isPool[operand.getOperandNumber()];
        pool == throughWrites && (pool || op.isDpsInit(&operand)))
      follow(operand.get(), /*inCallers=*/bufferizationState != nullptr);
  while (!worklist.empty()) {
    Value tensor = worklist.pop_back_val();
    bool inCallers = reached.lookup(tensor);
    followSources(tensor, inCallers);
    forEachUse(tensor, state,
               [&](OpOperand &use) { followUse(use, inCallers); });
  }
  return success(reported.empty());
}

//===----------------------------------------------------------------------===//
// The check
//===----------------------------------------------------------------------===//

SmallVector<BlockArgument>
mlir::kvcache::findBodyArguments(WithBuffersOp op, Value memory,
                                 WrittenPools counted, MemRefRoots &roots) {
  SmallVector<BlockArgument> arguments;
  auto addPools = [&](auto make) {
    bool apart = make.getLayout().hasSeparatePools();
    for (auto [pool, isCounted] : std::initializer_list<std::pair<Value, bool>>{
             {make.getBlocks(), counted.values || !apart},
             {make.getScales(), counted.scales && apart}})
      if (pool && isCounted)
        llvm::append_range(arguments,
                           findBodyArguments(op, pool, counted, roots));
  };
  // Looking at pools adds to what `roots` keeps.
  for (MemRefRoot root : llvm::to_vector(roots.get(memory))) {
    auto value = dyn_cast<Value>(root);
    if (!value)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &op.getBody().front())
        arguments.push_back(argument);
    } else if (auto cache = value.getDefiningOp<GetPagedCacheOp>()) {
      addPools(cache);
    } else if (auto pages = value.getDefiningOp<GetPagePoolsOp>()) {
      addPools(pages);
    }
  }
  return arguments;
}

/// The operands whose memrefs are pools in the body.
static SmallVector<bool> findPools(WithBuffersOp op) {
  SmallVector<bool> pools(op->getNumOperands());
  SymbolTableCollection symbols;
  MemRefRoots roots(symbols);
  op.getBody().walk([&](Operation *nested) {
    if (!isa<GetPagedCacheOp, GetPagePoolsOp>(nested))
      return;
    for (BlockArgument argument :
         findBodyArguments(op, nested->getResult(0), {}, roots))
      pools[argument.getArgNumber()] = true;
  });
  return pools;
}

LogicalResult
mlir::kvcache::checkTensorCopies(WithBuffersOp op,
                                 const OneShotAnalysisState &state,
                                 const BufferizationState *bufferizationState) {
  SmallVector<bool> isPool = findPools(op);
  bool inPlace = true;
  for (bool throughWrites : {true, false})
    inPlace &=
        succeeded(TensorCopies(op, throughWrites, state, bufferizationState)
                      .check(isPool));
  return success(inPlace);
}
