//===- CheckLowerable.cpp - What cannot be lowered, in words -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedValues.h"
#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Whether a type of the dialect stands inside `type`.
static bool holdsPagedType(Type type) {
  if (isPagedType(type))
    return false;
  return type
      .walk([](Type inner) {
        return isPagedType(inner) ? WalkResult::interrupt()
                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether the conversion knows how to pass a dialect value to `op`.
static bool takesPagedValues(Operation *op) {
  return isa_and_nonnull<KVCacheDialect>(op->getDialect()) ||
         isa<FunctionOpInterface, func::CallOp, func::ReturnOp,
             gpu::LaunchFuncOp, gpu::ReturnOp, scf::ForOp, scf::IfOp,
             scf::WhileOp, scf::ConditionOp, scf::YieldOp, scf::IndexSwitchOp,
             scf::ExecuteRegionOp, cf::BranchOp, cf::CondBranchOp, cf::SwitchOp,
             arith::SelectOp, UnrealizedConversionCastOp>(op);
}

static LogicalResult checkTypes(Operation *op, TypeRange types) {
  for (Type type : types)
    if (holdsPagedType(type))
      return op->emitOpError()
             << "cannot be lowered with a kvcache value inside type " << type
             << "; pass each collection, cache or operand as a value of its "
                "own";
  return success();
}

LogicalResult mlir::kvcache::checkLowerable(Operation *root) {
  WalkResult result = root->walk([&](Operation *op) {
    if (failed(checkTypes(op, op->getOperandTypes())) ||
        failed(checkTypes(op, op->getResultTypes())))
      return WalkResult::interrupt();
    bool pagedArguments = false;
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        if (failed(checkTypes(op, block.getArgumentTypes())))
          return WalkResult::interrupt();
        pagedArguments |= llvm::any_of(block.getArgumentTypes(), isPagedType);
      }
    if (auto func = dyn_cast<FunctionOpInterface>(op))
      if (failed(checkTypes(op, func.getArgumentTypes())) ||
          failed(checkTypes(op, func.getResultTypes())))
        return WalkResult::interrupt();

    bool paged = pagedArguments ||
                 llvm::any_of(op->getOperandTypes(), isPagedType) ||
                 llvm::any_of(op->getResultTypes(), isPagedType);
    if (!paged || takesPagedValues(op))
      return WalkResult::advance();
    op->emitOpError("cannot be lowered with a kvcache value; pass it through "
                    "func, gpu.launch_func, scf or cf operations, or look up "
                    "what is needed before");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
