//===- ExpandPagedAttention.cpp - The kernel of kvcache.paged_attention --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block has eight rows (new tokens times query heads of a group) of one head
// of the cache, or sixteen. Its warps walk the tiles of 16 tokens, each its
// own, and are merged at the end; several blocks may share the tokens of their
// rows.
//
// Keys and values do not go through shared memory. Scores S = Q K^T: keys are
// fragment B as they lie in memory, the elements of heads in an order that
// suits both sides. The result has in each lane what P^T is as fragment B of
// O^T = V^T P^T, for which pairs of values of two tokens are put together. Keys
// of 8 bits, which become other registers anyway, are fragment A of S^T = K
// Q^T, which takes half the products; then P^T is transposed, a register each.
//
// Exponents are of base 2, and sums are scaled anew only when a maximum has
// grown a lot. A scale of keys is a factor of the score. A scale of values goes
// into the exponent, as its logarithm: weights times scales stay in the range
// of f16, whatever the scales are. Granules that are no multiple of 16 elements
// are dequantised instead, up to a power of two for each token.
//
// Where memory gives scales of eight heads together, and several blocks may
// share tokens, a block has eight heads instead, one a warp, whose scales go
// through shared memory.
//
// Tiles that all rows see as a whole come first, the next one loaded while one
// is multiplied; then those at the edges, with care. Where a tile has so many
// scales that care costs little beside them, all tiles are walked with care:
// one loop takes half as long to compile.
//
//===----------------------------------------------------------------------===//

#include "PagedAttentionKernel.h"

#include "../ControlFlow.h"
#include "../Destinations.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>

using namespace mlir;
using namespace mlir::kvcache;

/// Registers for keys, values, queries and sums up to which the next tile is
/// loaded while one is multiplied.
static constexpr int64_t prefetchWords = 190;

/// Scales of a token that products have, apart from those of elements.
static int64_t scalesPerToken(PagedAttentionOp op) {
  LayoutAttr layout = kvcache::getLayout(op.getKeys().getType());
  return layout.isQuantized() && !ElementScales::suits(layout)
             ? layout.getScaleSlots()
             : 0;
}

/// Groups of eight rows of a block: two as far as registers hold their sums
/// beside scales.
static int64_t rowGroupsOf(PagedAttentionOp op) {
  LayoutAttr layout = kvcache::getLayout(op.getKeys().getType());
  int64_t mostElements = ElementScales::suits(layout) ? 128 : 192;
  return op.getGroup() > 8 && layout.getHeadSize() <= mostElements &&
                 scalesPerToken(op) <= 4
             ? 2
             : 1;
}

/// Whether queries wait in shared memory, where registers do not hold them
/// beside sums, a tile and scales of elements.
static bool sharesQueries(PagedAttentionOp op) {
  LayoutAttr layout = kvcache::getLayout(op.getKeys().getType());
  int64_t size = layout.getHeadSize();
  bool is8Bit = layout.getDtype().getIntOrFloatBitWidth() == 8;
  if (rowGroupsOf(op) == 1)
    return size > (is8Bit && !ElementScales::suits(layout) ? 192 : 128);
  return size > 128 || scalesPerToken(op) > 1 || ElementScales::suits(layout);
}

/// Whether products have so many scales that there is one loop of tiles.
static bool hasManyScales(PagedAttentionOp op) {
  return scalesPerToken(op) * rowGroupsOf(op) >= 8;
}

/// For how many blocks of 128 threads a multiprocessor keeps registers: three
/// where the 168 registers that these leave to a thread hold what it needs on
/// every chip, else two, which leave 255. Said so because ptxas, where nothing
/// is said, may spill for the sake of a third block; of heads of 128 elements
/// of f16 it does not, but does for three that it is told.
static int64_t blocksPerSM(PagedAttentionOp op) {
  LayoutAttr layout = kvcache::getLayout(op.getKeys().getType());
  if (rowGroupsOf(op) > 1 || layout.getHeadSize() > 128 ||
      ElementScales::suits(layout) || scalesPerToken(op) > 4 ||
      op.getPolicy() == OutOfRange::trap)
    return 2;
  return layout.getDtype().isF16() && layout.getHeadSize() == 128 ? 0 : 3;
}

PagedAttentionKernel::PagedAttentionKernel(ImplicitLocOpBuilder &host,
                                           PagedAttentionOp op, Tuning tuning,
                                           bool sharesScales)
    : host(host), op(op), tuning(tuning),
      layout(kvcache::getLayout(op.getKeys().getType())),
      dtype(layout.getDtype()), is8Bit(dtype.getIntOrFloatBitWidth() == 8),
      sharesScales(sharesScales), headSize(layout.getHeadSize()),
      group(op.getGroup()), rowGroups(rowGroupsOf(op)),
      warps(tuning.threads / Warp::lanes),
      tokenWarps(sharesScales ? 1 : warps) {}

void PagedAttentionKernel::addValues(SoftmaxState &sums, ValueRange values,
                                     SmallVector<Values> &scores) {
  PagedProducts::LoadedValues loaded =
      products->prepare(values, scalesOf(Side::value, values));
  SmallVector<SmallVector<Values>> weights =
      this->weights(sums, scores, loaded.scales);
  products->addValues(sums.output, loaded, weights);
}

PagedAttentionKernel::Values PagedAttentionKernel::scalesOf(Side side,
                                                            ValueRange loaded) {
  if (sharesScales)
    return scales->read(side);
  if (tiles->hasElementScales())
    return {};
  return llvm::to_vector_of<Value>(loaded.drop_front(tiles->vectors(side)));
}

SoftmaxState PagedAttentionKernel::walkWhole(Value first, Value stop,
                                             const SoftmaxState &initial) {
  Arith arith(*b);
  auto pagesOf = [&](Value tile, ValueRange otherwise) {
    return emitIfElse(
        *b, arith.less(tile, stop), otherwise.getTypes(),
        [&] { return tiles->pages(tile); },
        [&] { return llvm::to_vector_of<Value>(otherwise); });
  };
  auto load = [&](Side side, Value tile, ValueRange pages,
                  ValueRange otherwise) {
    return emitIfElse(
        *b, arith.less(tile, stop), otherwise.getTypes(),
        [&] { return tiles->load(side, tile, pages, /*isInside=*/true); },
        [&] { return llvm::to_vector_of<Value>(otherwise); });
  };
  Ahead ahead;
  ahead.pages = pagesOf(first, Values(tiles->pageCount(), arith.i32(0)));
  if (prefetches) {
    ahead.keys = load(Side::key, first, ahead.pages,
                      emitZeros(*b, tiles->types(Side::key)));
    ahead.values = load(Side::value, first, ahead.pages,
                        emitZeros(*b, tiles->types(Side::value)));
    ahead.pages = pagesOf(arith.add(first, tokenWarps), ahead.pages);
  }
  if (sharesScales)
    ahead.scales = scales->begin(first, stop);
  Values carried = initial.flatten();
  size_t sumCount = carried.size();
  for (const Values &part :
       {ahead.keys, ahead.values, ahead.pages, ahead.scales})
    llvm::append_range(carried, part);
  auto loop =
      scf::ForOp::create(*b, first, stop, arith.i32(tokenWarps), carried);
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(loop.getBody());
  ValueRange arguments = loop.getRegionIterArgs();
  SoftmaxState sums = initial.with(arguments.take_front(sumCount));
  arguments = arguments.drop_front(sumCount);
  for (Values *part :
       {&ahead.keys, &ahead.values, &ahead.pages, &ahead.scales}) {
    size_t count = part->size();
    part->assign(arguments.begin(), arguments.begin() + count);
    arguments = arguments.drop_front(count);
  }

  Value tile = loop.getInductionVar(), next = arith.add(tile, tokenWarps);
  Values pages = ahead.pages;
  ahead.pages = pagesOf(prefetches ? arith.add(next, tokenWarps) : next, pages);
  if (sharesScales) {
    scales->publish(ahead.scales);
    ahead.scales = scales->advance(ahead.scales, next, stop);
  }
  Values keys = ahead.keys, values = ahead.values;
  if (!prefetches)
    keys = tiles->load(Side::key, tile, pages, /*isInside=*/true);
  SmallVector<Values> scores =
      products->scores(keys, scalesOf(Side::key, keys));
  if (prefetches)
    ahead.keys = load(Side::key, next, pages, keys);
  else
    values = tiles->load(Side::value, tile, pages, /*isInside=*/true);
  addValues(sums, values, scores);
  if (prefetches)
    ahead.values = load(Side::value, next, pages, values);
  carried = sums.flatten();
  for (const Values &part :
       {ahead.keys, ahead.values, ahead.pages, ahead.scales})
    llvm::append_range(carried, part);
  scf::YieldOp::create(*b, carried);
  b->setInsertionPointAfter(loop);
  return initial.with(loop.getResults().take_front(sumCount));
}

SoftmaxState PagedAttentionKernel::walkEdges(Value first, Value before,
                                             Value after, Value stop,
                                             const SoftmaxState &initial) {
  Arith arith(*b);
  Value count = arith.add(before, arith.sub(stop, after));
  auto loop = scf::ForOp::create(*b, tokenWarp(), count, arith.i32(tokenWarps),
                                 initial.flatten());
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(loop.getBody());
  SoftmaxState sums = initial.with(loop.getRegionIterArgs());
  Value number = loop.getInductionVar();
  Value tile = arith::SelectOp::create(
      *b, arith.less(number, before), arith.add(first, number),
      arith.add(after, arith::SubIOp::create(*b, number, before)));
  Values pages = tiles->pages(tile);
  Values keys = tiles->load(Side::key, tile, pages, /*isInside=*/false);
  if (sharesScales)
    scales->loadEdge(tile);
  SmallVector<Values> scores =
      products->scores(keys, scalesOf(Side::key, keys));
  maskEdges(scores, tile);
  Values values = tiles->load(Side::value, tile, pages, /*isInside=*/false);
  addValues(sums, values, scores);
  scf::YieldOp::create(*b, sums.flatten());
  b->setInsertionPointAfter(loop);
  return initial.with(loop.getResults());
}

void PagedAttentionKernel::emitTile(const QueryTile &rows, Value head,
                                    Value part) {
  Arith arith(*b);
  // Rows that do not exist are taken to be the last one.
  Value lastRow = arith.sub(rows.end, arith.i32(1));
  Value lastOfTile =
      arith.minimum(arith.add(rows.begin, 8 * rowGroups - 1), lastRow);
  Value length = arith.toI32(
      CacheLengthOp::create(*b, builder->take(op.getKeys()), rows.sequence));
  auto endOf = [&](Value row) { return emitKeysEnd(*b, length, row, group); };
  auto beginOf = [&](Value end) -> Value {
    if (!op.getWindow())
      return arith.i32(0);
    Value window = arith.i32(*op.getWindow());
    Value more = b->createOrFold<arith::MaxUIOp>(end, window);
    return arith.sub(more, window);
  };
  firstEnd = endOf(rows.begin);
  begin = beginOf(firstEnd);
  end = endOf(lastOfTile);
  lastBegin = beginOf(end);
  begins.clear();
  ends.clear();
  Values tileRows;
  auto rowAt = [&](Value inTile) {
    return arith.minimum(arith.add(rows.begin, inTile), lastRow);
  };
  for (int64_t g = 0; g < rowGroups; ++g)
    tileRows.push_back(rowAt(arith.add(warp->row, 8 * g)));
  for (int64_t row = 0; row < lanes().rowsPerLane(); ++row) {
    ends.push_back(endOf(rowAt(lanes().rowInTile(*b, *warp, row))));
    begins.push_back(beginOf(ends.back()));
  }

  // The tiles of this part.
  auto [firstTile, lastTile] =
      results->tilesOfPart(*b, part, arith.div(begin, CacheTiles::tokens),
                           arith.ceilDiv(end, CacheTiles::tokens));
  if (sharesScales) {
    scales->setRange(*warp, rows.sequence, head, begin, end);
    head = arith.add(head, arith.toIndex(warp->number));
  }
  tiles->setRange(*warp, rows.sequence, head, begin, end);
  queries->load(*warp, rows.firstRow, head, tileRows);
  factors = queries->scoreFactors(*warp, /*byColumn=*/is8Bit);
  if (!sharesScales && sharesQueries(op))
    products->shareQueries(*builder);

  SoftmaxState sums(*b, *warp, softmaxLanes());
  if (walksOnce) {
    sums = walkEdges(firstTile, arith.i32(0), firstTile, lastTile, sums);
  } else {
    // Of these, those that all rows see as a whole.
    auto within = [&, first = firstTile, last = lastTile](Value tile) {
      return arith.minimum(b->createOrFold<arith::MaxUIOp>(tile, first), last);
    };
    Value firstWhole = within(arith.ceilDiv(lastBegin, CacheTiles::tokens));
    Value afterWhole = b->createOrFold<arith::MaxUIOp>(
        within(arith.div(firstEnd, CacheTiles::tokens)), firstWhole);
    sums = walkWhole(arith.add(firstWhole, tokenWarp()), afterWhole, sums);
    sums = walkEdges(firstTile, arith.sub(firstWhole, firstTile), afterWhole,
                     lastTile, sums);
  }
  sums.scaleOutput({products->decodeScale(), globalScale});
  if (sharesScales)
    storeOwn(sums, rows, head, part);
  else
    merge(sums, rows, head, part);
}

void PagedAttentionKernel::emit() {
  Arith onHost(host);
  KernelBuilder builder(host, op, warps * Warp::lanes, tuning.blocksPerSM,
                        tuning.maxBlocks);
  // A multiprocessor has room for one block of eight heads, with 168 registers
  // a thread as with 255. Heads of one scale need no more than the former.
  if (sharesScales && tuning.blocksPerSM == 0)
    builder.limitRegisters(
        scalesPerToken(op) == 1 && op.getPolicy() != OutOfRange::trap ? 168
                                                                      : 255);
  this->builder = &builder;
  b = &builder.body();
  Value hostRows = sizeOf(host, op.getQ(), 0);
  GetPagedCacheOp collection = getCollectionOp(op.getKeys());
  bool sharesTables =
      collection && collection == getCollectionOp(op.getValues());
  QueryTiles items(builder, hostRows, op.getRowOffsets(), group, 8 * rowGroups);
  results.emplace(op.getOut(), op.getSinks(), op.getLse(), op.getWorkspace(),
                  op.getQueryHeads(), headSize);
  int64_t stretches = layout.getNumHeads() / headsPerBlock();
  Value units = onHost.mul(items.items(), stretches);
  Value tokens = onHost.mul(TableColumnsOp::create(host, op.getKeys()),
                            layout.getPageSize());
  if (op.getWindow())
    tokens = onHost.minimum(tokens, onHost.index(*op.getWindow()));
  // Counted in blocks of four warps.
  Value parts = results->parts(
      host, onHost.mul(units, llvm::divideCeil(warps, 4)), tokens);
  results->enter(builder, parts);

  Value keys = builder.take(op.getKeys());
  Value values = builder.take(op.getValues());
  warp.emplace(*b);
  tiles.emplace(*b, keys, values, sharesTables, !sharesScales, op.getPolicy());
  if (sharesScales)
    scales.emplace(builder, keys, values, op.getPolicy());
  queries.emplace(builder, op.getQ(), tiles->cutOf(Side::key),
                  productType(dtype), group);
  products.emplace(*b, *warp, *tiles, *queries, rowGroups);
  double scale = op.getScale() ? op.getScale()->convertToDouble()
                               : 1 / std::sqrt(double(headSize));
  globalScale = builder.takeNumber(op.getGlobalScale());
  Values numbers;
  for (Value number : {products->decodeScale(), globalScale})
    if (number)
      numbers.push_back(number);
  // Of softcapped scores, exponents come after.
  queries->setFactor(op.getSoftcap()
                         ? scale / op.getSoftcap()->convertToDouble()
                         : scale * log2e,
                     numbers);
  walksOnce = tiles->hasElementScales() || hasManyScales(op);
  prefetches = !walksOnce &&
               tiles->registers(Side::key) + tiles->registers(Side::value) +
                       rowGroups * (headSize / 4 + headSize / 8) <=
                   prefetchWords;

  Arith arith(*b);
  Value blocks = onHost.mul(units, parts);
  Value unit = builder.enterBlock(blocks), part;
  if (Value count = results->partCountInKernel()) {
    part = arith.rem(unit, count);
    unit = arith.div(unit, count);
  }
  Value head = arith.mul(arith.rem(unit, stretches), headsPerBlock());
  QueryTile rows = items.at(arith.div(unit, stretches), *warp);
  emitIf(*b, rows.exists, [&] { emitTile(rows, head, part); });
  builder.launch(blocks);
  results->combine(host, op, op.getRowOffsets(), parts, tuning.maxBlocks);
}

/// Whether blocks take eight heads where nobody says how many threads. Without
/// a workspace too few would be left, and heads beyond 128 elements leave no
/// registers.
static bool takesHeads(PagedAttentionOp op) {
  auto suits = [](Value cache) {
    return SharedScales::suits(kvcache::getLayout(cache.getType()));
  };
  LayoutAttr layout = kvcache::getLayout(op.getKeys().getType());
  return op.getWorkspace() && op.getGroup() <= 8 &&
         layout.getDtype().getIntOrFloatBitWidth() == 8 &&
         layout.getHeadSize() <= 128 && !ElementScales::suits(layout) &&
         suits(op.getKeys()) && suits(op.getValues());
}

/// The size of a dimension of a memref, dynamic where no type in sight says it.
static int64_t knownSize(Value memref, unsigned dim) {
  int64_t size = cast<MemRefType>(memref.getType()).getDimSize(dim);
  auto castOp = memref.getDefiningOp<memref::CastOp>();
  if (!ShapedType::isDynamic(size) || !castOp ||
      !isa<MemRefType>(castOp.getSource().getType()))
    return size;
  return knownSize(castOp.getSource(), dim);
}

/// Checks a window against the positions of the table, where they are in sight.
/// This is no verifier's to say: code becomes valid or not by what comes in
/// sight, as when functions are inlined.
static LogicalResult checkWindow(PagedAttentionOp op) {
  GetPagedCacheOp collection = getCollectionOp(op.getKeys());
  if (!op.getWindow() || !collection)
    return success();
  int64_t window = *op.getWindow();
  int64_t pages = knownSize(collection.getTable(Pool::values), 1);
  int64_t pageSize = kvcache::getLayout(op.getKeys().getType()).getPageSize();
  int64_t positions;
  if (ShapedType::isDynamic(pages) ||
      llvm::MulOverflow(pages, pageSize, positions) || window <= positions)
    return success();
  return op.emitOpError("expected 'window' to be at most the ")
         << positions << " positions of the table (" << pages << " pages of "
         << pageSize << " tokens), got " << window
         << "; leave it out where rows see all keys";
}

LogicalResult mlir::kvcache::expandPagedAttention(PagedAttentionOp op,
                                                  Tuning defaults) {
  if (failed(checkWindow(op)))
    return failure();
  LayoutAttr layout = kvcache::getLayout(op.getKeys().getType());
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  if (tuning.threads == 0 && takesHeads(op)) {
    tuning.threads = SharedScales::heads * Warp::lanes;
    PagedAttentionKernel(host, op, tuning, /*sharesScales=*/true).emit();
    return success();
  }
  if (tuning.threads == 0)
    tuning.threads = 128;
  // Warps leave their sums in shared memory, beside queries.
  int64_t rows = 8 * rowGroupsOf(op);
  int64_t queries = sharesQueries(op) ? rows * layout.getHeadSize() * 2 : 0;
  int64_t most =
      (staticSharedBytes - queries) / (rows * (layout.getHeadSize() + 2) * 4);
  tuning.threads =
      Warp::lanes * std::clamp<int64_t>(tuning.threads / Warp::lanes, 1, most);
  if (tuning.blocksPerSM == 0 && tuning.threads == 128)
    tuning.blocksPerSM = blocksPerSM(op);
  PagedAttentionKernel(host, op, tuning, /*sharesScales=*/false).emit();
  return success();
}
