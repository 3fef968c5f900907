//===- PageRows.h - Rows of a page, by addresses of their own order -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEROWS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEROWS_H

#include "Destinations.h"

namespace mlir::kvcache {

/// Reads a block's rows (slots) of a pool, as `kvcache.load_in_page` does,
/// where it matters which part of an address is put together first:
/// `load_in_page` adds up slot, head and element anew each time, which is right
/// where slots are constants apart.
class PageRows {
public:
  /// Block `block` of the pool that `operand` speaks of, `shape`.
  PageRows(ImplicitLocOpBuilder &b, Value operand, const PoolLayout &shape,
           Value block);

  /// Byte `inRow` (`i32`) of slot `slot` (`i32`, null for 0): where loads
  /// start.
  Value at(Value inRow, Value slot = Value()) const;
  /// `type` from `slot` slots (`index`, null for none) and `bytes` bytes behind
  /// `start` on, at a multiple of `alignment` bytes.
  Value load(Value start, Value slot, int64_t bytes, VectorType type,
             int64_t alignment) const;

private:
  ImplicitLocOpBuilder &b;
  PoolLayout shape;
  Value page;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAGEROWS_H
