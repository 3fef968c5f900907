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

/// Bytes that the base of every pool is aligned to.
constexpr int64_t poolAlignment = 16;

/// Where the values, the scales or the tails of a cache lie: the static part of
/// the pool's memref, and the way to an element in bytes.
///
/// A pool is `[blocks, sides, layers, page, heads, inner]` (or heads outside of
/// the page) of what it stores, or, where values and scales share one,
/// `[blocks, sides, layers, bytes]` of bytes. In a layer of a side element
/// `inner` of (slot, head) lies `firstByte + slot * slotBytes + head *
/// headBytes
/// + inner * storageBytes` bytes from the start, unless scales are swizzled.
struct PoolLayout {
  /// What is stored: `i8` for f4E2M1FN, else the dtype.
  Type storageType;
  /// Bytes a storage element.
  int64_t storageBytes;
  /// Whether the pool's memref is one of bytes, which holds everything.
  bool isBytes;
  /// Size of the memref's dimension of sides: one where keys and values lie
  /// side by side.
  int64_t sides;
  int64_t pageSize;
  int64_t heads;
  Order order;
  /// Storage elements a head: (D - rope), half of that (f4E2M1FN), G (scales),
  /// or rope (tail).
  int64_t inner;
  /// Elements of the head that one storage element serves: 1, 2 or g.
  int64_t elementsPerStorage;

  /// Bytes from the start of a layer of a side to its first element.
  int64_t firstByte;
  /// Bytes from slot to slot, head to head and layer to layer.
  int64_t slotBytes, headBytes, layerBytes;
  /// Bytes from keys to values where they lie side by side; else 0, and sides
  /// are a dimension of the pool.
  int64_t sideBytes;
  /// What every page pitch is a multiple of, and what pages are padded to, in
  /// bytes.
  int64_t pitchMultiple, pageMultiple;

  /// The layout of `pool` in `layout`; `Pool::scales` needs a layout with
  /// scales and `Pool::tail` one with rope.
  static PoolLayout get(LayoutAttr layout, Pool pool);

  /// Element type of the pool's memref, and its bytes.
  Type poolType() const;
  int64_t poolBytes() const { return isBytes ? 1 : storageBytes; }

  /// A power of two of bytes, up to that of pools, that divides the address of
  /// the first element of every block, layer and side.
  int64_t baseAlignment() const;
  /// The same for the first element of every slot, and of every head of it.
  int64_t slotAlignment() const;
  int64_t headAlignment() const;
  /// Whether every element lies at a multiple of its size. Else it is read and
  /// written as bytes.
  bool isAligned() const;
  /// What memory is addressed in units of: storage elements, or bytes where
  /// these are not aligned.
  Type unitType() const;
  int64_t unitBytes() const { return isAligned() ? storageBytes : 1; }

  /// Whether the elements of a head are followed by those of the next head of
  /// the same token.
  bool hasContiguousHeads() const { return headBytes == inner * storageBytes; }
  /// Whether, moreover, tokens follow one another: a page is one piece of
  /// memory in the layout's order.
  bool isContiguous() const {
    int64_t outer = heads * pageSize * inner * storageBytes;
    return order == Order::nhd
               ? hasContiguousHeads() && slotBytes * pageSize == outer
               : slotBytes == inner * storageBytes &&
                     headBytes * heads == outer;
  }

  /// Storage elements from token to token; for layouts whose elements are
  /// aligned.
  int64_t slotStride() const { return slotBytes / storageBytes; }
  /// Storage elements of a row: all heads of a token; for a pool of rows.
  int64_t rowSize() const { return heads * inner; }
  int64_t rowBytes() const { return rowSize() * storageBytes; }

  /// Names of the memref's dimensions for messages, outermost first. A
  /// dimension of bytes is the last one.
  SmallVector<StringRef, 6> dimNames() const;
  /// Sizes of the memref's dimensions, blocks and layers dynamic.
  SmallVector<int64_t, 6> shape() const;
  /// The strides, in elements of the memref, that it has when it is packed, for
  /// the number of layers in `layers` (`ShapedType::kDynamic` where unknown).
  SmallVector<int64_t, 6> packedStrides(int64_t layers) const;

private:
  Pool pool;
};

/// The elements of a head that an operation accesses, those of a pool or, for
/// `kvcache.load`, all.
struct AccessedStretch {
  /// What is accessed.
  Pool pool;
  /// The head's elements that may be accessed: from `begin` to before `end`.
  int64_t begin, end;
  /// What is counted: slots of scales, or elements, `perLane` of which a lane
  /// stands for.
  bool slots;
  int64_t perLane;
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

/// What makes the collection that a collection, cache or operand comes from,
/// `kvcache.get_paged_cache` or `kvcache.get_page_pools`, looking through
/// casts; null where it is not in sight.
Operation *getPoolsOp(Value paged);

/// The `kvcache.get_paged_cache` that a collection, cache or operand comes
/// from, looking through casts; null where it is not in sight.
GetPagedCacheOp getCollectionOp(Value paged);

/// What the collection behind `paged` says of its shapes. One of pools alone
/// has no tables to speak of.
KnownTables getKnownTables(Value paged);

/// Bytes from page to page of the pool that holds `pool`, where the collection
/// behind `paged` is in sight and says so.
std::optional<int64_t> getKnownPitch(Value paged, Pool pool);

/// The layout of a collection, cache or operand type.
LayoutAttr getLayout(Type paged);

/// The type of the same kind and side as `paged` with another layout.
Type withLayout(Type paged, LayoutAttr layout);

/// What a lookup, load or store addresses: values where a load reads the tail
/// too.
Pool getAccessedPool(Operation *access);

/// What the loads, stores and views of an operation may reach.
AccessedStretch getAccessedStretch(Operation *access);

/// The page pitch of `pool` in storage elements, where the memref's type says
/// it.
std::optional<int64_t> getStaticPitch(MemRefType pool);

/// Bytes of a swizzle's span: 0 (none), 32, 64 or 128.
int64_t getSwizzleBytes(Swizzle swizzle);

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_IR_POOLLAYOUT_H
