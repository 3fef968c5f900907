//===- SharedScales.h - Scales of all heads of a block --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SHAREDSCALES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SHAREDSCALES_H

#include "CacheTiles.h"

namespace mlir::kvcache {

/// The scales of tiles of 16 tokens, for blocks of a warp for each of eight
/// heads. Scales of the heads of a token lie side by side, eight of f32 in the
/// 32 bytes that memory gives at least: the first warp loads those of the keys,
/// the second one those of the values, and all read theirs in shared memory.
class SharedScales {
public:
  /// Heads, and warps, of a block.
  static constexpr int64_t heads = 8;

  /// Whether the layout has them so.
  static bool suits(LayoutAttr layout);

  SharedScales(KernelBuilder &builder, Value keys, Value values,
               OutOfRange policy);

  /// What is read: of sequence `batch` and the heads from `head` (`index`) on,
  /// tokens from `begin` to before `end` (`i32`), which are some.
  void setRange(Warp &warp, Value batch, Value head, Value begin, Value end);

  /// What a lane carries: its scales of the tile that comes, and the block of
  /// its token in the one after it.
  SmallVector<Type> types() const;
  /// The same for `tile` (`i32`) and the one after it, which are read where
  /// they are before `stop`; all tokens may be.
  SmallVector<Value> begin(Value tile, Value stop);
  /// For the next tile, `tile`.
  SmallVector<Value> advance(ValueRange carried, Value tile, Value stop);
  /// Puts what is carried for a tile where all warps find it. All warps come.
  void publish(ValueRange carried);
  /// The same for a tile of which some tokens may not be read, at once.
  void loadEdge(Value tile);
  /// Scales that the lane multiplies, of tokens `row` and `row + 8` of the tile
  /// that was published or loaded last, granule by granule.
  SmallVector<Value> read(Side side);

private:
  Value cacheOf(Side side) const { return side == Side::key ? keys : values; }
  Value tokenOf(Value tile, bool isInside);
  /// The block of the lane's token.
  Value lookUp(Side side, Value tile, bool isInside);
  SmallVector<Value> load(Side side, Value block, Value tile, bool isInside);
  /// What `make` gives in the warps that load, where `condition` (may be null)
  /// holds; else `otherwise`.
  SmallVector<Value> ofLoaders(Value condition, TypeRange types,
                               function_ref<SmallVector<Value>(Side)> make,
                               ValueRange otherwise);
  void put(ValueRange scales);

  ImplicitLocOpBuilder &b;
  Value keys, values;
  OutOfRange policy;
  LayoutAttr layout;
  PoolLayout pool;
  int64_t granules;
  Value memory;
  Warp *warp = nullptr;
  Value batch, head, first, end;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SHAREDSCALES_H
