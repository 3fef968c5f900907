//===- ExpandMLADecode.cpp - The kernel of kvcache.mla_decode ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every query head reads the same keys, and values are keys: a block of four
// warps has sixteen rows (new tokens times query heads) and takes 32 tokens at
// a time to shared memory, codes as f16. For scores a warp has eight tokens and
// all elements, for values all tokens and a quarter of the elements; in between
// scores go through shared memory, and every warp works out all weights.
//
// Rows of shared memory are cut into pieces of 16 bytes, whose order is such
// that writers, who have two of them in succession where they were codes, and
// readers of eight rows at a time (ldmatrix) each meet all banks.
//
// Scales and exponents are as in kvcache.paged_attention.
//
//===----------------------------------------------------------------------===//

#include "Partials.h"
#include "QueryTiles.h"
#include "SharedTile.h"
#include "SlotSource.h"

#include "../Destinations.h"
#include "../ExpandKernels.h"
#include "kvcache/Dialect/KVCache/IR/Numbers.h"
#include "../RowUnits.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Mma.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::kvcache;

static constexpr double log2e = 1.4426950408889634;
static constexpr double infinity = std::numeric_limits<double>::infinity();
/// As in kvcache.paged_attention.
static constexpr double lag = 8, leastLog = -100;

/// Rows and warps of a block, tokens of a tile.
static constexpr int64_t rowCount = 16, warps = 4, tokens = 32;
/// Numbers from row to row of scores in shared memory.
static constexpr int64_t scoreStride = tokens + 8;

namespace {

class MLADecodeKernel {
public:
  MLADecodeKernel(ImplicitLocOpBuilder &host, MLADecodeOp op, Tuning tuning);
  void emit();

private:
  using Values = SmallVector<Value>;

  struct State {
    /// Of the lane's rows `row` and `row + 8`.
    Values maximum;
    /// The lane's sums of weights of these.
    Values sum;
    /// By step of eight elements: four sums.
    Values output;
  };
  Values flatten(const State &state) const;
  State unflatten(ValueRange values) const;

  void emitRows(const QueryTile &rows, Value part);
  void loadQueries(const QueryTile &rows);
  /// Tiles `first` to before `stop`; `isWhole` says that all rows see all of
  /// their keys.
  State walk(Value first, Value stop, bool isWhole, const State &initial);
  void multiplyTile(State &state, Value tile, ValueRange codes,
                    function_ref<void()> loadNext, bool isWhole);
  void storeScores(Value tile, Values sums, bool isWhole);
  SmallVector<Values> loadScores(Value tile, Values &logs, bool isWhole);
  void rescale(State &state, ArrayRef<Value> largest);
  void store(const State &state, const QueryTile &rows, Value part);
  Values ifElse(Value condition, TypeRange types, function_ref<Values()> then,
                function_ref<Values()> otherwise);
  Value sharedFloats(int64_t byte, Value index);

  int64_t steps() const { return headSize / 16; }
  /// Elements of values that a warp has, and steps of eight of these.
  int64_t slice() const { return valueSize / warps; }
  int64_t outputSteps() const { return slice() / 8; }

  ImplicitLocOpBuilder &host;
  MLADecodeOp op;
  Tuning tuning;
  LayoutAttr layout;
  Type dtype, product, queryType;
  bool isCode, isSparse;
  int64_t headSize, valueSize, heads;
  /// Where in shared memory what starts.
  int64_t queriesAt, scoresAt, logsAt, sharedBytes;

  KernelBuilder *builder = nullptr;
  ImplicitLocOpBuilder *b = nullptr;
  std::optional<Warp> warp;
  std::optional<SharedTile> shared;
  std::optional<SlotSource> source;
  std::optional<RowResults> results;
  Tensor q, queryScales;
  double factor;
  /// What scores of the lane's rows are multiplied by; one past their last key.
  Values factors, ends;
  Value firstEnd;
};

} // namespace

MLADecodeKernel::MLADecodeKernel(ImplicitLocOpBuilder &host, MLADecodeOp op,
                                 Tuning tuning)
    : host(host), op(op), tuning(tuning),
      layout(kvcache::getLayout(op.getKeys().getType())),
      dtype(layout.getDtype()),
      queryType(cast<MemRefType>(op.getQ().getType()).getElementType()),
      isCode(dtype.getIntOrFloatBitWidth() == 8),
      isSparse(!op.getSlots().empty()), headSize(layout.getHeadSize()),
      valueSize(op.getValueSize()), heads(op.getQueryHeads()) {
  product = isCode ? Type(Float16Type::get(op.getContext())) : dtype;
  factor = log2e * (op.getScale() ? op.getScale()->convertToDouble()
                                  : 1 / std::sqrt(double(headSize)));
  queriesAt = SharedTile::bytesOf(headSize, tokens);
  // A fragment has 16 bytes a lane.
  scoresAt = queriesAt + steps() * Warp::lanes * 16;
  logsAt = scoresAt + rowCount * scoreStride * 4;
  sharedBytes = logsAt + tokens * 4;
}

MLADecodeKernel::Values MLADecodeKernel::ifElse(Value condition,
                                                TypeRange types,
                                                function_ref<Values()> then,
                                                function_ref<Values()> other) {
  auto check = scf::IfOp::create(*b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(check.thenBlock());
  scf::YieldOp::create(*b, then());
  b->setInsertionPointToStart(check.elseBlock());
  scf::YieldOp::create(*b, other());
  return llvm::to_vector_of<Value>(check.getResults());
}

MLADecodeKernel::Values MLADecodeKernel::flatten(const State &state) const {
  Values all = state.maximum;
  llvm::append_range(all, state.sum);
  llvm::append_range(all, state.output);
  return all;
}

MLADecodeKernel::State MLADecodeKernel::unflatten(ValueRange values) const {
  State state;
  state.maximum = llvm::to_vector_of<Value>(values.take_front(2));
  state.sum = llvm::to_vector_of<Value>(values.slice(2, 2));
  state.output = llvm::to_vector_of<Value>(values.drop_front(4));
  return state;
}

/// The address of number `index` (`i32`) of those from byte `byte` on.
Value MLADecodeKernel::sharedFloats(int64_t byte, Value index) {
  return shared->at(Arith(*b).mul(index, 4), byte);
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

/// Rows as fragments A in shared memory, sixteen bytes a lane and step. Rows of
/// bf16 become f16 by a power of two each.
void MLADecodeKernel::loadQueries(const QueryTile &rows) {
  Arith arith(*b);
  FastMath math(*b);
  Words registers(*b);
  Value last = arith.sub(rows.end, arith.i32(1));
  SmallVector<Value> bases;
  factors.clear();
  for (int64_t half = 0; half < 2; ++half) {
    Value row = arith.minimum(
        arith.add(arith.add(rows.begin, warp->row), 8 * half), last);
    Value token =
        arith.add(rows.firstRow, arith.toIndex(arith.div(row, heads)));
    Value head = arith.toIndex(arith.rem(row, heads));
    bases.push_back(arith.add(arith.mul(token, q.strides[0]),
                              arith.mul(head, q.strides[1])));
    Value rowFactor = math.number(factor);
    if (op.getQScales()) {
      Value at = arith.add(arith.mul(token, queryScales.strides[0]), head);
      Value view = ByteViewOp::create(*b, MemRefType::get({1}, b->getF32Type()),
                                      queryScales.base, arith.mul(at, 4));
      Value scale =
          vector::LoadOp::create(*b, VectorType::get({1}, b->getF32Type()),
                                 view, ValueRange{arith.index(0)});
      rowFactor = math.mul(rowFactor, vector::ExtractOp::create(*b, scale, 0));
      // What is masked is infinite, which times zero would be NaN.
      rowFactor = math.maxOrNaN(rowFactor,
                                math.number(std::numeric_limits<float>::min()));
    }
    factors.push_back(rowFactor);
  }
  // Each warp has every fourth step.
  SmallVector<Values> fragments;
  for (int64_t step = 0; step < steps(); step += warps) {
    Values fragment;
    for (int64_t place = 0; place < 4; ++place) {
      Value element = arith.add(
          arith.add(arith.mul(warp->number, 16), arith.mul(warp->column, 2)),
          16 * step + place / 2 * 8);
      Value at =
          arith.mul(arith.add(bases[place % 2], arith.toIndex(element)), 2);
      Value view =
          ByteViewOp::create(*b, MemRefType::get({2}, queryType), q.base, at);
      int64_t alignment =
          areRowsAligned({op.getQ()}, 4).value_or(false) ? 4 : 2;
      Value pair = vector::LoadOp::create(
          *b, VectorType::get({2}, queryType), view, ValueRange{arith.index(0)},
          /*nontemporal=*/false, llvm::MaybeAlign(alignment));
      fragment.push_back(registers.of(pair).front());
    }
    fragments.push_back(fragment);
  }
  if (queryType != product) {
    // The largest magnitudes of both rows, of all warps.
    for (int64_t half = 0; half < 2; ++half) {
      Value largest;
      for (const Values &fragment : fragments)
        for (int64_t place = half; place < 4; place += 2) {
          auto [low, high] = registers.unpack(fragment[place], queryType);
          Value most = math.max(math.absolute(low), math.absolute(high));
          largest = largest ? math.max(largest, most) : most;
        }
      largest = warp->reduceRow(
          largest, [&](Value x, Value y) { return math.max(x, y); });
      Value mine = arith.add(
          arith.add(arith.mul(warp->number, rowCount), warp->row), 8 * half);
      LLVM::StoreOp::create(*b, largest, sharedFloats(scoresAt, mine), 4);
    }
    gpu::BarrierOp::create(*b);
    for (int64_t half = 0; half < 2; ++half) {
      Value largest;
      for (int64_t w = 0; w < warps; ++w) {
        Value at = arith.add(warp->row, w * rowCount + 8 * half);
        Value most = LLVM::LoadOp::create(*b, b->getF32Type(),
                                          sharedFloats(scoresAt, at), 4);
        largest = largest ? math.max(largest, most) : most;
      }
      auto [up, down] = math.powersTo16Bits(largest);
      factors[half] = math.mul(factors[half], down);
      for (Values &fragment : fragments)
        for (int64_t place = half; place < 4; place += 2) {
          auto [low, high] = registers.unpack(fragment[place], queryType);
          fragment[place] =
              registers.pack(math.mul(low, up), math.mul(high, up), product);
        }
    }
    // The loop writes scores there after a barrier of its own.
  }
  Value lane = arith.add(arith.mul(warp->number, Warp::lanes * 16),
                         arith.mul(warp->lane, 16));
  for (auto [number, fragment] : llvm::enumerate(fragments))
    LLVM::StoreOp::create(
        *b, registers.vector(fragment),
        shared->at(lane, queriesAt + number * warps * Warp::lanes * 16), 16);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Puts scores of the warp's eight tokens, times the scales of these, to shared
/// memory, and logarithms of the scales.
void MLADecodeKernel::storeScores(Value tile, Values sums, bool isWhole) {
  Arith arith(*b);
  FastMath math(*b);
  Value first =
      arith.add(arith.mul(warp->number, 8), arith.mul(warp->column, 2));
  Values logs;
  for (int64_t i = 0; i < 2; ++i) {
    SlotSource::Place place = source->at(tile, arith.add(first, i), isWhole);
    Value log = math.number(0);
    if (layout.isQuantized()) {
      Value scale = source->scale(place);
      sums[i] = math.mul(sums[i], scale);
      sums[2 + i] = math.mul(sums[2 + i], scale);
      log = math.maxOrNaN(math.log2(scale), math.number(leastLog));
    }
    if (place.valid) {
      Value none = math.number(-infinity);
      for (int64_t row = 0; row < 2; ++row)
        sums[2 * row + i] = math.select(place.valid, sums[2 * row + i], none);
      log = math.select(place.valid, log, none);
    }
    logs.push_back(log);
  }
  auto put = [&](Value a, Value c, Value at) {
    Value pair = vector::FromElementsOp::create(
        *b, VectorType::get({2}, b->getF32Type()), ValueRange{a, c});
    LLVM::StoreOp::create(*b, pair, at, 8);
  };
  Value at = arith.add(arith.mul(warp->row, scoreStride), first);
  put(sums[0], sums[1], sharedFloats(scoresAt, at));
  put(sums[2], sums[3], sharedFloats(scoresAt + 8 * scoreStride * 4, at));
  if (layout.isQuantized())
    // All rows of lanes write the same.
    put(logs[0], logs[1], sharedFloats(logsAt, first));
}

/// Exponents of the lane's rows without their factor, by token of the lane: two
/// of each eight.
SmallVector<MLADecodeKernel::Values>
MLADecodeKernel::loadScores(Value tile, Values &logs, bool isWhole) {
  Arith arith(*b);
  FastMath math(*b);
  auto pairType = VectorType::get({2}, b->getF32Type());
  Value pairAt = arith.mul(warp->column, 2);
  auto get = [&](int64_t byte, Value at, Values &into) {
    for (int64_t n = 0; n < tokens / 8; ++n) {
      Value pair = LLVM::LoadOp::create(*b, pairType,
                                        sharedFloats(byte + 8 * 4 * n, at), 8);
      for (int64_t i = 0; i < 2; ++i)
        into.push_back(vector::ExtractOp::create(*b, pair, i));
    }
  };
  SmallVector<Values> scores(2);
  Value at = arith.add(arith.mul(warp->row, scoreStride), pairAt);
  for (int64_t row = 0; row < 2; ++row)
    get(scoresAt + row * 8 * scoreStride * 4, at, scores[row]);
  if (layout.isQuantized())
    get(logsAt, pairAt, logs);
  // Of lists, what is no key is masked already.
  if (isSparse || isWhole)
    return scores;
  Value first = arith.add(arith.mul(tile, tokens), pairAt);
  Value none = math.number(-infinity);
  for (int64_t row = 0; row < 2; ++row)
    for (auto [i, score] : llvm::enumerate(scores[row])) {
      Value token = arith.add(first, i / 2 * 8 + i % 2);
      score = math.select(arith.less(token, ends[row]), score, none);
    }
  return scores;
}

void MLADecodeKernel::rescale(State &state, ArrayRef<Value> largest) {
  FastMath math(*b);
  Value needed;
  for (int64_t row = 0; row < 2; ++row) {
    Value more =
        arith::CmpFOp::create(*b, arith::CmpFPredicate::OGT, largest[row],
                              math.add(state.maximum[row], math.number(lag)));
    needed = needed ? Value(arith::OrIOp::create(*b, needed, more)) : more;
  }
  Values old;
  for (const Values &part : {state.maximum, state.sum, state.output})
    llvm::append_range(old, part);
  Values fresh = ifElse(
      warp->any(needed), ValueRange(old).getTypes(),
      [&] {
        Values result, scaled, factors;
        for (int64_t row = 0; row < 2; ++row) {
          Value maximum = math.max(state.maximum[row], largest[row]);
          factors.push_back(math.exp2(math.sub(state.maximum[row], maximum)));
          result.push_back(maximum);
        }
        for (auto [place, sum] : llvm::enumerate(state.sum))
          result.push_back(math.mul(sum, factors[place]));
        for (auto [place, sum] : llvm::enumerate(state.output))
          result.push_back(math.mul(sum, factors[place / 2 % 2]));
        return result;
      },
      [&] { return old; });
  ValueRange rest = fresh;
  for (Values *part : {&state.maximum, &state.sum, &state.output}) {
    size_t count = part->size();
    part->assign(rest.begin(), rest.begin() + count);
    rest = rest.drop_front(count);
  }
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

void MLADecodeKernel::multiplyTile(State &state, Value tile, ValueRange codes,
                                   function_ref<void()> loadNext,
                                   bool isWhole) {
  Arith arith(*b);
  FastMath math(*b);
  Words registers(*b);
  shared->store(codes);
  gpu::BarrierOp::create(*b);
  loadNext();

  // Two chains: a product waits for the one before.
  SmallVector<Values> chains(2, Values(4, math.number(0)));
  Value lane = arith.mul(warp->lane, 16);
  auto quad = VectorType::get({4}, b->getI32Type());
  for (int64_t pair = 0; pair < steps() / 2; ++pair) {
    Values keys = emitLoadMatrices(*b, shared->keyMatrix(pair),
                                   /*transposed=*/false);
    for (int64_t i = 0; i < 2; ++i) {
      int64_t step = 2 * pair + i;
      Value fragment = LLVM::LoadOp::create(
          *b, quad, shared->at(lane, queriesAt + step * Warp::lanes * 16), 16);
      chains[i] =
          emitMma(*b, product, registers.of(fragment),
                  ValueRange(ArrayRef<Value>(keys).slice(2 * i, 2)), chains[i]);
    }
  }
  Values sums;
  for (int64_t i = 0; i < 4; ++i)
    sums.push_back(math.add(chains[0][i], chains[1][i]));
  storeScores(tile, sums, isWhole);
  gpu::BarrierOp::create(*b);

  Values logs, largest;
  SmallVector<Values> scores = loadScores(tile, logs, isWhole);
  auto exponent = [&](int64_t row, int64_t i, Value addend) {
    return math.fma(scores[row][i], factors[row], addend);
  };
  for (int64_t row = 0; row < 2; ++row) {
    Value most;
    for (int64_t i = 0; i < tokens / 4; ++i) {
      Value x = logs.empty() ? scores[row][i] : exponent(row, i, logs[i]);
      most = most ? math.max(most, x) : x;
    }
    most =
        warp->reduceRow(most, [&](Value x, Value y) { return math.max(x, y); });
    largest.push_back(logs.empty() ? math.mul(most, factors[row]) : most);
  }
  rescale(state, largest);

  // By term of a sum, row and pair of tokens: two terms where one has the 8
  // bits of bf16 only.
  SmallVector<SmallVector<Values>> weights(product.isBF16() ? 2 : 1,
                                           SmallVector<Values>(2));
  for (int64_t row = 0; row < 2; ++row) {
    Value less = math.negate(state.maximum[row]);
    Values plain, scaled;
    for (int64_t i = 0; i < tokens / 4; ++i) {
      plain.push_back(math.exp2(exponent(row, i, less)));
      scaled.push_back(
          logs.empty() ? plain.back()
                       : math.exp2(exponent(row, i, math.add(logs[i], less))));
    }
    for (Value weight : plain)
      state.sum[row] = math.add(state.sum[row], weight);
    for (int64_t i = 0; i < tokens / 4; i += 2) {
      Value low = scaled[i], high = scaled[i + 1];
      for (SmallVector<Values> &term : weights) {
        Value word = registers.pack(low, high, product);
        term[row].push_back(word);
        if (&term == &weights.back())
          break;
        auto [roundedLow, roundedHigh] = registers.unpack(word, product);
        low = math.sub(low, roundedLow);
        high = math.sub(high, roundedHigh);
      }
    }
  }
  for (int64_t half = 0; half < tokens / 16; ++half)
    for (int64_t pair = 0; pair < outputSteps() / 2; ++pair) {
      Values values = emitLoadMatrices(*b, shared->valueMatrix(pair, half),
                                       /*transposed=*/true);
      for (const SmallVector<Values> &term : weights)
        for (int64_t i = 0; i < 2; ++i) {
          Values fragment = {term[0][2 * half], term[1][2 * half],
                             term[0][2 * half + 1], term[1][2 * half + 1]};
          auto output =
              MutableArrayRef(state.output).slice(4 * (2 * pair + i), 4);
          llvm::copy(
              emitMma(*b, product, fragment,
                      ValueRange(ArrayRef<Value>(values).slice(2 * i, 2)),
                      ValueRange(ArrayRef<Value>(output))),
              output.begin());
        }
    }
  gpu::BarrierOp::create(*b);
}

MLADecodeKernel::State MLADecodeKernel::walk(Value first, Value stop,
                                             bool isWhole,
                                             const State &initial) {
  Arith arith(*b);
  // Codes are few enough to be loaded ahead.
  Values ahead;
  if (isCode) {
    Values none(source->wordCount(), arith.i32(0));
    ahead = ifElse(
        arith.less(first, stop), ValueRange(none).getTypes(),
        [&] { return source->load(first, isWhole); }, [&] { return none; });
  }
  Values carried = flatten(initial);
  size_t count = carried.size();
  llvm::append_range(carried, ahead);
  auto loop = scf::ForOp::create(*b, first, stop, arith.i32(1), carried);
  OpBuilder::InsertionGuard guard(*b);
  b->setInsertionPointToStart(loop.getBody());
  ValueRange arguments = loop.getRegionIterArgs();
  State state = unflatten(arguments.take_front(count));
  Value tile = loop.getInductionVar();
  Values codes = isCode ? llvm::to_vector_of<Value>(arguments.drop_front(count))
                        : source->load(tile, isWhole);
  auto loadNext = [&] {
    if (!isCode)
      return;
    Value next = arith.add(tile, 1);
    ahead = ifElse(
        arith.less(next, stop), ValueRange(codes).getTypes(),
        [&] { return source->load(next, isWhole); }, [&] { return codes; });
  };
  multiplyTile(state, tile, codes, loadNext, isWhole);
  carried = flatten(state);
  llvm::append_range(carried, ahead);
  scf::YieldOp::create(*b, carried);
  return unflatten(loop.getResults().take_front(count));
}

void MLADecodeKernel::store(const State &state, const QueryTile &rows,
                            Value part) {
  Arith arith(*b);
  FastMath math(*b);
  for (int64_t half = 0; half < 2; ++half) {
    Value sum = warp->reduceRow(
        state.sum[half], [&](Value x, Value y) { return math.add(x, y); });
    Value row = arith.add(arith.add(rows.begin, warp->row), 8 * half);
    emitIf(*b, arith.less(row, rows.end), [&] {
      SmallVector<RowRun> runs;
      Value first = arith.add(arith.mul(warp->number, slice()),
                              arith.mul(warp->column, 2));
      for (int64_t step = 0; step < outputSteps(); ++step)
        runs.push_back({arith.add(first, 8 * step),
                        {state.output[4 * step + 2 * half],
                         state.output[4 * step + 2 * half + 1]}});
      Value token =
          arith.add(rows.firstRow, arith.toIndex(arith.div(row, heads)));
      results->store(*b, token, arith.toIndex(arith.rem(row, heads)), part,
                     state.maximum[half], sum, runs,
                     arith.equal(first, arith.i32(0)));
    });
  }
}

void MLADecodeKernel::emitRows(const QueryTile &rows, Value part) {
  Arith arith(*b);
  FastMath math(*b);
  Value last = arith.sub(rows.end, arith.i32(1));
  Value lastOfTile = arith.minimum(arith.add(rows.begin, rowCount - 1), last);
  Value end;
  ends.clear();
  if (isSparse) {
    end = source->setList(rows.firstRow);
  } else {
    Value length = arith.toI32(
        CacheLengthOp::create(*b, builder->take(op.getKeys()), rows.sequence));
    auto endOf = [&](Value row) {
      return arith.add(arith.add(length, arith.div(row, heads)), 1);
    };
    firstEnd = endOf(rows.begin);
    end = endOf(lastOfTile);
    for (int64_t half = 0; half < 2; ++half)
      ends.push_back(endOf(arith.minimum(
          arith.add(arith.add(rows.begin, warp->row), 8 * half), last)));
    source->setSequence(rows.sequence, end);
  }
  loadQueries(rows);

  Value first = arith.i32(0), stop = arith.ceilDiv(end, tokens);
  if (part) {
    Value parts = arith.toI32(results->partCountInKernel());
    Value each =
        arith.div(arith.add(stop, arith.sub(parts, arith.i32(1))), parts);
    first = arith.mul(arith.toI32(part), each);
    stop = arith.minimum(stop, arith.add(first, each));
  }
  State state;
  Value zero = math.number(0);
  state.maximum.assign(2, math.number(noMaximum));
  state.sum.assign(2, zero);
  state.output.assign(4 * outputSteps(), zero);
  if (isSparse) {
    state = walk(first, stop, /*isWhole=*/false, state);
  } else {
    // Tiles that all rows see come first.
    Value afterWhole = b->createOrFold<arith::MaxUIOp>(
        arith.minimum(arith.div(firstEnd, tokens), stop), first);
    state = walk(first, afterWhole, /*isWhole=*/true, state);
    state = walk(afterWhole, stop, /*isWhole=*/false, state);
  }
  store(state, rows, part);
}

void MLADecodeKernel::emit() {
  Arith onHost(host);
  KernelBuilder builder(host, op, warps * Warp::lanes, tuning.blocksPerSM);
  this->builder = &builder;
  b = &builder.body();
  Value hostRows = sizeOf(host, op.getQ(), 0);
  requireSame(host, hostRows, sizeOf(host, op.getOut(), 0),
              "'q' and 'out' to have the same number of rows");
  for (auto [name, tensor] :
       {std::pair("lse", op.getLse()), {"q_scales", op.getQScales()}})
    if (tensor)
      requireSame(host, hostRows, sizeOf(host, tensor, 0),
                  Twine("'q' and '") + name +
                      "' to have the same number of rows");
  for (Value slots : op.getSlots())
    requireSame(host, hostRows, sizeOf(host, slots, 0),
                "'q' and 'slots' to have the same number of rows");
  results.emplace(op.getOut(), /*sinks=*/Value(), op.getLse(),
                  op.getWorkspace(), heads, valueSize);
  std::optional<QueryTiles> items;
  int64_t perToken = llvm::divideCeil(heads, rowCount);
  Value units, most;
  if (isSparse) {
    units = onHost.mul(hostRows, perToken);
    most = sizeOf(host, op.getSlots().front(), 1);
  } else {
    items.emplace(builder, hostRows, op.getRowOffsets(), heads, rowCount);
    units = items->items();
    most = onHost.mul(TableColumnsOp::create(host, op.getKeys()),
                      layout.getPageSize());
  }
  Value parts = results->parts(host, units, most);
  results->enter(builder, parts);
  q = builder.takeTensor(op.getQ(), /*readOnly=*/true);
  if (op.getQScales())
    queryScales = builder.takeTensor(op.getQScales(), /*readOnly=*/true);

  warp.emplace(*b);
  source.emplace(builder, op, *warp, tokens, warps);
  shared.emplace(*b, *warp, builder.shareDynamicMemory(), dtype, product,
                 headSize, slice(), tokens, warps);
  Arith arith(*b);
  Value unit = gpu::BlockIdOp::create(*b, gpu::Dimension::x), part;
  if (Value count = results->partCountInKernel()) {
    part = arith.rem(unit, count);
    unit = arith.div(unit, count);
  }
  if (isSparse) {
    QueryTile rows;
    rows.firstRow = arith.div(unit, perToken);
    rows.begin = arith.toI32(arith.mul(arith.rem(unit, perToken), rowCount));
    rows.end = arith.i32(heads);
    emitRows(rows, part);
  } else {
    QueryTile rows = items->at(unit, *warp);
    emitIf(*b, rows.exists, [&] { emitRows(rows, part); });
  }
  builder.launch(onHost.mul(units, parts), sharedBytes);
  results->combine(host, op, parts);
}

LogicalResult mlir::kvcache::expandMLADecode(MLADecodeOp op, Tuning defaults) {
  Tuning tuning = Tuning::get(op.getTuningAttr(), defaults);
  ImplicitLocOpBuilder host(op.getLoc(), op);
  MLADecodeKernel(host, op, tuning).emit();
  return success();
}
