//===- MLADecodeKernel.h - Attention to latents ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_MLADECODEKERNEL_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_MLADECODEKERNEL_H

#include "LatentProducts.h"
#include "Partials.h"
#include "QueryRows.h"
#include "QueryTiles.h"
#include "SlotSource.h"
#include "SoftmaxState.h"

#include "../ExpandKernels.h"

namespace mlir::kvcache {

/// The kernel of `kvcache.mla_decode`: see ExpandMLADecode.cpp.
class MLADecodeKernel {
public:
  MLADecodeKernel(ImplicitLocOpBuilder &host, MLADecodeOp op, Tuning tuning);
  void emit();

private:
  using Values = SmallVector<Value>;

  /// Rows and warps of a block, tokens of a tile.
  static constexpr int64_t rowCount = LatentProducts::rows, warps = 4,
                           tokens = 32;

  /// Rows are the lane's, `row` and `row + 8`, tokens the lane's of the warp's
  /// eight; sums of values four of each step of eight elements.
  SoftmaxLanes lanes();
  /// `combine` over the warps of a number of each of the lane's rows.
  Values overWarps(ArrayRef<Value> ofRows, SoftmaxLanes::Combine combine);

  void emitRows(const QueryTile &rows, Value part);
  void loadQueries(const QueryTile &rows);
  /// Tiles `first` to before `stop`; `isWhole` says that all rows see all of
  /// their keys.
  SoftmaxState walk(Value first, Value stop, bool isWhole,
                    const SoftmaxState &initial);
  void multiplyTile(SoftmaxState &state, Value tile, ValueRange words,
                    function_ref<void()> loadNext, bool isWhole);
  /// The lane's tokens of the warp's eight: whether they are keys (empty where
  /// all are), and their scales (empty without scales).
  struct TokenScales {
    Values valid, scales;
  };
  TokenScales loadScales(Value tile, bool isWhole);
  SoftmaxTile scores(Value tile, bool isWhole);
  void store(const SoftmaxState &state, const QueryTile &rows, Value part);
  Value sharedFloats(int64_t byte, Value index);

  int64_t steps() const { return headSize / 16; }
  /// Elements of values that a warp has, and steps of eight of these.
  int64_t slice() const { return valueSize / warps; }
  int64_t outputSteps() const { return slice() / 8; }

  ImplicitLocOpBuilder &host;
  MLADecodeOp op;
  Tuning tuning;
  LayoutAttr layout;
  Type dtype, product;
  bool is8Bit, isSparse;
  int64_t headSize, valueSize, heads;
  /// Where in shared memory what starts.
  int64_t queriesAt, weightsAt, ofRowsAt, largestAt, sharedBytes;

  KernelBuilder *builder = nullptr;
  ImplicitLocOpBuilder *b = nullptr;
  std::optional<Warp> warp;
  std::optional<SharedTile> shared;
  std::optional<LatentProducts> products;
  std::optional<SlotSource> source;
  std::optional<RowResults> results;
  std::optional<QueryRows> queries;
  Tensor queryScales;
  /// f32; null where there is none.
  Value globalScale;
  double factor;
  /// What scores of the lane's rows are multiplied by; one past their last key.
  Values factors, ends;
  Value firstEnd;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_MLADECODEKERNEL_H
