//===- AppendedRows.cpp - The rows that an operation appends --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AppendedRows.h"

#include "KernelBuilder.h"

using namespace mlir;
using namespace mlir::kvcache;

template <typename Op>
static AppendedRows rowsOf(Op op, Value source, bool values, bool scales,
                           const RopeNormRequest &ropeNorm = {}) {
  return {op,           op.getPolicy(), op.getTargets(),     op.getForm(),
          op.getRows(), source,         op.getLeadingRank(), values,
          scales,       ropeNorm,       op.getWorkspace()};
}

AppendedRows AppendedRows::of(AppendOp op) {
  return rowsOf(op, op.getSources().front(), /*values=*/true,
                /*scales=*/!op.getScales().empty());
}

AppendedRows AppendedRows::of(AppendScalesOp op) {
  return rowsOf(op, op.getScales().front(), /*values=*/false, /*scales=*/true);
}

AppendedRows AppendedRows::of(QuantizeAppendOp op) {
  return rowsOf(op, op.getSources().front(), /*values=*/true, /*scales=*/true);
}

AppendedRows AppendedRows::of(RopeQuantizeAppendOp op) {
  bool scales = getLayout(op.getTargets().front().getType()).isQuantized();
  return rowsOf(op, op.getSources().front(), /*values=*/true, scales,
                {op.getCos(), op.getSin(), op.getRopePositions(),
                 op.getRotation(), op.getWeight(), op.getNormAttr()});
}

SmallVector<Value> AppendedRows::lead(ImplicitLocOpBuilder &host) const {
  SmallVector<Value> sizes;
  for (unsigned i = 0; i < leadingRank; ++i)
    sizes.push_back(sizeOf(host, source, i));
  return sizes;
}

Value AppendedRows::count(ImplicitLocOpBuilder &host, ArrayRef<Value> lead) {
  return lead.size() == 1 ? lead[0] : Arith(host).mul(lead[0], lead[1]);
}

RopeNormRequest AppendedRows::turns() const {
  RopeNormRequest turns = ropeNorm;
  turns.weight = Value();
  return turns;
}
