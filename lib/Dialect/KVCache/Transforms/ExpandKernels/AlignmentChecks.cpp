//===- AlignmentChecks.cpp - What kernels assume of addresses ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AlignmentChecks.h"

#include "../RuntimeChecks.h"
#include "KernelBuilder.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KernelArguments.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// Asserts about the launches from `first` to `op`, in front of them.
class AlignmentChecks {
public:
  AlignmentChecks(Operation *op, Operation *first)
      : op(op), first(first), host(op->getLoc(), first) {}
  void emit();

private:
  Value rebuild(Value value);
  std::optional<Value> conditionOf(Operation *launch);
  void check(ImplicitLocOpBuilder &b, unsigned number, int64_t alignment,
             Value condition);

  Operation *op, *first;
  ImplicitLocOpBuilder host;
  IRMapping rebuilt;
};

/// `value` as it can be had in front of `first`; null where it cannot.
Value AlignmentChecks::rebuild(Value value) {
  if (Value known = rebuilt.lookupOrNull(value))
    return known;
  Operation *maker = value.getDefiningOp();
  Operation *place = op->getBlock()->findAncestorOpInBlock(
      maker ? *maker : *value.getParentBlock()->getParentOp());
  if (!place || place->isBeforeInBlock(first))
    return value;
  if (!maker || maker->getNumRegions() != 0 || !isPure(maker))
    return Value();
  for (Value operand : maker->getOperands()) {
    Value again = rebuild(operand);
    if (!again)
      return Value();
    rebuilt.map(operand, again);
  }
  host.clone(*maker, rebuilt);
  return rebuilt.lookup(value);
}

/// Whether `launch` is reached: an `i1`, null for always; unset where that is
/// not known in front of `first`.
std::optional<Value> AlignmentChecks::conditionOf(Operation *launch) {
  Arith arith(host);
  Value all;
  for (Operation *at = launch; at->getBlock() != op->getBlock();) {
    Operation *outer = at->getParentOp();
    auto branch = dyn_cast<scf::IfOp>(outer);
    Value condition = branch ? rebuild(branch.getCondition()) : Value();
    if (!condition)
      return std::nullopt;
    if (at->getParentRegion() == &branch.getElseRegion())
      condition = host.createOrFold<arith::XOrIOp>(
          condition, arith::ConstantOp::create(host, host.getBoolAttr(true)));
    all = arith.both(all, condition);
    at = outer;
  }
  return all;
}

/// Asserts that operand `number` starts at a multiple of `alignment` where
/// `condition` (may be null) holds.
void AlignmentChecks::check(ImplicitLocOpBuilder &b, unsigned number,
                            int64_t alignment, Value condition) {
  Arith arith(b);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(
      b, HostTensor(b, op->getOperand(number)).base);
  Value holds = arith.equal(arith.rem(address, alignment), arith.index(0));
  if (condition)
    holds = b.createOrFold<arith::OrIOp>(
        holds,
        b.createOrFold<arith::XOrIOp>(
            condition, arith::ConstantOp::create(b, b.getBoolAttr(true))));
  std::string text = reportedName(op) + " expected operand " +
                     std::to_string(number) + " at a multiple of " +
                     std::to_string(alignment) + " bytes";
  emitAssert(b, holds, locationText(op->getLoc()) + ": " + text, text,
             {address});
}

/// The number of the operand of `op` whose memory `pointer`, of a launch, is;
/// none of other memory.
std::optional<unsigned> operandNumber(Operation *op, Value pointer) {
  while (Operation *maker = pointer.getDefiningOp()) {
    if (!isa<ByteViewOp, memref::ExtractStridedMetadataOp>(maker))
      break;
    pointer = maker->getOperand(0);
  }
  auto found = llvm::find(op->getOperands(), pointer);
  if (found == op->operand_end())
    return std::nullopt;
  return found - op->operand_begin();
}

void AlignmentChecks::emit() {
  SmallVector<gpu::LaunchFuncOp> launches;
  for (Operation *at = first; at != op; at = at->getNextNode())
    at->walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
  // When an operand has to be so much aligned; null for always.
  llvm::MapVector<std::pair<unsigned, int64_t>, Value> needs;
  for (gpu::LaunchFuncOp launch : launches) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
        launch, launch.getKernelAttr());
    std::optional<Value> condition = conditionOf(launch);
    for (auto [place, pointer] : llvm::enumerate(launch.getKernelOperands())) {
      if (!isa<MemRefType>(pointer.getType()))
        continue;
      std::optional<unsigned> number = operandNumber(op, pointer);
      int64_t alignment = getKernelAlignment(kernel, place);
      if (!number || alignment == 1)
        continue;
      if (!condition) {
        ImplicitLocOpBuilder b(op->getLoc(), launch);
        check(b, *number, alignment, Value());
        continue;
      }
      auto [need, isNew] = needs.try_emplace({*number, alignment}, *condition);
      if (!isNew && need->second)
        need->second =
            *condition
                ? host.createOrFold<arith::OrIOp>(need->second, *condition)
                : Value();
    }
  }
  for (auto &[need, condition] : needs)
    check(host, need.first, need.second, condition);
}

} // namespace

void mlir::kvcache::emitAlignmentChecks(Operation *op, Operation *last) {
  Operation *first = last ? last->getNextNode() : &op->getBlock()->front();
  if (first != op)
    AlignmentChecks(op, first).emit();
}
