//===- CacheTiles.h - Sixteen tokens of a cache at a time ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_CACHETILES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_CACHETILES_H

#include "ElementScales.h"
#include "HeadCut.h"

#include "../KernelBuilder.h"
#include "../Tiles/Warp.h"

namespace mlir::kvcache {

/// Reads tiles of 16 tokens of a head of keys and values, each lane what it
/// multiplies: as keys those of tokens `row` and `row + 8` (and the
/// scales of both sides), as values those of tokens `2 column`, `2 column + 1`
/// and 8 further on. Tokens outside of the range that may be read are taken to
/// be its first or last one, which is written: what they hold is a number.
class CacheTiles {
public:
  static constexpr int64_t tokens = 16;
  /// Tokens of a tile of which a lane multiplies the keys, and the values.
  static constexpr int64_t keysPerLane = 2, valuesPerLane = 4;

  /// `keys` and `values` are caches in the kernel; `sharesTables` says that
  /// they are of one collection, `withScales` that scales are read, too.
  CacheTiles(ImplicitLocOpBuilder &b, Value keys, Value values,
             bool sharesTables, bool withScales, OutOfRange policy);

  /// What is read: of sequence `batch` and head `head` (`index`), tokens from
  /// `begin` to before `end` (`i32`), which are some.
  void setRange(Warp &warp, Value batch, Value head, Value begin, Value end);

  const HeadCut &cutOf(Side side) const {
    return side == Side::key ? keyCut : valueCut;
  }
  Type dtype() const { return layout.getDtype(); }
  bool isQuantized() const { return layout.isQuantized(); }
  /// Whether elements are to be multiplied by scales of their own.
  bool hasElementScales() const { return ElementScales::suits(layout); }
  /// What a lane has of a side of a tile: vectors of registers by token and
  /// piece, then, where they are read, scales in f32: by token (of keys) and
  /// granule or, of elements, as ElementScales has them, token by token.
  /// Vectors stay whole on the way from where they are loaded, so that loads
  /// do.
  SmallVector<Type> types(Side side) const;
  int64_t vectors(Side side) const;
  /// Registers of all of these.
  int64_t registers(Side side) const;
  /// The registers of piece `piece` of the lane's token `token`.
  SmallVector<Value> wordsOf(Side side, ValueRange all, int64_t token,
                             int64_t piece) const;
  /// What was loaded for scales of elements, by token.
  SmallVector<SmallVector<Value>> elementScales(Side side,
                                                ValueRange all) const;
  /// Of these of a token, or what stands for them, the scales of the lane's
  /// elements of piece `piece`.
  SmallVector<Value> scalesOfElements(Side side, ArrayRef<Value> ofToken,
                                      int64_t piece) const;

  /// Where the tokens of tile `tile` (`i32`) lie: `pageCount` numbers, `i32`.
  SmallVector<Value> pages(Value tile);
  int64_t pageCount() const;

  /// What the lane has of a tile; `isInside` says that all of its tokens may be
  /// read.
  SmallVector<Value> load(Side side, Value tile, ValueRange pages,
                          bool isInside);

private:
  /// `i32`: where in its tile a token lies.
  Value placeOf(bool asKeys, int64_t number);
  Value clamp(Value token);
  /// The slot (`index`) of a token of the tile in its page.
  Value slotOf(Value tile, bool asKeys, int64_t number, bool isInside);
  Value blockOf(ValueRange pages, Side side, Pool pool, bool asKeys,
                int64_t number) const;
  Value cacheOf(Side side) const { return side == Side::key ? keys : values; }
  SmallVector<Value> loadValues(Side side, Value tile, ValueRange pages,
                                bool isInside);
  SmallVector<Value> loadScales(Side side, Value tile, ValueRange pages,
                                bool isInside);
  SmallVector<Value> loadElementScales(Side side, Value tile, ValueRange pages,
                                       bool isInside);
  ElementScales scalesOfLane(Side side) const;
  /// Whether blocks of scales are looked up.
  bool looksUpScales() const;
  /// Look-ups that the tokens of a tile take: 1, 2 or one a token.
  int64_t lookups() const;

  ImplicitLocOpBuilder &b;
  Value keys, values;
  bool sharesTables;
  OutOfRange policy;
  LayoutAttr layout;
  PoolLayout shape;
  /// Whether scales are read.
  bool withScales;
  int64_t alignment;
  HeadCut keyCut, valueCut;
  Warp *warp = nullptr;
  Value batch, head, begin, end;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_CACHETILES_H
