//===- SoftmaxState.cpp - A softmax over tiles of tokens ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftmaxState.h"

#include "../ControlFlow.h"
#include "../KernelBuilder.h"
#include "../Tiles/FastMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

SoftmaxState::SoftmaxState(ImplicitLocOpBuilder &b, Warp &warp,
                           SoftmaxLanes lanes)
    : b(&b), warp(&warp), lanes(std::move(lanes)) {
  FastMath math(b);
  Value zero = math.number(0);
  maximum.assign(this->lanes.rows, math.number(noMaximum));
  weight.assign(this->lanes.rows, zero);
  output.assign(this->lanes.outputRows.size(), zero);
}

SoftmaxState::Values SoftmaxState::flatten() const {
  Values all = maximum;
  llvm::append_range(all, weight);
  auto type = LLVM::LLVMArrayType::get(b->getF32Type(), output.size());
  Value sums = LLVM::PoisonOp::create(*b, type);
  for (auto [i, sum] : llvm::enumerate(output))
    sums = LLVM::InsertValueOp::create(*b, sums, sum, i);
  all.push_back(sums);
  return all;
}

SoftmaxState SoftmaxState::with(ValueRange numbers) const {
  SoftmaxState state = *this;
  for (Values *part : {&state.maximum, &state.weight}) {
    size_t count = part->size();
    *part = llvm::to_vector_of<Value>(numbers.take_front(count));
    numbers = numbers.drop_front(count);
  }
  for (auto [i, sum] : llvm::enumerate(state.output))
    sum = LLVM::ExtractValueOp::create(*b, numbers.front(), i);
  return state;
}

SoftmaxState::Values SoftmaxState::reduce(Values ofRows,
                                          SoftmaxLanes::Combine combine) const {
  for (Value &value : ofRows)
    value = lanes.tokensOnRows ? warp->reduceColumn(value, combine)
                               : warp->reduceRow(value, combine);
  return lanes.overWarps ? lanes.overWarps(ofRows, combine) : ofRows;
}

void SoftmaxState::scaleOutput(ArrayRef<Value> factors) {
  FastMath math(*b);
  Value factor;
  for (Value number : factors)
    if (number)
      factor = factor ? math.mul(factor, number) : number;
  if (!factor)
    return;
  for (Value &sum : output)
    sum = math.mul(sum, factor);
}

SoftmaxState::Values SoftmaxState::totals() const {
  FastMath math(*b);
  return reduce(weight, [&](Value x, Value y) { return math.add(x, y); });
}

void SoftmaxState::raise(ArrayRef<Value> largest) {
  Arith arith(*b);
  FastMath math(*b);
  Value needed;
  for (auto [old, now] : llvm::zip(maximum, largest)) {
    // The difference of what is near is exact.
    Value more =
        arith::CmpFOp::create(*b, arith::CmpFPredicate::OGT, math.sub(now, old),
                              math.number(maximumLag));
    needed = needed ? Value(arith::OrIOp::create(*b, needed, more)) : more;
  }
  Values old = flatten();
  *this = with(emitIfElse(
      *b, warp->any(needed), ValueRange(old).getTypes(),
      [&] {
        SoftmaxState scaled = *this;
        Values factors;
        for (auto [row, now] : llvm::enumerate(largest)) {
          scaled.maximum[row] = math.max(maximum[row], now);
          factors.push_back(
              math.exp2(math.sub(maximum[row], scaled.maximum[row])));
          scaled.weight[row] = math.mul(weight[row], factors.back());
        }
        if (lanes.transposesOutputs) {
          Value even = arith.mul(warp->column, 8), odd = arith.add(even, 4);
          Values ofColumns;
          for (Value factor : factors)
            ofColumns.append(
                {warp->from(factor, even), warp->from(factor, odd)});
          factors = ofColumns;
        }
        for (auto [sum, row] : llvm::zip(scaled.output, lanes.outputRows))
          sum = math.mul(sum, factors[row]);
        return scaled.flatten();
      },
      [&] { return old; }));
}

SmallVector<SmallVector<SoftmaxState::Values>>
SoftmaxState::add(const SoftmaxTile &tile) {
  FastMath math(*b);
  auto exponent = [&](int64_t row, int64_t token, Value addend) {
    Value score = tile.scores[row][token];
    return tile.factors.empty() ? math.add(score, addend)
                                : math.fma(score, tile.factors[row], addend);
  };
  // Maxima are rounded up: exponents lie no further above than they may.
  auto exponentUp = [&](int64_t row, int64_t token, Value addend) {
    Value score = tile.scores[row][token];
    return tile.factors.empty() ? math.add(score, addend)
                                : math.fmaUp(score, tile.factors[row], addend);
  };
  auto larger = [&](Value x, Value y) { return x ? math.max(x, y) : y; };

  int64_t tokens = tile.scores.front().size();
  Values tokenLogs(tile.logs.empty() ? 0 : tokens);
  for (const Values &ofGranule : tile.logs)
    for (auto [most, log] : llvm::zip(tokenLogs, ofGranule))
      most = larger(most, log);
  // Without a scale that is a number a token counts as if it had the least.
  for (Value &log : tokenLogs)
    log = math.max(log, math.number(leastScaleLog));
  Values largest;
  for (int64_t row = 0; row < lanes.rows; ++row) {
    Value most;
    for (int64_t token = 0; token < tokens; ++token)
      // Without logarithms the factor, which is positive, comes after.
      most = larger(most, tokenLogs.empty()
                              ? tile.scores[row][token]
                              : exponentUp(row, token, tokenLogs[token]));
    largest.push_back(most);
  }
  largest = reduce(largest, larger);
  for (auto [row, most] : llvm::enumerate(largest)) {
    if (tokenLogs.empty() && !tile.factors.empty())
      most = math.mulUp(most, tile.factors[row]);
    most = math.sub(most, math.number(weightHeadroom));
  }
  raise(largest);

  SmallVector<SmallVector<Values>> weights(
      std::max<size_t>(tile.logs.size(), 1), SmallVector<Values>(lanes.rows));
  for (int64_t row = 0; row < lanes.rows; ++row) {
    Value less = math.negate(maximum[row]);
    Values exponents, unscaled;
    for (int64_t token = 0; token < tokens; ++token) {
      exponents.push_back(exponent(row, token, less));
      unscaled.push_back(math.exp2(exponents.back()));
      weight[row] = math.add(weight[row], unscaled.back());
    }
    if (tile.logs.empty())
      weights.front()[row] = unscaled;
    for (auto [granule, logs] : llvm::enumerate(tile.logs))
      for (auto [token, log] : llvm::enumerate(logs)) {
        // Of large scores both exponents have the same rounding error.
        Value scaled = math.exp2(math.add(exponents[token], log));
        if (!tile.signs.empty())
          scaled = math.withSign(scaled, tile.signs[granule][token]);
        weights[granule][row].push_back(scaled);
      }
  }
  return weights;
}

Value mlir::kvcache::emitScaleLog(ImplicitLocOpBuilder &b, Value scale) {
  FastMath math(b);
  Value log = math.maxOrNaN(math.log2(scale), math.number(leastScaleLog));
  // Infinity becomes NaN.
  return math.fma(log, math.number(0), log);
}

SoftmaxMerge::SoftmaxMerge(ImplicitLocOpBuilder &b, ArrayRef<Value> maxima)
    : b(b) {
  FastMath math(b);
  for (Value maximum : maxima)
    largest = largest ? math.max(largest, maximum) : maximum;
  for (Value maximum : maxima)
    factors.push_back(math.exp2(math.sub(maximum, largest)));
}

Value SoftmaxMerge::sum(ArrayRef<Value> parts) const {
  FastMath math(b);
  Value total;
  for (auto [part, factor] : llvm::zip(parts, factors))
    total = total ? math.fma(part, factor, total) : math.mul(part, factor);
  return total;
}
