//===- attention_blocks.cpp - Building blocks of attention ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "building_block.h"

#include "Attention/OutputTile.h"
#include "Attention/Partials.h"
#include "Attention/SharedScales.h"
#include "Attention/SoftmaxState.h"
#include "Destinations.h"
#include "Tiles/FastMath.h"
#include "Tiles/Words.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace tiles;

namespace {

/// What a kernel makes of softmax: see the arguments of `SoftmaxLanes` and
/// `SoftmaxTile`.
struct SoftmaxKind {
  int64_t rows;
  bool tokensOnRows, turned;
  int64_t tokens, granules;
  bool isSigned, hasFactors;

  static constexpr int64_t tiles = 3, outputs = 2;
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
  SoftmaxState state(b, kernel.warp,
                     {kind.rows, kind.tokensOnRows, {0, 1}, kind.turned});
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
  for (int64_t row = 0; row < kind.rows; ++row)
    result.push_back(state.total(row));
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
/// Gives the pieces, fragments B by group, step and granule, fragments A by
/// step and granule, one of two steps, factors by row and by column.
Values emitQueries(Kernel &kernel, ValueRange in, const QueryKind &kind) {
  Arith &arith = kernel.arith;
  HeadCut cut(kind.size, /*across=*/4, kind.elementBytes, /*maxBytes=*/16,
              kind.granularity);
  QueryFragments queries(kernel.builder, kernel.arguments[0], cut, kind.product,
                         kind.rowGroups, kind.group);
  queries.setFactor(3, kernel.asFloat(in[2]));
  queries.load(kernel.warp, arith.toIndex(in[0]), arith.toIndex(in[1]),
               llvm::to_vector(in.drop_front(3)));
  Values result = describe(kernel, cut);
  for (int64_t group = 0; group <= kind.rowGroups; ++group)
    for (auto [number, piece] : llvm::enumerate(cut.pieces))
      for (int64_t step = 0; step < piece.steps(); ++step)
        for (int64_t granule = 0; granule < cut.granules; ++granule) {
          auto [first, last] = cut.granulesOf(piece);
          if (granule < first || granule > last)
            continue;
          llvm::append_range(
              result, group == kind.rowGroups
                          ? queries.fragmentA(number, step, granule)
                          : queries.fragmentB(group, number, step, granule));
        }
  llvm::append_range(result, queries.fragmentOfTwo({0, 0}, {1, 0}));
  for (bool byColumn : {false, true})
    llvm::append_range(
        result, kernel.asWords(queries.scoreFactors(kernel.warp, byColumn)));
  return result;
}

/// What multiplies rows of queries with a cache, `group` rows to each token.
struct ProductKind {
  int64_t rowGroups, group;
};

/// A cache's tiles, of `kernel`, and how products lie.
struct Products {
  LayoutAttr layout;
  Type product;
  CacheTiles tiles;
  ScoreLanes lanes;

  Products(Kernel &kernel, ValueRange in)
      : layout(kvcache::getLayout(kernel.keys.getType())),
        product(isCode() ? Type(kernel.b.getF16Type()) : layout.getDtype()),
        tiles(kernel.b, kernel.builder.take(kernel.keys),
              kernel.builder.take(kernel.values), /*sharesTables=*/true,
              /*withScales=*/true, OutOfRange::assume),
        lanes{kernel.b, kernel.warp, isCode()} {
    tiles.setRange(kernel.warp, kernel.arith.toIndex(in[0]),
                   kernel.arith.toIndex(in[1]), in[2], in[3]);
  }
  bool isCode() const { return layout.getDtype().getIntOrFloatBitWidth() == 8; }
  Value unit(Kernel &kernel) const {
    return isCode() ? Words(kernel.b).decodedUnit(layout.getDtype())
                    : FastMath(kernel.b).number(1);
  }
  Values load(Side side, Value tile) {
    return tiles.load(side, tile, tiles.pages(tile), /*isInside=*/true);
  }
};

/// Words as of `emitCacheTiles`, then the first row of the tensor and the
/// lane's row of each group. Gives scores by group, what multiplies them, and
/// the unit of codes.
Values emitScores(Kernel &kernel, ValueRange in, const ProductKind &kind) {
  Products of(kernel, in);
  QueryFragments queries(kernel.builder, kernel.arguments[0],
                         of.tiles.cutOf(Side::key), of.product, kind.rowGroups,
                         kind.group);
  queries.setFactor(1);
  queries.load(kernel.warp, kernel.arith.toIndex(in[6]),
               kernel.arith.toIndex(in[1]), llvm::to_vector(in.drop_front(7)));
  Values keys = of.load(Side::key, in[4]);
  ScoreTile tile(kernel.b, of.lanes, of.tiles, queries, of.layout.getDtype(),
                 of.product, kind.rowGroups);
  Values result;
  for (const Values &ofGroup : tile.scores(
           keys, ArrayRef(keys).drop_front(of.tiles.vectors(Side::key))))
    llvm::append_range(result, ofGroup);
  llvm::append_range(result, queries.scoreFactors(kernel.warp, of.isCode()));
  result.push_back(of.unit(kernel));
  return kernel.asWords(result);
}

/// Words as of `emitCacheTiles`, then weights by granule, row and token. Gives
/// the pieces of values, sums, and the unit of codes.
Values emitOutputs(Kernel &kernel, ValueRange in, const ProductKind &kind) {
  Products of(kernel, in);
  Values numbers = kernel.asFloats(in.drop_front(6));
  int64_t granules =
      of.tiles.isQuantized() ? of.tiles.cutOf(Side::value).granules : 1;
  SmallVector<SmallVector<Values>> weights(granules);
  ArrayRef<Value> rest = numbers;
  for (SmallVector<Values> &ofGranule : weights)
    for (int64_t row = 0; row < kind.rowGroups * of.lanes.rowsPerLane();
         ++row) {
      ofGranule.push_back(
          llvm::to_vector(rest.take_front(of.lanes.tokensPerLane())));
      rest = rest.drop_front(of.lanes.tokensPerLane());
    }
  OutputTile tile(kernel.b, of.lanes, of.tiles, of.layout.getDtype(),
                  of.product, kind.rowGroups);
  Values sums(kind.rowGroups * of.layout.getHeadSize() / 4,
              FastMath(kernel.b).number(0.5));
  tile.add(sums, of.load(Side::value, in[4]), weights);
  Values result = describe(kernel, of.tiles.cutOf(Side::value));
  sums.push_back(of.unit(kernel));
  llvm::append_range(result, kernel.asWords(sums));
  return result;
}

/// Two tokens of three heads of 64 elements; a thread has 8 of a part of a row,
/// its maximum and its sum: threads count elements, parts, heads, tokens. After
/// `in` and `out` main has the results, sinks, log-sum-exps and the workspace.
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
  kernel.after = [=, &host] {
    results.combine(host, op, count, KernelBuilder::maxGrid);
  };
  Value thread =
      arith.add(arith.mul(kernel.warp.number, Warp::lanes), kernel.warp.lane);
  Value first = arith.mul(arith.rem(thread, size / run), run);
  Value place = arith.div(thread, size / run);
  Value part = arith.rem(place, parts), row = arith.div(place, parts);
  Values numbers = kernel.asFloats(in);
  emitIf(kernel.b, arith.less(row, arith.i32(tokens * heads)), [&] {
    results.store(kernel.b, arith.toIndex(arith.div(row, heads)),
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
  softmax("softmax-codes", {/*rows=*/2, /*tokensOnRows=*/true, /*turned=*/false,
                            /*tokens=*/2, /*granules=*/2, /*isSigned=*/true,
                            /*hasFactors=*/true});
  softmax("softmax-numbers", {/*rows=*/1, /*tokensOnRows=*/false,
                              /*turned=*/true, /*tokens=*/4, /*granules=*/0,
                              /*isSigned=*/false, /*hasFactors=*/true});
  softmax("softmax-bent", {/*rows=*/1, /*tokensOnRows=*/false, /*turned=*/true,
                           /*tokens=*/4, /*granules=*/0, /*isSigned=*/false,
                           /*hasFactors=*/false});
  softmax("softmax-latents", {/*rows=*/2, /*tokensOnRows=*/false,
                              /*turned=*/false, /*tokens=*/8, /*granules=*/1,
                              /*isSigned=*/false, /*hasFactors=*/true});
  blocks.push_back({"softmax-merge", 32, 6, emitMerge});
  auto terms = [&](StringRef name, Type type) {
    blocks.push_back({name, 32, 2, [=](Kernel &kernel, ValueRange in) {
                        return emitWeightTerms(kernel.b, kernel.asFloat(in[0]),
                                               kernel.asFloat(in[1]), type);
                      }});
  };
  terms("weight-terms-f16", f16);
  terms("weight-terms-bf16", bf16);
  for (StringRef name : {"cache-numbers", "cache-codes", "cache-short-pages"})
    blocks.push_back({name, 32, 6, emitCacheTiles});
  blocks.push_back({"shared-scales", 256, 6, emitSharedScales});
  auto queries = [&](StringRef name, QueryKind kind) {
    blocks.push_back(
        {name, 32, 3 + kind.rowGroups, [=](Kernel &kernel, ValueRange in) {
           return emitQueries(kernel, in, kind);
         }});
  };
  queries("queries-of-codes", {f16, /*elementBytes=*/1, /*size=*/96,
                               /*granularity=*/24, /*rowGroups=*/1,
                               /*group=*/3});
  queries("queries-of-numbers", {bf16, /*elementBytes=*/2, /*size=*/80,
                                 /*granularity=*/80, /*rowGroups=*/2,
                                 /*group=*/9});
  auto products = [&](StringRef scores, StringRef outputs, ProductKind kind,
                      int64_t granules) {
    blocks.push_back(
        {scores, 32, 7 + kind.rowGroups, [=](Kernel &kernel, ValueRange in) {
           return emitScores(kernel, in, kind);
         }});
    blocks.push_back({outputs, 32, 6 + 4 * granules * kind.rowGroups,
                      [=](Kernel &kernel, ValueRange in) {
                        return emitOutputs(kernel, in, kind);
                      }});
  };
  products("scores-bf16", "outputs-bf16", {/*rowGroups=*/2, /*group=*/9},
           /*granules=*/1);
  products("scores-f16", "outputs-f16", {/*rowGroups=*/1, /*group=*/3},
           /*granules=*/1);
  products("scores-e4m3", "outputs-e4m3", {/*rowGroups=*/1, /*group=*/4},
           /*granules=*/4);
  products("scores-i8", "outputs-i8", {/*rowGroups=*/2, /*group=*/12},
           /*granules=*/2);
  auto results = [&](StringRef name, int64_t parts) {
    blocks.push_back({name, 160, 10, [=](Kernel &kernel, ValueRange in) {
                        return emitResults(kernel, in, parts);
                      }});
  };
  results("results-of-one", 1);
  results("results-of-parts", 3);
}
