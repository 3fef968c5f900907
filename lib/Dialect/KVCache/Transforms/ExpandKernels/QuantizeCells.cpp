//===- QuantizeCells.cpp - Scales and codes of granules ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ControlFlow.h"
#include "QuantizeKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

using Cell = QuantizeCell;

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
    storeScale(target, to, cell, arith.add(cell.granule, number), value);
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
    bool isAligned = pool.headAlignment() % bytes == 0;
    store(target, Pool::values, to, head, element, codes,
          isAligned ? bytes : 0);
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
  bool together = !request.rows.ropeNorm.weight;
  if (together)
    llvm::for_each(cells, load);
  bool storesTogether =
      isStoredTogether(cells.size()) &&
      llvm::none_of(cells, [](const Cell &cell) { return cell.exists; });
  SmallVector<ScaleRule::Scale> all;
  for (Cell &cell : cells)
    emitIf(b, cell.exists, [&] {
      if (!together) {
        cell.exists = Value();
        sources[target].normalise(cell.head, codes(), cell.group);
        load(cell);
      }
      SmallVector<ScaleRule::Scale> scales = finishCell(target, to, cell);
      if (storesTogether)
        llvm::append_range(all, scales);
      else if (rule)
        storeScales(target, to.scales, cell, scales);
    });
  if (storesTogether)
    storeTogether(target, to.scales, cells, all);
}

bool QuantizeKernel::isStoredTogether(size_t cells) const {
  return rule && cells > 1 && cut.granules == 1 &&
         cut.lanes >= static_cast<int64_t>(cells);
}

/// Lane i of a cell's lanes writes the scale of the i-th cell: neighbouring
/// scales by one instruction.
void QuantizeKernel::storeTogether(unsigned target, Destination to,
                                   ArrayRef<Cell> cells,
                                   ArrayRef<ScaleRule::Scale> scales) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  const Cell &first = cells.front();
  Value lane = first.group.lane;
  Value stored = scales.front().stored;
  for (size_t i = 1; i < cells.size(); ++i)
    stored = arith::SelectOp::create(b, arith.equal(lane, arith.i32(i)),
                                     scales[i].stored, stored);
  // The i-th cell of the same lanes.
  Value unit =
      arith.add(arith.sub(first.unit, lane), arith.mul(lane, units.perRow));
  Cell own = cellAt(first.head, unit, Value());
  Value isOne = arith.less(lane, arith.i32(cells.size()));
  emitIf(b, arith.both(isOne, to.valid),
         [&] { storeScale(target, to, own, own.granule, stored); });
}

void QuantizeKernel::storeScale(unsigned target, Destination to,
                                const Cell &cell, Value granule, Value stored) {
  store(target, Pool::scales, to, cell.head.head,
        Arith(*b).mul(granule, cut.granule), stored, /*alignment=*/0);
}

/// Writes the codes of a cell whose vectors are held.
SmallVector<ScaleRule::Scale>
QuantizeKernel::finishCell(unsigned target, Destinations to, Cell &cell) {
  ImplicitLocOpBuilder &b = *this->b;
  Arith arith(b);
  if (!rule) {
    for (int64_t step = 0; step < cut.steps; ++step)
      storeCodes(target, to.values, cell, arith.i32(step),
                 convertFloat(b, cell.vectors[step], pool.storageType));
    return {};
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
  return scales;
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
      storeCodes(
          target, to.values, cell, step,
          convertFloat(b, loadVector(target, cell, step), pool.storageType));
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
