//===- WidthRemarks.cpp - What keeps kernels from wide accesses ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WidthRemarks.h"

#include "RowUnits.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvcache;

std::string mlir::kvcache::whyUnaligned(Value memref, int64_t bytes,
                                        unsigned rowRank) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t element = type.getElementTypeBitWidth() / 8;
  SmallVector<int64_t> strides;
  int64_t offset;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (failed(type.getStridesAndOffset(strides, offset))) {
    os << type << " has no strides";
    return text;
  }
  SmallVector<int64_t> steps = {offset};
  llvm::append_range(steps, ArrayRef<int64_t>(strides).drop_back(rowRank));
  // What is wrong in any case tells more than what may be.
  std::string open;
  for (auto [place, step] : llvm::enumerate(steps)) {
    if (place > 0 && type.getDimSize(place - 1) == 1)
      continue;
    std::string name =
        place == 0 ? "the offset" : "stride " + std::to_string(place - 1);
    if (ShapedType::isDynamic(step)) {
      if (open.empty())
        open = name;
    } else if (step * element % bytes != 0) {
      os << name << " of " << type << " is " << step * element << " bytes";
      return text;
    }
  }
  if (!open.empty())
    os << open << " of " << type << " is known at run time only";
  return text;
}

void mlir::kvcache::remarkWidth(Location location, StringRef subject,
                                int64_t bytes, ArrayRef<WidthLimit> limits) {
  if (bytes >= maxAccessBytes)
    return;
  for (const WidthLimit &limit : limits)
    if (limit.bytes % maxAccessBytes != 0) {
      emitRemark(location) << subject << " by accesses of " << bytes
                           << " bytes, not " << maxAccessBytes << ": "
                           << limit.what << " " << limit.bytes << " bytes";
      return;
    }
}
