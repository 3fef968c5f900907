//===- PagedProducts.cpp - Products of rows with tiles of a cache ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedProducts.h"

#include "../ControlFlow.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/OutputTile.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Registers of f16 whose sum an element times its scale is: but for about
/// 2^-39 of the token's largest element, the least that f16 has, as exact as
/// f32.
static constexpr int64_t dequantizedKeyTerms = 2;

PagedProducts::PagedProducts(ImplicitLocOpBuilder &b, Warp &warp,
                             const CacheTiles &tiles, QueryFragments &queries,
                             int64_t rowGroups)
    : b(b), warp(warp), tiles(tiles), queries(queries), dtype(tiles.dtype()),
      product(productType(dtype)),
      scoreLanes{/*transposed=*/dtype.getIntOrFloatBitWidth() == 8, rowGroups,
                 CacheTiles::tokens / 8} {}

Value PagedProducts::decodeScale() const {
  if (tiles.hasElementScales())
    return FastMath(b).number(NormalizedScales::decodeScale);
  return is8Bit() ? Words(b).decodedUnit(dtype) : Value();
}

SmallVector<PagedProducts::Values> PagedProducts::scores(ValueRange keys,
                                                         ValueRange scales) {
  // Or loads that are the same in each turn would leave the loop.
  if (sharedQueries)
    warp.wait();
  return is8Bit() ? scoresOf8Bits(keys, scales) : scoresOf16Bits(keys);
}

SmallVector<PagedProducts::Place> PagedProducts::steps() const {
  SmallVector<Place> steps;
  for (auto [number, piece] : llvm::enumerate(tiles.cutOf(Side::key).pieces))
    for (int64_t step = 0; step < piece.steps(); ++step)
      steps.push_back({number, step});
  return steps;
}

PagedProducts::Values PagedProducts::queryWords(int64_t number) {
  if (sharedQueries) {
    int64_t words = is8Bit() ? 2 * scoreLanes.rowGroups : 4;
    Arith arith(b);
    Value place =
        arith.add(arith.mul(warp.lane, words),
                  arith.i32(number / stepsPerFragment() * Warp::lanes * words));
    return Words(b).of(vector::LoadOp::create(
        b, VectorType::get({words}, b.getI32Type()), sharedQueries,
        ValueRange{arith.toIndex(place)}, /*nontemporal=*/false,
        llvm::MaybeAlign(4 * words)));
  }
  SmallVector<Place> steps = this->steps();
  auto [piece, step] = steps[number];
  if (is8Bit()) {
    Values words;
    for (int64_t rows = 0; rows < scoreLanes.rowGroups; ++rows)
      llvm::append_range(words, queries.fragmentB(rows, piece, step));
    return words;
  }
  if (scoreLanes.rowGroups > 1)
    return queries.fragmentA(piece, step);
  return queries.fragmentOfTwo(
      steps[number], steps[std::min<size_t>(number + 1, steps.size() - 1)]);
}

void PagedProducts::shareQueries(KernelBuilder &builder) {
  Arith arith(b);
  SmallVector<Values> all;
  for (size_t number = 0; number < steps().size(); number += stepsPerFragment())
    all.push_back(queryWords(number));
  int64_t words = all.front().size();
  Value memory = builder.shareMemory(
      b.getI32Type(), all.size() * Warp::lanes * words, 4 * words);
  emitIf(b, arith.equal(warp.number, arith.i32(0)), [&] {
    for (auto [number, ofStep] : llvm::enumerate(all)) {
      Value place = arith.add(arith.mul(warp.lane, words),
                              arith.i32(number * Warp::lanes * words));
      vector::StoreOp::create(
          b, Words(b).vector(ofStep), memory, ValueRange{arith.toIndex(place)},
          /*nontemporal=*/false, llvm::MaybeAlign(4 * words));
    }
  });
  gpu::BarrierOp::create(b);
  sharedQueries = memory;
}

SmallVector<PagedProducts::Values>
PagedProducts::scoresOf16Bits(ValueRange keys) {
  SmallVector<Place> steps = this->steps();
  auto keysOf = [&](Place place) {
    auto [piece, step] = place;
    SmallVector<Values> ofTokens;
    for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token) {
      Values words = tiles.wordsOf(Side::key, keys, token, piece);
      ofTokens.push_back({words[2 * step], words[2 * step + 1]});
    }
    return ofTokens;
  };
  ScoreTile tile(b, scoreLanes, product);
  if (scoreLanes.rowGroups > 1) {
    for (auto [number, place] : llvm::enumerate(steps))
      tile.add(queryWords(number), keysOf(place));
    return tile.scores();
  }
  for (size_t i = 0; i < steps.size(); i += 2) {
    size_t next = std::min(i + 1, steps.size() - 1);
    tile.addTwo(queryWords(i), keysOf(steps[i]),
                next > i ? keysOf(steps[next]) : SmallVector<Values>());
  }
  return tile.scores();
}

SmallVector<PagedProducts::Values>
PagedProducts::scoresOf8Bits(ValueRange keys, ValueRange scales) {
  Words registers(b);
  const HeadCut &cut = tiles.cutOf(Side::key);
  NormalizedScales normalized;
  if (tiles.hasElementScales())
    normalized = emitNormalizedScales(
        b, tiles.elementScales(Side::key, keys), registers.decodedUnit(dtype),
        [&](Value value, function_ref<Value(Value, Value)> combine) {
          return warp.reduceRow(value, combine);
        });
  ScoreTile tile(b, scoreLanes, product);
  // All elements of a token end in its score: one NaN is as good as another.
  SmallVector<Values> decoded(CacheTiles::keysPerLane);
  int64_t stepNumber = 0;
  for (auto [number, piece] : llvm::enumerate(cut.pieces)) {
    bool isLastPiece = number + 1 == cut.pieces.size();
    SmallVector<Values> elementScales;
    for (const Values &ofToken : normalized.scales)
      elementScales.push_back(
          tiles.scalesOfElements(Side::key, ofToken, number));
    for (int64_t step = 0; step < piece.steps(); ++step) {
      // By term, token and half of the step, as fragment A has them.
      SmallVector<Values> fragments(
          tiles.hasElementScales() ? dequantizedKeyTerms : 1, Values(4));
      for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token) {
        Values pairs = registers.decodeScaled(
            tiles.wordsOf(Side::key, keys, token, number)[step], dtype);
        llvm::append_range(decoded[token], pairs);
        if (isLastPiece && step + 1 == piece.steps())
          pairs[1] = registers.restoreNaN(pairs[1], decoded[token], dtype);
        for (int64_t half = 0; half < 2; ++half) {
          Values terms = {pairs[half]};
          if (tiles.hasElementScales())
            terms = registers.multiply(
                pairs[half],
                ArrayRef(elementScales[token]).slice(4 * step + 2 * half, 2),
                product, dequantizedKeyTerms);
          for (auto [fragment, word] : llvm::zip(fragments, terms))
            fragment[2 * half + token] = word;
        }
      }
      Values words = queryWords(stepNumber++);
      SmallVector<Values> ofRows;
      for (int64_t rows = 0; rows < scoreLanes.rowGroups; ++rows)
        ofRows.push_back(Values(ArrayRef(words).slice(2 * rows, 2)));
      for (const Values &fragment : fragments)
        tile.add(ofRows, fragment);
    }
    // Where a granule ends, its scale is due.
    int64_t granule = cut.granuleOf(piece);
    if (!tiles.isQuantized() || tiles.hasElementScales() ||
        (!isLastPiece && cut.granuleOf(cut.pieces[number + 1]) == granule))
      continue;
    Values ofGranule;
    for (int64_t token = 0; token < CacheTiles::keysPerLane; ++token)
      ofGranule.push_back(scales[token * cut.granules + granule]);
    tile.scale(ofGranule);
  }
  if (tiles.hasElementScales())
    tile.scale(normalized.tokenScales);
  return tile.scores();
}

PagedProducts::LoadedValues PagedProducts::prepare(ValueRange values,
                                                   ValueRange scales) {
  LoadedValues result{values, llvm::to_vector_of<Value>(scales), {}};
  if (!tiles.hasElementScales())
    return result;
  NormalizedScales normalized = emitNormalizedScales(
      b, tiles.elementScales(Side::value, values), Words(b).decodedUnit(dtype),
      [&](Value value, function_ref<Value(Value, Value)> combine) {
        return warp.reduceColumn(value, combine);
      });
  result.elementScales = normalized.scales;
  // Those of the tokens of the lane's scores, which other lanes have.
  Arith arith(b);
  Value lane = arith.div(warp.row, 2);
  Value isOdd = arith.equal(arith.rem(warp.row, 2), arith.i32(1));
  result.scales.clear();
  for (int64_t half = 0; half < 2; ++half)
    result.scales.push_back(arith::SelectOp::create(
        b, isOdd, warp.from(normalized.tokenScales[2 * half + 1], lane),
        warp.from(normalized.tokenScales[2 * half], lane)));
  return result;
}

PagedProducts::Values
PagedProducts::valueFragment(const LoadedValues &loaded, int64_t number,
                             int64_t step, ArrayRef<Values> elementScales) {
  Words registers(b);
  // Of a step a lane has two elements: rows `row` and `row + 8` of V^T.
  Values fragment;
  for (int64_t pair = 0; pair < 2; ++pair) {
    auto word = [&](int64_t token) {
      return tiles.wordsOf(Side::value, loaded.values, 2 * pair + token,
                           number)[is8Bit() ? step / 2 : step];
    };
    Value low = word(0), high = word(1);
    if (is8Bit()) {
      // Both tokens' first element, then both tokens' second one.
      Value bytes =
          registers.permute(low, high, step % 2 == 0 ? 0x5140 : 0x7362);
      llvm::append_range(fragment, registers.decodeScaled(bytes, dtype));
    } else {
      fragment.push_back(registers.permute(low, high, 0x5410));
      fragment.push_back(registers.permute(low, high, 0x7632));
    }
  }
  if (!is8Bit())
    return fragment;
  // Each row of V^T is a sum of its own.
  for (int64_t i = 0; i < 2; ++i)
    fragment[i] = registers.restoreNaN(fragment[i],
                                       {fragment[i], fragment[2 + i]}, dtype);
  if (!tiles.hasElementScales())
    return fragment;
  for (auto [place, register_] : llvm::enumerate(fragment)) {
    int64_t token = place / 2 * 2, element = 2 * step + place % 2;
    Value scales[] = {elementScales[token][element],
                      elementScales[token + 1][element]};
    register_ = registers.multiply(register_, scales, product).front();
  }
  return fragment;
}

void PagedProducts::addValues(MutableArrayRef<Value> sums,
                              const LoadedValues &values,
                              ArrayRef<SmallVector<Values>> weights) {
  const HeadCut &cut = tiles.cutOf(Side::value);
  int64_t sumsPerGroup = sums.size() / scoreLanes.rowGroups, at = 0;
  std::optional<OutputTile> tile;
  for (auto [number, piece] : llvm::enumerate(cut.pieces)) {
    // Of one granule at a time, for fewer registers.
    int64_t granule = weights.size() == 1 ? 0 : cut.granuleOf(piece);
    if (number == 0 || cut.granuleOf(cut.pieces[number - 1]) < granule)
      tile.emplace(b, scoreLanes, product, weights[granule]);
    SmallVector<Values> elementScales;
    for (const Values &ofToken : values.elementScales)
      elementScales.push_back(
          tiles.scalesOfElements(Side::value, ofToken, number));
    for (int64_t step = 0; step < piece.steps(); ++step, at += 4) {
      Values fragment = valueFragment(values, number, step, elementScales);
      for (int64_t rows = 0; rows < scoreLanes.rowGroups; ++rows)
        tile->add(sums.slice(rows * sumsPerGroup + at, 4), rows, /*step=*/0,
                  fragment);
    }
  }
}
