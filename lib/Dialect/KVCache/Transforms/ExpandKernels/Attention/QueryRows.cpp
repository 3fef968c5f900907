//===- QueryRows.cpp - Rows of queries in registers -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueryRows.h"

#include "../RowUnits.h"
#include "../Tiles/FastMath.h"
#include "../Tiles/Words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using namespace mlir::kvcache;

QueryRows::QueryRows(KernelBuilder &builder, Value tensor, Type product,
                     std::optional<int64_t> knownAlignment)
    : b(builder.body()), q(builder.takeTensor(tensor, /*readOnly=*/true)),
      source(q.elementType), product(product),
      alignment(knownAlignment.value_or(q.elementBytes())) {
  while (!knownAlignment && alignment < maxAccessBytes &&
         areRowsAligned({tensor}, 2 * alignment).value_or(false))
    alignment *= 2;
}

Value QueryRows::at(Value token, Value head) {
  Arith arith(b);
  return arith.add(arith.mul(token, q.strides[0]),
                   arith.mul(head, q.strides[1]));
}

SmallVector<Value> QueryRows::load(Value place, Value element, int64_t count) {
  Arith arith(b);
  Words registers(b);
  int64_t bytes = q.elementBytes();
  Value start = arith.mul(arith.add(place, arith.toIndex(element)), bytes);
  Value view =
      ByteViewOp::create(b, MemRefType::get({count}, source), q.base, start);
  int64_t perAccess = std::min(alignment / bytes, count);
  SmallVector<Value> parts;
  for (int64_t i = 0; i < count; i += perAccess) {
    Value part = vector::LoadOp::create(b, VectorType::get({perAccess}, source),
                                        view, ValueRange{arith.index(i)},
                                        /*nontemporal=*/false,
                                        llvm::MaybeAlign(perAccess * bytes));
    if (perAccess * bytes >= 4)
      part = registers.whole(registers.vectorOf(part));
    parts.push_back(part);
  }
  return registers.join(parts);
}

/// A magnitude that has not become 0: zero times what is masked, which is
/// infinite, would be NaN.
static Value emitPositive(FastMath &math, Value magnitude) {
  return math.maxOrNaN(magnitude,
                       math.number(std::numeric_limits<float>::min()));
}

RowFactor QueryRows::factor(double constant, ArrayRef<Value> numbers) {
  FastMath math(b);
  using Limits = std::numeric_limits<float>;
  Value product =
      math.number(std::clamp<double>(constant, Limits::min(), Limits::max()));
  if (numbers.empty())
    return {product, Value()};
  for (Value number : numbers)
    product = math.mul(product, number);
  // The sign bit, for both numbers of a register.
  Arith arith(b);
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), product);
  Value spread = arith::ShRSIOp::create(b, bits, arith.i32(31));
  Value signs =
      arith::AndIOp::create(b, spread, arith.i32(int64_t(0x80008000)));
  return {emitPositive(math, math.absolute(product)), signs};
}

Value QueryRows::takeBack(Value magnitude, Value power) {
  FastMath math(b);
  return emitPositive(math, math.mul(magnitude, power));
}

void QueryRows::flipSigns(const RowFactor &factor,
                          MutableArrayRef<Value> words) {
  if (!factor.signs)
    return;
  for (Value &word : words)
    word = arith::XOrIOp::create(b, word, factor.signs);
}

Value QueryRows::largest(ArrayRef<Value> words) {
  FastMath math(b);
  Value largest;
  for (Value word : words) {
    auto [low, high] = Words(b).unpack(word, source);
    Value most = math.max(math.absolute(low), math.absolute(high));
    largest = largest ? math.max(largest, most) : most;
  }
  return largest;
}

void QueryRows::scale(MutableArrayRef<Value> words, Value power) {
  FastMath math(b);
  Words registers(b);
  for (Value &word : words) {
    auto [low, high] = registers.unpack(word, source);
    word = registers.pack(math.mul(low, power), math.mul(high, power), product);
  }
}
