//===- ExpandGather.cpp - The kernel of kvcache.gather -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of threads takes a page: one lookup of the tables serves all of its
// rows. Threads of a group are a multiple of the vectors of a row, so that what
// of a row is a thread's does not change from row to row. Rows that hold tokens
// are copied, several at a time while there are as many; then come rows of
// zeros.
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "ExpandKernels.h"
#include "GatherPages.h"
#include "Numbers.h"
#include "PageCut.h"
#include "RowUnits.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// One version of the kernel, for rows of tensors that start at multiples of a
/// number of bytes.
class GatherKernel {
public:
  GatherKernel(ImplicitLocOpBuilder &host, GatherOp op, Tuning tuning,
               int64_t rowAlignment);
  void emit();

private:
  /// What a thread has read of a row.
  struct Chunk {
    Value codes;
    /// One for each run of elements that surely share one.
    SmallVector<Value> scales;
  };
  /// The vector of a row that is a thread's.
  struct Column {
    const Stretch &stretch;
    /// `i32`: the head, and the element (of a pool's storage) in it.
    Value head, storage;
    /// `index`: bytes from the start of the tensor, in the page's first row.
    Value place;
  };

  void copyColumn(const Column &column, const GatherPage &page, Value firstRow,
                  int64_t rowStep);
  Chunk load(const Column &column, const GatherPage &page, Value row);
  Value convert(const Column &column, const Chunk &chunk);
  const Tensor &tensorOf(const Stretch &stretch) const {
    return stretch.pool == Pool::scales ? scalesOut : out;
  }
  Value placeOf(const Column &column, const GatherPage &page);
  void store(const Column &column, Value row, Value numbers);
  /// Elements that share a scale from a multiple of a vector's elements on.
  int64_t scaleRun(const Stretch &stretch) const;

  ImplicitLocOpBuilder &host;
  GatherOp op;
  Tuning tuning;
  LayoutAttr layout;
  SmallVector<Stretch> stretches;
  PageCut cut;
  /// In the kernel.
  ImplicitLocOpBuilder *b = nullptr;
  Value cache, globalScale;
  Tensor out, scalesOut;
};

/// The parts of a row that are copied, the codes first.
SmallVector<Stretch> stretchesOf(GatherOp op, int64_t rowAlignment) {
  auto type = op.getSource().getType();
  LayoutAttr layout = kvcache::getLayout(type);
  Side side = cast<CacheType>(type).getSide();
  SmallVector<Stretch> stretches = {
      Stretch(layout, Pool::values, side, op.getOut(), rowAlignment)};
  if (layout.getRope())
    stretches.push_back(
        Stretch(layout, Pool::tail, side, op.getOut(), rowAlignment));
  // Of scales there are few; they are written one by one.
  if (op.getScales())
    stretches.push_back(Stretch(layout, Pool::scales, side, op.getScales(),
                                /*rowAlignment=*/4));
  return stretches;
}

GatherKernel::GatherKernel(ImplicitLocOpBuilder &host, GatherOp op,
                           Tuning tuning, int64_t rowAlignment)
    : host(host), op(op), tuning(tuning),
      layout(kvcache::getLayout(op.getSource().getType())),
      stretches(stretchesOf(op, rowAlignment)),
      cut(stretches.front().columns(), layout.getPageSize(), tuning) {}

int64_t GatherKernel::scaleRun(const Stretch &stretch) const {
  return layout.getScaleSlots() == 1
             ? stretch.numbers
             : std::gcd(stretch.numbers, layout.getGranularity());
}

GatherKernel::Chunk GatherKernel::load(const Column &column,
                                       const GatherPage &page, Value row) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Stretch &stretch = column.stretch;
  Value slot = arith.toIndex(row), head = arith.toIndex(column.head);
  auto read = [&](Pool pool, Type type, Value dim) -> Value {
    bool scales = pool == Pool::scales;
    return LoadInPageOp::create(
        b, type, operandOf(b, cache, scales ? pool : Pool::values),
        scales ? page.scalesBlock : page.block, slot, head, arith.toIndex(dim),
        pool == Pool::tail ? b.getUnitAttr() : UnitAttr(),
        pool == stretch.pool ? b.getI64IntegerAttr(stretch.poolAlignment())
                             : IntegerAttr());
  };
  Value dim = arith.mul(column.storage, stretch.shape.elementsPerStorage);
  Chunk chunk;
  chunk.codes =
      read(stretch.pool,
           VectorType::get({stretch.lanes}, stretch.shape.storageType), dim);
  if (stretch.pool != Pool::values || !layout.isQuantized())
    return chunk;

  Type scale = layout.getScaleDtype();
  int64_t run = scaleRun(stretch), runs = stretch.numbers / run;
  // Scales of whole granules lie side by side.
  if (runs > 1 && run == layout.getGranularity()) {
    Value all = read(Pool::scales, VectorType::get({runs}, scale), dim);
    all = convertFloat(b, all, b.getF32Type());
    for (int64_t i = 0; i < runs; ++i)
      chunk.scales.push_back(vector::ExtractOp::create(b, all, i));
  } else {
    for (int64_t i = 0; i < runs; ++i)
      chunk.scales.push_back(
          convertFloat(b, read(Pool::scales, scale, arith.add(dim, i * run)),
                       b.getF32Type()));
  }
  if (globalScale)
    for (Value &number : chunk.scales)
      number = arith::MulFOp::create(b, number, globalScale);
  return chunk;
}

Value GatherKernel::convert(const Column &column, const Chunk &chunk) {
  ImplicitLocOpBuilder &b = *this->b;
  const Stretch &stretch = column.stretch;
  Type element = stretch.outType;
  if (chunk.scales.empty())
    return convertFloat(b, chunk.codes, element);
  Value codes = chunk.codes;
  if (stretch.shape.elementsPerStorage == 2)
    codes = vector::BitCastOp::create(
        b,
        VectorType::get({stretch.numbers},
                        Float4E2M1FNType::get(b.getContext())),
        codes);
  Value numbers = convertFloat(b, codes, b.getF32Type());
  auto type = cast<VectorType>(numbers.getType());
  Value scales;
  if (chunk.scales.size() == 1) {
    scales = vector::BroadcastOp::create(b, type, chunk.scales.front());
  } else {
    SmallVector<Value> lanes;
    for (Value scale : chunk.scales)
      lanes.append(scaleRun(stretch), scale);
    scales = vector::FromElementsOp::create(b, type, lanes);
  }
  return convertFloat(b, arith::MulFOp::create(b, numbers, scales), element);
}

Value GatherKernel::placeOf(const Column &column, const GatherPage &page) {
  Arith arith(*b);
  const Stretch &stretch = column.stretch;
  const Tensor &tensor = tensorOf(stretch);
  Value first =
      arith.add(arith.mul(column.storage, stretch.numbers / stretch.lanes),
                stretch.firstNumber);
  Value place =
      arith.add(arith.mul(arith.toIndex(column.head), tensor.strides.back()),
                arith.toIndex(first));
  for (auto [index, stride] : llvm::zip(page.lead, tensor.strides))
    place = arith.add(place, arith.mul(index, stride));
  return arith.mul(place, tensor.elementBytes());
}

void GatherKernel::store(const Column &column, Value row, Value numbers) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Stretch &stretch = column.stretch;
  const Tensor &tensor = tensorOf(stretch);
  Value rowStride = tensor.strides[tensor.strides.size() - 2];
  Value offset = arith.add(
      column.place, arith.mul(arith.toIndex(row),
                              arith.mul(rowStride, tensor.elementBytes())));
  Value view = ByteViewOp::create(
      b, MemRefType::get({stretch.numbers}, tensor.elementType), tensor.base,
      offset);
  int64_t piece =
      std::min(stretch.numbers, Stretch::maxBytes / tensor.elementBytes());
  for (int64_t at = 0; at < stretch.numbers; at += piece) {
    Value part = numbers;
    if (piece != stretch.numbers)
      part = vector::ExtractStridedSliceOp::create(b, numbers, at, piece, 1);
    vector::StoreOp::create(b, part, view, ValueRange{arith.index(at)},
                            /*nontemporal=*/false,
                            llvm::MaybeAlign(piece * tensor.elementBytes()));
  }
}

void GatherKernel::copyColumn(const Column &column, const GatherPage &page,
                              Value firstRow, int64_t rowStep) {
  ImplicitLocOpBuilder &b = *this->b;
  int64_t most = llvm::divideCeil(layout.getPageSize(), rowStep);
  // `row` on while `count` rows from it on, `rowStep` apart, are before `end`.
  auto whileRows = [&](Value row, int64_t count, Value end,
                       function_ref<void(ArrayRef<Value>)> body) -> Value {
    auto loop = scf::WhileOp::create(
        b, TypeRange{b.getI32Type()}, ValueRange{row},
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          ImplicitLocOpBuilder inner(loc, nested);
          Arith arith(inner);
          Value last = arith.add(args[0], (count - 1) * rowStep);
          scf::ConditionOp::create(inner, arith.less(last, end), args);
        },
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
          Arith arith(b);
          SmallVector<Value> rows;
          for (int64_t i = 0; i < count; ++i)
            rows.push_back(arith.add(args[0], i * rowStep));
          body(rows);
          scf::YieldOp::create(b, arith.add(args[0], count * rowStep));
        });
    return loop.getResult(0);
  };
  auto copy = [&](ArrayRef<Value> rows) {
    SmallVector<Chunk> chunks;
    for (Value row : rows)
      chunks.push_back(load(column, page, row));
    for (auto [row, chunk] : llvm::zip(rows, chunks))
      store(column, row, convert(column, chunk));
  };
  int64_t together = std::min(tuning.chunks, most);
  Value row = firstRow;
  if (together > 1)
    row = whileRows(row, together, page.copied, copy);
  row = whileRows(row, 1, page.copied, copy);
  auto zeros = b.getZeroAttr(
      VectorType::get({column.stretch.numbers}, column.stretch.outType));
  whileRows(row, 1, page.rows, [&](ArrayRef<Value> rows) {
    store(column, rows[0], arith::ConstantOp::create(b, zeros));
  });
}

void GatherKernel::emit() {
  KernelBuilder builder(host, op, cut.threads(), tuning.blocksPerSM);
  b = &builder.body();
  GatherPages pages(builder, op, cut);
  cache = builder.take(op.getSource());
  out = builder.takeTensor(op.getOut(), /*readOnly=*/false);
  if (op.getScales())
    scalesOut = builder.takeTensor(op.getScales(), /*readOnly=*/false);
  if (op.getGlobalScale())
    globalScale = memref::LoadOp::create(
        *b, builder.takeTensor(op.getGlobalScale(), /*readOnly=*/true).base,
        ValueRange());

  bool readsScales = layout.isQuantized();
  pages.forPage(cache, readsScales, [&](const GatherPage &page) {
    for (const Stretch &stretch : stretches)
      cut.forColumns(
          *b, page.lane, page.slice, stretch.columns(),
          [&](Value at, Value firstRow, int64_t rowStep) {
            Arith arith(*b);
            bool one = stretch.shape.heads == 1;
            Value vector = one ? at : arith.rem(at, stretch.perHead());
            Column column = {
                stretch, one ? arith.i32(0) : arith.div(at, stretch.perHead()),
                arith.mul(vector, stretch.lanes), Value()};
            column.place = placeOf(column, page);

            copyColumn(column, page, firstRow, rowStep);
          });
  });
  builder.launch(pages.blocks());
}

} // namespace

LogicalResult mlir::kvcache::expandGather(GatherOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  emitForAlignment(host, {op.getOut()}, [&](int64_t alignment) {
    GatherKernel(host, op, tuning, alignment).emit();
  });
  return success();
}
