//===- PairOrder.h - The order in which pairs are carried out ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair (source, destination) has to read its source before the pair that
// writes there, its parent, writes. No two pairs that count write one
// destination, so that pairs form trees, of which each parent comes after its
// children, and trees around a cycle. One worker takes a tree, from its root,
// or a cycle and what hangs on it, from a leader in it: the worker reads the
// leader's source first and writes it last, and so breaks the cycle. The tree
// is walked from leaves to the root without a stack, by the first child of a
// pair, its next sibling and its parent.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAIRORDER_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAIRORDER_H

#include "ExpandKernels.h"
#include "PageWork.h"

namespace mlir::kvcache {

/// The trees of `count` pairs in a workspace, in a kernel; pairs are `i32`.
class PairOrder {
public:
  enum Column { parent, child, sibling, start, columns };
  static_assert(columns == workspacePerPair);
  /// What `child` is without one, or where the pair does nothing; the other
  /// columns know `none` only.
  static constexpr int64_t none = -1, idle = -2;

  /// Columns of `count` entries each from entry `first` of `workspace` on; both
  /// are `index` values of the host, `first` may be null for 0.
  PairOrder(KernelBuilder &builder, const Tensor &workspace, Value first,
            Value count);

  /// An entry, as a rank-0 memref.
  Value view(Column column, Value pair);
  Value get(Column column, Value pair);
  void set(Column column, Value pair, Value value);

  /// Emits `body` for the pairs before `leader` in the order of its tree, and
  /// the walk from one to the next.
  void walk(Value leader, Value firstPair, function_ref<void(Value)> body);

  /// The pair with which the tree of `leader` begins.
  Value leaf(Value pair, Value leader);

private:
  /// The first of `pair` and its next sibling that is not `leader`.
  Value passLeader(Value pair, Value leader);

  ImplicitLocOpBuilder &b;
  Tensor workspace;
  Value first, count;
};

/// Entry `index` (`index`) of a list of `i32` in a kernel, as a rank-0 memref.
Value viewEntry(ImplicitLocOpBuilder &b, const Tensor &list, Value index);

/// Emits the kernels that order the pairs in `lists`, as `IdList` takes them.
void emitOrderPairs(ImplicitLocOpBuilder &host, Operation *op,
                    const PageScope &scope, ArrayRef<Value> lists,
                    Value workspace, OutOfRange policy, Tuning tuning);

/// Emits the kernel that finds the leaders and where they start, for the first
/// `pairs` pairs, from the other columns.
void emitFindStarts(ImplicitLocOpBuilder &host, Operation *op, Value workspace,
                    Value first, Value count, Value pairs, Tuning tuning);

/// Emits, in the work of an item, the moves of the tree that pair `leader`
/// (`index`) leads, if it leads one; `itemsOf` gives source and destination.
void emitOrderedMoves(
    PageWork &work, PairOrder &order, Value leader,
    function_ref<std::pair<PageItem, PageItem>(Value pair)> itemsOf,
    function_ref<void(PageWork::OnUnits)> forUnits);

/// Emits `body` for the thread's number in a grid of `count` (`index` on the
/// host) threads, and launches the kernel.
void launchThreads(ImplicitLocOpBuilder &host, KernelBuilder &builder,
                   Value count, int64_t threads,
                   function_ref<void(Value)> body);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_PAIRORDER_H
