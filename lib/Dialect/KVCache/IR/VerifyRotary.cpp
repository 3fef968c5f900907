//===- VerifyRotary.cpp - Verifiers of kernels that embed positions ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Checks that `value` is a list, or a table of rows, whose last dimension is
/// static.
static LogicalResult verifyWidth(Operation *op, StringRef name, Value value,
                                 unsigned rank, StringRef what) {
  auto type = cast<MemRefType>(value.getType());
  if (type.getRank() == rank && type.isDynamicDim(rank - 1))
    return op->emitOpError("expected ")
           << what << " of '" << name << "' to be static";
  return success();
}

/// Checks the tables of a rotation of heads of `headSize` elements.
static LogicalResult verifyRotation(Operation *op, Value cos, Value sin,
                                    RotationAttr rotation, int64_t headSize) {
  SmallVector<Type> floats = getWideFloats(op->getContext());
  int64_t any = ShapedType::kDynamic;
  for (auto [name, table] : {std::pair("cos", cos), std::pair("sin", sin)})
    if (failed(verifyTensor(op, name, table, floats, {any, any}, {"N", "n"})) ||
        failed(verifyWidth(op, name, table, 2, "dimension 1 (n)")))
      return failure();
  int64_t columns = cast<MemRefType>(cos.getType()).getDimSize(1);
  int64_t others = cast<MemRefType>(sin.getType()).getDimSize(1);
  if (columns != others)
    return op->emitOpError("expected 'cos' and 'sin' of one width, got ")
           << columns << " and " << others;
  if (columns < 1)
    return op->emitOpError("expected 'cos' and 'sin' of at least one column");
  if (failed(verifySameSize(op, 0, "cos", cos, "sin", sin)))
    return failure();
  if (columns > headSize / 2 || rotation.getStart() > headSize - 2 * columns)
    return op->emitOpError("expected a rotation within the ")
           << headSize << " elements of a head, got " << 2 * columns << " from "
           << rotation.getStart() << " on";
  return success();
}

static LogicalResult verifyNorm(Operation *op, Value weight, int64_t headSize) {
  int64_t any = ShapedType::kDynamic;
  if (failed(verifyTensor(op, "weight", weight, getWideFloats(op->getContext()),
                          {any}, {"W"})) ||
      failed(verifyWidth(op, "weight", weight, 1, "dimension 0 (W)")))
    return failure();
  int64_t count = cast<MemRefType>(weight.getType()).getDimSize(0);
  if (count < 1 || count > headSize)
    return op->emitOpError("expected 'weight' of 1 to ")
           << headSize << " elements, those of a head, got " << count;
  return success();
}

/// Checks that `x` and `out` are `[T, H, D]`, and gives `D`.
static FailureOr<int64_t> verifyInAndOut(Operation *op, Value x, Value out) {
  SmallVector<Type> floats = getWideFloats(op->getContext());
  int64_t any = ShapedType::kDynamic;
  auto type = cast<MemRefType>(x.getType());
  SmallVector<int64_t> shape = {any, any, any};
  if (type.getRank() == 3) {
    for (int64_t dim : {1, 2})
      if (type.isDynamicDim(dim))
        return op->emitOpError("expected dimension ")
               << dim << " (" << (dim == 1 ? "H" : "D")
               << ") of 'x' to be static";
    shape = {any, type.getDimSize(1), type.getDimSize(2)};
  }
  for (auto [name, tensor] : {std::pair("x", x), std::pair("out", out)})
    if (failed(verifyTensor(op, name, tensor, floats, shape, {"T", "H", "D"})))
      return failure();
  if (failed(verifySameSize(op, 0, "x", x, "out", out)))
    return failure();
  return shape.back();
}

LogicalResult RopeOp::verify() {
  FailureOr<int64_t> size = verifyInAndOut(*this, getX(), getOut());
  if (failed(size) ||
      failed(verifyList(*this, "positions", getPositions(), "T")) ||
      failed(
          verifySameSize(*this, 0, "x", getX(), "positions", getPositions())))
    return failure();
  return verifyRotation(*this, getCos(), getSin(), getRotation(), *size);
}

LogicalResult RMSNormOp::verify() {
  FailureOr<int64_t> size = verifyInAndOut(*this, getX(), getOut());
  if (failed(size))
    return failure();
  return verifyNorm(*this, getWeight(), *size);
}

LogicalResult RopeQuantizeAppendOp::verify() {
  if (failed(verifyLastRows(*this, getWorkspace())) ||
      failed(verifySources(*this, getForm(), getTargets(), getSources())))
    return failure();
  LayoutAttr layout = kvcache::getLayout(getTargets().front().getType());
  if (layout.isQuantized() != static_cast<bool>(getQuantizationAttr()))
    return layout.isQuantized()
               ? emitOpError("expected 'quant', since the layout has scales")
               : emitOpError("expected no 'quant', since the layout has no "
                             "scales; add 'scales = <...>' to it or drop the "
                             "attribute");
  if (getGlobalScale() && !getQuantizationAttr())
    return emitOpError("expected no 'global_scale' without 'quant'");
  if (layout.isQuantized() &&
      failed(verifyQuantization(*this, layout, getQuantizationAttr(),
                                getGlobalScale())))
    return failure();
  int64_t size = layout.getHeadSize();
  if (failed(verifyRotation(*this, getCos(), getSin(), getRotation(), size)) ||
      (getWeight() && failed(verifyNorm(*this, getWeight(), size))))
    return failure();
  if (static_cast<bool>(getWeight()) != static_cast<bool>(getNormAttr()))
    return emitOpError("expected 'weight' and 'norm' both or neither");
  if (Value positions = getRopePositions()) {
    int64_t any = ShapedType::kDynamic;
    bool padded = getForm() == RowForm::padded;
    if (failed(verifyTensor(*this, "rope_positions", positions,
                            {IntegerType::get(getContext(), 32)},
                            SmallVector<int64_t>(padded ? 2 : 1, any),
                            padded ? ArrayRef<StringRef>{"B", "S"}
                                   : ArrayRef<StringRef>{"T"})))
      return failure();
    for (unsigned dim = 0; dim < getLeadingRank(); ++dim)
      if (failed(verifySameSize(*this, dim, "sources", getSources().front(),
                                "rope_positions", positions)))
        return failure();
  } else if (getForm() == RowForm::slots) {
    return emitOpError("expected 'rope_positions' in form 'slots', which names "
                       "no tokens");
  }
  return verifyRowForm(*this, getForm(), getRows(), getTargets(), getSources(),
                       /*writesScales=*/layout.isQuantized());
}
