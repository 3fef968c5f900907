//===- ExpandClearPages.cpp - The kernel of kvcache.clear_pages ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Instrument.h"
#include "ControlFlow.h"
#include "Destinations.h"
#include "KernelChecks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult mlir::kvcache::expandClearPages(ClearPagesOp op,
                                              Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  PageScope all(op.getCollection(), op.getCollection());
  all.layers = op.getLayers();
  // All checks come before anything is written.
  if (op->hasAttr(KVCacheDialect::getInstrumentAttrName()) &&
      op.getPolicy() != OutOfRange::skip)
    forEachScope(all, {op.getPages()},
                 [&](const PageScope &scope, ArrayRef<Value> lists) {
                   emitCheckIds(host, op, scope, lists, tuning);
                 });
  forEachScope(
      all, {op.getPages()}, [&](const PageScope &scope, ArrayRef<Value> lists) {
        emitForPieces(host, scope, [&](const PagePieces &pieces) {
          PageWork work(host, op, scope, pieces, tuning);
          PageKernel &kernel = work.kernel();
          IdList pages(work.builder(), lists, scope);
          work.launch(sizeOf(host, lists[0], 0), [&](Value page,
                                                     auto forUnits) {
            SmallVector<Value> ids = pages.read(page);
            emitIf(kernel.b, pages.areInside(kernel, ids, op.getPolicy()), [&] {
              PageItem item = pages.item(ids[0]);
              forUnits([&](const PagePiece &piece,
                           ArrayRef<SmallVector<Value>> places) {
                Value zero = arith::ConstantOp::create(
                    kernel.b, kernel.b.getZeroAttr(piece.type));
                for (ArrayRef<Value> place : places)
                  piece.store(kernel, item, place, zero);
              });
            });
          });
        });
      });
  return success();
}
