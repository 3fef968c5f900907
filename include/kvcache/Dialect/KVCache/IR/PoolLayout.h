//===- PoolLayout.h - Shape and strides of a cache's pools ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one home of layout arithmetic: verifiers, folds, lowerings and tools ask
// here where an element lies.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_POOLLAYOUT_H
#define KVCACHE_DIALECT_KVCACHE_IR_POOLLAYOUT_H

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

namespace mlir::kvcache {

/// The static part of a pool `[blocks, sides, layers, page, heads, inner]`.
/// Sizes and strides count storage elements: codes, scales, or, for f4E2M1FN
/// values, bytes of two elements.
struct PoolLayout {
  /// What the pool's memref holds: `i8` for f4E2M1FN, else the dtype.
  Type storageType;
  /// Bytes a storage element.
  int64_t storageBytes;
  int64_t sides;
  int64_t pageSize;
  int64_t heads;
  /// Storage elements a head: D, D / 2 (f4E2M1FN) or G (scales).
  int64_t inner;
  /// Elements of the head that one storage element serves: 1, 2 or g.
  int64_t elementsPerStorage;

  /// The pool of `layout`; `Pool::scales` needs a layout with scales.
  static PoolLayout get(LayoutAttr layout, Pool pool);

  /// Storage elements of a row: all heads of a token.
  int64_t rowSize() const { return heads * inner; }
  /// Storage elements of one layer of one side of a page.
  int64_t layerSize() const { return pageSize * rowSize(); }
  int64_t rowBytes() const { return rowSize() * storageBytes; }
  int64_t layerBytes() const { return layerSize() * storageBytes; }

  /// The strides that a memref of this pool has when it is packed, for the
  /// number of layers in `layers` (`ShapedType::kDynamic` where unknown).
  SmallVector<int64_t, 6> packedStrides(int64_t layers) const;
};

/// The type that a pool of `dtype` stores: `i8` for f4E2M1FN, else `dtype`.
Type getStorageType(Type dtype);

/// Tokens and sequences that are known of the collection behind a value.
struct KnownTables {
  /// Sequences (B) and table columns (M); unset where not static.
  std::optional<int64_t> batch, columns;
  /// Layers (L); unset where not static.
  std::optional<int64_t> layers;
};

/// The `kvcache.get_paged_cache` that a collection, cache or operand comes
/// from, looking through casts; null where it is not in sight.
GetPagedCacheOp getCollectionOp(Value paged);

/// What the collection behind `paged` says of its tables' shapes.
KnownTables getKnownTables(Value paged);

/// The layout of a collection, cache or operand type.
LayoutAttr getLayout(Type paged);

/// The type of the same kind and side as `paged` with another layout.
Type withLayout(Type paged, LayoutAttr layout);

/// The pool that a lookup, load or store addresses.
Pool getAccessedPool(Operation *access);

/// The page pitch of `pool` in storage elements, where the memref's type says
/// it.
std::optional<int64_t> getStaticPitch(MemRefType pool);

/// Bytes of a swizzle's span: 0 (none), 32, 64 or 128.
int64_t getSwizzleBytes(Swizzle swizzle);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_IR_POOLLAYOUT_H
