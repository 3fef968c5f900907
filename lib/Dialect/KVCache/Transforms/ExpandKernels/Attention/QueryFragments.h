//===- QueryFragments.h - Queries as fragments of a product --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYFRAGMENTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYFRAGMENTS_H

#include "HeadCut.h"

#include "QueryRows.h"

#include "../Tiles/Warp.h"

namespace mlir::kvcache {

/// Rows of a tensor `[T, Hq, D]` in registers, as fragments of products with
/// keys. Rows of bf16 whose products are of f16 are scaled by a power of two
/// each, so that they fit, which scores take back.
class QueryFragments {
public:
  QueryFragments(KernelBuilder &builder, Value q, const HeadCut &cut,
                 Type product, int64_t group);

  /// What a score is to be multiplied by, apart from what rows need: `constant`
  /// times `numbers` (f32).
  void setFactor(double constant, ArrayRef<Value> numbers = {}) {
    factor = rows.factor(constant, numbers);
  }

  /// Loads rows `rows` (`i32`, of the sequence that starts at row `firstRow` of
  /// the tensor and of the group of head `head`; one for each group of eight).
  void load(Warp &warp, Value firstRow, Value head, ArrayRef<Value> rows);

  /// Fragment A of step `step` of a piece, and fragment B of its transpose for
  /// a group of rows.
  SmallVector<Value> fragmentA(int64_t piece, int64_t step);
  /// Of one group of rows: two steps in one fragment A, the second as rows 8 to
  /// 15. Products with keys of the first step are right in the upper half,
  /// those with keys of the second in the lower one.
  SmallVector<Value> fragmentOfTwo(std::pair<int64_t, int64_t> first,
                                   std::pair<int64_t, int64_t> second);
  SmallVector<Value> fragmentB(int64_t rowGroup, int64_t piece, int64_t step);

  /// What scores are to be multiplied by, by group of rows: of row `row` of the
  /// lane's or, `byColumn`, of rows `2 column` and the next one.
  SmallVector<Value> scoreFactors(Warp &warp, bool byColumn);

private:
  ImplicitLocOpBuilder &b;
  HeadCut cut;
  int64_t group;
  QueryRows rows;
  RowFactor factor;
  /// By group of rows and piece: registers of the lane.
  SmallVector<SmallVector<SmallVector<Value>>> words;
  SmallVector<Value> factors;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYFRAGMENTS_H
