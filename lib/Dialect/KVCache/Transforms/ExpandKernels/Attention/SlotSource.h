//===- SlotSource.h - Tokens of latents, by number or by slot ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SLOTSOURCE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SLOTSOURCE_H

#include "../KernelBuilder.h"
#include "../Tiles/Warp.h"

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

  /// Where a key lies: whether it is one (`i1`, null for always), and `i32`.
  struct Place {
    Value valid, block, slot, scaleBlock, scaleSlot;
  };
  /// Key `inTile` of tile `tile` (`i32`); `isWhole` says that no key of the
  /// tile is beyond the last.
  Place at(Value tile, Value inTile, bool isWhole);
  /// Its scale, in f32.
  Value scale(const Place &place);

  /// The thread's pieces of 16 bytes of a tile (see SharedTile), four registers
  /// each; zeros of what is no key.
  SmallVector<Value> load(Value tile, bool isWhole);
  int64_t wordCount() const { return 4 * perThread; }

private:
  Place placeOf(Value page, Value slot);
  std::pair<Value, Value> physical(unsigned list, Value token, Value &valid);
  SmallVector<Value> loadPiece(Value block, Value slot, Value chunk);

  ImplicitLocOpBuilder &b;
  Warp &warp;
  LayoutAttr layout;
  PoolLayout shape;
  OutOfRange policy;
  Value cache;
  SmallVector<Tensor> lists;
  int64_t tokens, threads, perToken, perThread;
  /// Whether the pieces of a tile follow one another in a page.
  bool isContiguous;
  bool looksUpScales;
  Value batch, end, row, listed;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SLOTSOURCE_H
