//===- HostMemRefs.cpp - memrefs of host code to expressions --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEvaluator.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/IR/KernelArguments.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

const MemRefExpr *HostEvaluator::findMemRef(Value value) {
  auto found = memrefs.find(value);
  return found == memrefs.end() ? nullptr : &found->second;
}

std::optional<MemRefExpr> HostEvaluator::select(const Expr *condition,
                                                const MemRefExpr *a,
                                                const MemRefExpr *b) {
  if (!condition || !a || !b)
    return std::nullopt;
  MemRefExpr result;
  result.base = exprs().select(condition, a->base, b->base);
  result.offset = exprs().select(condition, a->offset, b->offset);
  for (auto [x, y] : llvm::zip_equal(a->sizes, b->sizes))
    result.sizes.push_back(exprs().select(condition, x, y));
  for (auto [x, y] : llvm::zip_equal(a->strides, b->strides))
    result.strides.push_back(exprs().select(condition, x, y));
  return result;
}

void HostEvaluator::evaluateLoad(memref::LoadOp op) {
  // The elements of an argument that are at constant places. No kernel writes
  // them: such an argument goes to none.
  auto argument = dyn_cast<BlockArgument>(op.getMemRef());
  Type type = op.getType();
  if (!argument || argument.getOwner() != &function.getBody().front() ||
      !(type.isIntOrIndex()))
    return;
  HostArgument &host = record.arguments[argument.getArgNumber()];
  if (host.kind != HostArgument::Kind::HostArray)
    return;
  auto memref = op.getMemRefType();
  SmallVector<int64_t> strides;
  int64_t offset, element = 0;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return;
  for (auto [index, size, stride] :
       llvm::zip_equal(op.getIndices(), memref.getShape(), strides)) {
    const Expr *place = find(index);
    if (!place || !place->isConstant() || place->value < 0 ||
        place->value >= size)
      return;
    element += place->value * stride;
  }
  unsigned bits = isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
  if (bits > 64)
    return;
  bool isBool = bits == 1;
  integers[op.getResult()] = exprs().leaf(
      ExprKind::HostElement, argument.getArgNumber(), element,
      isBool ? 0 : llvm::minIntN(bits), isBool ? 1 : llvm::maxIntN(bits));
}

void HostEvaluator::evaluateMemRef(Operation *op) {
  auto toExpr = [&](OpFoldResult number) -> const Expr * {
    if (std::optional<int64_t> constant = getConstantIntValue(number))
      return exprs().constant(*constant);
    return find(cast<Value>(number));
  };
  auto toExprs = [&](ArrayRef<OpFoldResult> numbers,
                     SmallVectorImpl<const Expr *> &found) {
    for (OpFoldResult number : numbers)
      found.push_back(toExpr(number));
    return !llvm::is_contained(found, nullptr);
  };

  llvm::TypeSwitch<Operation *>(op)
      .Case([&](memref::DimOp dim) {
        const MemRefExpr *source = findMemRef(dim.getSource());
        const Expr *index = find(dim.getIndex());
        if (source && index && index->isConstant() && index->value >= 0 &&
            index->value < int64_t(source->sizes.size()))
          integers[dim.getResult()] = source->sizes[index->value];
      })
      .Case([&](memref::ExtractStridedMetadataOp metadata) {
        const MemRefExpr *found = findMemRef(metadata.getSource());
        if (!found)
          return;
        MemRefExpr source = *found;
        integers[metadata.getOffset()] = source.offset;
        for (auto [result, size] :
             llvm::zip_equal(metadata.getSizes(), source.sizes))
          integers[result] = size;
        for (auto [result, stride] :
             llvm::zip_equal(metadata.getStrides(), source.strides))
          integers[result] = stride;
        memrefs[metadata.getBaseBuffer()] = {
            source.base, exprs().constant(0), {}, {}};
      })
      .Case([&](memref::ExtractAlignedPointerAsIndexOp pointer) {
        if (const MemRefExpr *source = findMemRef(pointer.getSource()))
          integers[pointer.getResult()] = source->base;
      })
      .Case([&](memref::CastOp cast) {
        const MemRefExpr *found = findMemRef(cast.getSource());
        auto type = dyn_cast<MemRefType>(cast.getType());
        if (!found || !type)
          return;
        MemRefExpr source = *found;
        memrefs[cast.getResult()] = source;
        // What the new type says, the caller has to keep.
        for (auto [number, size] : llvm::enumerate(type.getShape())) {
          if (ShapedType::isDynamic(size))
            continue;
          addRequirement(exprs().binary(ExprKind::Equal, source.sizes[number],
                                        exprs().constant(size)),
                         "size " + Twine(number) + " is cast to " +
                             Twine(size));
        }
        SmallVector<int64_t> strides;
        int64_t offset;
        if (failed(type.getStridesAndOffset(strides, offset)))
          return;
        for (auto [number, stride] : llvm::enumerate(strides))
          if (!ShapedType::isDynamic(stride))
            addRequirement(
                exprs().binary(ExprKind::Equal, source.strides[number],
                               exprs().constant(stride)),
                "stride " + Twine(number) + " is cast to " + Twine(stride));
        if (!ShapedType::isDynamic(offset))
          addRequirement(exprs().binary(ExprKind::Equal, source.offset,
                                        exprs().constant(offset)),
                         "the offset is cast to " + Twine(offset));
      })
      .Case<memref::MemorySpaceCastOp>([&](auto cast) {
        if (const MemRefExpr *source = findMemRef(cast.getSource())) {
          MemRefExpr copy = *source;
          memrefs[cast->getResult(0)] = copy;
        }
      })
      .Case([&](memref::AssumeAlignmentOp assume) {
        const MemRefExpr *found = findMemRef(assume.getMemref());
        if (!found)
          return;
        MemRefExpr source = *found;
        memrefs[assume.getResult()] = source;
        auto alignment = static_cast<int64_t>(assume.getAlignment());
        const Expr *first = exprs().add(
            source.base, exprs().mul(source.offset,
                                     exprs().constant(getElementBytes(
                                         assume.getType().getElementType()))));
        // Of an argument this is one of its properties.
        if (first->kind == ExprKind::Data && guards.empty()) {
          HostArgument &host = record.arguments[first->argument];
          host.alignment = std::max(host.alignment, alignment);
          return;
        }
        addRequirement(
            exprs().binary(ExprKind::Equal,
                           exprs().binary(ExprKind::TruncMod, first,
                                          exprs().constant(alignment)),
                           exprs().constant(0)),
            "the pointer is assumed to be a multiple of " + Twine(alignment) +
                " bytes");
      })
      .Case([&](memref::ReinterpretCastOp cast) {
        const MemRefExpr *source = findMemRef(cast.getSource());
        if (!source)
          return;
        MemRefExpr result;
        result.base = source->base;
        result.offset = toExpr(cast.getMixedOffsets()[0]);
        if (result.offset && toExprs(cast.getMixedSizes(), result.sizes) &&
            toExprs(cast.getMixedStrides(), result.strides))
          memrefs[cast.getResult()] = result;
      })
      .Case([&](memref::SubViewOp view) {
        const MemRefExpr *source = findMemRef(view.getSource());
        SmallVector<const Expr *> offsets, sizes, strides;
        if (!source || !toExprs(view.getMixedOffsets(), offsets) ||
            !toExprs(view.getMixedSizes(), sizes) ||
            !toExprs(view.getMixedStrides(), strides))
          return;
        MemRefExpr result;
        result.base = source->base;
        result.offset = source->offset;
        llvm::SmallBitVector dropped = view.getDroppedDims();
        for (unsigned dim = 0; dim < sizes.size(); ++dim) {
          result.offset = exprs().add(
              result.offset, exprs().mul(offsets[dim], source->strides[dim]));
          if (dropped.test(dim))
            continue;
          result.sizes.push_back(sizes[dim]);
          result.strides.push_back(
              exprs().mul(strides[dim], source->strides[dim]));
        }
        memrefs[view.getResult()] = result;
      })
      .Case([&](ByteViewOp view) {
        const MemRefExpr *source = findMemRef(view.getBase());
        const Expr *offset = find(view.getOffset());
        auto type = cast<MemRefType>(view.getView().getType());
        SmallVector<int64_t> strides;
        int64_t unused;
        if (!source || !offset ||
            failed(type.getStridesAndOffset(strides, unused)))
          return;
        MemRefExpr result = {
            exprs().add(source->base, offset), exprs().constant(0), {}, {}};
        for (int64_t size : type.getShape())
          result.sizes.push_back(exprs().constant(size));
        for (int64_t stride : strides)
          result.strides.push_back(exprs().constant(stride));
        memrefs[view.getView()] = result;
      })
      .Case([&](arith::SelectOp choice) {
        std::optional<MemRefExpr> result = select(
            find(choice.getCondition()), findMemRef(choice.getTrueValue()),
            findMemRef(choice.getFalseValue()));
        if (result)
          memrefs[choice.getResult()] = *result;
      });
}
