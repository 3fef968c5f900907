//===- VerifyAppend.cpp - Verifiers of appending kernels -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult AppendOp::verify() {
  if (failed(verifyLastRows(*this, getWorkspace())) ||
      failed(verifyTargets(*this, getTargets(), getSources(), "a source")))
    return failure();
  size_t targets = getTargets().size();
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (!getScales().empty() && !layout.isQuantized())
    return emitOpError("expected no 'scales', since the layout has none; add "
                       "'scales = <...>' to the layout or drop the operand");
  if (!getScales().empty() && getScales().size() != targets)
    return emitOpError("expected no scales or some for each target, got ")
           << getScales().size() << " and " << targets;

  PoolLayout values = PoolLayout::get(layout, Pool::values);
  SmallVector<Type> elements = {values.storageType};
  if (!layout.isQuantized())
    for (Type wide : getWideFloats(getContext()))
      if (wide != values.storageType)
        elements.push_back(wide);
  SmallVector<int64_t> lead(getLeadingRank(), ShapedType::kDynamic);
  SmallVector<StringRef> dims = {"T"};
  if (getForm() == RowForm::padded)
    dims = {"B", "S"};
  auto check = [&](OperandRange tensors, StringRef name,
                   ArrayRef<Type> elements, int64_t inner,
                   StringRef innerName) {
    SmallVector<int64_t> shape = lead;
    shape.append({layout.getNumHeads(), inner});
    SmallVector<StringRef> names = dims;
    names.append({"H", innerName});
    for (Value tensor : tensors)
      if (failed(verifyTensor(*this, name, tensor, elements, shape, names)))
        return failure();
    return success();
  };
  if (failed(check(getSources(), "sources", elements, values.inner,
                   values.elementsPerStorage == 2 ? "D / 2" : "D")))
    return failure();
  if (!getScales().empty() &&
      failed(check(getScales(), "scales", {layout.getScaleDtype()},
                   layout.getScaleSlots(), "G")))
    return failure();
  SmallVector<Value> tensors(getSources());
  llvm::append_range(tensors, getScales());
  return verifyRowForm(*this, getForm(), getRows(), getTargets(), tensors,
                       !getScales().empty());
}
