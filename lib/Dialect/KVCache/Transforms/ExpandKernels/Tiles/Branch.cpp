//===- Branch.cpp - Values of one of two branches ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Branch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

SmallVector<Value>
mlir::kvcache::emitIfElse(ImplicitLocOpBuilder &b, Value condition,
                          TypeRange types,
                          function_ref<SmallVector<Value>()> then,
                          function_ref<SmallVector<Value>()> otherwise) {
  if (!condition)
    return otherwise();
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

SmallVector<Value> mlir::kvcache::emitZeros(ImplicitLocOpBuilder &b,
                                            TypeRange types) {
  return llvm::map_to_vector(types, [&](Type type) -> Value {
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  });
}
