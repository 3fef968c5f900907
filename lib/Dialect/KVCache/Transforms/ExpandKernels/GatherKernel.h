//===- GatherKernel.h - The kernel of kvcache.gather ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GATHERKERNEL_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GATHERKERNEL_H

#include "ExpandKernels.h"
#include "GatherPages.h"
#include "PageCut.h"

#include <optional>

namespace mlir::kvcache {

/// One version of the kernel, for rows of tensors that start at multiples of a
/// number of bytes.
class GatherKernel {
public:
  GatherKernel(ImplicitLocOpBuilder &host, GatherOp op, Tuning tuning,
               int64_t rowAlignment);
  void emit();

private:
  /// The vector of a row that is a thread's.
  struct Column {
    Stretch stretch;
    /// `i32`: the head, the element (of a pool's storage) in it, and one that
    /// has the same scales.
    Value head, storage, scaled;
    /// `index`: bytes from the start of the tensor, in the page's first row.
    Value place;
  };

  /// The next row of a column (`i32`) and, where it matters, bits of what was
  /// met before it whose products may be wrong where the chip takes the liberty
  /// of `kvcache.scale_limit` (`i32`; see `addDoubts`).
  struct State {
    Value row, doubts;
  };
  bool hasDoubts(const Stretch &stretch) const;
  Value addDoubts(Value doubts, ArrayRef<Value> codes,
                  ArrayRef<SmallVector<Value>> scales);
  Value areAnyDoubts(Value doubts);

  /// Vectors whose numbers take two stores: neighbours exchange halves, so that
  /// a store of both fills a sector. Through memory that the block shares,
  /// which costs less than shuffles and selects.
  struct Stage {
    /// `memref` of storage, and where in it the thread writes (`i32`).
    Value memory, write;
    std::optional<Stretch> half;
    /// The halves of the pair's two vectors that are the thread's, and where it
    /// reads them.
    SmallVector<Column, 2> parts;
    SmallVector<Value, 2> reads;
    /// Whether the pair's vectors share one scale.
    bool oneScale;
    /// The rows of a step; those that are the thread's start at `firstRow`
    /// (`i32`) and are `rowStep` apart.
    Value firstRow;
    int64_t rowStep, rows;
    /// Where a row has one scale: how many of the thread's rows have their
    /// scales read by one access, each by another lane; else 0.
    int64_t rowsTogether = 0;
  };
  bool isStaged(const Stretch &stretch, int64_t rows) const;
  Stage makeStage(const Column &column, const GatherPage &page, Value firstRow,
                  int64_t rowStep, int64_t rows);
  /// Copies the thread's rows of the step that starts at row `step` (`i32`).
  /// Where the step is not whole, rows without a token are taken to be the last
  /// one that has one, which is written again: that costs less than to branch.
  Value copyStaged(const Stage &stage, const Column &column,
                   const GatherPage &page, Value step, bool isWhole,
                   Value doubts);
  /// The scales of a row for the halves of a pair, or one for both.
  SmallVector<SmallVector<Value>>
  loadPairScales(const Stage &stage, const GatherPage &page, Value row);
  /// From `state` on by `advance` while `reach` rows on is before `end`; `body`
  /// gives the doubts.
  State whileRows(State state, int64_t reach, int64_t advance, Value end,
                  function_ref<Value(Value row, Value doubts)> body);
  /// Copies rows of a column; the doubts.
  Value copyRows(const Column &column, const GatherPage &page,
                 ArrayRef<Value> rows, Value doubts, bool exact);
  void copyColumn(const Column &column, const GatherPage &page, Value firstRow,
                  int64_t rowStep);
  Value read(Pool pool, Type type, const Column &column, const GatherPage &page,
             Value row, Value dim);
  Value loadCodes(const Column &column, const GatherPage &page, Value row);
  /// One for each run of elements that surely share one.
  SmallVector<Value> loadScales(const Column &column, const GatherPage &page,
                                Value row);
  /// `exact` says that the product must not be reassociated.
  Value convert(const Column &column, Value codes, ArrayRef<Value> scales,
                bool exact);
  const Tensor &tensorOf(const Stretch &stretch) const {
    return stretch.pool == Pool::scales ? scalesOut : out;
  }
  Value placeOf(const Column &column, const GatherPage &page);
  void store(const Column &column, Value row, Value numbers);
  /// Elements that share a scale from a multiple of a vector's elements on.
  int64_t scaleRun(const Stretch &stretch) const;

  ImplicitLocOpBuilder &host;
  GatherOp op;
  Tuning tuning;
  LayoutAttr layout;
  SmallVector<Stretch> stretches;
  PageCut cut;
  /// In the kernel.
  KernelBuilder *builder = nullptr;
  ImplicitLocOpBuilder *b = nullptr;
  Value cache, globalScale;
  Tensor out, scalesOut;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GATHERKERNEL_H
