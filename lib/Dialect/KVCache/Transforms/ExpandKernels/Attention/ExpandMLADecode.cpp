//===- ExpandMLADecode.cpp - The kernel of kvcache.mla_decode ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every query head reads the same keys, and values are keys: a block of four
// warps has sixteen rows (new tokens times query heads) and takes 32 tokens at
// a time to shared memory, those of 8 bits as f16. For scores a warp has eight
// tokens and all elements, for values all tokens and a quarter of the elements;
// in between maxima of rows and then weights go through shared memory.
//
// Rows of shared memory are cut into pieces of 16 bytes, whose order is such
// that writers, who have two of them in succession where they were of 8 bits,
// and readers of eight rows at a time (ldmatrix) each meet all banks.
//
// Scales and exponents are as in kvcache.paged_attention.
//
//===----------------------------------------------------------------------===//

#include "MLADecodeKernel.h"

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvcache;

MLADecodeKernel::MLADecodeKernel(ImplicitLocOpBuilder &host, MLADecodeOp op,
                                 Tuning tuning)
    : host(host), op(op), tuning(tuning),
      layout(kvcache::getLayout(op.getKeys().getType())),
      dtype(layout.getDtype()), is8Bit(dtype.getIntOrFloatBitWidth() == 8),
      isSparse(!op.getSlots().empty()), headSize(layout.getHeadSize()),
      valueSize(op.getValueSize()), heads(op.getQueryHeads()) {
  product = productType(dtype);
  factor = log2e * (op.getScale() ? op.getScale()->convertToDouble()
                                  : 1 / std::sqrt(double(headSize)));
  queriesAt = SharedTile::bytesOf(headSize, tokens);
  weightsAt = queriesAt + LatentProducts::queryBytes(headSize);
  ofRowsAt = weightsAt + LatentProducts::weightBytes(tokens);
  largestAt = ofRowsAt + rowCount * warps * 4;
  sharedBytes = largestAt + rowCount * warps * 4;
}

SoftmaxLanes MLADecodeKernel::lanes() {
  SoftmaxLanes lanes{/*rows=*/2, /*tokensOnRows=*/false, /*outputRows=*/{}};
  lanes.overWarps = [this](ArrayRef<Value> ofRows,
                           SoftmaxLanes::Combine combine) {
    return overWarps(ofRows, combine);
  };
  for (int64_t i = 0; i < 4 * outputSteps(); ++i)
    lanes.outputRows.push_back(i / 2 % 2);
  return lanes;
}

/// The address of number `index` (`i32`) of those from byte `byte` on.
Value MLADecodeKernel::sharedFloats(int64_t byte, Value index) {
  return shared->at(Arith(*b).mul(index, 4), byte);
}

SoftmaxState MLADecodeKernel::walk(Value first, Value stop, bool isWhole,
                                   const SoftmaxState &initial) {
  Arith arith(*b);
  // Values of 8 bits are few enough to be loaded ahead.
  Values ahead;
  if (is8Bit) {
    Values none(source->wordCount(), arith.i32(0));
    ahead = emitIfElse(
        *b, arith.less(first, stop), ValueRange(none).getTypes(),
        [&] { return source->load(first, isWhole); }, [&] { return none; });
  }
  Values carried = initial.flatten();
  size_t count = carried.size();
  llvm::append_range(carried, ahead);
  auto loop = scf::ForOp::create(*b, first, stop, arith.i32(1), carried);
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(loop.getBody());
  ValueRange arguments = loop.getRegionIterArgs();
  SoftmaxState state = initial.with(arguments.take_front(count));
  Value tile = loop.getInductionVar();
  Values words = is8Bit ? llvm::to_vector_of<Value>(arguments.drop_front(count))
                        : source->load(tile, isWhole);
  auto loadNext = [&] {
    if (!is8Bit)
      return;
    Value next = arith.add(tile, 1);
    ahead = emitIfElse(
        *b, arith.less(next, stop), ValueRange(words).getTypes(),
        [&] { return source->load(next, isWhole); }, [&] { return words; });
  };
  multiplyTile(state, tile, words, loadNext, isWhole);
  carried = state.flatten();
  llvm::append_range(carried, ahead);
  scf::YieldOp::create(*b, carried);
  b->setInsertionPointAfter(loop);
  return initial.with(loop.getResults().take_front(count));
}

void MLADecodeKernel::store(const SoftmaxState &state, const QueryTile &rows,
                            Value part) {
  Arith arith(*b);
  Values totals = state.totals();
  for (int64_t half = 0; half < 2; ++half) {
    Value row = arith.add(rows.begin,
                          products->scoreLanes().rowInTile(*b, *warp, half));
    emitIf(*b, arith.less(row, rows.end), [&] {
      SmallVector<RowRun> runs;
      Value start = arith.mul(warp->number, slice());
      Value first = arith.add(start, shared->pairAt(warp->column, 0));
      for (int64_t step = 0; step < outputSteps(); ++step) {
        Values pair(ArrayRef(state.output).slice(4 * step + 2 * half, 2));
        if (step % 2 == 1 && shared->hasNeighbours()) {
          llvm::append_range(runs.back().elements, pair);
          continue;
        }
        Value at = arith.add(start, shared->pairAt(warp->column, step % 2));
        runs.push_back({arith.add(at, step / 2 * 16), pair});
      }
      Value token =
          arith.add(rows.firstRow, arith.toIndex(arith.div(row, heads)));
      results->store(*b, token, arith.toIndex(arith.rem(row, heads)), part,
                     state.maximum[half], totals[half], runs,
                     arith.equal(first, arith.i32(0)));
    });
  }
}

void MLADecodeKernel::emitRows(const QueryTile &rows, Value part) {
  Arith arith(*b);
  Value last = arith.sub(rows.end, arith.i32(1));
  Value lastOfTile = arith.minimum(arith.add(rows.begin, rowCount - 1), last);
  Value end;
  ends.clear();
  if (isSparse) {
    end = source->setList(rows.firstRow);
  } else {
    Value length = arith.toI32(
        CacheLengthOp::create(*b, builder->take(op.getKeys()), rows.sequence));
    auto endOf = [&](Value row) { return emitKeysEnd(*b, length, row, heads); };
    firstEnd = endOf(rows.begin);
    end = endOf(lastOfTile);
    for (int64_t half = 0; half < 2; ++half)
      ends.push_back(endOf(arith.minimum(
          arith.add(rows.begin,
                    products->scoreLanes().rowInTile(*b, *warp, half)),
          last)));
    source->setSequence(rows.sequence, end);
  }
  loadQueries(rows);

  auto [first, stop] =
      results->tilesOfPart(*b, part, arith.i32(0), arith.ceilDiv(end, tokens));
  SoftmaxState state(*b, *warp, lanes());
  if (isSparse) {
    state = walk(first, stop, /*isWhole=*/false, state);
  } else {
    // Tiles that all rows see come first.
    Value afterWhole = b->createOrFold<arith::MaxUIOp>(
        arith.minimum(arith.div(firstEnd, tokens), stop), first);
    state = walk(first, afterWhole, /*isWhole=*/true, state);
    state = walk(afterWhole, stop, /*isWhole=*/false, state);
  }
  if (is8Bit)
    state.scaleOutput({Words(*b).decodedUnit(dtype), globalScale});
  store(state, rows, part);
}

void MLADecodeKernel::emit() {
  Arith onHost(host);
  KernelBuilder builder(host, op, warps * Warp::lanes, tuning.blocksPerSM,
                        tuning.maxBlocks);
  // Two blocks share a multiprocessor. What may trap needs all of its
  // registers.
  if (tuning.blocksPerSM == 0)
    builder.limitRegisters(op.getPolicy() == OutOfRange::trap ? 255 : 240);
  this->builder = &builder;
  b = &builder.body();
  Value hostRows = sizeOf(host, op.getQ(), 0);
  results.emplace(op.getOut(), /*sinks=*/Value(), op.getLse(),
                  op.getWorkspace(), heads, valueSize);
  std::optional<QueryTiles> items;
  std::optional<RowOffsets> offsets;
  int64_t perToken = llvm::divideCeil(heads, rowCount);
  Value units, most;
  if (isSparse) {
    offsets.emplace(builder, op.getRowOffsets());
    Value none = onHost.equal(offsets->hostSequences(), onHost.index(0));
    units = host.createOrFold<arith::SelectOp>(none, onHost.index(0),
                                               onHost.mul(hostRows, perToken));
    most = sizeOf(host, op.getSlots().front(), 1);
  } else {
    items.emplace(builder, hostRows, op.getRowOffsets(), heads, rowCount);
    units = items->items();
    most = onHost.mul(TableColumnsOp::create(host, op.getKeys()),
                      layout.getPageSize());
  }
  Value parts = results->parts(host, units, most);
  results->enter(builder, parts);
  queries.emplace(builder, op.getQ(), product);
  if (op.getQScales())
    queryScales = builder.takeTensor(op.getQScales(), /*readOnly=*/true);
  globalScale = builder.takeNumber(op.getGlobalScale());

  warp.emplace(*b);
  source.emplace(builder, op.getKeys(), op.getSlots(), op.getPolicy(), *warp,
                 tokens, warps);
  shared.emplace(*b, *warp, builder.shareDynamicMemory(), dtype, product,
                 headSize, slice(), tokens, warps);
  products.emplace(*b, *warp, *shared, product, queriesAt, weightsAt, headSize,
                   slice(), tokens);
  Arith arith(*b);
  Value blocks = onHost.mul(units, parts);
  Value unit = builder.enterBlock(blocks), part;
  if (Value count = results->partCountInKernel()) {
    part = arith.rem(unit, count);
    unit = arith.div(unit, count);
  }
  QueryTile rows;
  if (isSparse) {
    rows.firstRow = arith.div(unit, perToken);
    rows.begin = arith.toI32(arith.mul(arith.rem(unit, perToken), rowCount));
    rows.end = arith.i32(heads);
    rows.exists = offsets->contain(rows.firstRow);
  } else {
    rows = items->at(unit, *warp);
  }
  emitIf(*b, rows.exists, [&] { emitRows(rows, part); });
  builder.launch(blocks, sharedBytes);
  results->combine(host, op, op.getRowOffsets(), parts, tuning.maxBlocks);
}

LogicalResult mlir::kvcache::expandMLADecode(MLADecodeOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  MLADecodeKernel(host, op, tuning).emit();
  return success();
}
