//===- ExpandQuantize.cpp - The kernels that quantise rows ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row is cut into cells, granules of one head, each shared by a few lanes of
// a warp, which find the largest magnitude by exchanging theirs. Threads are a
// multiple of the lanes of a row or the reverse, so that a cell lies in one
// warp.
//
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "ExpandKernels.h"
#include "GranuleCut.h"
#include "Numbers.h"
#include "RowElements.h"
#include "RowUnits.h"
#include "ScaleRule.h"
#include "TurnRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// What the operations that quantise say.
struct Request {
  Operation *op;
  OutOfRange policy;
  OperandRange sources, targets, rows;
  RowForm form;
  unsigned leadingRank;
  /// None of an operation that stores numbers as they are.
  QuantizationAttr quantization;
  Value globalScale;
  TuningAttr tuning;
  TurnRequest turn;

  LayoutAttr layout() const { return getLayout(targets.front().getType()); }
};

/// A cell of a thread.
struct Cell {
  /// The lane in the row. An i1, null for always, says whether there is one.
  Value unit, exists;
  RowElements::Head head;
  /// First granule of the cell in its head, `i32`.
  Value granule;
  LaneGroup group;
  /// The vectors that are held.
  SmallVector<Value> vectors;
};

/// One version of the kernel, for rows that start at multiples of a number of
/// bytes.
class QuantizeKernel {
public:
  QuantizeKernel(ImplicitLocOpBuilder &host, const Request &request,
                 Tuning tuning, int64_t rowAlignment);
  void emit();

private:
  void writeRow(unsigned target, Destinations to, const RowElements::Head &row,
                Value thread);
  void writeTail(unsigned target, Destination to, const RowElements::Head &row,
                 Value thread);
  void writeCells(unsigned target, Destinations to,
                  MutableArrayRef<Cell> cells);
  void writeLoopedCell(unsigned target, Destinations to, Cell &cell);
  void finishCell(unsigned target, Destinations to, Cell &cell);
  void storeScales(unsigned target, Destination to, const Cell &cell,
                   ArrayRef<ScaleRule::Scale> scales);
  void storeCodes(unsigned target, Destination to, const Cell &cell, Value step,
                  Value codes);

  Cell cellAt(const RowElements::Head &row, Value unit, Value exists);
  /// Whether vector `step` of a lane of the cell is there; null for always.
  Value hasVector(const Cell &cell, Value step);
  /// Where vector `step` of a lane starts: its head and its element.
  std::pair<Value, Value> place(const Cell &cell, Value step);
  Value loadVector(unsigned target, const Cell &cell, Value step);
  Value numbersOf(Value vector) {
    return convertFloat(*b, vector, b->getF32Type());
  }
  Value largestOfCell(const Cell &cell, Value amax);
  Stretch codes() const { return {0, layout.getQuantizedSize()}; }

  ImplicitLocOpBuilder &host;
  const Request &request;
  Tuning tuning;
  LayoutAttr layout;
  PoolLayout pool;
  int64_t rowAlignment;
  /// Whether elements count on over heads, in sources and pool.
  bool isFlat;
  GranuleCut cut;
  /// Lanes of a row.
  int64_t width;
  RowUnits units;
  /// Whether conditions on rows and cells hold for whole warps.
  bool hasWholeWarps;
  /// In the kernel.
  ImplicitLocOpBuilder *b = nullptr;
  SmallVector<Value> caches;
  SmallVector<RowElements, 2> sources;
  std::optional<ScaleRule> rule;
};

} // namespace

static int64_t elementBytes(ValueRange tensors) {
  int64_t bytes = 0;
  for (Value tensor : tensors)
    bytes = std::max<int64_t>(
        bytes, cast<MemRefType>(tensor.getType()).getElementTypeBitWidth() / 8);
  return bytes;
}

/// Threads of a row of `width` lanes: a fraction, so that each has up to
/// `chunks` cells, but whole warps.
static int64_t threadsOfRow(int64_t width, int64_t chunks) {
  for (; chunks > 1; --chunks)
    if (width % (chunks * 32) == 0)
      return width / chunks;
  return width;
}

QuantizeKernel::QuantizeKernel(ImplicitLocOpBuilder &host,
                               const Request &request, Tuning tuning,
                               int64_t rowAlignment)
    : host(host), request(request), tuning(tuning), layout(request.layout()),
      pool(PoolLayout::get(layout, Pool::values)), rowAlignment(rowAlignment),
      isFlat(pool.hasContiguousHeads() && !layout.getRope() &&
             !request.turn.isAny() &&
             llvm::all_of(request.sources, hasPackedRows)),
      cut(layout, elementBytes(request.sources), rowAlignment),
      width(layout.getNumHeads() * cut.width()),
      units(threadsOfRow(width, tuning.chunks), tuning.threads),
      hasWholeWarps(width % 32 == 0 && units.width % 32 == 0) {}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Cell QuantizeKernel::cellAt(const RowElements::Head &row, Value unit,
                            Value exists) {
  Arith arith(*b);
  Cell cell;
  cell.unit = unit;
  cell.exists = exists;
  cell.head = row;
  bool oneHead = layout.getNumHeads() == 1;
  cell.head.head = oneHead ? arith.i32(0) : arith.div(unit, cut.width());
  Value inHead = oneHead ? unit : arith.rem(unit, cut.width());
  cell.granule = cut.cells == 1
                     ? arith.i32(0)
                     : arith.mul(arith.div(inHead, cut.lanes), cut.granules);
  cell.group = {cut.lanes, hasWholeWarps, arith.rem(inHead, cut.lanes)};
  return cell;
}

Value QuantizeKernel::hasVector(const Cell &cell, Value step) {
  if (cut.isExact())
    return Value();
  Arith arith(*b);
  Value number = arith.add(arith.mul(step, cut.lanes), cell.group.lane);
  int64_t vectors = cut.cell / cut.vector;
  Value inCell, inHead;
  if (cut.lanes * cut.steps != vectors)
    inCell = arith.less(number, arith.i32(vectors));
  if (cut.size % cut.cell != 0)
    inHead = arith.less(arith.add(arith.mul(cell.granule, cut.granule),
                                  arith.mul(number, cut.vector)),
                        arith.i32(cut.size));
  return arith.both(inCell, inHead);
}

std::pair<Value, Value> QuantizeKernel::place(const Cell &cell, Value step) {
  Arith arith(*b);
  // Lanes follow one another as their elements do.
  if (isFlat && cut.isExact() && cut.steps == 1)
    return {arith.i32(0), arith.mul(cell.unit, cut.vector)};
  Value number = arith.add(arith.mul(step, cut.lanes), cell.group.lane);
  Value element = arith.add(arith.mul(cell.granule, cut.granule),
                            arith.mul(number, cut.vector));
  if (layout.getNumHeads() > 1 && isFlat)
    return {arith.i32(0),
            arith.add(arith.mul(cell.head.head, cut.size), element)};
  return {cell.head.head, element};
}

Value QuantizeKernel::loadVector(unsigned target, const Cell &cell,
                                 Value step) {
  RowElements::Head head = cell.head;
  Value element;
  std::tie(head.head, element) = place(cell, step);
  Value condition = Arith(*b).both(cell.exists, hasVector(cell, step));
  return sources[target].load(head, element, cut.vector, codes(), condition);
}

/// The largest magnitude of all lanes of a cell.
Value QuantizeKernel::largestOfCell(const Cell &cell, Value amax) {
  return cell.group.reduce(
      *b, amax, [&](Value lhs, Value rhs) { return emitLarger(*b, lhs, rhs); });
}

//===----------------------------------------------------------------------===//
// Cells
//===----------------------------------------------------------------------===//

static SmallVector<Value> elementsOf(ImplicitLocOpBuilder &b, Value vector) {
  int64_t count = cast<VectorType>(vector.getType()).getDimSize(0);
  return llvm::map_to_vector(llvm::seq(count), [&](int64_t i) -> Value {
    return vector::ExtractOp::create(b, vector, i);
  });
}

void QuantizeKernel::storeScales(unsigned target, Destination to,
                                 const Cell &cell,
                                 ArrayRef<ScaleRule::Scale> scales) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  Value isFirst =
      cut.lanes == 1 ? Value() : arith.equal(cell.group.lane, arith.i32(0));
  int64_t slots = layout.getScaleSlots();
  auto store = [&](Value value, int64_t number) {
    Value granule = arith.add(cell.granule, number);
    StoreInPageOp::create(b, value, operandOf(b, caches[target], Pool::scales),
                          to.block, arith.toIndex(to.slot),
                          arith.toIndex(cell.head.head),
                          arith.toIndex(arith.mul(granule, cut.granule)),
                          /*tail=*/UnitAttr(), /*alignment=*/IntegerAttr());
  };
  emitIf(b, arith.both(isFirst, to.valid), [&] {
    if (scales.size() > 1 && slots % cut.granules == 0) {
      auto all = llvm::map_to_vector(
          scales, [](const ScaleRule::Scale &scale) { return scale.stored; });
      auto type = VectorType::get({cut.granules}, all.front().getType());
      return store(vector::FromElementsOp::create(b, type, all), 0);
    }
    for (size_t number = 0; number < scales.size(); ++number) {
      Value isThere;
      if (number > 0 && slots % cut.granules != 0)
        isThere = arith.less(arith.add(cell.granule, number), arith.i32(slots));
      emitIf(b, isThere, [&] { store(scales[number].stored, number); });
    }
  });
}

void QuantizeKernel::storeCodes(unsigned target, Destination to,
                                const Cell &cell, Value step, Value codes) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  emitIf(b, arith.both(to.valid, hasVector(cell, step)), [&] {
    Value head, element;
    std::tie(head, element) = place(cell, step);
    int64_t bytes = cut.vector / pool.elementsPerStorage * pool.storageBytes;
    bool isAligned = rowAlignmentOf(pool) % bytes == 0;
    StoreInPageOp::create(
        b, codes, operandOf(b, caches[target], Pool::values), to.block,
        arith.toIndex(to.slot), arith.toIndex(head), arith.toIndex(element),
        /*tail=*/UnitAttr(),
        isAligned ? b.getI64IntegerAttr(bytes) : IntegerAttr());
  });
}

void QuantizeKernel::writeCells(unsigned target, Destinations to,
                                MutableArrayRef<Cell> cells) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  auto load = [&](Cell &cell) {
    for (int64_t step = 0; step < cut.steps; ++step)
      cell.vectors.push_back(loadVector(target, cell, arith.i32(step)));
  };
  // All loads come first, so that they are in flight together. A norm reads
  // first.
  bool together = !request.turn.weight;
  if (together)
    llvm::for_each(cells, load);
  for (Cell &cell : cells)
    emitIf(b, cell.exists, [&] {
      if (!together) {
        cell.exists = Value();
        sources[target].normalise(cell.head, codes(), cell.group);
        load(cell);
      }
      finishCell(target, to, cell);
    });
}

/// Writes a cell whose vectors are held.
void QuantizeKernel::finishCell(unsigned target, Destinations to, Cell &cell) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  if (!rule) {
    for (int64_t step = 0; step < cut.steps; ++step)
      storeCodes(target, to.values, cell, arith.i32(step),
                 convertFloat(b, cell.vectors[step], pool.storageType));
    return;
  }
  SmallVector<SmallVector<Value>> numbers(cut.granules);
  for (int64_t step = 0; step < cut.steps; ++step) {
    Value &vector = cell.vectors[step];
    vector = numbersOf(vector);
    for (auto [i, number] : llvm::enumerate(elementsOf(b, vector))) {
      int64_t granule =
          cut.granules == 1 ? 0 : (step * cut.vector + i) / cut.granule;
      numbers[granule].push_back(number);
    }
  }
  auto scales = llvm::map_to_vector(numbers, [&](ArrayRef<Value> granule) {
    return rule->scale(largestOfCell(cell, emitAmax(b, granule)));
  });
  for (int64_t step = 0; step < cut.steps; ++step) {
    SmallVector<ScaleRule::Scale> each = {scales.front()};
    if (cut.granules > 1)
      each = llvm::map_to_vector(llvm::seq(cut.vector), [&](int64_t i) {
        return scales[(step * cut.vector + i) / cut.granule];
      });
    storeCodes(target, to.values, cell, arith.i32(step),
               rule->encode(cell.vectors[step], each));
  }
  storeScales(target, to.scales, cell, scales);
}

/// A cell too large for registers: read once for the scales and once for the
/// codes.
void QuantizeKernel::writeLoopedCell(unsigned target, Destinations to,
                                     Cell &cell) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  sources[target].normalise(cell.head, codes(), cell.group);
  // Of two granules, where a byte may hold elements of both, each number has
  // its own.
  auto isInSecond = [&](Value step, int64_t i) -> Value {
    Value element = arith.add(arith.mul(step, cut.vector), i);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::uge, element,
                                 arith.i32(cut.granule));
  };
  auto forEachStep =
      [&](ValueRange initial,
          function_ref<SmallVector<Value>(Value, ValueRange)> body)
      -> SmallVector<Value> {
    auto loop = scf::ForOp::create(b, arith.i32(0), arith.i32(cut.steps),
                                   arith.i32(1), initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> results =
        body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!initial.empty())
      scf::YieldOp::create(b, results);
    return loop.getResults();
  };

  if (!rule) {
    forEachStep({}, [&](Value step, ValueRange) {
      storeCodes(target, to.values, cell, step,
                 convertFloat(b, loadVector(target, cell, step),
                              pool.storageType));
      return SmallVector<Value>();
    });
    return;
  }
  Value nan = arith::ConstantOp::create(
      b,
      b.getFloatAttr(b.getF32Type(), APFloat::getNaN(APFloat::IEEEsingle())));
  SmallVector<Value> initial(cut.granules, nan);
  SmallVector<Value> amax =
      forEachStep(initial, [&](Value step, ValueRange so) {
        SmallVector<Value> now(so);
        SmallVector<Value> numbers =
            elementsOf(b, numbersOf(loadVector(target, cell, step)));
        if (cut.granules == 1) {
          now[0] = emitLarger(b, now[0], emitAmax(b, numbers));
          return now;
        }
        for (auto [i, number] : llvm::enumerate(numbers)) {
          Value second = isInSecond(step, i);
          for (unsigned granule : {0, 1}) {
            Value more = emitLarger(b, now[granule], emitAmax(b, number));
            now[granule] = arith::SelectOp::create(
                b, second, granule ? more : now[granule],
                granule ? now[granule] : more);
          }
        }
        return now;
      });
  auto scales = llvm::map_to_vector(amax, [&](Value granule) {
    return rule->scale(largestOfCell(cell, granule));
  });
  forEachStep({}, [&](Value step, ValueRange) {
    Value numbers = numbersOf(loadVector(target, cell, step));
    SmallVector<ScaleRule::Scale> each = {scales.front()};
    if (cut.granules > 1)
      each = llvm::map_to_vector(llvm::seq(cut.vector), [&](int64_t i) {
        Value second = isInSecond(step, i);
        auto choose = [&](Value first, Value other) -> Value {
          return first ? arith::SelectOp::create(b, second, other, first)
                             .getResult()
                       : Value();
        };
        return ScaleRule::Scale{Value(),
                                choose(scales[0].factor, scales[1].factor),
                                choose(scales[0].isZero, scales[1].isZero)};
      });
    storeCodes(target, to.values, cell, step, rule->encode(numbers, each));
    return SmallVector<Value>();
  });
  storeScales(target, to.scales, cell, scales);
}

void QuantizeKernel::writeRow(unsigned target, Destinations to,
                              const RowElements::Head &row, Value thread) {
  Arith arith(*b);
  if (cut.isLooped())
    return units.forEach(*b, thread, width, [&](Value unit) {
      Cell cell = cellAt(row, unit, Value());
      writeLoopedCell(target, to, cell);
    });
  int64_t perStep = units.perRow, steps = llvm::divideCeil(width, perStep);
  if (steps > RowUnits::maxUnrolled)
    return units.forEach(*b, thread, width, [&](Value unit) {
      Cell cell = cellAt(row, unit, Value());
      writeCells(target, to, cell);
    });
  SmallVector<Cell> cells;
  for (int64_t step = 0; step < steps; ++step) {
    Value unit = arith.add(thread, step * perStep);
    Value exists;
    if ((step + 1) * perStep > width)
      exists = arith.less(unit, arith.i32(width));
    cells.push_back(cellAt(row, unit, exists));
  }
  // No more at a time than registers hold.
  size_t together = std::max<int64_t>(1, GranuleCut::maxHeld / cut.held());
  MutableArrayRef<Cell> rest(cells);
  while (!rest.empty()) {
    size_t count = std::min(together, rest.size());
    writeCells(target, to, rest.take_front(count));
    rest = rest.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// Tails
//===----------------------------------------------------------------------===//

void QuantizeKernel::writeTail(unsigned target, Destination to,
                               const RowElements::Head &row, Value thread) {
  ImplicitLocOpBuilder &b = *this->b;
  PoolLayout tail = PoolLayout::get(layout, Pool::tail);
  int64_t begin = layout.getQuantizedSize();
  int64_t bytes = elementBytes(request.sources);
  int64_t sourceAlignment = std::gcd(rowAlignment, begin * bytes);
  auto fits = [&](int64_t lanes) {
    return tail.inner % lanes == 0 && sourceAlignment % (lanes * bytes) == 0 &&
           rowAlignmentOf(tail) % (lanes * tail.storageBytes) == 0;
  };
  int64_t lanes = maxAccessBytes / std::max(bytes, tail.storageBytes);
  while (lanes > 1 && !fits(lanes))
    lanes /= 2;
  int64_t perHead = tail.inner / lanes;
  units.forEach(b, thread, perHead * tail.heads, [&](Value unit) {
    Arith arith(b);
    RowElements::Head head = row;
    head.head = tail.heads == 1 ? arith.i32(0) : arith.div(unit, perHead);
    Value dim =
        arith.mul(tail.heads == 1 ? unit : arith.rem(unit, perHead), lanes);
    Stretch within = {begin, layout.getHeadSize()};
    sources[target].normalise(head, within, {1, true, arith.i32(0)});
    Value numbers = sources[target].load(head, arith.add(dim, begin), lanes,
                                         within, /*condition=*/Value());
    emitIf(b, to.valid, [&] {
      StoreInPageOp::create(
          b, convertFloat(b, numbers, tail.storageType),
          operandOf(b, caches[target], Pool::values), to.block,
          arith.toIndex(to.slot), arith.toIndex(head.head), arith.toIndex(dim),
          b.getUnitAttr(),
          fits(lanes) ? b.getI64IntegerAttr(lanes * tail.storageBytes)
                      : IntegerAttr());
    });
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void QuantizeKernel::emit() {
  Value first = request.sources.front();
  SmallVector<Value> lead;
  Value rows;
  Arith hostArith(host);
  for (unsigned i = 0; i < request.leadingRank; ++i) {
    lead.push_back(sizeOf(host, first, i));
    rows = rows ? hostArith.mul(rows, lead.back()) : lead.back();
  }

  KernelBuilder builder(host, request.op, units.threads, tuning.blocksPerSM);
  b = &builder.body();
  TurnRows turn(host, builder, request.turn, request.policy);
  for (Value target : request.targets)
    caches.push_back(builder.take(target));
  for (Value source : request.sources)
    sources.emplace_back(*b, builder.takeTensor(source, /*readOnly=*/true),
                         layout.getNumHeads(), layout.getHeadSize(), isFlat,
                         rowAlignment, turn.rotation, turn.norm);
  if (request.quantization) {
    Value globalScale;
    if (request.globalScale)
      globalScale = memref::LoadOp::create(
          *b, builder.takeTensor(request.globalScale, /*readOnly=*/true).base,
          ValueRange());
    rule.emplace(*b, layout, request.quantization, globalScale);
  }
  RowMap map(builder, request.form, request.rows, lead, request.policy);

  units.forEachRow(builder, rows, [&](Value row, Value thread) {
    SmallVector<Value> at = map.indices(row);
    map.atAll(row, caches, request.targets, rule.has_value(),
              [&](unsigned target, Destinations to) {
                turn.at(at, to.token, [&](Value position) {
                  RowElements::Head head{at, Value(), position, Value()};
                  writeRow(target, to, head, thread);
                  if (layout.getRope())
                    writeTail(target, to.values, head, thread);
                });
              });
  });
  builder.launch(units.blocks(host, rows));
}

static LogicalResult expand(const Request &request, Tuning defaults) {
  Tuning tuning = Tuning::get(request.tuning, defaults);
  ImplicitLocOpBuilder host(request.op->getLoc(), request.op);
  SmallVector<Value> sources(request.sources);
  requireRows(host, request.form, request.rows, sources, request.leadingRank,
              request.targets.front());
  emitForAlignment(host, sources, [&](int64_t alignment) {
    QuantizeKernel(host, request, tuning, alignment).emit();
  });
  return success();
}

LogicalResult mlir::kvcache::expandQuantizeAppend(QuantizeAppendOp op,
                                                  Tuning defaults) {
  return expand({op, op.getPolicy(), op.getSources(), op.getTargets(),
                 op.getRows(), op.getForm(), op.getLeadingRank(),
                 op.getQuantization(), op.getGlobalScale(), op.getTuningAttr(),
                 TurnRequest()},
                defaults);
}

LogicalResult mlir::kvcache::expandRopeQuantizeAppend(RopeQuantizeAppendOp op,
                                                      Tuning defaults) {
  return expand(
      {op, op.getPolicy(), op.getSources(), op.getTargets(), op.getRows(),
       op.getForm(), op.getLeadingRank(), op.getQuantizationAttr(),
       op.getGlobalScale(), op.getTuningAttr(),
       TurnRequest{op.getCos(), op.getSin(), op.getRopePositions(),
                   op.getRotation(), op.getWeight(), op.getNormAttr()}},
      defaults);
}
