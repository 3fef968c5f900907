//===- SlotSource.h - Tokens of latents, by number or by slot ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SLOTSOURCE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SLOTSOURCE_H

#include "SharedTile.h"

#include "../KernelBuilder.h"

namespace mlir::kvcache {

/// The keys of a row of `kvcache.mla_decode`: tokens of a sequence, or those
/// that a list of slots names. Those beyond the last are taken to be that one.
class SlotSource {
public:
  /// On the host: the cache, and the lists of slots and of those of scales,
  /// `[T, K]`, where there are any. Tiles have `tokens` keys, read by `warps`
  /// warps.
  SlotSource(KernelBuilder &builder, Value keys, ValueRange slots,
             OutOfRange policy, Warp &warp, int64_t tokens, int64_t warps);

  /// Keys are tokens 0 to `end` (`i32`, at least 1) of sequence `batch`.
  void setSequence(Value batch, Value end);
  /// Keys are what row `row` (`index`) of the list names. Returns their number.
  Value setList(Value row);

  /// Key `inTile` of tile `tile` (`i32`): whether it is one (`i1`, null for
  /// always), and its scale in f32, null where there are none. `isWhole` says
  /// that no key of the tile is beyond the last.
  struct Key {
    Value valid, scale;
  };
  Key at(Value tile, Value inTile, bool isWhole);

  /// The thread's pieces of a tile (see TilePieces), four registers each; zeros
  /// of what is no key.
  SmallVector<Value> load(Value tile, bool isWhole);
  int64_t wordCount() const { return 4 * pieces.perThread(); }

private:
  /// Where a key lies, `i32`. The slot is negative where a list names none.
  struct Place {
    Value block, slot;
  };
  /// Key `inTile` of the tile from key `first` on, or the last one.
  Value keyAt(Value first, Value inTile, bool isWhole);
  Value blockOf(Pool pool, Value token);
  Value inPage(Value first, Value inTile, bool isWhole);
  /// What entry `key` of a list names. The block is of type `index` until it is
  /// checked: it may be more than 2^32.
  Place named(unsigned list, Value key);
  Place namedByAll(Value key);
  Value isNamed(Value slot);
  /// Traps, where the policy says so, at a block that a pool does not have.
  Place checked(Place place, Pool pool);
  SmallVector<Value> loadPiece(Value block, Value slot, Value chunk);

  ImplicitLocOpBuilder &b;
  Warp &warp;
  LayoutAttr layout;
  PoolLayout shape;
  OutOfRange policy;
  Value cache;
  SmallVector<Tensor> lists;
  int64_t tokens;
  TilePieces pieces;
  /// Whether a tile lies in one page, and its pieces follow one another there.
  bool isOfPage, isContiguous;
  bool looksUpScales;
  Value batch, end, row, listed;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SLOTSOURCE_H
