//===- ExpandAppend.cpp - The kernel of kvcache.append -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block takes whole rows, or a row takes a whole block: unit u of a row is
// its u-th vector and its u-th scale. Threads are a multiple of the units of a
// row where that fits, so that what a thread writes of a row is a constant of
// it.
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "Destinations.h"
#include "ExpandKernels.h"
#include "LastRows.h"
#include "RowUnits.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// One version of the kernel, for rows that start at multiples of a number of
/// bytes.
class AppendKernel {
public:
  AppendKernel(ImplicitLocOpBuilder &host, AppendOp op, Tuning tuning,
               int64_t rowAlignment);
  void emit(const LastRows &last);

private:
  void copyValues(unsigned target, Destination to, ValueRange at, Value unit);
  void copyScale(unsigned target, Destination to, ValueRange at, Value unit);

  ImplicitLocOpBuilder &host;
  AppendOp op;
  Tuning tuning;
  LayoutAttr layout;
  PoolLayout pool;
  bool hasScales;
  RowVectors vectors;
  /// In the kernel.
  ImplicitLocOpBuilder *b = nullptr;
  SmallVector<Value> caches;
  SmallVector<Tensor> sources, scales;
};

AppendKernel::AppendKernel(ImplicitLocOpBuilder &host, AppendOp op,
                           Tuning tuning, int64_t rowAlignment)
    : host(host), op(op), tuning(tuning),
      layout(kvcache::getLayout(op.getTargets().front().getType())),
      pool(PoolLayout::get(layout, Pool::values)),
      hasScales(!op.getScales().empty()),
      vectors(pool, op.getSources(), rowAlignment) {}

void AppendKernel::copyValues(unsigned target, Destination to, ValueRange at,
                              Value unit) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Tensor &source = sources[target];
  Value head, storage;
  std::tie(head, storage) = vectors.place(arith, unit);
  SmallVector<Value> indices(at);
  int64_t length = pool.inner;
  if (vectors.flat)
    length *= pool.heads;
  else
    indices.push_back(arith.toIndex(head));
  Value row = source.row(b, indices, length);
  auto type = VectorType::get({vectors.lanes}, source.elementType);
  Value value = vector::LoadOp::create(
      b, type, row, ValueRange{arith.toIndex(storage)}, /*nontemporal=*/false,
      llvm::MaybeAlign(vectors.lanes * source.elementBytes() <=
                               vectors.alignment
                           ? vectors.lanes * source.elementBytes()
                           : vectors.alignment));
  emitIf(b, to.valid, [&] {
    Value dim = arith.toIndex(arith.mul(storage, pool.elementsPerStorage));
    StoreInPageOp::create(b, convertFloat(b, value, pool.storageType),
                          operandOf(b, caches[target], Pool::values), to.block,
                          arith.toIndex(to.slot), arith.toIndex(head), dim,
                          /*tail=*/UnitAttr(),
                          b.getI64IntegerAttr(vectors.poolAlignment()));
  });
}

void AppendKernel::copyScale(unsigned target, Destination to, ValueRange at,
                             Value unit) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Tensor &source = scales[target];
  int64_t slots = layout.getScaleSlots();
  Value head = arith.div(unit, slots), slot = arith.rem(unit, slots);
  SmallVector<Value> indices(at);
  indices.push_back(arith.toIndex(head));
  Value row = source.row(b, indices, slots);
  emitIf(b, to.valid, [&] {
    Value scale =
        memref::LoadOp::create(b, row, ValueRange{arith.toIndex(slot)});
    StoreInPageOp::create(
        b, scale, operandOf(b, caches[target], Pool::scales), to.block,
        arith.toIndex(to.slot), arith.toIndex(head),
        arith.toIndex(arith.mul(slot, layout.getGranularity())),
        /*tail=*/UnitAttr(), /*alignment=*/IntegerAttr());
  });
}

void AppendKernel::emit(const LastRows &last) {
  SmallVector<Value> lead = AppendedRows::of(op).lead(host);
  Value rows = AppendedRows::count(host, lead);

  int64_t scaleUnits =
      hasScales ? layout.getNumHeads() * layout.getScaleSlots() : 0;
  RowUnits units(std::max(vectors.count, scaleUnits), tuning.threads,
                 tuning.chunks);
  KernelBuilder builder(host, op, units.threads, tuning.blocksPerSM,
                        tuning.maxBlocks);
  b = &builder.body();
  Arith arith(*b);

  for (Value target : op.getTargets())
    caches.push_back(builder.take(target));
  for (Value source : op.getSources())
    sources.push_back(builder.takeTensor(source, /*readOnly=*/true));
  for (Value source : op.getScales())
    scales.push_back(builder.takeTensor(source, /*readOnly=*/true));
  RowMap map(builder, op.getForm(), op.getRows(), lead, op.getPolicy());
  last.restrict(builder, map);

  // Keys and values of one layer of one collection share tables and blocks.
  bool together = RowMap::areTogether(op.getTargets());
  auto eachUnit = [&](Value thread, int64_t count,
                      function_ref<void(Value)> body) {
    units.forEach(*b, thread, count, body);
  };
  units.forEachRow(builder, rows, [&](Value row, Value thread) {
    SmallVector<Value> at = map.indices(row);
    auto write = [&](ArrayRef<unsigned> targets, Destinations to) {
      eachUnit(thread, vectors.count, [&](Value unit) {
        for (unsigned target : targets)
          copyValues(target, to.values, at, unit);
      });
      if (hasScales)
        eachUnit(thread, scaleUnits, [&](Value unit) {
          for (unsigned target : targets)
            copyScale(target, to.scales, at, unit);
        });
    };
    SmallVector<unsigned> all =
        llvm::to_vector(llvm::seq<unsigned>(caches.size()));
    if (together)
      return map.at(row, caches[0], hasScales,
                    [&](Destinations to) { write(all, to); });
    for (unsigned target : all)
      map.at(row, caches[target], hasScales,
             [&](Destinations to) { write(target, to); });
  });
  builder.launch(units.blocks(host, rows));
}

} // namespace

LogicalResult mlir::kvcache::expandAppend(AppendOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  SmallVector<Value> sources(op.getSources());
  remarkIndexWidth(op.getLoc(), op.getForm(), op.getRows(), op.getPolicy());
  LayoutAttr layout = kvcache::getLayout(op.getTargets().front().getType());
  remarkRowWidth(op.getLoc(), "appends", PoolLayout::get(layout, Pool::values),
                 op.getSources());
  bool isFlat = RowVectors(PoolLayout::get(layout, Pool::values),
                           op.getSources(), maxAccessBytes)
                    .flat;
  LastRows last(host, AppendedRows::of(op));
  last.emitFind(tuning);
  emitForAlignment(
      host, sources,
      [&](int64_t alignment) {
        AppendKernel(host, op, tuning, alignment).emit(last);
      },
      isFlat);
  return success();
}
