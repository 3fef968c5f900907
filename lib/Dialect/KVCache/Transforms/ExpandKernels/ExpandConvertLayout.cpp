//===- ExpandConvertLayout.cpp - The kernel of convert_layout ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "PageWork.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Blocks of the pools of `scope` in a collection.
static Value countBlocks(ImplicitLocOpBuilder &host, const PageScope &scope,
                         Value collection) {
  Value keys = GetKeyCacheOp::create(host, collection, Arith(host).index(0));
  Pool pool = scope.values ? Pool::values : Pool::scales;
  return NumBlocksOp::create(host, operandOf(host, keys, pool));
}

static void convert(ImplicitLocOpBuilder &host, ConvertLayoutOp op,
                    const PageScope &scope, Tuning tuning) {
  Value blocks = countBlocks(host, scope, scope.source);
  if (op.getPolicy() == OutOfRange::skip)
    blocks =
        Arith(host).minimum(blocks, countBlocks(host, scope, scope.target));
  emitForPieces(host, scope, [&](const PagePieces &pieces) {
    PageWork work(host, op, scope, pieces, tuning);
    PageKernel &kernel = work.kernel();
    work.launch(blocks, [&](Value block, auto forUnits) {
      PageItem item{Arith(kernel.b).toI32(block), Value()};
      forUnits(
          [&](const PagePiece &piece, ArrayRef<SmallVector<Value>> places) {
            SmallVector<Value> values;
            for (ArrayRef<Value> place : places)
              values.push_back(piece.load(kernel, item, place));
            for (auto [place, value] : llvm::zip_equal(places, values))
              piece.store(kernel, item, place, value);
          });
    });
  });
}

LogicalResult mlir::kvcache::expandConvertLayout(ConvertLayoutOp op,
                                                 Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  PageScope scope(op.getSource(), op.getTarget());
  scope.layers = op.getLayers();
  // Scales with ids of their own may have other numbers of blocks.
  if (!scope.targetLayout().hasOwnScalesTable()) {
    convert(host, op, scope, tuning);
    return success();
  }
  for (bool values : {true, false}) {
    scope.values = values;
    scope.scales = !values;
    convert(host, op, scope, tuning);
  }
  return success();
}
