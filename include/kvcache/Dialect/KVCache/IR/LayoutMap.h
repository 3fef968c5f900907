//===- LayoutMap.h - Byte offsets of a cache's elements ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where, in bytes, the elements and scales of a cache lie: for tools, for
// programs that write pools themselves, and for people. PoolLayout says the
// same to the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_LAYOUTMAP_H
#define KVCACHE_DIALECT_KVCACHE_IR_LAYOUTMAP_H

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

namespace mlir::kvcache {

/// A token's element, or the scale of one, in a pool. All count from 0.
struct ElementIndex {
  /// The page, by its block of the pool.
  int64_t block = 0;
  /// Of the key or of the value.
  Side side = Side::key;
  /// Layer of the model.
  int64_t layer = 0;
  /// Token of the page.
  int64_t slot = 0;
  /// Key-value head.
  int64_t head = 0;
  /// Element of the head; for scales, any of those that share one.
  int64_t dim = 0;
};

/// Where an element or a scale lies.
struct ElementPlace {
  /// What it belongs to. Values and tails lie in the pool of blocks, scales in
  /// their own or, with another placement than `pool`, in that of blocks.
  Pool pool;
  /// Bytes from the start of the pool's memory.
  int64_t offset;
  /// Bytes that are read to get it.
  int64_t bytes;
  /// Whether it is the high half of its byte (f4E2M1FN).
  bool highHalf;
};

/// The byte map of a cache with a number of layers.
class LayoutMap {
public:
  /// `layers` is at least 1. A pitch is the number of bytes from block to block
  /// of the pool of blocks or of scales, 0 for packed pages; others are at
  /// least a page and a multiple of what the layout says (docs/layouts.md).
  /// Reports what is wrong, sizes of 2^63 bytes and more among it, through
  /// `emitError`.
  static FailureOr<LayoutMap> get(LayoutAttr layout, int64_t layers,
                                  function_ref<InFlightDiagnostic()> emitError,
                                  int64_t blocksPitch = 0,
                                  int64_t scalesPitch = 0);

  /// What the map was made of.
  LayoutAttr getLayout() const { return layout; }
  int64_t getLayers() const { return layers; }

  /// Bytes of a page (all sides and layers, with padding) of the pool that
  /// holds `pool`; 0 for scales of a layout without.
  int64_t getPageBytes(Pool pool) const;
  /// Bytes from block to block of the pool that holds `pool`.
  int64_t getPitch(Pool pool) const;
  /// Bytes of all pools that one token takes, without the padding of pages.
  int64_t getTokenBytes() const;

  /// Where the element at `index` lies. Reports an index out of range.
  FailureOr<ElementPlace>
  getElement(const ElementIndex &index,
             function_ref<InFlightDiagnostic()> emitError) const;
  /// Where the scale of the element at `index` lies. Reports an index out of
  /// range, elements of the unquantised tail and layouts without scales.
  FailureOr<ElementPlace>
  getScale(const ElementIndex &index,
           function_ref<InFlightDiagnostic()> emitError) const;

  /// Writes for people what a page looks like: what lies where, strides,
  /// padding, bytes a token.
  void explain(raw_ostream &os) const;
  /// Writes where the values, scales and tails of token `token` of a sequence
  /// lie, as bytes from the start of the pools. `table` is the sequence's row
  /// of the lookup table; `scalesTable` that of the scales' table where they
  /// have one. Reports a token whose page the tables do not have.
  LogicalResult
  explainToken(raw_ostream &os, int64_t token, ArrayRef<int64_t> table,
               ArrayRef<int64_t> scalesTable,
               function_ref<InFlightDiagnostic()> emitError) const;

private:
  LayoutMap(LayoutAttr layout, int64_t layers)
      : layout(layout), layers(layers) {}
  LogicalResult check(const ElementIndex &index,
                      function_ref<InFlightDiagnostic()> emitError) const;
  FailureOr<ElementPlace>
  getPlace(Pool pool, const ElementIndex &index, int64_t inner,
           function_ref<InFlightDiagnostic()> emitError) const;
  void explainPool(raw_ostream &os, Pool pool) const;
  bool isOwnPool(Pool pool) const {
    return pool == Pool::scales && layout.hasSeparatePools();
  }

  LayoutAttr layout;
  int64_t layers;
  int64_t blocksPitch = 0, scalesPitch = 0;
};

} // namespace mlir::kvcache

#endif // KVCACHE_DIALECT_KVCACHE_IR_LAYOUTMAP_H
