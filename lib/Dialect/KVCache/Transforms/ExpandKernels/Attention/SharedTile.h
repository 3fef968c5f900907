//===- SharedTile.h - Tokens of a cache in shared memory -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of f16 or bf16, one for each token. A row is cut into chunks of 16
// bytes. Eight lanes at a time write a piece of 16 bytes of the cache each,
// which is one chunk or, of values of 8 bits, two, written one after the other;
// eight lanes at a time read the same chunk of eight rows. For both to meet all
// banks, the chunks of such values are in groups of sixteen, of which those
// with even numbers come first, and the numbers in eight are swizzled (by xor)
// with the row.
//
// Of sixteen such values the first chunk has the pairs with even numbers, the
// second the odd ones: a lane, whose elements of fragments are pair `c` of
// either, has four successive elements then, of queries and of sums.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SHAREDTILE_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SHAREDTILE_H

#include "../Tiles/Warp.h"

namespace mlir::kvcache {

/// The pieces of 16 bytes of a tile, token by token: piece `thread + i *
/// threads` is a thread's i-th.
class TilePieces {
public:
  /// Tokens have `tokenBytes` bytes.
  TilePieces(ImplicitLocOpBuilder &b, Warp &warp, int64_t tokenBytes,
             int64_t tokens, int64_t warps);

  int64_t perThread() const { return count; }
  /// The number of a thread's piece `i`.
  Value numberOf(int64_t i);
  /// A thread's piece `i`, which is piece `inToken` (`i32`) of token `token`
  /// plus `further` of the tile. After `period` pieces all but `further`, a
  /// multiple of eight, comes again.
  struct Piece {
    Value token, inToken;
    int64_t further;
  };
  Piece at(int64_t i);
  int64_t period() const { return turn; }

private:
  ImplicitLocOpBuilder &b;
  Value thread;
  int64_t threads, perToken, count, turn;
};

class SharedTile {
public:
  /// The tile starts where `memory` does, dynamic shared memory of the block.
  /// `size` elements of `dtype` a token become values of `product`; of values
  /// a warp reads `slice` elements of each token, warp after warp.
  SharedTile(ImplicitLocOpBuilder &b, Warp &warp, Value memory, Type dtype,
             Type product, int64_t size, int64_t slice, int64_t tokens,
             int64_t warps);

  /// Bytes of `tokens` rows of `size` numbers.
  static int64_t bytesOf(int64_t size, int64_t tokens);

  /// The LLVM pointer to byte `byte` (`i32`) plus `constant`.
  Value at(Value byte, int64_t constant = 0);

  /// Pieces of a thread: see TilePieces.
  int64_t piecesPerThread() const { return pieceAt.size(); }

  /// Writes the thread's pieces: four registers each. Values of 8 bits are
  /// divided by `Words::decodedUnit`; where one of a piece is NaN, some value
  /// of it is.
  void store(ValueRange words);

  /// The lane's `pair`-th (0 or 1) pair of sixteen elements: where it starts.
  /// `column` is the lane's in a fragment.
  Value pairAt(Value column, int64_t pair);
  /// Whether the lane's pairs are neighbours.
  bool hasNeighbours() const { return is8Bit; }

  /// What ldmatrix takes: for the warp's eight tokens (warp by warp) elements
  /// `32 pair` and following, and, transposed, for tokens `16 half` and
  /// following elements `16 pair` and following of the warp's slice.
  Value keyMatrix(int64_t pair);
  Value valueMatrix(int64_t pair, int64_t half);

private:
  /// The byte of chunk `chunk` (`i32`) in row `row`.
  Value chunkAt(Value row, Value chunk);

  ImplicitLocOpBuilder &b;
  Type dtype, product;
  bool is8Bit;
  int64_t rowBytes;
  Value pointer;
  /// Pointers of the lane: by piece, by pair of steps in a group, by pair of
  /// steps of values.
  SmallVector<Value> pieceAt, keyAt, valueAt;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_SHAREDTILE_H
