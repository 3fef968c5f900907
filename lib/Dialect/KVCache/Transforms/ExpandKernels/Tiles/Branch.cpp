//===- Branch.cpp - Values of one of two branches ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Branch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

SmallVector<Value>
mlir::kvcache::emitIfElse(ImplicitLocOpBuilder &b, Value condition,
                          TypeRange types,
                          function_ref<SmallVector<Value>()> then,
                          function_ref<SmallVector<Value>()> otherwise) {
  auto check = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(check.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return llvm::to_vector_of<Value>(check.getResults());
}
