//===- VerifyGather.cpp - Verifier of kvcache.gather ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VerifyKernel.h"

using namespace mlir;
using namespace mlir::kvcache;

/// The static size of a dimension of a memref, if it has one.
static std::optional<int64_t> staticSize(Value memref, unsigned dim) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.isDynamicDim(dim))
    return std::nullopt;
  return type.getDimSize(dim);
}

/// Checks that two sizes are the same where both are known.
static LogicalResult verifyEqualSizes(GatherOp op, const Twine &first,
                                      std::optional<int64_t> firstSize,
                                      const Twine &second,
                                      std::optional<int64_t> secondSize) {
  if (!firstSize || !secondSize || *firstSize == *secondSize)
    return success();
  return op.emitOpError() << "expected " << first << " and " << second
                          << " to be the same, got " << *firstSize << " and "
                          << *secondSize;
}

LogicalResult GatherOp::verify() {
  LayoutAttr layout = kvcache::getLayout(getSource().getType());
  if (getScales() && !layout.isQuantized())
    return emitOpError(
        "expected no 'scales', since the layout has no scales; "
        "add 'scales = <...>' to the layout or drop the operand");
  if (failed(verifyGlobalScale(*this, layout, getGlobalScale())))
    return failure();

  SmallVector<Type> elements = getWideFloats(getContext());
  if (!layout.isQuantized() && !llvm::is_contained(elements, layout.getDtype()))
    elements.push_back(layout.getDtype());
  SmallVector<int64_t> shape(getLeadingRank(), ShapedType::kDynamic);
  SmallVector<StringRef> dims = {"T"};
  if (!isRagged())
    dims = {"B", "rows"};
  shape.append({layout.getNumHeads(), layout.getHeadSize()});
  dims.append({"H", "D"});
  if (failed(verifyTensor(*this, "out", getOut(), elements, shape, dims)))
    return failure();
  if (Value scales = getScales()) {
    shape.back() = layout.getScaleSlots();
    dims.back() = "G";
    if (failed(verifyTensor(*this, "scales", scales,
                            {Float32Type::get(getContext())}, shape, dims)))
      return failure();
    for (unsigned dim = 0; dim < getLeadingRank(); ++dim)
      if (failed(verifyEqualSizes(*this,
                                  "dimension " + Twine(dim) + " of 'out'",
                                  staticSize(getOut(), dim),
                                  "dimension " + Twine(dim) + " of 'scales'",
                                  staticSize(scales, dim))))
        return failure();
  }

  std::optional<int64_t> count;
  if (Value sequences = getSequences()) {
    if (failed(verifyList(*this, "sequences", sequences, "B")))
      return failure();
    count = staticSize(sequences, 0);
  }
  if (!isRagged())
    return verifyEqualSizes(*this, "dimension 0 (B) of 'out'",
                            staticSize(getOut(), 0), "the size of 'sequences'",
                            count);
  if (failed(verifyOffsets(*this, "offsets", getOffsets())))
    return failure();
  std::optional<int64_t> offsets = staticSize(getOffsets(), 0);
  if (offsets)
    --*offsets;
  return verifyEqualSizes(*this, "the size of 'offsets' less 1", offsets,
                          "the size of 'sequences'", count);
}
