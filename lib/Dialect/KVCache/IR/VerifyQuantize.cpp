//===- VerifyQuantize.cpp - Verifiers of kernels that quantise -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

#include <cmath>

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

LogicalResult mlir::kvcache::verifySources(Operation *op, RowForm form,
                                           OperandRange targets,
                                           OperandRange sources) {
  if (failed(verifyTargets(op, targets, sources, "a source")))
    return failure();
  return verifyRows(op, form, targets, sources, "sources",
                    getWideFloats(op->getContext()),
                    getLayout(targets.front().getType()).getHeadSize(), "D");
}

/// The largest number of a dtype that quantises.
static double getLargest(Type type) {
  if (auto floats = dyn_cast<FloatType>(type))
    return APFloat::getLargest(floats.getFloatSemantics()).convertToDouble();
  return 127;
}

LogicalResult mlir::kvcache::verifyQuantization(Operation *op,
                                                LayoutAttr layout,
                                                QuantizationAttr rule,
                                                Value globalScale) {
  if (!isa<Float8E4M3FNType, Float8E5M2Type, Float4E2M1FNType, IntegerType>(
          layout.getDtype()))
    return op->emitOpError("expected a cache of f8E4M3FN, f8E5M2, f4E2M1FN or "
                           "i8, got ")
           << layout.getDtype();
  if (!globalScale) {
    // A scale that is not finite makes no number of any code.
    double most = getLargest(layout.getScaleDtype());
    bool isPower = rule.getContract() == ScaleContract::power_of_two;
    if (isPower)
      most = std::ldexp(1.0, std::ilogb(most));
    bool onScale = rule.getFloorOn() == FloorOn::scale;
    if (!onScale)
      most *= getLargest(layout.getDtype());
    double floor = rule.getFloor().convertToDouble();
    if (floor > most)
      return op->emitOpError("expected a floor on the ")
             << (onScale ? "scale" : "amax") << " of at most " << most
             << ", what a scale of " << layout.getScaleDtype() << " holds"
             << (isPower ? " as a power of two" : "") << ", got " << floor;
    return success();
  }
  return verifyGlobalScale(op, layout, globalScale);
}

LogicalResult QuantizeAppendOp::verify() {
  if (failed(verifyLastRows(*this, getWorkspace())) ||
      failed(verifySources(*this, getForm(), getTargets(), getSources())))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (!layout.isQuantized())
    return emitOpError("expected a layout with scales, got ")
           << layout << "; add 'scales = <...>' to it, or use kvcache.append";
  if (failed(verifyQuantization(*this, layout, getQuantization(),
                                getGlobalScale())))
    return failure();
  return verifyRowForm(*this, getForm(), getRows(), getTargets(), getSources(),
                       /*writesScales=*/true);
}

LogicalResult AppendScalesOp::verify() {
  if (failed(verifyLastRows(*this, getWorkspace())) ||
      failed(verifyTargets(*this, getTargets(), getScales(), "scales")))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (!layout.isQuantized())
    return emitOpError("expected a layout with scales, got ")
           << layout << "; add 'scales = <...>' to it";
  if (failed(verifyRows(*this, getForm(), getTargets(), getScales(), "scales",
                        {layout.getScaleDtype()}, layout.getScaleSlots(), "G")))
    return failure();
  return verifyRowForm(*this, getForm(), getRows(), getTargets(), getScales(),
                       /*writesScales=*/false);
}
