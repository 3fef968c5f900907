//===- KVCacheRanges.cpp - Ranges of what lookups give -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

using namespace mlir;
using namespace mlir::kvcache;

/// [0, max] as a 64-bit index.
static ConstantIntRanges upTo(uint64_t max) {
  return ConstantIntRanges::fromUnsigned(APInt(64, 0), APInt(64, max));
}

/// Table entries and lengths are unsigned 32-bit numbers.
static constexpr uint64_t maxEntry = 0xffffffffu;
/// Rows and sizes are addresses' cousins: not negative.
static constexpr uint64_t maxRow = 0x7fffffffffffffffu;

void CacheLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                      SetIntRangeFn setRange) {
  setRange(getLength(), upTo(maxEntry));
}

void MaxPromptLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                          SetIntRangeFn setRange) {
  setRange(getLength(), upTo(maxEntry));
}

void MaxContextLengthOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                           SetIntRangeFn setRange) {
  setRange(getLength(), upTo(maxEntry));
}

void EmptyCacheOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                     SetIntRangeFn setRange) {
  setRange(getEmpty(), ConstantIntRanges::maxRange(1));
}

void NumKVRowsOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getRows(), upTo(maxRow));
}

void NumBlocksOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getBlocks(), upTo(maxRow));
}

void BatchSizeOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getSize(), upTo(maxEntry));
}

void TableColumnsOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                       SetIntRangeFn setRange) {
  setRange(getColumns(), upTo(maxEntry));
}

void NumLayersOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getLayers(), upTo(maxRow));
}

void PagePitchOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                    SetIntRangeFn setRange) {
  setRange(getBytes(), upTo(maxRow));
}

void RowIdxOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                 SetIntRangeFn setRange) {
  setRange(getRow(), upTo(maxRow));
}

void BlockRowIdxOp::inferResultRanges(ArrayRef<ConstantIntRanges>,
                                      SetIntRangeFn setRange) {
  setRange(getBlock(), upTo(maxEntry));
  setRange(getRow(),
           upTo(kvcache::getLayout(getSource().getType()).getPageSize() - 1));
}
