//===- VerifyAppend.cpp - Verifiers of appending kernels -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult CheckRowsOp::verify() {
  size_t leading = getForm() == RowForm::padded ? 2 : 1;
  if (getSizes().size() != leading)
    return emitOpError("expected ")
           << leading << (leading == 1 ? " size" : " sizes") << " in form '"
           << stringifyRowForm(getForm()) << "', got " << getSizes().size();
  if (getTargets().size() != 1)
    return emitOpError("expected one target, got ") << getTargets().size();
  if (getNoValues() && getNoScales())
    return emitOpError("expected a pool to check, got 'no_values' and "
                       "'no_scales'");
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (getNoValues() && !layout.isQuantized())
    return emitOpError("expected no 'no_values', since the layout has no "
                       "scales");
  return verifyRowForm(*this, getForm(), getRows(), layout,
                       layout.isQuantized() && !getNoValues() &&
                           !getNoScales());
}

LogicalResult AppendOp::verify() {
  size_t targets = getTargets().size();
  if (targets < 1 || targets > 2)
    return emitOpError("expected one or two targets, got ") << targets;
  if (getSources().size() != targets)
    return emitOpError("expected a source for each target, got ")
           << getSources().size() << " and " << targets;
  if (failed(verifyOneLayout(*this, getTargets())))
    return failure();
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
  return verifyRowForm(*this, getForm(), getRows(), layout,
                       !getScales().empty());
}
