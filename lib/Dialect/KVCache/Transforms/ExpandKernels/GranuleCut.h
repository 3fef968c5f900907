//===- GranuleCut.h - How granules are cut into threads ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GRANULECUT_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GRANULECUT_H

#include "KernelBuilder.h"

namespace mlir::kvcache {

/// The elements of a head that are quantised (or all, as one granule, where
/// none are) in cells, which threads take. A cell is a granule that a power of
/// two of lanes of one warp share, vector after vector in turn, or a few
/// granules of one thread: so many as a vector has, or two where a byte may
/// hold elements of both. The last cell may be short.
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
  GranuleCut(LayoutAttr layout, int64_t elementBytes, int64_t rowAlignment);
  /// The same for `size` elements in granules of `granularity`, of which
  /// storage elements of `storageBytes` bytes are made that serve `perStorage`
  /// each and start at multiples of `storageAlignment` bytes.
  GranuleCut(int64_t size, int64_t granularity, int64_t perStorage,
             int64_t storageBytes, int64_t storageAlignment,
             int64_t elementBytes, int64_t rowAlignment);

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

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_GRANULECUT_H
