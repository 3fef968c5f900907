//===- VerifyKernel.cpp - Checks that verifiers of kernels share ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult mlir::kvcache::verifyGlobalScale(Operation *op, LayoutAttr layout,
                                               Value scale) {
  if (!scale)
    return success();
  if (!layout.isQuantized())
    return op->emitOpError(
        "expected no 'global_scale', since the layout has no "
        "scales; add 'scales = <...>' to the layout or drop "
        "the operand");
  return verifyTensor(op, "global_scale", scale,
                      {Float32Type::get(op->getContext())}, {}, {});
}

LogicalResult mlir::kvcache::verifyThreads(Operation *op, TuningAttr tuning,
                                           int64_t least, StringRef why) {
  if (!tuning || tuning.getThreads() == 0 || tuning.getThreads() >= least)
    return success();
  return op->emitOpError("expected a tuning of at least ")
         << least << " threads, " << why << ", got " << tuning.getThreads()
         << "; leave 'threads' out";
}

SmallVector<Type> mlir::kvcache::getWideFloats(MLIRContext *context) {
  return {Float32Type::get(context), Float16Type::get(context),
          BFloat16Type::get(context)};
}

LogicalResult mlir::kvcache::verifyTensor(Operation *op, StringRef name,
                                          Value value, ArrayRef<Type> elements,
                                          ArrayRef<int64_t> shape,
                                          ArrayRef<StringRef> dims) {
  auto type = cast<MemRefType>(value.getType());
  if (!llvm::is_contained(elements, type.getElementType())) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected '" << name << "' of ";
    for (auto [index, element] : llvm::enumerate(elements))
      diag << (index == 0                     ? ""
               : index + 1 == elements.size() ? " or "
                                              : ", ")
           << element;
    return diag << ", got " << type.getElementType();
  }
  if (type.getRank() != static_cast<int64_t>(shape.size()))
    return op->emitOpError()
           << "expected '" << name << "' of rank " << shape.size() << " ["
           << llvm::join(dims, ", ") << "], got rank " << type.getRank();
  if (type.getMemorySpace())
    return op->emitOpError()
           << "expected '" << name << "' in the default memory space, got "
           << type.getMemorySpace() << "; use memref.memory_space_cast";
  for (auto [index, size] : llvm::enumerate(shape)) {
    if (ShapedType::isDynamic(size) || type.getDimSize(index) == size)
      continue;
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected dimension " << index << " ("
                              << dims[index] << ") of '" << name << "' to be "
                              << size << ", got ";
    if (type.isDynamicDim(index))
      return diag << "a dynamic size; it must be static";
    return diag << type.getDimSize(index);
  }
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitOpError()
           << "expected '" << name << "' with a strided layout, got "
           << type.getLayout();
  if (!strides.empty() && strides.back() != 1 && shape.back() != 1)
    return op->emitOpError()
           << "expected the last stride of '" << name << "' to be 1, got "
           << (ShapedType::isDynamic(strides.back())
                   ? std::string("a dynamic one")
                   : std::to_string(strides.back()));
  return success();
}

LogicalResult mlir::kvcache::verifyList(Operation *op, StringRef name,
                                        Value value, StringRef dim,
                                        bool orI64) {
  MLIRContext *context = op->getContext();
  SmallVector<Type> types = {IntegerType::get(context, 32)};
  if (orI64)
    types.push_back(IntegerType::get(context, 64));
  return verifyTensor(op, name, value, types, {ShapedType::kDynamic}, {dim});
}

LogicalResult mlir::kvcache::verifySameSize(Operation *op, unsigned dim,
                                            StringRef firstName, Value first,
                                            StringRef otherName, Value other) {
  int64_t size = cast<MemRefType>(first.getType()).getDimSize(dim);
  int64_t otherSize = cast<MemRefType>(other.getType()).getDimSize(dim);
  if (ShapedType::isDynamic(size) || ShapedType::isDynamic(otherSize) ||
      size == otherSize)
    return success();
  return op->emitOpError("expected dimension ")
         << dim << " of '" << firstName << "' and of '" << otherName
         << "' to be the same, got " << size << " and " << otherSize;
}

LogicalResult mlir::kvcache::verifyOffsets(Operation *op, StringRef name,
                                           Value offsets) {
  if (failed(verifyList(op, name, offsets, "B + 1")))
    return failure();
  if (cast<MemRefType>(offsets.getType()).getDimSize(0) == 0)
    return op->emitOpError("expected '")
           << name << "' of B + 1 entries, got none";
  return success();
}

/// Checks types and number of the lists of a form.
static LogicalResult verifyRowLists(Operation *op, RowForm form,
                                    OperandRange rows, LayoutAttr layout,
                                    bool writesScales) {
  auto expectCount = [&](size_t count, StringRef what) -> LogicalResult {
    if (rows.size() == count)
      return success();
    return op->emitOpError()
           << "expected " << count << " operand" << (count == 1 ? "" : "s")
           << " (" << what << ") in form '" << stringifyRowForm(form)
           << "', got " << rows.size();
  };
  switch (form) {
  case RowForm::ragged:
    if (failed(expectCount(1, "row_offsets")))
      return failure();
    return verifyOffsets(op, "row_offsets", rows[0]);
  case RowForm::padded:
    if (failed(expectCount(1, "new_lengths")))
      return failure();
    return verifyList(op, "new_lengths", rows[0], "B");
  case RowForm::positions:
    if (failed(expectCount(2, "sequences, positions")) ||
        failed(verifyList(op, "sequences", rows[0], "T")))
      return failure();
    return verifyList(op, "positions", rows[1], "T");
  case RowForm::slots:
    bool own = writesScales && layout.hasOwnScalesTable();
    if (failed(own ? expectCount(2, "slots, scale_slots")
                   : expectCount(1, "slots")))
      return failure();
    if (failed(verifyList(op, "slots", rows[0], "T", /*orI64=*/true)))
      return failure();
    return own ? verifyList(op, "scale_slots", rows[1], "T", /*orI64=*/true)
               : success();
  }
  llvm_unreachable("unknown form");
}

LogicalResult mlir::kvcache::verifyRowForm(Operation *op, RowForm form,
                                           OperandRange rows,
                                           OperandRange targets,
                                           ValueRange tensors,
                                           bool writesScales) {
  LayoutAttr layout = getLayout(targets.front().getType());
  if (failed(verifyRowLists(op, form, rows, layout, writesScales)))
    return failure();
  unsigned leadingRank = form == RowForm::padded ? 2 : 1;
  for (Value tensor : tensors.drop_front())
    for (unsigned dim = 0; dim < leadingRank; ++dim)
      if (failed(verifySameSize(op, dim, "the first source", tensors.front(),
                                "another one", tensor)))
        return failure();
  int64_t count = cast<MemRefType>(tensors.front().getType()).getDimSize(0);
  if (ShapedType::isDynamic(count))
    return success();
  switch (form) {
  case RowForm::ragged:
    return success();
  case RowForm::padded:
    return verifySameSize(op, 0, "the first source", tensors.front(),
                          "new_lengths", rows[0]);
  case RowForm::positions:
  case RowForm::slots:
    for (Value list : rows) {
      int64_t entries = cast<MemRefType>(list.getType()).getDimSize(0);
      if (ShapedType::isStatic(entries) && entries < count)
        return op->emitOpError("expected at least as many ")
               << (form == RowForm::slots ? "slots"
                                          : "'sequences' and 'positions'")
               << " as rows (T), got " << entries << " and " << count;
    }
  }
  return success();
}

LogicalResult mlir::kvcache::verifyLastRows(Operation *op, Value workspace) {
  return workspace ? verifyList(op, "workspace", workspace, "entries")
                   : success();
}

LogicalResult mlir::kvcache::verifyTargets(Operation *op, OperandRange targets,
                                           OperandRange tensors,
                                           StringRef what) {
  if (targets.empty() || targets.size() > 2)
    return op->emitOpError("expected one or two targets, got ")
           << targets.size();
  if (tensors.size() != targets.size())
    return op->emitOpError("expected ")
           << what << " for each target, got " << tensors.size() << " and "
           << targets.size();
  return verifyOneLayout(op, targets);
}

LogicalResult mlir::kvcache::verifyOneLayout(Operation *op,
                                             OperandRange caches) {
  LayoutAttr first = getLayout(caches.front().getType());
  for (Value cache : caches)
    if (getLayout(cache.getType()) != first)
      return op->emitOpError("expected caches of one layout, got ")
             << first << " and " << getLayout(cache.getType());
  return success();
}
