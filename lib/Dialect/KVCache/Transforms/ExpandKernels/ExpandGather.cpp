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

#include "ControlFlow.h"
#include "Destinations.h"
#include "GatherKernel.h"
#include "RowUnits.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// The parts of a row that are copied, the codes first.
static SmallVector<Stretch> stretchesOf(GatherOp op, int64_t rowAlignment) {
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

Value GatherKernel::read(Pool pool, Type type, const Column &column,
                         const GatherPage &page, Value row, Value dim) {
  Arith arith(*b);
  bool scales = pool == Pool::scales;
  const Stretch &stretch = column.stretch;
  return LoadInPageOp::create(
      *b, type, operandOf(*b, cache, scales ? pool : Pool::values),
      scales ? page.scalesBlock : page.block, arith.toIndex(row),
      arith.toIndex(column.head), arith.toIndex(dim),
      pool == Pool::tail ? b->getUnitAttr() : UnitAttr(),
      pool == stretch.pool ? b->getI64IntegerAttr(stretch.poolAlignment())
                           : IntegerAttr());
}

Value GatherKernel::loadCodes(const Column &column, const GatherPage &page,
                              Value row) {
  const Stretch &stretch = column.stretch;
  Value dim = Arith(*b).mul(column.storage, stretch.shape.elementsPerStorage);
  return read(stretch.pool,
              VectorType::get({stretch.lanes}, stretch.shape.storageType),
              column, page, row, dim);
}

SmallVector<Value> GatherKernel::loadScales(const Column &column,
                                            const GatherPage &page, Value row) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Stretch &stretch = column.stretch;
  SmallVector<Value> numbers;
  if (stretch.pool != Pool::values || !layout.isQuantized())
    return numbers;
  Value dim = arith.mul(column.scaled, stretch.shape.elementsPerStorage);
  Type scale = layout.getScaleDtype();
  int64_t run = scaleRun(stretch), runs = stretch.numbers / run;
  // Scales of whole granules lie side by side.
  if (runs > 1 && run == layout.getGranularity()) {
    Value all = read(Pool::scales, VectorType::get({runs}, scale), column, page,
                     row, dim);
    all = convertFloat(b, all, b.getF32Type());
    for (int64_t i = 0; i < runs; ++i)
      numbers.push_back(vector::ExtractOp::create(b, all, i));
  } else {
    for (int64_t i = 0; i < runs; ++i)
      numbers.push_back(convertFloat(
          b,
          read(Pool::scales, scale, column, page, row, arith.add(dim, i * run)),
          b.getF32Type()));
  }
  if (globalScale)
    for (Value &number : numbers)
      number = arith::MulFOp::create(b, number, globalScale);
  return numbers;
}

Value GatherKernel::convert(const Column &column, Value codes,
                            ArrayRef<Value> given, bool exact) {
  ImplicitLocOpBuilder &b = *this->b;
  const Stretch &stretch = column.stretch;
  Type element = stretch.outType;
  if (given.empty())
    return convertFloat(b, codes, element);
  if (stretch.shape.elementsPerStorage == 2)
    codes = vector::BitCastOp::create(
        b,
        VectorType::get({stretch.numbers},
                        Float4E2M1FNType::get(b.getContext())),
        codes);
  Value numbers = convertFloat(b, codes, b.getF32Type());
  auto type = cast<VectorType>(numbers.getType());
  Value scales;
  if (given.size() == 1) {
    scales = vector::BroadcastOp::create(b, type, given.front());
  } else {
    SmallVector<Value> lanes;
    for (Value scale : given)
      lanes.append(scaleRun(stretch), scale);
    scales = vector::FromElementsOp::create(b, type, lanes);
  }
  auto flags = arith::FastMathFlags::none;
  if (!exact)
    flags = arith::FastMathFlags::reassoc | arith::FastMathFlags::nnan;
  return convertFloat(b, arith::MulFOp::create(b, numbers, scales, flags),
                      element);
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
  int64_t piece = stretch.perStore;
  for (int64_t at = 0; at < stretch.numbers; at += piece) {
    Value part = numbers;
    if (piece != stretch.numbers)
      part = vector::ExtractStridedSliceOp::create(b, numbers, at, piece, 1);
    vector::StoreOp::create(b, part, view, ValueRange{arith.index(at)},
                            /*nontemporal=*/false,
                            llvm::MaybeAlign(piece * tensor.elementBytes()));
  }
}

bool GatherKernel::hasDoubts(const Stretch &stretch) const {
  return stretch.pool == Pool::values && layout.isQuantized() &&
         isa<Float8E4M3FNType>(layout.getDtype());
}

/// The top bit of each byte tells of a code that is NaN, the topmost also of a
/// scale beyond the limit; other bits mean nothing.
Value GatherKernel::addDoubts(Value doubts, ArrayRef<Value> codes,
                              ArrayRef<SmallVector<Value>> scales) {
  if (!doubts)
    return doubts;
  ImplicitLocOpBuilder &b = *this->b;
  Type i32 = b.getI32Type();
  auto number = [&](Value like, uint32_t bits) -> Value {
    auto attr = b.getI32IntegerAttr(static_cast<int32_t>(bits));
    if (auto vector = dyn_cast<VectorType>(like.getType()))
      return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, attr));
    return arith::ConstantOp::create(b, attr);
  };
  auto both = [&](Value value, uint32_t bits) -> Value {
    return arith::AndIOp::create(b, value, number(value, bits));
  };
  auto either = [&](Value bits) {
    doubts = arith::OrIOp::create(b, doubts, bits);
  };
  for (Value code : codes) {
    int64_t lanes = cast<VectorType>(code.getType()).getDimSize(0);
    Value words = code;
    if (lanes % 4 != 0) {
      auto bytes = VectorType::get({lanes}, b.getI8Type());
      auto wide = VectorType::get({lanes}, i32);
      words = arith::ExtUIOp::create(b, wide,
                                     arith::BitcastOp::create(b, bytes, code));
    } else {
      words =
          vector::BitCastOp::create(b, VectorType::get({lanes / 4}, i32), code);
    }
    // Only 0x7F and 0xFF reach the top bit.
    words = arith::AddIOp::create(b, both(words, 0x7F7F7F7F),
                                  number(words, 0x01010101));
    for (int64_t i = 0, n = cast<VectorType>(words.getType()).getDimSize(0);
         i < n; ++i)
      either(vector::ExtractOp::create(b, words, i));
  }
  Value limit =
      arith::BitcastOp::create(b, i32, ScaleLimitOp::create(b, b.getF32Type()));
  Value beyond = arith::SubIOp::create(b, number(limit, 0x7FFFFFFF), limit);
  for (ArrayRef<Value> ofRow : scales)
    for (Value scale : ofRow) {
      Value bits = both(arith::BitcastOp::create(b, i32, scale), 0x7FFFFFFF);
      either(both(arith::AddIOp::create(b, bits, beyond), 0x80000000));
    }
  return doubts;
}

Value GatherKernel::areAnyDoubts(Value doubts) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  Value marks = arith::AndIOp::create(b, doubts, arith.i32(0x80808080));
  Value marked =
      arith::CmpIOp::create(b, arith::CmpIPredicate::ne, marks, arith.i32(0));
  // Without a limit products are as they should be.
  Value limit = ScaleLimitOp::create(b, b.getF32Type());
  Value infinity = arith::ConstantOp::create(
      b, b.getF32FloatAttr(std::numeric_limits<float>::infinity()));
  Value limited =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, limit, infinity);
  return arith.both(marked, limited);
}

GatherKernel::State
GatherKernel::whileRows(State state, int64_t reach, int64_t advance, Value end,
                        function_ref<Value(Value row, Value doubts)> body) {
  ImplicitLocOpBuilder &b = *this->b;
  SmallVector<Value> values = {state.row};
  if (state.doubts)
    values.push_back(state.doubts);
  Arith arith(b);
  SmallVector<Value> last = emitWhile(
      b, values,
      [&](ValueRange at) { return arith.less(arith.add(at[0], reach), end); },
      [&](ValueRange at) {
        Value doubts = body(at[0], state.doubts ? at[1] : Value());
        SmallVector<Value> next = {arith.add(at[0], advance)};
        if (state.doubts)
          next.push_back(doubts);
        return next;
      });
  return {last[0], state.doubts ? last[1] : Value()};
}

Value GatherKernel::copyRows(const Column &column, const GatherPage &page,
                             ArrayRef<Value> rows, Value doubts, bool exact) {
  SmallVector<Value> codes;
  SmallVector<SmallVector<Value>> scales;
  for (Value row : rows) {
    codes.push_back(loadCodes(column, page, row));
    scales.push_back(loadScales(column, page, row));
  }
  for (auto [row, code, scale] : llvm::zip(rows, codes, scales))
    store(column, row, convert(column, code, scale, exact));
  return addDoubts(doubts, codes, scales);
}

void GatherKernel::copyColumn(const Column &column, const GatherPage &page,
                              Value firstRow, int64_t rowStep) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  auto rowsFrom = [&](Value row, int64_t count) {
    SmallVector<Value> rows;
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(arith.add(row, i * rowStep));
    return rows;
  };
  // `count` rows of the thread's at a time, while there are as many.
  auto copy = [&](State state, int64_t count, bool exact) {
    return whileRows(state, (count - 1) * rowStep, count * rowStep, page.copied,
                     [&](Value row, Value doubts) {
                       return copyRows(column, page, rowsFrom(row, count),
                                       doubts, exact);
                     });
  };

  State state = {firstRow, Value()};
  if (hasDoubts(column.stretch))
    state.doubts = arith.i32(0);
  std::optional<Stage> stage;
  int64_t together = std::min<int64_t>(
      tuning.chunks, llvm::divideCeil(layout.getPageSize(), rowStep));
  if (together > 1 && isStaged(column.stretch, together)) {
    stage = makeStage(column, page, firstRow, rowStep, together);
    // From step to step of all threads, so that warps stay together: whole
    // ones, then what is left.
    state.row = arith.i32(0);
    auto copySteps = [&](Value row, bool isWhole, Value doubts) {
      return copyStaged(*stage, column, page, row, isWhole, doubts);
    };
    int64_t step = together * rowStep;
    state = whileRows(state, step - 1, step, page.copied,
                      [&](Value row, Value doubts) {
                        return copySteps(row, /*isWhole=*/true, doubts);
                      });
    SmallVector<Value> doubts;
    if (state.doubts)
      doubts.push_back(state.doubts);
    doubts = emitIfElse(
        b, arith.less(state.row, page.copied), ValueRange(doubts).getTypes(),
        [&] {
          Value last = copySteps(state.row, /*isWhole=*/false, state.doubts);
          return last ? SmallVector<Value>{last} : SmallVector<Value>();
        },
        [&] { return doubts; });
    if (state.doubts)
      state.doubts = doubts.front();
    // The first of the thread's rows that hold no token.
    Value end = b.createOrFold<arith::MaxUIOp>(page.copied, firstRow);
    Value whole = arith.ceilDiv(arith.sub(end, firstRow), rowStep);
    state.row = arith.add(firstRow, arith.mul(whole, rowStep));
  } else {
    if (together > 1)
      state = copy(state, together, /*exact=*/false);
    state = copy(state, 1, /*exact=*/false);
  }
  if (state.doubts) {
    // All over again, taking no liberty.
    emitIf(b, areAnyDoubts(state.doubts),
           [&] { copy({firstRow, Value()}, 1, /*exact=*/true); });
  }
  // Zeros, like halves that were exchanged, fill sectors.
  SmallVector<Column> parts = {column};
  if (stage)
    parts.assign(stage->parts.begin(), stage->parts.end());
  auto zeros = b.getZeroAttr(
      VectorType::get({parts[0].stretch.numbers}, column.stretch.outType));
  whileRows({state.row, Value()}, 0, rowStep, page.rows, [&](Value row, Value) {
    for (const Column &part : parts)
      store(part, row, arith::ConstantOp::create(b, zeros));
    return Value();
  });
}

void GatherKernel::emit() {
  KernelBuilder builder(host, op, cut.threads(), tuning.blocksPerSM,
                        tuning.maxBlocks);
  this->builder = &builder;
  b = &builder.body();
  GatherPages pages(builder, op, cut);
  cache = builder.take(op.getSource());
  out = builder.takeTensor(op.getOut(), /*readOnly=*/false);
  if (op.getScales())
    scalesOut = builder.takeTensor(op.getScales(), /*readOnly=*/false);
  globalScale = builder.takeNumber(op.getGlobalScale());

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
                arith.mul(vector, stretch.lanes), Value(), Value()};
            column.scaled = column.storage;
            column.place = placeOf(column, page);

            copyColumn(column, page, firstRow, rowStep);
          });
  });
  builder.launch(pages.blocks());
}

LogicalResult mlir::kvcache::expandGather(GatherOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  for (const Stretch &stretch : stretchesOf(op, maxAccessBytes))
    if (stretch.pool != Pool::scales)
      stretch.remarkWidth(op.getLoc());
  bool isFlat = stretchesOf(op, maxAccessBytes).front().isFlat();
  emitForAlignment(
      host, {op.getOut()},
      [&](int64_t alignment) {
        GatherKernel(host, op, tuning, alignment).emit();
      },
      isFlat);
  return success();
}
