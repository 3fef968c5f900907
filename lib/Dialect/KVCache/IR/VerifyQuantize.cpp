//===- VerifyQuantize.cpp - Verifiers of kernels that quantise -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Checks that there are one or two targets of one layout, and as many tensors
/// of `name` of shape `[T, H, inner]`, or `[B, S, H, inner]` in the padded
/// form.
static LogicalResult verifyRows(Operation *op, RowForm form,
                                OperandRange targets, OperandRange tensors,
                                StringRef name, ArrayRef<Type> elements,
                                int64_t inner, StringRef innerName) {
  LayoutAttr layout = getLayout(targets.front().getType());
  SmallVector<int64_t> shape = {ShapedType::kDynamic};
  SmallVector<StringRef> dims = {"T"};
  if (form == RowForm::padded) {
    shape.push_back(ShapedType::kDynamic);
    dims = {"B", "S"};
  }
  shape.append({layout.getNumHeads(), inner});
  dims.append({"H", innerName});
  for (Value tensor : tensors)
    if (failed(verifyTensor(op, name, tensor, elements, shape, dims)))
      return failure();
  return success();
}

static LogicalResult verifyTargets(Operation *op, OperandRange targets,
                                   OperandRange tensors, StringRef what) {
  if (targets.size() < 1 || targets.size() > 2)
    return op->emitOpError("expected one or two targets, got ")
           << targets.size();
  if (tensors.size() != targets.size())
    return op->emitOpError("expected ")
           << what << " for each target, got " << tensors.size() << " and "
           << targets.size();
  return verifyOneLayout(op, targets);
}

/// Checks that rows can be quantised into `layout`, by the global scale where
/// there is one.
static LogicalResult verifyQuantization(Operation *op, LayoutAttr layout,
                                        Value globalScale) {
  if (!layout.isQuantized())
    return op->emitOpError("expected a layout with scales, got ")
           << layout << "; add 'scales = <...>' to it, or use kvcache.append";
  if (!isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType, IntegerType>(
          layout.getDtype()))
    return op->emitOpError("expected a cache of f8E4M3FN, f8E5M2, f4E2M1FN or "
                           "i8, got ")
           << layout.getDtype();
  if (!globalScale)
    return success();
  return verifyTensor(op, "global_scale", globalScale,
                      {Float32Type::get(op->getContext())}, {}, {});
}

LogicalResult QuantizeAppendOp::verify() {
  if (failed(verifyTargets(*this, getTargets(), getSources(), "a source")))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (failed(verifyQuantization(*this, layout, getGlobalScale())) ||
      failed(verifyRows(*this, getForm(), getTargets(), getSources(), "sources",
                        getWideFloats(getContext()), layout.getHeadSize(),
                        "D")))
    return failure();
  return verifyRowForm(*this, getForm(), getRows(), layout,
                       /*writesScales=*/true);
}

LogicalResult AppendScalesOp::verify() {
  if (failed(verifyTargets(*this, getTargets(), getScales(), "scales")))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (!layout.isQuantized())
    return emitOpError("expected a layout with scales, got ")
           << layout << "; add 'scales = <...>' to it";
  if (failed(verifyRows(*this, getForm(), getTargets(), getScales(), "scales",
                        {layout.getScaleDtype()}, layout.getScaleSlots(), "G")))
    return failure();
  return verifyRowForm(*this, getForm(), getRows(), layout,
                       /*writesScales=*/false);
}
