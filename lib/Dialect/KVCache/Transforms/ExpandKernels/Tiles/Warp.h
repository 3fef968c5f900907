//===- Warp.h - What the lanes of a warp tell each other -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WARP_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WARP_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// A warp all of whose lanes come to the same places of the program. Values
/// that are exchanged are `f32` or `i32`.
class Warp {
public:
  static constexpr int64_t lanes = 32;

  /// The threads of a block, in one dimension, are whole warps.
  explicit Warp(ImplicitLocOpBuilder &b);

  /// `i32`: the lane in the warp, the warp in the block.
  Value lane, number;
  /// `i32`: the lane's row and column in matrices of mma.sync: `lane / 4` and
  /// `lane % 4`.
  Value row, column;

  /// The value of the lane whose number differs in the bits of `distance`.
  Value exchange(Value value, int64_t distance);
  /// The value of lane `from` (`i32`).
  Value from(Value value, Value from);
  /// `combine` over the four lanes of a row, in each of them.
  Value reduceRow(Value value, function_ref<Value(Value, Value)> combine);
  /// `combine` over the eight lanes of a column, in each of them.
  Value reduceColumn(Value value, function_ref<Value(Value, Value)> combine);
  /// `combine` over the lanes of the warp, in each of them.
  Value reduce(Value value, function_ref<Value(Value, Value)> combine);
  /// Whether `condition` (`i1`) holds in any lane.
  Value any(Value condition);
  /// A bit (`i32`) for each lane in which `condition` holds.
  Value ballot(Value condition);
  /// Waits for the lanes of the warp and their accesses of memory.
  void wait();

private:
  Value allLanes();
  ImplicitLocOpBuilder &b;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_TILES_WARP_H
