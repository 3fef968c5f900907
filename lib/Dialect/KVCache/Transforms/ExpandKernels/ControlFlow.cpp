//===- ControlFlow.cpp - Branches and loops -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void mlir::kvcache::emitIf(ImplicitLocOpBuilder &b, Value condition,
                           function_ref<void()> body) {
  if (!condition)
    return body();
  auto check = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.thenBlock());
  body();
}

SmallVector<Value>
mlir::kvcache::emitIfElse(ImplicitLocOpBuilder &b, Value condition,
                          TypeRange types,
                          function_ref<SmallVector<Value>()> then,
                          function_ref<SmallVector<Value>()> otherwise) {
  if (!condition)
    return then();
  auto check = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *block, function_ref<SmallVector<Value>()> make) {
    b.setInsertionPointToStart(block);
    SmallVector<Value> results = make();
    // Without results the branch has its end already.
    if (!types.empty())
      scf::YieldOp::create(b, results);
  };
  fill(check.thenBlock(), then);
  fill(check.elseBlock(), otherwise);
  return llvm::to_vector_of<Value>(check.getResults());
}

Value mlir::kvcache::emitChoice(ImplicitLocOpBuilder &b, Value condition,
                                function_ref<Value()> then, Value otherwise) {
  auto thenAll = [&] { return SmallVector<Value>{then()}; };
  auto otherwiseAll = [&] { return SmallVector<Value>{otherwise}; };
  return emitIfElse(b, condition, otherwise.getType(), thenAll, otherwiseAll)
      .front();
}

SmallVector<Value>
mlir::kvcache::emitWhile(ImplicitLocOpBuilder &b, ValueRange initial,
                         function_ref<Value(ValueRange)> condition,
                         function_ref<SmallVector<Value>(ValueRange)> body) {
  auto fill = [&](Block *block, function_ref<void()> make) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    make();
  };
  auto loop = scf::WhileOp::create(b, initial.getTypes(), initial);
  SmallVector<Location> locs(initial.size(), b.getLoc());
  Block *before =
      b.createBlock(&loop.getBefore(), {}, initial.getTypes(), locs);
  Block *after = b.createBlock(&loop.getAfter(), {}, initial.getTypes(), locs);
  b.setInsertionPointAfter(loop);
  fill(before, [&] {
    Value more = condition(before->getArguments());
    scf::ConditionOp::create(b, more, before->getArguments());
  });
  fill(after, [&] { scf::YieldOp::create(b, body(after->getArguments())); });
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> mlir::kvcache::emitZeros(ImplicitLocOpBuilder &b,
                                            TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) -> Value {
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  });
}
