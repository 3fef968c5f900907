//===- ExpandAppendScales.cpp - The kernel of kvcache.append_scales ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "Destinations.h"
#include "ExpandKernels.h"
#include "LastRows.h"
#include "RowUnits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Emits one version of the kernel, for rows that start at multiples of
/// `rowAlignment` bytes.
static void emitAppendScales(ImplicitLocOpBuilder &host, AppendScalesOp op,
                             Tuning tuning, const LastRows &last,
                             int64_t rowAlignment) {
  LayoutAttr layout = getLayout(op.getTargets().front().getType());
  PoolLayout pool = PoolLayout::get(layout, Pool::scales);
  RowVectors vectors(pool, op.getScales(), rowAlignment);
  if (layout.getSwizzle() != ScaleSwizzle::none) {
    // Neighbours do not lie side by side.
    vectors.flat = false;
    vectors.lanes = 1;
    vectors.count = pool.heads * pool.inner;
  }
  RowUnits units(vectors.count, tuning.threads);
  KernelBuilder builder(host, op, units.threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  ImplicitLocOpBuilder &b = builder.body();

  SmallVector<Value> lead = AppendedRows::of(op).lead(host), caches;
  Value rows = AppendedRows::count(host, lead);
  for (Value target : op.getTargets())
    caches.push_back(builder.take(target));
  SmallVector<Tensor> sources;
  for (Value source : op.getScales())
    sources.push_back(builder.takeTensor(source, /*readOnly=*/true));
  RowMap map(builder, op.getForm(), op.getRows(), lead, op.getPolicy());
  last.restrict(builder, map);

  units.forEachRow(builder, rows, [&](Value row, Value thread) {
    SmallVector<Value> at = map.indices(row);
    map.atAll(
        row, caches, op.getTargets(), /*needScales=*/true,
        [&](unsigned target, Destinations to) {
          units.forEach(b, thread, vectors.count, [&](Value unit) {
            Arith arith(b);
            Value head, scale;
            std::tie(head, scale) = vectors.place(arith, unit);
            SmallVector<Value> indices(at);
            if (!vectors.flat)
              indices.push_back(arith.toIndex(head));
            const Tensor &source = sources[target];
            Value from = source.row(b, indices,
                                    vectors.flat ? pool.rowSize() : pool.inner);
            int64_t bytes = vectors.poolAlignment();
            Value value = vector::LoadOp::create(
                b, VectorType::get({vectors.lanes}, source.elementType), from,
                ValueRange{arith.toIndex(scale)}, /*nontemporal=*/false,
                llvm::MaybeAlign(std::min(bytes, vectors.alignment)));
            if (vectors.lanes == 1)
              value = vector::ExtractOp::create(b, value, 0);
            // Scales that count on over heads are those of elements that do.
            if (vectors.flat) {
              head = arith.div(scale, pool.inner);
              scale = arith.rem(scale, pool.inner);
            }
            emitIf(b, to.scales.valid, [&] {
              StoreInPageOp::create(
                  b, value, operandOf(b, caches[target], Pool::scales),
                  to.scales.block, arith.toIndex(to.scales.slot),
                  arith.toIndex(head),
                  arith.toIndex(arith.mul(scale, pool.elementsPerStorage)),
                  /*tail=*/UnitAttr(),
                  pool.isAligned() ? b.getI64IntegerAttr(bytes)
                                   : IntegerAttr());
            });
          });
        },
        /*needValues=*/false);
  });
  builder.launch(units.blocks(host, rows));
}

LogicalResult mlir::kvcache::expandAppendScales(AppendScalesOp op,
                                                Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  SmallVector<Value> scales(op.getScales());
  remarkIndexWidth(op.getLoc(), op.getForm(), op.getRows(), op.getPolicy());
  LayoutAttr layout = getLayout(op.getTargets().front().getType());
  if (layout.getSwizzle() == ScaleSwizzle::none)
    remarkRowWidth(op.getLoc(), "appends scales",
                   PoolLayout::get(layout, Pool::scales), op.getScales());
  LastRows last(host, AppendedRows::of(op));
  last.emitFind(tuning);
  emitForAlignment(host, scales, [&](int64_t alignment) {
    emitAppendScales(host, op, tuning, last, alignment);
  });
  return success();
}
