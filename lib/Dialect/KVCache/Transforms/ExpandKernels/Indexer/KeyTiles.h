//===- KeyTiles.h - Keys of a sequence, 32 tokens at a time ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_KEYTILES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_KEYTILES_H

#include "../KernelBuilder.h"
#include "../Tiles/Warp.h"

namespace mlir::kvcache {

/// Calls `body` with the first byte and the bytes of a lane of each stretch of
/// a head: 16 bytes of 64 elements, 8 of 32, 4 of 16, as long as there are any.
void forStretches(int64_t headSize,
                  function_ref<void(int64_t first, int64_t bytes)> body);

/// Reads tiles of tokens, given by their first token `start` (`i32`): groups of
/// eight, of which a lane has a part of the key of token `row`, straight from
/// memory, and the scale of one token.
class KeyTiles {
public:
  static constexpr int64_t tokens = 32, groups = 4;

  /// Keys of a cache in the kernel.
  KeyTiles(ImplicitLocOpBuilder &b, Warp &warp, Value cache, OutOfRange policy);

  /// What is read: of sequence `batch` (`index`) the first `live` tokens
  /// (`i32`), where they may be.
  void setRow(Value batch, Value live);
  /// No token from `end` (`i32`) on is read.
  void limit(Value end);

  /// Blocks of the pages of a tile: of each group in the values' pool, then,
  /// where they have ids of their own, in the scales'. `before` are the blocks
  /// of the tile before, if there is one. Where there is no tile, numbers are
  /// zeros or, with `orPoison`, any.
  SmallVector<Value> lookUp(Value start, ValueRange before, bool orPoison);
  /// Vectors of words of the keys that are the lane's, group by group, the
  /// scale of the lane's token or, where it is not there, `otherScale`, and,
  /// under `skip`, whether it has one (`i1`). The same of keys that are
  /// not there.
  SmallVector<Value> load(Value start, ValueRange blocks, Value otherScale,
                          bool orPoison);
  /// Registers of each group, of the vectors that were loaded, in the unit that
  /// the chip decodes to.
  SmallVector<SmallVector<Value>> convert(ValueRange vectors);

  /// The token of the tile from `start` on that is the lane's.
  Value tokenOf(Value start);
  /// Whether `load` says which tokens have keys.
  bool checksBlocks() const { return policy == OutOfRange::skip; }

private:
  /// A token in the page of a group or, where pages are cut finer than groups,
  /// of the lane's token in it, held back to those that there are.
  Value pagedToken(Value start, int64_t group);
  /// Finds the lane's part of the key in slot `slot + row + slotAfter` of a
  /// block, `row` (may be null) being of the lane; what is returned loads it.
  std::function<SmallVector<Value>()> placeKey(Value block, Value slot,
                                               Value row, int64_t slotAfter);
  Value chooseByColumn(ArrayRef<Value> ofGroups);

  ImplicitLocOpBuilder &b;
  Warp &warp;
  Value cache;
  OutOfRange policy;
  LayoutAttr layout;
  int64_t headSize;
  /// Tokens from which on groups lie in one page: 1, or a multiple of 8.
  int64_t unit;
  bool ownBlocks;
  Value batch, live;
  /// Tokens before this one may be read (`i32`).
  Value readable;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_KEYTILES_H
