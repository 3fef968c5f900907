//===- ExpandMovePages.cpp - Kernels of copy_pages and move_tokens -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Instrument.h"
#include "ControlFlow.h"
#include "Destinations.h"
#include "KernelChecks.h"
#include "PairOrder.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Emits the moves of pairs that do not depend on one another.
static void emitDisjointMoves(PageWork &work, IdList &ids, Value pair,
                              OutOfRange policy,
                              function_ref<void(PageWork::OnUnits)> forUnits) {
  PageKernel &kernel = work.kernel();
  SmallVector<Value> mine = ids.read(pair);
  emitIf(kernel.b, ids.areInside(kernel, mine, policy), [&] {
    PageItem source = ids.item(mine[0]), target = ids.item(mine[1]);
    forUnits([&](const PagePiece &piece, ArrayRef<SmallVector<Value>> places) {
      SmallVector<Value> values;
      for (ArrayRef<Value> place : places)
        values.push_back(piece.load(kernel, source, place));
      for (auto [place, value] : llvm::zip_equal(places, values))
        piece.store(kernel, target, place, value);
    });
  });
}

/// Expands an operation that moves items of `scope`; `lists` are pairs, or
/// sources and destinations.
template <typename Op>
static LogicalResult expandMoves(Op op, PageScope all,
                                 ArrayRef<OperandRange> lists,
                                 Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  Value workspace = op.getWorkspace();
  // All checks come before anything is written.
  if (op->hasAttr(KVCacheDialect::getInstrumentAttrName()))
    forEachScope(all, lists,
                 [&](const PageScope &scope, ArrayRef<Value> lists) {
                   if (op.getPolicy() != OutOfRange::skip)
                     emitCheckIds(host, op, scope, lists, tuning);
                   if (!workspace)
                     emitCheckDisjoint(host, op, scope, lists, tuning);
                 });
  if (all.layers && all.layers->empty())
    return success();
  forEachScope(all, lists, [&](const PageScope &scope, ArrayRef<Value> lists) {
    Value count = sizeOf(host, lists[0], 0);
    if (workspace)
      emitOrderPairs(host, op, scope, lists, workspace, op.getPolicy(), tuning);
    emitForPieces(host, scope, [&](const PagePieces &pieces) {
      PageWork work(host, op, scope, pieces, tuning);
      IdList ids(work.builder(), lists, scope);
      std::optional<PairOrder> order;
      if (workspace)
        order.emplace(work.builder(),
                      work.builder().takeTensor(workspace, /*readOnly=*/true),
                      Value(), count);
      work.launch(count, [&](Value pair, auto forUnits) {
        if (!order)
          return emitDisjointMoves(work, ids, pair, op.getPolicy(), forUnits);
        auto itemsOf = [&](Value pair) {
          SmallVector<Value> mine = ids.read(pair);
          PageItem source = ids.item(mine[0]);
          return std::pair(source, ids.item(mine[1]));
        };
        emitOrderedMoves(work, *order, pair, itemsOf, forUnits);
      });
    });
  });
  return success();
}

LogicalResult mlir::kvcache::expandCopyPages(CopyPagesOp op, Tuning defaults) {
  PageScope scope(op.getCollection(), op.getCollection());
  scope.layers = op.getLayers();
  return expandMoves(op, scope, {op.getPairs()}, defaults);
}

LogicalResult mlir::kvcache::expandMoveTokens(MoveTokensOp op,
                                              Tuning defaults) {
  PageScope scope(op.getCollection(), op.getCollection());
  scope.tokens = true;
  scope.layers = op.getLayers();
  return expandMoves(op, scope, {op.getSources(), op.getDestinations()},
                     defaults);
}
