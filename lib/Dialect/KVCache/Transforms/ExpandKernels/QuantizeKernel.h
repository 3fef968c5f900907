//===- QuantizeKernel.h - The kernels that quantise rows -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_QUANTIZEKERNEL_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_QUANTIZEKERNEL_H

#include "ExpandKernels.h"
#include "GranuleCut.h"
#include "LastRows.h"
#include "RowElements.h"
#include "RowUnits.h"
#include "ScaleRule.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include <optional>

namespace mlir::kvcache {

/// What the operations that quantise say.
struct QuantizeRequest {
  AppendedRows rows;
  OperandRange sources;
  /// None of an operation that stores numbers as they are.
  QuantizationAttr quantization;
  Value globalScale;
  TuningAttr tuning;

  LayoutAttr layout() const {
    return getLayout(rows.targets.front().getType());
  }
};

/// A cell of a thread.
struct QuantizeCell {
  /// The lane in the row. An i1, null for always, says whether there is one.
  Value unit, exists;
  RowElements::Head head;
  /// First granule of the cell in its head, `i32`.
  Value granule;
  LaneGroup group;
  /// The vectors that are held.
  SmallVector<Value> vectors;
};

/// One version of the kernel, for rows that start at multiples of a number of
/// bytes.
class QuantizeKernel {
public:
  using Cell = QuantizeCell;

  QuantizeKernel(ImplicitLocOpBuilder &host, const QuantizeRequest &request,
                 Tuning tuning, int64_t rowAlignment);
  void emit(const LastRows &last);

private:
  void writeRow(unsigned target, Destinations to, const RowElements::Head &row,
                Value thread);
  void writeTail(unsigned target, Destination to, const RowElements::Head &row,
                 Value thread);
  void writeCells(unsigned target, Destinations to,
                  MutableArrayRef<Cell> cells);
  void writeLoopedCell(unsigned target, Destinations to, Cell &cell);
  /// The scales of the cell, which `storeScales` writes.
  SmallVector<ScaleRule::Scale> finishCell(unsigned target, Destinations to,
                                           Cell &cell);
  /// Whether lanes of a cell are enough to write the scales of so many cells.
  bool isStoredTogether(size_t cells) const;
  void storeTogether(unsigned target, Destination to, ArrayRef<Cell> cells,
                     ArrayRef<ScaleRule::Scale> scales);
  void storeScales(unsigned target, Destination to, const Cell &cell,
                   ArrayRef<ScaleRule::Scale> scales);
  void storeScale(unsigned target, Destination to, const Cell &cell,
                  Value granule, Value stored);
  void storeCodes(unsigned target, Destination to, const Cell &cell, Value step,
                  Value codes);

  /// Whether warps take several rows, one after the other, and look them up
  /// together.
  bool looksUpTogether() const;
  /// Stores a number or a vector of `pool` at (row, head, element): in the
  /// row's image where there is one. `alignment` is in bytes, 0 for an unknown
  /// one.
  void store(unsigned target, Pool pool, const Destination &to, Value head,
             Value element, Value value, int64_t alignment);

  /// Memory in which a warp puts a row together that is codes, scales and tail
  /// side by side, so that it goes to the pool in whole sectors.
  struct RowImage {
    /// Words, and the warp's first one of them (`i32`).
    Value memory, first;
  };
  /// Whether rows are such, and of what an image takes: words.
  bool canKeepImage() const;
  void writeImage(unsigned target, const Destination &to, Value thread);

  Cell cellAt(const RowElements::Head &row, Value unit, Value exists);
  /// Whether vector `step` of a lane of the cell is there; null for always.
  Value hasVector(const Cell &cell, Value step);
  /// Where vector `step` of a lane starts: its head and its element.
  std::pair<Value, Value> place(const Cell &cell, Value step);
  Value loadVector(unsigned target, const Cell &cell, Value step);
  Value numbersOf(Value vector) {
    return convertFloat(*b, vector, b->getF32Type());
  }
  Value largestOfCell(const Cell &cell, Value amax);
  ElementRange codes() const { return {0, layout.getQuantizedSize()}; }

  ImplicitLocOpBuilder &host;
  const QuantizeRequest &request;
  Tuning tuning;
  LayoutAttr layout;
  PoolLayout pool;
  int64_t rowAlignment;
  /// Whether elements count on over heads, in sources and pool.
  bool isFlat;
  GranuleCut cut;
  /// Lanes of a row.
  int64_t width;
  RowUnits units;
  /// Whether conditions on rows and cells hold for whole warps.
  bool hasWholeWarps;
  /// In the kernel.
  ImplicitLocOpBuilder *b = nullptr;
  SmallVector<Value> caches;
  SmallVector<RowElements, 2> sources;
  std::optional<ScaleRule> rule;
  std::optional<RowImage> image;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_QUANTIZEKERNEL_H
