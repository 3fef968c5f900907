//===- QueryTiles.h - The rows of a ragged batch, a few at a time --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYTILES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYTILES_H

#include "../KernelBuilder.h"
#include "../Tiles/Warp.h"

namespace mlir::kvcache {

/// A tile of rows: consecutive new tokens of a sequence, each with the query
/// heads of a group, tokens outermost.
struct QueryTile {
  /// `index`: the sequence and its first row in the tensors.
  Value sequence, firstRow;
  /// `i32`: the tile's first row among those of the sequence and the group, and
  /// one past the last of the sequence's.
  Value begin, end;
  /// Whether there is such a tile (`i1`).
  Value exists;
};

/// One past the last key that row `row` (`i32`) of a sequence sees, which has
/// `length` (`i32`) tokens before its new ones, `group` rows to each of these.
Value emitKeysEnd(ImplicitLocOpBuilder &b, Value length, Value row,
                  int64_t group);

/// A list of B + 1 unsigned offsets: rows `list[b]` to before `list[b + 1]` of
/// a tensor of tokens are of sequence b, others of none.
class RowOffsets {
public:
  /// `list` is the host's.
  RowOffsets(KernelBuilder &builder, Value list);

  /// On the host: B (`index`), which is 0 of a list without an entry, too.
  Value hostSequences() const { return onHost; }
  Value sequences() const { return inKernel; }

  /// Entry `number` (`index`).
  Value at(Value number);
  /// Whether row `row` (`index`) is of a sequence. There is a sequence.
  Value contain(Value row);

private:
  ImplicitLocOpBuilder &b;
  Value onHost, inKernel, list;
};

/// Tiles of `size` rows, `group` to a token. The tiles of sequence i start at
/// item floor(offsets[i] * group / size) + i: that leaves room for all of them.
class QueryTiles {
public:
  /// `rows` (host) are the tokens of the tensors, `offsets` the list of B + 1.
  QueryTiles(KernelBuilder &builder, Value rows, Value offsets, int64_t group,
             int64_t size);

  /// On the host: items of the batch, 0 where there are no rows.
  Value items() const { return hostItems; }

  /// The tile that is item `item` (`index`). All lanes of a warp ask together.
  QueryTile at(Value item, Warp &warp);

private:
  Value startOf(Value sequence);

  ImplicitLocOpBuilder &b;
  int64_t group, size;
  Value hostItems;
  RowOffsets offsets;
  /// In the kernel: tokens.
  Value rows;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYTILES_H
