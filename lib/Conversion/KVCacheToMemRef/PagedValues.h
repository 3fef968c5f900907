//===- PagedValues.h - What a kvcache value lowers to --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_CONVERSION_KVCACHETOMEMREF_PAGEDVALUES_H
#define LIB_CONVERSION_KVCACHETOMEMREF_PAGEDVALUES_H

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

namespace mlir::kvcache {

/// What is known of one pool at run time.
struct PoolValues {
  /// `memref<storage>`, or `memref<i8>` of a pool of bytes: block 0, at the
  /// layer and side where the value is a cache or an operand, at its start
  /// where it is a collection.
  Value base;
  /// `index`: bytes from block to block.
  Value pitch;
  /// `index`: blocks of the pool (NB or NBs).
  Value blocks;
  /// `memref<i32>`: entry (0, 0) of the table through which blocks are found.
  Value table;
  /// `i32`: entries from one row of the table to the next.
  Value tableStride;
};

/// The builtin values that stand for a collection, a cache or an operand. Their
/// number and order follow from the type alone, and are the ABI of a kernel
/// that takes such a value; see `getPagedParts`.
struct PagedValues {
  /// Absent in a scales operand, which speaks of one pool, where the scales
  /// have a pool of their own.
  std::optional<PoolValues> values;
  /// Absent without scales, and where they lie in the pool of the values.
  std::optional<PoolValues> scales;
  /// `memref<i32>`: tokens in the cache, a sequence each.
  Value lengths;
  /// `index`: sequences (B) and table columns (M).
  Value batch, columns;
  /// `memref<i32>`: longest new prompt, most tokens of a sequence, one entry
  /// each. Pointers, so that nothing is read on the host.
  Value maxPrompt, maxCache;
  /// `index`: layers (L); collections only.
  Value layers;

  const PoolValues &pool(Pool which) const {
    return which == Pool::scales && scales ? *scales : *values;
  }
};

/// What one of the values that stand for a `paged` type is.
enum class PagedRole {
  /// A pointer into a pool, which may be written.
  pool,
  /// A pointer to a frozen table or to lengths.
  table,
  /// A size, stride or length.
  scalar
};

/// One of the values that a type lowers to.
struct PagedPart {
  Type type;
  PagedRole role;
  /// A name for it as a kernel's argument, such as `values_pitch`.
  StringRef name;
};

/// What `paged`, a type of the dialect, lowers to, in order: for the value pool
/// (but in a scales operand of a scales pool) base, pitch, blocks, table, table
/// stride; for the scales pool (where scales have one) base, pitch, blocks,
/// and, where the table is its own or the value is a scales operand, table and
/// table stride; then lengths, batch, columns, max_prompt, max_cache; for a
/// collection, layers.
SmallVector<PagedPart> getPagedParts(Type paged);

/// Names the values that `flat`, as `getPagedParts` has them, are.
PagedValues unpackPaged(Type paged, ValueRange flat);

/// The reverse of `unpackPaged`.
SmallVector<Value> packPaged(Type paged, const PagedValues &values);

/// Whether a type is one of the dialect's.
bool isPagedType(Type type);

} // namespace mlir::kvcache

#endif // LIB_CONVERSION_KVCACHETOMEMREF_PAGEDVALUES_H
