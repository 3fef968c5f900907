//===- ScoreTiles.h - Scores of keys, a tile of tokens at a time ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_SCORETILES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_SCORETILES_H

#include "KeyTiles.h"

#include "../Attention/QueryRows.h"

#include <optional>

namespace mlir::kvcache {

/// The operands, on the host, of what scores keys.
struct ScoreInputs {
  /// `globalScale` may be null.
  Value queries, weights, source, offsets, globalScale;
  OutOfRange policy;
  bool causal;

  template <typename Op> static ScoreInputs of(Op op) {
    return {op.getQueries(), op.getWeights(),     op.getSource(),
            op.getOffsets(), op.getGlobalScale(), op.getPolicy(),
            op.getCausal()};
  }
  LayoutAttr layout() const { return getLayout(source.getType()); }
  int64_t heads() const {
    return cast<MemRefType>(queries.getType()).getDimSize(1);
  }
};

/// Which tiles are a warp's: every so many, so that tokens rise from turn to
/// turn of the block; or such as follow one another, which share lookups of a
/// page.
enum class TileOrder { rising, byWarp };

/// The scores of one row's keys. Tokens lie on the rows of mma.sync, heads of
/// the query on its columns; codes are converted to f16, exactly. Keys go from
/// memory straight into registers: a lane has 16 bytes of 64 elements, and
/// since those of the query are permuted alike the sum over them is the same.
/// The query waits in shared memory, as fragments. Where the chip has wgmma,
/// the warps of a warpgroup share its reads; each has tokens of its own all the
/// same.
class ScoreTiles {
public:
  /// Tokens of a tile, which a warp scores at once.
  static constexpr int64_t tokens = KeyTiles::tokens;

  /// Where the kernel does more than this, fewer registers are taken.
  ScoreTiles(KernelBuilder &builder, const ScoreInputs &inputs, int64_t warps,
             bool isAlone);

  /// Bytes of shared memory that the query takes.
  static int64_t sharedBytes(int64_t heads, int64_t headSize);

  /// The number of keys that row `row` (`index`) sees, at most `most`
  /// (`index`): i32. Comes first.
  Value begin(Value row, Value most);
  /// All threads of the block make the row's query ready.
  void stage();

  /// Emits `body` for the warp's tiles of those from `first` to before `end`
  /// (i32): with the lane's token (i32), its score, which means something only
  /// where the row sees the token, and what is carried from tile to tile.
  /// All warps of the block come together and equally often: the last tiles may
  /// be behind `end`, where that is no multiple of `warps` from `first` on; the
  /// row must not see tokens there.
  SmallVector<Value>
  forTiles(TileOrder order, Value first, Value end, ValueRange initial,
           function_ref<SmallVector<Value>(Value token, Value score,
                                           ValueRange carried)>
               body);

private:
  static constexpr int64_t groups = KeyTiles::groups;
  void takeQueries(KernelBuilder &builder);
  /// The score of the lane's token, of the keys and the token's scale.
  Value score(ArrayRef<SmallVector<Value>> keys, Value scale);
  /// Registers of pairs of f16, from the words of a key or a query.
  SmallVector<Value> convert(ValueRange words);
  /// Sums of each group over the lane's heads, by one form or the other.
  SmallVector<Value> sumByWarp(ArrayRef<SmallVector<Value>> keys);
  SmallVector<Value> sumByWarpgroup(ArrayRef<SmallVector<Value>> keys);
  /// Adds what a tile of heads (i32), two of them the lane's, adds to the sums.
  void addTile(ArrayRef<SmallVector<Value>> keys, Value tile,
               ArrayRef<Value> weights, MutableArrayRef<Value> sums);
  /// Adds what is positive of the scores of two heads, by head and group of
  /// tokens, times their weights to the sums of these groups.
  void addPositive(ArrayRef<SmallVector<Value>> scores, ArrayRef<Value> weights,
                   MutableArrayRef<Value> sums);
  /// The weights of the lane's two heads of a tile of heads; the same from
  /// shared memory, of any tile (i32).
  SmallVector<Value> weightsOf(int64_t tile);
  SmallVector<Value> loadWeights(Value tile);
  int64_t numTiles() const { return llvm::divideCeil(inputs.heads(), 8); }

  ImplicitLocOpBuilder &b;
  ScoreInputs inputs;
  LayoutAttr layout;
  int64_t warps, headSize;
  /// Tiles of heads that a warp multiplies by without a loop.
  int64_t tilesAtOnce;
  Warp warp;
  std::optional<KeyTiles> keys;
  /// Whether there is wgmma (i1); null where the block is no warpgroups.
  Value hasWgmma;
  Value cache, offsets;
  /// By accesses that types allow, and by wider ones, where the host finds rows
  /// to be `areAligned` (i1; null where types tell).
  std::optional<QueryRows> queries, alignedQueries;
  Value areAligned;
  Tensor weights;
  Value sharedQueries, sharedWeights;
  /// f32; null where there is none.
  Value globalScale;
  Value row, live;
  /// Weights of the lane's heads, where there are registers for them.
  SmallVector<Value> laneWeights;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_SCORETILES_H
