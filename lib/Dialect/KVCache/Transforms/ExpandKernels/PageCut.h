//===- PageCut.h - How the pages of a cache are cut into threads ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGECUT_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGECUT_H

#include "ExpandKernels.h"
#include "KernelBuilder.h"

namespace mlir::kvcache {

/// What a pool holds of the row of a token, as vectors that become parts of the
/// row of a tensor.
struct Stretch {
  /// The widest access of memory.
  static constexpr int64_t maxBytes = 16;

  Pool pool;
  PoolLayout shape;
  Type outType;
  /// Storage elements of a vector.
  int64_t lanes;
  /// Elements of the tensor that a vector becomes.
  int64_t numbers;
  /// Those of them that one store writes.
  int64_t perStore;
  /// Where the stretch starts in a head of the tensor.
  int64_t firstNumber;

  /// The longest vectors of at most 16 bytes in the pool that heads of the pool
  /// and of `out` can be cut into, where rows and heads of `out` start at
  /// multiples of `rowAlignment` bytes. A vector stays inside a head.
  Stretch(LayoutAttr layout, Pool pool, Side side, Value out,
          int64_t rowAlignment);

  /// Remarks that the layout keeps from 16-byte accesses, where it does.
  void remarkWidth(Location location) const;

  /// Whether a row is taken for one head.
  bool isFlat() const { return flat; }

  /// Vectors of a head, and of a row.
  int64_t perHead() const { return shape.inner / lanes; }
  int64_t columns() const { return shape.heads * perHead(); }
  /// Bytes that a vector in the pool starts at a multiple of; fewer than an
  /// element has where rows of bytes leave it at odd places.
  int64_t poolAlignment() const {
    return std::min(lanes * shape.storageBytes, headAlignment);
  }

private:
  bool flat = false;
  /// Bytes, up to 16, that heads in the pool start at multiples of.
  int64_t headAlignment;
};

/// Pages of rows of `columns` vectors in blocks of threads: a group of threads
/// takes a page, or a slice of the columns of one, and a block has one group or
/// several.
class PageCut {
public:
  PageCut(int64_t columns, int64_t pageSize, Tuning tuning);

  int64_t threads() const { return group * groups; }
  /// Groups that a page takes, and pages of a block (1 of them is 1).
  int64_t slicesPerPage() const { return slices; }
  int64_t pagesPerBlock() const { return groups; }
  int64_t threadsPerGroup() const { return group; }
  /// Whether all threads of a warp have a column of the cut's, of one page, and
  /// neighbours (of an even and the next number) neighbouring ones.
  bool keepsWarpsTogether() const {
    return group % 2 == 0 && (groups == 1 || group % 32 == 0) && isFull;
  }

  /// Emits `body` for those of `columns` columns of a row that are a thread's:
  /// the column (`i32`), the first row (`i32`) and the rows from one of the
  /// thread's to the next. `lane` is the thread in its group, `slice` the
  /// group's number in the page, null for 0.
  void forColumns(ImplicitLocOpBuilder &b, Value lane, Value slice,
                  int64_t columns,
                  function_ref<void(Value, Value, int64_t)> body) const;

private:
  int64_t group, groups, slices;
  /// Whether every thread has a column.
  bool isFull;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGECUT_H
