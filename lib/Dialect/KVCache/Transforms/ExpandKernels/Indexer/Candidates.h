//===- Candidates.h - The best of a row of scores ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_CANDIDATES_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_CANDIDATES_H

#include "../KernelBuilder.h"

namespace mlir::kvcache {

/// The rank of a score (f32): an i32 that is less, unsigned, the greater the
/// score is. Zeros have one rank, NaNs the last.
Value emitRank(ImplicitLocOpBuilder &b, Value score);
/// The score of a rank.
Value emitScoreOf(ImplicitLocOpBuilder &b, Value rank);

/// The candidates for the best `k` of a row, which the threads of a block keep
/// in shared memory. They are ordered by rank and, of one rank, by index, so
/// that no two are equal and the result depends on nothing else.
///
/// All threads of the block come to every call. Candidates come in rising order
/// of indices, but for those that come between two calls of `makeRoom`.
class Candidates {
public:
  /// `threads` is a power of two from 64 to 512; between two calls of
  /// `makeRoom` at most `step` candidates come. Other things take `otherBytes`
  /// of the block's shared memory.
  Candidates(KernelBuilder &builder, int64_t k, int64_t threads, int64_t step,
             int64_t otherBytes = 0);

  /// There are none. Returns the limit of ranks (i32): who is past it is none
  /// of the best.
  Value begin();

  struct Item {
    /// i32, i32, and whether it is a candidate at all (i1).
    Value rank, index, wanted;
  };
  /// What `make` emits where `condition` (i1) holds, else an item that is not
  /// wanted, of rank and index -1.
  Item itemIf(Value condition, function_ref<Item()> make);
  /// Adds what is wanted of a thread's items and is not past `limit`.
  void append(ArrayRef<Item> items, Value limit);

  /// Thins the candidates out to the best where there is no room for another
  /// step. Returns the limit.
  Value makeRoom(Value limit);

  /// Calls `body` for the places from 0 to `k` that are the thread's, with the
  /// rank and the index of what is best there, -1 and -1 where there is none.
  void finish(function_ref<void(Value place, Value rank, Value index)> body);

private:
  /// A prefix of (rank, index): candidates are at or before it.
  struct Bound {
    Value rank, rankMask, index, indexMask;
  };
  /// Places in `state`.
  enum { count, bin, need, binCount, warpTotals };

  Value load(Value memory, Value at);
  void store(Value value, Value memory, Value at);
  Value loadState(int64_t at);
  void storeState(Value value, int64_t at);
  Value atomicAdd(Value value, Value memory, Value at);
  /// The bound of the best `k` of `have` (i32) candidates, which are more.
  Bound select(Value have);
  /// Where bin `number` lies: the bins of a thread are vectors, those of all
  /// threads side by side.
  Value binPlace(Value number);
  Value isWithin(const Bound &bound, Value rank, Value index);
  /// Keeps the best `k` of `have`; returns the limit.
  Value keepBest(Value have);
  /// Sorts the elements of all threads: ranks, then indices.
  SmallVector<Value> sort(ValueRange elements);
  void appendWanted(ArrayRef<Item> items);

  ImplicitLocOpBuilder &b;
  int64_t k, threads, step, capacity;
  /// Elements to sort, a power of two, and those of a thread.
  int64_t sorted, perThread;
  Value ranks, indices, bins, state;
  Value thread, lane, warp;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_CANDIDATES_H
