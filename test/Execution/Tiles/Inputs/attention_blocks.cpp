//===- attention_blocks.cpp - Building blocks of attention ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "building_block.h"

#include "Attention/LatentProducts.h"
#include "Attention/PagedProducts.h"
#include "Attention/Partials.h"
#include "Attention/QueryTiles.h"
#include "Attention/SharedScales.h"
#include "Attention/SlotSource.h"
#include "Attention/SoftmaxState.h"
#include "ControlFlow.h"
#include "Tiles/FastMath.h"
#include "Tiles/Mma.h"
#include "Tiles/Words.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tiles;

namespace {

/// What a kernel makes of softmax: see the arguments of `SoftmaxLanes` and
/// `SoftmaxTile`.
struct SoftmaxKind {
  int64_t rows;
  bool tokensOnRows, transposesOutputs;
  int64_t tokens, granules;
  bool isSigned, hasFactors;

  static constexpr int64_t tiles = 3, outputs = 4;
  int64_t wordsOfTile() const {
    return rows * tokens + granules * tokens + outputs;
  }
  int64_t words() const {
    return (hasFactors ? rows : 0) + tiles * wordsOfTile();
  }
};

/// Three tiles one after the other: scores by row and token, scales by granule
/// and token, what is added to the sums of values. Gives the weights of each,
/// then maxima, sums of weights and sums of values.
Values emitSoftmax(Kernel &kernel, ValueRange in, const SoftmaxKind &kind) {
  ImplicitLocOpBuilder &b = kernel.b;
  FastMath math(b);
  auto take = [&](int64_t count) {
    Values numbers = kernel.asFloats(in.take_front(count));
    in = in.drop_front(count);
    return numbers;
  };
  Values factors = take(kind.hasFactors ? kind.rows : 0), result;
  SoftmaxState state(
      b, kernel.warp,
      {kind.rows, kind.tokensOnRows, {0, 1, 0, 1}, kind.transposesOutputs});
  for (int64_t number = 0; number < SoftmaxKind::tiles; ++number) {
    SoftmaxTile tile;
    tile.factors = factors;
    for (int64_t row = 0; row < kind.rows; ++row)
      tile.scores.push_back(take(kind.tokens));
    for (int64_t granule = 0; granule < kind.granules; ++granule) {
      Values scales = take(kind.tokens), logs;
      for (Value scale : scales)
        logs.push_back(
            emitScaleLog(b, kind.isSigned ? math.absolute(scale) : scale));
      tile.logs.push_back(logs);
      if (kind.isSigned)
        tile.signs.push_back(scales);
    }
    for (const SmallVector<Values> &granule : state.add(tile))
      for (const Values &row : granule)
        llvm::append_range(result, row);
    for (auto [sum, addend] :
         llvm::zip(state.output, take(SoftmaxKind::outputs)))
      sum = math.add(sum, addend);
  }
  llvm::append_range(result, state.maximum);
  llvm::append_range(result, state.totals());
  llvm::append_range(result, state.output);
  return kernel.asWords(result);
}

/// Maxima and sums of three parts.
Values emitMerge(Kernel &kernel, ValueRange in) {
  Values numbers = kernel.asFloats(in);
  SoftmaxMerge merge(kernel.b, ArrayRef(numbers).take_front(3));
  Values result = {merge.maximum(), merge.sum(ArrayRef(numbers).drop_front(3))};
  for (int64_t part = 0; part < 3; ++part)
    result.push_back(merge.factor(part));
  return kernel.asWords(result);
}

/// The pieces of a head: their number, then first elements and elements a lane.
Values describe(Kernel &kernel, const HeadCut &cut) {
  Values words = {kernel.arith.i32(cut.pieces.size())};
  for (const HeadPiece &piece : cut.pieces)
    words.append(
        {kernel.arith.i32(piece.first), kernel.arith.i32(piece.perLane)});
  return words;
}

/// Words: sequence, head, begin, end, a tile of which all tokens may be read,
/// one of which some. Gives the pieces of keys and of values, then of both
/// tiles keys, scales of keys, values, and scales of values.
Values emitCacheTiles(Kernel &kernel, ValueRange in) {
  Arith &arith = kernel.arith;
  CacheTiles tiles(kernel.b, kernel.builder.take(kernel.keys),
                   kernel.builder.take(kernel.values), /*sharesTables=*/true,
                   /*withScales=*/true, OutOfRange::assume);
  tiles.setRange(kernel.warp, arith.toIndex(in[0]), arith.toIndex(in[1]), in[2],
                 in[3]);
  Values result;
  for (Side side : {Side::key, Side::value})
    llvm::append_range(result, describe(kernel, tiles.cutOf(side)));
  for (bool isInside : {true, false}) {
    Value tile = in[isInside ? 4 : 5];
    Values pages = tiles.pages(tile);
    for (Side side : {Side::key, Side::value}) {
      Values loaded = tiles.load(side, tile, pages, isInside);
      int64_t pieces = tiles.cutOf(side).pieces.size();
      for (int64_t i = 0; i < tiles.vectors(side); ++i)
        llvm::append_range(result,
                           tiles.wordsOf(side, loaded, i / pieces, i % pieces));
      for (Value scale : ArrayRef(loaded).drop_front(tiles.vectors(side)))
        result.push_back(kernel.asWord(scale));
    }
  }
  return result;
}

/// Words as of `emitCacheTiles`. Gives of keys and of values the pieces, then
/// by token of the lane scales of elements, these normalized for elements whose
/// `decodeScale` is 1/2, and the scale of the token.
Values emitElementScales(Kernel &kernel, ValueRange in) {
  Arith &arith = kernel.arith;
  CacheTiles tiles(kernel.b, kernel.builder.take(kernel.keys),
                   kernel.builder.take(kernel.values), /*sharesTables=*/true,
                   /*withScales=*/true, OutOfRange::assume);
  tiles.setRange(kernel.warp, arith.toIndex(in[0]), arith.toIndex(in[1]), in[2],
                 in[3]);
  Values pages = tiles.pages(in[4]), result;
  for (Side side : {Side::key, Side::value}) {
    llvm::append_range(result, describe(kernel, tiles.cutOf(side)));
    SmallVector<Values> scales = tiles.elementScales(
        side, tiles.load(side, in[4], pages, /*isInside=*/true));
    NormalizedScales normalized = emitNormalizedScales(
        kernel.b, scales, FastMath(kernel.b).number(0.5),
        [&](Value value, function_ref<Value(Value, Value)> combine) {
          return side == Side::key ? kernel.warp.reduceRow(value, combine)
                                   : kernel.warp.reduceColumn(value, combine);
        });
    auto putElements = [&](const Values &ofToken) {
      for (size_t i = 0; i < tiles.cutOf(side).pieces.size(); ++i)
        llvm::append_range(
            result, kernel.asWords(tiles.scalesOfElements(side, ofToken, i)));
    };
    for (auto [of, inPlace, ofToken] :
         llvm::zip(scales, normalized.scales, normalized.tokenScales)) {
      putElements(of);
      putElements(inPlace);
      result.push_back(kernel.asWord(ofToken));
    }
  }
  return result;
}

/// Words as of `emitCacheTiles`, where the tile before the end is followed by
/// another one. Gives the scales of keys and values of these two and of the one
/// at the edge.
Values emitSharedScales(Kernel &kernel, ValueRange in) {
  Arith &arith = kernel.arith;
  SharedScales scales(kernel.builder, kernel.builder.take(kernel.keys),
                      kernel.builder.take(kernel.values), OutOfRange::assume);
  scales.setRange(kernel.warp, arith.toIndex(in[0]), arith.toIndex(in[1]),
                  in[2], in[3]);
  Values result;
  auto read = [&] {
    for (Side side : {Side::key, Side::value})
      llvm::append_range(result, kernel.asWords(scales.read(side)));
  };
  Value first = in[4], stop = arith.add(first, 2);
  Values carried = scales.begin(first, stop);
  scales.publish(carried);
  carried = scales.advance(carried, arith.add(first, 1), stop);
  read();
  scales.publish(carried);
  read();
  scales.loadEdge(in[5]);
  read();
  return result;
}

/// Rows of queries `[T, H * group, size]`, their group of eight after group.
struct QueryKind {
  Type product;
  int64_t elementBytes, size, granularity, rowGroups, group;
};

/// Words: the first row of the tensor, the head, a number that multiplies all,
/// the lane's row of each group.
/// Gives the pieces, fragments B by group and step, with two groups fragments A
/// by step, one of two steps, factors by row and by column.
Values emitQueries(Kernel &kernel, ValueRange in, const QueryKind &kind) {
  Arith &arith = kernel.arith;
  HeadCut cut(kind.size, /*across=*/4, kind.elementBytes, /*maxBytes=*/16,
              kind.granularity);
  QueryFragments queries(kernel.builder, kernel.arguments[0], cut, kind.product,
                         kind.group);
  queries.setFactor(3, kernel.asFloat(in[2]));
  queries.load(kernel.warp, arith.toIndex(in[0]), arith.toIndex(in[1]),
               llvm::to_vector(in.drop_front(3)));
  Values result = describe(kernel, cut);
  // The last time fragments A, which two groups have.
  int64_t rounds = kind.rowGroups == 2 ? 3 : 1;
  for (int64_t group = 0; group < rounds; ++group)
    for (auto [number, piece] : llvm::enumerate(cut.pieces))
      for (int64_t step = 0; step < piece.steps(); ++step)
        llvm::append_range(result,
                           group == 2 ? queries.fragmentA(number, step)
                                      : queries.fragmentB(group, number, step));
  llvm::append_range(result, queries.fragmentOfTwo({0, 0}, {1, 0}));
  for (bool byColumn : {false, true})
    llvm::append_range(
        result, kernel.asWords(queries.scoreFactors(kernel.warp, byColumn)));
  return result;
}

/// What multiplies rows of queries with a cache, `group` rows to each token.
struct ProductKind {
  int64_t rowGroups, group;
  /// How scores lie, and granules of scales that are left to multiply values.
  bool transposed;
  int64_t granules;

  ScoreLanes lanes() const { return {transposed, rowGroups, 2}; }
};

/// A cache's tiles, of `kernel`, and their products with queries.
struct Products {
  CacheTiles tiles;
  QueryFragments queries;
  PagedProducts products;

  Products(Kernel &kernel, ValueRange in, const ProductKind &kind)
      : tiles(kernel.b, kernel.builder.take(kernel.keys),
              kernel.builder.take(kernel.values), /*sharesTables=*/true,
              /*withScales=*/true, OutOfRange::assume),
        queries(kernel.builder, kernel.arguments[0], tiles.cutOf(Side::key),
                productType(tiles.dtype()), kind.group),
        products(kernel.b, kernel.warp, tiles, queries, kind.rowGroups) {
    tiles.setRange(kernel.warp, kernel.arith.toIndex(in[0]),
                   kernel.arith.toIndex(in[1]), in[2], in[3]);
  }
  Value decodeScale(Kernel &kernel) const {
    Value scale = products.decodeScale();
    return scale ? scale : FastMath(kernel.b).number(1);
  }
  Values load(Side side, Value tile) {
    return tiles.load(side, tile, tiles.pages(tile), /*isInside=*/true);
  }
  /// Scales of granules of what was loaded.
  ValueRange scalesOf(Side side, ValueRange loaded) const {
    return tiles.hasElementScales() ? ValueRange()
                                    : loaded.drop_front(tiles.vectors(side));
  }
};

/// Words as of `emitCacheTiles`, then the first row of the tensor and the
/// lane's row of each group. Gives scores by row and token, what multiplies
/// them by row, and the scale of decoding.
Values emitScores(Kernel &kernel, ValueRange in, const ProductKind &kind) {
  Products of(kernel, in, kind);
  of.queries.setFactor(1);
  of.queries.load(kernel.warp, kernel.arith.toIndex(in[6]),
                  kernel.arith.toIndex(in[1]),
                  llvm::to_vector(in.drop_front(7)));
  Values keys = of.load(Side::key, in[4]);
  Values result;
  for (const Values &ofRow :
       of.products.scores(keys, of.scalesOf(Side::key, keys)))
    llvm::append_range(result, ofRow);
  llvm::append_range(result,
                     of.queries.scoreFactors(kernel.warp, kind.transposed));
  result.push_back(of.decodeScale(kernel));
  return kernel.asWords(result);
}

/// Words as of `emitCacheTiles`, then weights by granule, row and token. Gives
/// the pieces of values, sums, and the scale of decoding.
Values emitOutputs(Kernel &kernel, ValueRange in, const ProductKind &kind) {
  Products of(kernel, in, kind);
  Values numbers = kernel.asFloats(in.drop_front(6));
  SmallVector<SmallVector<Values>> weights(kind.granules);
  ArrayRef<Value> rest = numbers;
  for (SmallVector<Values> &ofGranule : weights)
    for (int64_t row = 0; row < kind.lanes().rowsPerLane(); ++row) {
      int64_t tokens = kind.lanes().tokensPerLane();
      ofGranule.push_back(llvm::to_vector(rest.take_front(tokens)));
      rest = rest.drop_front(tokens);
    }
  Values values = of.load(Side::value, in[4]);
  PagedProducts::LoadedValues loaded =
      of.products.prepare(values, of.scalesOf(Side::value, values));
  LayoutAttr layout = kvcache::getLayout(kernel.keys.getType());
  Values sums(kind.rowGroups * layout.getHeadSize() / 4,
              FastMath(kernel.b).number(0.5));
  // Weights are multiplied by the scales of tokens.
  if (of.tiles.hasElementScales())
    for (Values &ofRow : weights.front())
      for (auto [weight, scale] : llvm::zip(ofRow, loaded.scales))
        weight = FastMath(kernel.b).mul(weight, scale);
  of.products.addValues(sums, loaded, weights);
  Values result = describe(kernel, of.tiles.cutOf(Side::value));
  sums.push_back(of.decodeScale(kernel));
  llvm::append_range(result, kernel.asWords(sums));
  return result;
}

/// 32 latents of 64 elements, of which a warp multiplies 16 with weights.
/// Words: the thread's piece of these, fragment A of queries of the step that
/// the warp stores, scales of the lane's tokens, then weights by row and
/// token. Gives scores by row and token, sums, and the unit of values of 8
/// bits.
Values emitLatents(Kernel &kernel, ValueRange in, Type dtype) {
  ImplicitLocOpBuilder &b = kernel.b;
  constexpr int64_t size = 64, slice = 16, tokens = 32, warps = 4;
  bool is8Bit = dtype.getIntOrFloatBitWidth() == 8;
  int64_t queriesAt = SharedTile::bytesOf(size, tokens);
  int64_t weightsAt = queriesAt + LatentProducts::queryBytes(size);
  Value memory = kernel.builder.shareMemory(
      b.getI8Type(), weightsAt + LatentProducts::weightBytes(tokens), 16);
  SharedTile tile(b, kernel.warp, memory, dtype, productType(dtype), size,
                  slice, tokens, warps);
  LatentProducts products(b, kernel.warp, tile, productType(dtype), queriesAt,
                          weightsAt, size, slice, tokens);
  auto take = [&](int64_t count) {
    ValueRange words = in.take_front(count);
    in = in.drop_front(count);
    return words;
  };
  tile.store(take(4 * tile.piecesPerThread()));
  products.storeQueries(0, take(4));
  gpu::BarrierOp::create(b);
  Values result;
  for (const Values &ofRow : products.scores(kernel.asFloats(take(2))))
    llvm::append_range(result, ofRow);
  SmallVector<Values> weights;
  for (int64_t row = 0; row < products.scoreLanes().rowsPerLane(); ++row)
    weights.push_back(
        kernel.asFloats(take(products.scoreLanes().tokensPerLane())));
  products.storeWeights(weights);
  gpu::BarrierOp::create(b);
  Values sums(slice / 8 * 4, FastMath(b).number(0.5));
  products.addValues(sums);
  llvm::append_range(result, sums);
  result.push_back(is8Bit ? Words(b).decodedUnit(dtype)
                          : FastMath(b).number(1));
  return kernel.asWords(result);
}

/// Item by item what is the tile of 16 rows of a group of 5: whether there is
/// one, its sequence, first row, first row in the sequence and end of these,
/// and the end of the keys of its first row with 7 tokens before. A warp has an
/// item each. Main has the tensor of rows and the offsets.
Values emitQueryTiles(Kernel &kernel, ValueRange in) {
  Arith &arith = kernel.arith;
  constexpr int64_t group = 5, size = 16;
  ImplicitLocOpBuilder &host = kernel.builder.hostBuilder();
  QueryTiles tiles(kernel.builder, sizeOf(host, kernel.arguments[0], 0),
                   kernel.arguments[1], group, size);
  Value items = kernel.builder.take(tiles.items());
  Value item = arith.toIndex(kernel.warp.number);
  QueryTile tile = tiles.at(item, kernel.warp);
  Value end = emitKeysEnd(kernel.b, in[0], tile.begin, group);
  return {arith.toI32(items),
          kernel.asWordOf(tile.exists),
          arith.toI32(tile.sequence),
          arith.toI32(tile.firstRow),
          tile.begin,
          tile.end,
          end};
}

/// Words: sequence, end of its keys, row of the lists of slots (which main has
/// before the caches), a tile whose keys are all there, one of which some.
/// Gives of both the thread's pieces of 32 keys of 128 elements, the scale of
/// key `lane` of the tile, and whether it is one.
Values emitSlots(Kernel &kernel, ValueRange in, unsigned lists) {
  Arith &arith = kernel.arith;
  SlotSource source(kernel.builder, kernel.keys,
                    kernel.arguments.take_front(lists), OutOfRange::assume,
                    kernel.warp, /*tokens=*/32, /*warps=*/4);
  if (lists > 0)
    source.setList(arith.toIndex(in[2]));
  else
    source.setSequence(arith.toIndex(in[0]), in[1]);
  Values result;
  for (bool isWhole : {true, false}) {
    Value tile = in[isWhole ? 3 : 4];
    isWhole &= lists == 0;
    llvm::append_range(result, source.load(tile, isWhole));
    SlotSource::Key key = source.at(tile, kernel.warp.lane, isWhole);
    result.push_back(kernel.asWord(key.scale));
    result.push_back(key.valid ? kernel.asWordOf(key.valid) : arith.i32(1));
  }
  return result;
}

/// Two tokens of three heads of 64 elements, rows 1 and 2 of the results; a
/// thread has 8 of a part of a row, its maximum and its sum: threads count
/// elements, parts, heads, tokens. After `in` and `out` main has the results,
/// sinks, log-sum-exps, the workspace and the list of offsets.
Values emitResults(Kernel &kernel, ValueRange in, int64_t parts) {
  constexpr int64_t tokens = 2, heads = 3, size = 64, run = 8;
  Arith &arith = kernel.arith;
  ImplicitLocOpBuilder &host = kernel.builder.hostBuilder();
  RowResults results(kernel.arguments[0], kernel.arguments[1],
                     kernel.arguments[2], kernel.arguments[3], heads, size);
  Arith onHost(host);
  Value count = results.parts(host, /*blocks=*/onHost.index(tokens * heads),
                              /*tokens=*/onHost.index(4096));
  results.enter(kernel.builder, count);
  Operation *op = &*host.getInsertionPoint();
  Value offsets = kernel.arguments[4];
  kernel.after = [=, &host] {
    results.combine(host, op, offsets, count, KernelBuilder::maxGrid);
  };
  Value thread =
      arith.add(arith.mul(kernel.warp.number, Warp::lanes), kernel.warp.lane);
  Value first = arith.mul(arith.rem(thread, size / run), run);
  Value place = arith.div(thread, size / run);
  Value part = arith.rem(place, parts), row = arith.div(place, parts);
  Values numbers = kernel.asFloats(in);
  emitIf(kernel.b, arith.less(row, arith.i32(tokens * heads)), [&] {
    Value token = arith.add(arith.div(row, heads), 1);
    results.store(kernel.b, arith.toIndex(token),
                  arith.toIndex(arith.rem(row, heads)), arith.toIndex(part),
                  numbers[run], numbers[run + 1],
                  {RowRun{first, Values(ArrayRef(numbers).take_front(run))}},
                  arith.equal(first, arith.i32(0)));
  });
  return {};
}

} // namespace

void tiles::addAttentionBlocks(MLIRContext &context,
                               SmallVectorImpl<BuildingBlock> &blocks) {
  Type f16 = Float16Type::get(&context), bf16 = BFloat16Type::get(&context);
  auto softmax = [&](StringRef name, SoftmaxKind kind) {
    blocks.push_back(
        {name, 32, kind.words(), [=](Kernel &kernel, ValueRange in) {
           return emitSoftmax(kernel, in, kind);
         }});
  };
  softmax("softmax-8-bit",
          {/*rows=*/2, /*tokensOnRows=*/true, /*transposesOutputs=*/false,
           /*tokens=*/2, /*granules=*/2, /*isSigned=*/true,
           /*hasFactors=*/true});
  softmax("softmax-16-bit",
          {/*rows=*/1, /*tokensOnRows=*/false, /*transposesOutputs=*/true,
           /*tokens=*/4, /*granules=*/0, /*isSigned=*/false,
           /*hasFactors=*/true});
  softmax("softmax-softcapped",
          {/*rows=*/1, /*tokensOnRows=*/false, /*transposesOutputs=*/true,
           /*tokens=*/4, /*granules=*/0, /*isSigned=*/false,
           /*hasFactors=*/false});
  softmax("softmax-latents",
          {/*rows=*/2, /*tokensOnRows=*/false, /*transposesOutputs=*/false,
           /*tokens=*/8, /*granules=*/1, /*isSigned=*/false,
           /*hasFactors=*/true});
  blocks.push_back({"softmax-merge", 32, 6, emitMerge});
  auto terms = [&](StringRef name, Type type, int64_t count) {
    blocks.push_back({name, 32, 2, [=](Kernel &kernel, ValueRange in) {
                        return Words(kernel.b).packTerms(kernel.asFloat(in[0]),
                                                         kernel.asFloat(in[1]),
                                                         type, count);
                      }});
  };
  terms("terms-f16", f16, 1);
  terms("terms-f16-twice", f16, 2);
  terms("terms-bf16-twice", bf16, 2);
  for (StringRef name : {"cache-16-bit", "cache-8-bit", "cache-short-pages",
                         "cache-fine-granules", "cache-odd-granules"})
    blocks.push_back({name, 32, 6, emitCacheTiles});
  for (StringRef name : {"element-scales-3", "element-scales-5",
                         "element-scales-12", "element-scales-24"})
    blocks.push_back({name, 32, 6, emitElementScales});
  blocks.push_back({"shared-scales", 256, 6, emitSharedScales});
  auto queries = [&](StringRef name, QueryKind kind) {
    blocks.push_back(
        {name, 32, 3 + kind.rowGroups, [=](Kernel &kernel, ValueRange in) {
           return emitQueries(kernel, in, kind);
         }});
  };
  queries("queries-8-bit", {f16, /*elementBytes=*/1, /*size=*/96,
                            /*granularity=*/32, /*rowGroups=*/1,
                            /*group=*/3});
  queries("queries-16-bit", {bf16, /*elementBytes=*/2, /*size=*/80,
                             /*granularity=*/80, /*rowGroups=*/2,
                             /*group=*/9});
  auto products = [&](StringRef scores, StringRef outputs, ProductKind kind) {
    blocks.push_back(
        {scores, 32, 7 + kind.rowGroups, [=](Kernel &kernel, ValueRange in) {
           return emitScores(kernel, in, kind);
         }});
    blocks.push_back({outputs, 32, 6 + 4 * kind.granules * kind.rowGroups,
                      [=](Kernel &kernel, ValueRange in) {
                        return emitOutputs(kernel, in, kind);
                      }});
  };
  products("scores-bf16", "outputs-bf16",
           {/*rowGroups=*/2, /*group=*/9, /*transposed=*/false,
            /*granules=*/1});
  products("scores-f16", "outputs-f16",
           {/*rowGroups=*/1, /*group=*/3, /*transposed=*/false,
            /*granules=*/1});
  products("scores-e4m3", "outputs-e4m3",
           {/*rowGroups=*/1, /*group=*/4, /*transposed=*/true,
            /*granules=*/3});
  products("scores-i8", "outputs-i8",
           {/*rowGroups=*/2, /*group=*/12, /*transposed=*/true,
            /*granules=*/2});
  products("scores-fine-granules", "outputs-fine-granules",
           {/*rowGroups=*/1, /*group=*/4, /*transposed=*/true,
            /*granules=*/1});
  products("scores-odd-granules", "outputs-odd-granules",
           {/*rowGroups=*/2, /*group=*/16, /*transposed=*/true,
            /*granules=*/1});
  for (auto [name, dtype] :
       {std::pair("latents-e4m3", Type(Float8E4M3FNType::get(&context))),
        {"latents-bf16", bf16}})
    blocks.push_back({name, 128, 4 * (dtype == bf16 ? 2 : 1) + 4 + 2 + 16,
                      [=, dtype = dtype](Kernel &kernel, ValueRange in) {
                        return emitLatents(kernel, in, dtype);
                      }});
  blocks.push_back({"query-tiles", 32 * 12, 1, emitQueryTiles});
  for (auto [name, lists] : {std::pair("slots-of-pages", 0),
                             {"slots-of-short-pages", 0},
                             {"slots-of-lists", 2}})
    blocks.push_back(
        {name, 128, 5, [=, lists = lists](Kernel &kernel, ValueRange in) {
           return emitSlots(kernel, in, lists);
         }});
  auto results = [&](StringRef name, int64_t parts) {
    blocks.push_back({name, 160, 10, [=](Kernel &kernel, ValueRange in) {
                        return emitResults(kernel, in, parts);
                      }});
  };
  results("results-of-one", 1);
  results("results-of-parts", 3);
}
