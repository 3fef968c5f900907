//===- GranuleCut.h - How granules are cut into threads ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GRANULECUT_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GRANULECUT_H

#include "KernelBuilder.h"

namespace mlir::kvcache {

/// The quantised elements of a head in cells, which threads take. A cell is a
/// granule that a power of two of lanes of one warp share, vector after vector
/// in turn, or a few granules of one thread: so many as a vector has, or two
/// where a byte may hold elements of both. The last cell may be short.
struct GranuleCut {
  /// Elements of a head, of a granule and of a cell; none is more than the one
  /// before.
  int64_t size, granule, cell;
  /// Cells of a head, granules of a cell.
  int64_t cells, granules;
  /// Lanes of a cell, elements of a vector, vectors of a lane.
  int64_t lanes, vector, steps;

  /// The cut for rows of a tensor of `elementBytes` that start at multiples of
  /// `rowAlignment` bytes.
  GranuleCut(LayoutAttr layout, const PoolLayout &values, int64_t elementBytes,
             int64_t rowAlignment);

  /// Elements that a lane holds in registers at most.
  static constexpr int64_t maxHeld = 64;
  int64_t held() const { return steps * vector; }
  /// Whether the vectors of a lane are a loop.
  bool isLooped() const { return held() > maxHeld; }
  /// Lanes of a head.
  int64_t width() const { return cells * lanes; }
  /// Whether every lane of every cell has all its vectors.
  bool isExact() const {
    return size % cell == 0 && cell == lanes * steps * vector;
  }
};

/// What is the same for all lanes of a cell: its head and its first element,
/// and the number of the lane, all `i32`.
struct CellPlace {
  Value head, first, lane;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GRANULECUT_H
