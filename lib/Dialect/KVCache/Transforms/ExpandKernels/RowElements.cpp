//===- RowElements.cpp - The elements of a tensor's rows -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

Value RowElements::load(ValueRange indices, Value head, Value element,
                        int64_t lanes, Value condition) const {
  VectorType type = this->type(lanes);
  auto read = [&]() -> Value {
    Arith arith(b);
    SmallVector<Value> at(indices);
    Value row;
    if (isPacked) {
      row = tensor.row(b, at, heads * headSize);
      element = arith.add(element, arith.mul(head, headSize));
    } else {
      at.push_back(arith.toIndex(head));
      row = tensor.row(b, at, headSize);
    }
    return vector::LoadOp::create(
        b, type, row, ValueRange{arith.toIndex(element)}, /*nontemporal=*/false,
        llvm::MaybeAlign(std::gcd(alignment, lanes * tensor.elementBytes())));
  };
  if (!condition)
    return read();
  auto check = scf::IfOp::create(b, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.thenBlock());
  scf::YieldOp::create(b, read());
  b.setInsertionPointToStart(check.elseBlock());
  auto float_ = cast<FloatType>(tensor.elementType);
  Value nan = arith::ConstantOp::create(
      b, DenseElementsAttr::get(type,
                                APFloat::getNaN(float_.getFloatSemantics())));
  scf::YieldOp::create(b, nan);
  return check.getResult(0);
}
