//===- PagePieces.cpp - What pages and tokens are made of ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagePieces.h"

#include "Destinations.h"
#include "WidthRemarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

/// The widest access of memory.
static constexpr int64_t maxBytes = 16;

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

Value PageScope::countLayers(ImplicitLocOpBuilder &host) const {
  if (layers)
    return arith::ConstantIndexOp::create(host, layers->size());
  return host.createOrFold<NumLayersOp>(source);
}

PageKernel::PageKernel(KernelBuilder &builder, const PageScope &scope)
    : b(builder.body()), scope(scope) {
  source = builder.take(scope.source);
  target = builder.take(scope.target);
  Arith arith(b);
  std::optional<int64_t> known = getKnownTables(scope.source).layers;
  layers =
      known ? arith.i32(*known) : arith.toI32(NumLayersOp::create(b, source));
}

std::pair<Value, Value> PageKernel::layerOf(Value number) const {
  Arith arith(b);
  Value count = scope.layers ? arith.i32(scope.layers->size()) : layers;
  Value side, layer = number;
  if (scope.sourceLayout().getNumSides() == 2) {
    side = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, number, count);
    Value first = arith::SelectOp::create(b, side, count, arith.i32(0));
    layer = arith.sub(number, first);
  }
  if (!scope.layers)
    return {side, layer};
  Value chosen = arith.i32(scope.layers->empty() ? 0 : scope.layers->back());
  for (size_t i = scope.layers->size(); i-- > 1;)
    chosen = arith::SelectOp::create(b, arith.less(layer, arith.i32(i)),
                                     arith.i32((*scope.layers)[i - 1]), chosen);
  return {side, chosen};
}

//===----------------------------------------------------------------------===//
// Runs of bytes
//===----------------------------------------------------------------------===//

namespace {

/// `runs` runs of bytes of one length in a layer of a side: the k-th starts
/// `first + k * stride` bytes into it, and `slot * slotBytes` for tokens.
struct ByteRuns {
  Pool memory;
  int64_t first, bytes, runs, stride, slotBytes;
};

class ByteRunsPiece : public PagePiece {
public:
  ByteRunsPiece(const PageScope &scope, ByteRuns of, int64_t width)
      : of(of), width(width),
        layout(PoolLayout::get(scope.sourceLayout(), of.memory)) {
    units = of.bytes / width * of.runs;
    sides = layout.sides;
    Builder b(scope.source.getContext());
    type = width > 4 ? Type(VectorType::get({width / 4}, b.getI32Type()))
                     : Type(b.getIntegerType(8 * width));
  }

  /// The widest units that the layout lets lie at multiples of their size,
  /// given pages that do.
  static int64_t widest(const PoolLayout &layout, const ByteRuns &of) {
    int64_t width = std::gcd(maxBytes, layout.layerBytes);
    for (int64_t step : {of.first, of.bytes, of.slotBytes,
                         of.runs > 1 ? of.stride : int64_t(0)})
      width = std::gcd(width, step);
    return width;
  }

  SmallVector<Value> place(PageKernel &kernel, Value unit) const override {
    ImplicitLocOpBuilder &b = kernel.b;
    Arith arith(b);
    // All layers of a side, and all sides, lie side by side.
    bool isWhole = of.runs == 1 && of.bytes == layout.layerBytes;
    if (isWhole && !kernel.scope.layers)
      return {arith.mul(arith.toIndex(unit), width)};
    Value number = arith.div(unit, units), rest = arith.rem(unit, units);
    if (kernel.scope.layers) {
      auto [side, layer] = kernel.layerOf(number);
      number = layer;
      if (side && sides == 2)
        number = arith.add(layer, arith::SelectOp::create(
                                      b, side, kernel.layers, arith.i32(0)));
    }
    int64_t perRun = of.bytes / width;
    Value inRun = of.runs == 1 ? rest : arith.rem(rest, perRun);
    Value inLayer = arith.add(arith.mul(inRun, width), of.first);
    if (of.runs > 1)
      inLayer =
          arith.add(inLayer, arith.mul(arith.div(rest, perRun), of.stride));
    return {arith.add(arith.mul(arith.toIndex(number), layout.layerBytes),
                      arith.toIndex(inLayer))};
  }

  Value load(PageKernel &kernel, PageItem item,
             ArrayRef<Value> place) const override {
    ImplicitLocOpBuilder &b = kernel.b;
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value view = this->view(kernel, kernel.source, item, place);
    if (isa<VectorType>(type))
      return vector::LoadOp::create(b, cast<VectorType>(type), view,
                                    ValueRange{zero}, /*nontemporal=*/false,
                                    llvm::MaybeAlign(width));
    return memref::LoadOp::create(b, view, ValueRange{zero});
  }

  void store(PageKernel &kernel, PageItem item, ArrayRef<Value> place,
             Value value) const override {
    ImplicitLocOpBuilder &b = kernel.b;
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value view = this->view(kernel, kernel.target, item, place);
    if (isa<VectorType>(type))
      vector::StoreOp::create(b, value, view, ValueRange{zero},
                              /*nontemporal=*/false, llvm::MaybeAlign(width));
    else
      memref::StoreOp::create(b, value, view, ValueRange{zero});
  }

private:
  /// The unit's memory.
  Value view(PageKernel &kernel, Value collection, PageItem item,
             ArrayRef<Value> place) const {
    ImplicitLocOpBuilder &b = kernel.b;
    Arith arith(b);
    Value keys = GetKeyCacheOp::create(b, collection, arith.index(0));
    Value page = PagePtrOp::create(b, MemRefType::get({}, b.getI8Type()),
                                   operandOf(b, keys, of.memory), item.block);
    Value offset = place[0];
    if (item.slot)
      offset =
          arith.add(offset, arith.toIndex(arith.mul(item.slot, of.slotBytes)));
    auto vector = dyn_cast<VectorType>(type);
    int64_t length = vector ? vector.getDimSize(0) : 1;
    return ByteViewOp::create(
        b, MemRefType::get({length}, getElementTypeOrSelf(type)), page, offset);
  }

  ByteRuns of;
  int64_t width;
  PoolLayout layout;
};

/// The runs of a token of whose bytes of a head, which lie together, `owned`
/// belong to elements.
ByteRuns runsOfTokens(Pool memory, const PoolLayout &pool, int64_t owned) {
  int64_t row = std::min(pool.slotBytes, pool.headBytes);
  bool together = pool.order == Order::nhd && owned == row;
  return {memory,
          pool.firstByte,
          together ? owned * pool.heads : owned,
          together ? 1 : pool.heads,
          pool.headBytes,
          pool.slotBytes};
}

} // namespace

/// The runs of bytes of an item, whose scales are not interleaved where it is a
/// token.
static SmallVector<ByteRuns> runsOf(const PageScope &scope) {
  LayoutAttr layout = scope.sourceLayout();
  SmallVector<ByteRuns> runs;
  PoolLayout values = PoolLayout::get(layout, Pool::values);
  auto bytesOfRow = [](const PoolLayout &pool) {
    return pool.inner * pool.storageBytes;
  };
  auto addPool = [&](Pool pool) {
    PoolLayout shape = PoolLayout::get(layout, pool);
    if (scope.tokens)
      runs.push_back(runsOfTokens(pool, shape, bytesOfRow(shape)));
    else
      runs.push_back({pool, 0, shape.layerBytes, 1, 0, 0});
  };
  if (layout.hasSeparatePools()) {
    if (scope.values)
      addPool(Pool::values);
    if (scope.scales && layout.isQuantized())
      addPool(Pool::scales);
    return runs;
  }

  bool split =
      layout.getPlacement() == Placement::page_split && layout.isQuantized();
  int64_t row = std::min(values.slotBytes, values.headBytes);
  if (!split) {
    if (scope.tokens)
      runs.push_back(runsOfTokens(Pool::values, values, row));
    else
      runs.push_back({Pool::values, 0, values.layerBytes, 1, 0, 0});
    return runs;
  }
  // Of a footer the scales alone belong to elements.
  PoolLayout scales = PoolLayout::get(layout, Pool::scales);
  int64_t footer = std::min(scales.slotBytes, scales.headBytes);
  int64_t owned = bytesOfRow(scales);
  if (scope.tokens) {
    runs.push_back(runsOfTokens(Pool::values, values, row));
    ByteRuns footers = runsOfTokens(Pool::values, scales, owned);
    runs.push_back(footers);
  } else if (footer == owned) {
    runs.push_back({Pool::values, 0, values.layerBytes, 1, 0, 0});
  } else {
    runs.push_back({Pool::values, 0, scales.firstByte, 1, 0, 0});
    runs.push_back({Pool::values, scales.firstByte, owned,
                    values.pageSize * values.heads, footer, 0});
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {

/// The elements of a pool, found as either layout has them.
class ElementsPiece : public PagePiece {
public:
  ElementsPiece(const PageScope &scope, Pool pool) : pool(pool) {
    PoolLayout from = PoolLayout::get(scope.sourceLayout(), pool);
    PoolLayout to = PoolLayout::get(scope.targetLayout(), pool);
    perStorage = from.elementsPerStorage;
    inner = from.inner;
    flat = inner > 1 && from.hasContiguousHeads() && to.hasContiguousHeads();
    int64_t length = flat ? from.rowSize() : inner;
    lanes = maxBytes / from.storageBytes;
    auto fits = [&](const PoolLayout &pool) {
      int64_t aligned = flat ? pool.slotAlignment() : pool.headAlignment();
      return aligned % (lanes * pool.storageBytes) == 0;
    };
    while (lanes > 1 && (length % lanes != 0 || !fits(from) || !fits(to)))
      lanes /= 2;
    // Interleaved neighbours do not lie side by side.
    if (pool == Pool::scales && (isInterleaved(scope.sourceLayout()) ||
                                 isInterleaved(scope.targetLayout())))
      lanes = 1, flat = false;
    perRow = (flat ? from.rowSize() : inner * from.heads) / lanes;
    units = perRow * (scope.tokens ? 1 : from.pageSize);
    sides = scope.sourceLayout().getNumSides();
    type = lanes == 1 ? from.storageType
                      : Type(VectorType::get({lanes}, from.storageType));
  }

  static bool isInterleaved(LayoutAttr layout) {
    return layout.getSwizzle() != ScaleSwizzle::none;
  }

  SmallVector<Value> place(PageKernel &kernel, Value unit) const override {
    ImplicitLocOpBuilder &b = kernel.b;
    Arith arith(b);
    auto [side, layer] = kernel.layerOf(arith.div(unit, units));
    Value rest = arith.rem(unit, units);
    Value slot = arith.div(rest, perRow), inRow = arith.rem(rest, perRow);
    Value head = arith.i32(0), storage = inRow;
    if (!flat) {
      head = arith.div(inRow, inner / lanes);
      storage = arith.rem(inRow, inner / lanes);
    }
    Value dim = arith.mul(storage, lanes * perStorage);
    return {side, layer, slot, head, dim};
  }

  Value load(PageKernel &kernel, PageItem item,
             ArrayRef<Value> place) const override {
    return at(kernel, kernel.source, item, place, type,
              [&](Value operand, ArrayRef<Value> at) -> Value {
                return LoadInPageOp::create(kernel.b, type, operand, item.block,
                                            at[0], at[1], at[2], tail(kernel),
                                            /*alignment=*/IntegerAttr());
              });
  }

  void store(PageKernel &kernel, PageItem item, ArrayRef<Value> place,
             Value value) const override {
    at(kernel, kernel.target, item, place, {},
       [&](Value operand, ArrayRef<Value> at) -> Value {
         StoreInPageOp::create(kernel.b, value, operand, item.block, at[0],
                               at[1], at[2], tail(kernel),
                               /*alignment=*/IntegerAttr());
         return {};
       });
  }

private:
  UnitAttr tail(PageKernel &kernel) const {
    return pool == Pool::tail ? kernel.b.getUnitAttr() : UnitAttr();
  }

  /// Calls `access` with the operand of the unit's layer and side, and slot,
  /// head and element (`index`).
  Value at(PageKernel &kernel, Value collection, PageItem item,
           ArrayRef<Value> place, Type result,
           function_ref<Value(Value, ArrayRef<Value>)> access) const {
    ImplicitLocOpBuilder &b = kernel.b;
    Arith arith(b);
    Value layer = arith.toIndex(place[1]);
    SmallVector<Value> indices;
    for (Value index : {item.slot ? item.slot : place[2], place[3], place[4]})
      indices.push_back(arith.toIndex(index));
    Pool operandPool = pool == Pool::scales ? Pool::scales : Pool::values;
    auto keys = [&] {
      Value cache = GetKeyCacheOp::create(b, collection, layer);
      return access(operandOf(b, cache, operandPool), indices);
    };
    auto values = [&] {
      Value cache = GetValueCacheOp::create(b, collection, layer);
      return access(operandOf(b, cache, operandPool), indices);
    };
    if (!place[0])
      return keys();
    auto branch = scf::IfOp::create(b, result ? TypeRange(result) : TypeRange(),
                                    place[0], /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    auto fill = [&](Block *block, function_ref<Value()> make) {
      b.setInsertionPointToStart(block);
      Value made = make();
      if (result)
        scf::YieldOp::create(b, made);
    };
    fill(branch.thenBlock(), values);
    fill(branch.elseBlock(), keys);
    return result ? branch.getResult(0) : Value();
  }

  Pool pool;
  bool flat;
  int64_t lanes, inner, perRow, perStorage;
};

} // namespace

//===----------------------------------------------------------------------===//
// Which pieces
//===----------------------------------------------------------------------===//

bool mlir::kvcache::areBytesAlike(const PageScope &scope) {
  LayoutAttr from = scope.sourceLayout(), to = scope.targetLayout();
  if (scope.tokens && from.getSwizzle() != ScaleSwizzle::none)
    return false;
  if (from == to)
    return true;
  // Runs follow from where everything lies.
  for (Pool pool : {Pool::values, Pool::scales, Pool::tail}) {
    if ((pool == Pool::scales && !from.isQuantized()) ||
        (pool == Pool::tail && !from.getRope()))
      continue;
    PoolLayout a = PoolLayout::get(from, pool), b = PoolLayout::get(to, pool);
    if (a.isBytes != b.isBytes || a.sides != b.sides || a.order != b.order ||
        a.firstByte != b.firstByte || a.slotBytes != b.slotBytes ||
        a.headBytes != b.headBytes || a.layerBytes != b.layerBytes ||
        a.sideBytes != b.sideBytes)
      return false;
  }
  return from.getPlacement() == to.getPlacement() &&
         from.getSwizzle() == to.getSwizzle();
}

static PagePieces elementPieces(const PageScope &scope) {
  LayoutAttr layout = scope.sourceLayout();
  PagePieces pieces;
  auto add = [&](Pool pool) {
    pieces.push_back(std::make_unique<ElementsPiece>(scope, pool));
  };
  if (scope.values) {
    add(Pool::values);
    if (layout.getRope())
      add(Pool::tail);
  }
  if (scope.scales && layout.isQuantized())
    add(Pool::scales);
  return pieces;
}

void mlir::kvcache::emitForPieces(ImplicitLocOpBuilder &host,
                                  const PageScope &scope,
                                  function_ref<void(const PagePieces &)> emit) {
  if (!areBytesAlike(scope))
    return emit(elementPieces(scope));

  Arith arith(host);
  PagePieces wide, narrow;
  // Bits that pitches of run time must not have; bases are aligned by contract.
  Value excess;
  for (const ByteRuns &of : runsOf(scope)) {
    auto layoutOf = [&](Value collection) {
      return PoolLayout::get(getLayout(collection.getType()), of.memory);
    };
    SmallVector<Value> collections = {scope.source};
    if (scope.target != scope.source)
      collections.push_back(scope.target);
    int64_t best = ByteRunsPiece::widest(layoutOf(scope.source), of);
    for (Value collection : collections)
      best = std::gcd(best, getKnownPitch(collection, of.memory).value_or(0));
    int64_t proven = best;
    for (Value collection : collections) {
      int64_t multiple = layoutOf(collection).pitchMultiple;
      if (getKnownPitch(collection, of.memory) || multiple % best == 0)
        continue;
      proven = std::gcd(proven, multiple);
      Value keys = GetKeyCacheOp::create(host, collection, arith.index(0));
      Value pitch = PagePitchOp::create(host, operandOf(host, keys, of.memory));
      Value over = arith::AndIOp::create(host, pitch, arith.index(best - 1));
      excess =
          excess ? arith::OrIOp::create(host, excess, over).getResult() : over;
    }
    remarkWidth(host.getLoc(), "moves or clears runs", best,
                {{"a run has", of.bytes},
                 {"runs start at multiples of",
                  std::gcd(std::gcd(of.first, of.slotBytes),
                           of.runs > 1 ? of.stride : int64_t(0))},
                 {"layers have", layoutOf(scope.source).layerBytes},
                 {"pages or layers start at multiples of", best}});
    wide.push_back(std::make_unique<ByteRunsPiece>(scope, of, best));
    narrow.push_back(std::make_unique<ByteRunsPiece>(scope, of, proven));
  }
  if (!excess)
    return emit(wide);
  emitRemark(host.getLoc()) << "two kernels, of which the host chooses: the "
                               "pitch of pages is known at run time only";
  Value aligned = arith.equal(excess, arith.index(0));
  auto branch = scf::IfOp::create(host, aligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(host);
  host.setInsertionPointToStart(branch.thenBlock());
  emit(wide);
  host.setInsertionPointToStart(branch.elseBlock());
  emit(narrow);
}
