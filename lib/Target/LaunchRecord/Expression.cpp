//===- Expression.cpp - Integers over a function's arguments --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Target/LaunchRecord/Expression.h"

#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>

using namespace mlir;
using namespace mlir::kvcache;

namespace {

using Wide = __int128;
constexpr int64_t least = std::numeric_limits<int64_t>::min();
constexpr int64_t largest = std::numeric_limits<int64_t>::max();

struct Interval {
  Wide low, high;

  bool fits() const { return low >= least && high <= largest; }
  Interval clipped() const {
    return {std::max<Wide>(low, least), std::min<Wide>(high, largest)};
  }
};

} // namespace

/// The range of a sum, difference or product of mathematical integers.
static Interval getExactRange(ExprKind kind, const Expr *a, const Expr *b) {
  switch (kind) {
  case ExprKind::Add:
    return {Wide(a->low) + b->low, Wide(a->high) + b->high};
  case ExprKind::Sub:
    return {Wide(a->low) - b->high, Wide(a->high) - b->low};
  default: {
    auto corners = {Wide(a->low) * b->low, Wide(a->low) * b->high,
                    Wide(a->high) * b->low, Wide(a->high) * b->high};
    return {std::min(corners), std::max(corners)};
  }
  }
}

static bool isExact(ExprKind kind) {
  return kind == ExprKind::Add || kind == ExprKind::Sub ||
         kind == ExprKind::Mul;
}

static bool isDivision(ExprKind kind) {
  return kind >= ExprKind::FloorDiv && kind <= ExprKind::UnsignedMod;
}

ExprFault Expr::getFault() const {
  if (isExact(kind) && !getExactRange(kind, operands[0], operands[1]).fits())
    return ExprFault::Overflow;
  if (isDivision(kind) && operands[1]->low <= 0 && operands[1]->high >= 0)
    return ExprFault::ZeroDivisor;
  if (kind == ExprKind::Fit)
    return ExprFault::OutOfRange;
  return ExprFault::None;
}

/// Computes what an operation gives for constants; none where it has a fault.
static std::optional<int64_t> compute(ExprKind kind, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  if (isDivision(kind) && (b == 0 || (a == least && b == -1)))
    return std::nullopt;
  int64_t result;
  switch (kind) {
  case ExprKind::Add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  case ExprKind::Sub:
    return llvm::SubOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  case ExprKind::Mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt
                                           : std::optional(result);
  case ExprKind::FloorDiv:
    return llvm::divideFloorSigned(a, b);
  case ExprKind::CeilDiv:
    return llvm::divideCeilSigned(a, b);
  case ExprKind::TruncDiv:
    return a / b;
  case ExprKind::TruncMod:
    return a % b;
  case ExprKind::UnsignedDiv:
    return static_cast<int64_t>(ua / ub);
  case ExprKind::UnsignedMod:
    return static_cast<int64_t>(ua % ub);
  case ExprKind::UnsignedLess:
    return ua < ub;
  case ExprKind::And:
    return a & b;
  case ExprKind::Or:
    return a | b;
  case ExprKind::Xor:
    return a ^ b;
  case ExprKind::ShiftLeft:
    return ub > 63 ? 0 : static_cast<int64_t>(ua << ub);
  case ExprKind::ShiftRight:
    return a >> std::min<uint64_t>(ub, 63);
  case ExprKind::UnsignedShiftRight:
    return ub > 63 ? 0 : static_cast<int64_t>(ua >> ub);
  case ExprKind::Min:
    return std::min(a, b);
  case ExprKind::Max:
    return std::max(a, b);
  case ExprKind::Equal:
    return a == b;
  case ExprKind::Less:
    return a < b;
  case ExprKind::LessEqual:
    return a <= b;
  default:
    return std::nullopt;
  }
}

/// Bounds of the result, from those of the operands.
static Interval getRange(ExprKind kind, const Expr *a, const Expr *b) {
  Interval any = {least, largest};
  bool positive = a->isNonNegative() && b->isNonNegative();
  switch (kind) {
  case ExprKind::Add:
  case ExprKind::Sub:
  case ExprKind::Mul:
    return getExactRange(kind, a, b).clipped();
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
  case ExprKind::TruncDiv:
    // By 0 gives 0. A positive divisor makes nothing larger.
    return positive ? Interval{b->low > 0 && kind == ExprKind::FloorDiv
                                   ? a->low / std::max<int64_t>(b->high, 1)
                                   : 0,
                               a->high / std::max<int64_t>(b->low, 1) +
                                   (kind == ExprKind::CeilDiv && b->low > 1)}
                    : any;
  case ExprKind::TruncMod:
    return positive ? Interval{0, std::min(a->high,
                                           std::max<int64_t>(b->high, 1) - 1)}
                    : any;
  case ExprKind::And:
    if (positive)
      return {0, std::min(a->high, b->high)};
    return any;
  case ExprKind::Or:
  case ExprKind::Xor:
    if (positive && a->high <= 1 && b->high <= 1)
      return {0, 1};
    return positive ? Interval{0, largest} : any;
  case ExprKind::ShiftRight:
    return positive ? Interval{0, a->high} : any;
  case ExprKind::UnsignedShiftRight:
    if (b->low > 0 && b->low < 64)
      return {0, static_cast<int64_t>(~uint64_t(0) >> b->low)};
    return positive ? Interval{0, a->high} : any;
  case ExprKind::Min:
    return {std::min(a->low, b->low), std::min(a->high, b->high)};
  case ExprKind::Max:
    return {std::max(a->low, b->low), std::max(a->high, b->high)};
  case ExprKind::Equal:
    if (a->high < b->low || a->low > b->high)
      return {0, 0};
    return {0, 1};
  case ExprKind::Less:
    return {a->high < b->low, a->low < b->high};
  case ExprKind::LessEqual:
    return {a->high <= b->low, a->low <= b->high};
  case ExprKind::UnsignedLess:
    return {0, 1};
  default:
    return any;
  }
}

const Expr *Expressions::make(Expr expr) {
  Key key(expr.kind, expr.argument, expr.value, expr.low, expr.high,
          expr.operands);
  const Expr *&found = unique[key];
  if (!found) {
    expr.number = nodes.size();
    nodes.push_back(std::move(expr));
    found = &nodes.back();
  }
  return found;
}

const Expr *Expressions::constant(int64_t value) {
  return leaf(ExprKind::Constant, 0, value, value, value);
}

const Expr *Expressions::leaf(ExprKind kind, unsigned argument, int64_t value,
                              int64_t low, int64_t high) {
  Expr expr(kind);
  expr.argument = argument;
  expr.value = value;
  expr.low = low;
  expr.high = high;
  return make(std::move(expr));
}

/// The plain form of an operation whose operands are not negative.
static ExprKind simplifyKind(ExprKind kind, const Expr *a, const Expr *b) {
  if (!a->isNonNegative() || !b->isNonNegative())
    return kind;
  switch (kind) {
  case ExprKind::TruncDiv:
  case ExprKind::UnsignedDiv:
    return ExprKind::FloorDiv;
  case ExprKind::UnsignedMod:
    return ExprKind::TruncMod;
  case ExprKind::UnsignedLess:
    return ExprKind::Less;
  case ExprKind::UnsignedShiftRight:
    return ExprKind::ShiftRight;
  default:
    return kind;
  }
}

const Expr *Expressions::binary(ExprKind kind, const Expr *a, const Expr *b) {
  kind = simplifyKind(kind, a, b);
  // Below a number that is not negative, a negative one is too large.
  if (kind == ExprKind::UnsignedLess && b->isNonNegative() && !a->isConstant())
    return binary(ExprKind::And, binary(ExprKind::LessEqual, constant(0), a),
                  binary(ExprKind::Less, a, b));
  if (a->isConstant() && b->isConstant())
    if (std::optional<int64_t> value = compute(kind, a->value, b->value))
      return constant(*value);

  switch (kind) {
  case ExprKind::Add:
    if (a->isConstant(0))
      return b;
    [[fallthrough]];
  case ExprKind::Sub:
  case ExprKind::ShiftLeft:
  case ExprKind::ShiftRight:
  case ExprKind::UnsignedShiftRight:
    if (b->isConstant(0))
      return a;
    break;
  case ExprKind::Mul:
    if (a->isConstant(0) || b->isConstant(1))
      return a;
    if (b->isConstant(0) || a->isConstant(1))
      return b;
    break;
  case ExprKind::FloorDiv:
  case ExprKind::CeilDiv:
  case ExprKind::TruncDiv:
  case ExprKind::UnsignedDiv:
    if (b->isConstant(1))
      return a;
    break;
  case ExprKind::And:
    if (a == b || a->isConstant(0) || b->isConstant(-1))
      return a;
    if (b->isConstant(0) || a->isConstant(-1))
      return b;
    // One of two conditions that is true.
    if (a->low == 1 && a->high == 1 && b->low >= 0 && b->high <= 1)
      return b;
    if (b->low == 1 && b->high == 1 && a->low >= 0 && a->high <= 1)
      return a;
    break;
  case ExprKind::Or:
  case ExprKind::Xor:
    if (a->isConstant(0))
      return b;
    if (b->isConstant(0))
      return a;
    break;
  case ExprKind::Min:
    if (a == b || a->high <= b->low)
      return a;
    if (b->high <= a->low)
      return b;
    break;
  case ExprKind::Max:
    if (a == b || a->low >= b->high)
      return a;
    if (b->low >= a->high)
      return b;
    break;
  case ExprKind::Equal:
  case ExprKind::LessEqual:
    if (a == b)
      return boolean(true);
    break;
  case ExprKind::Less:
  case ExprKind::UnsignedLess:
    if (a == b)
      return boolean(false);
    break;
  default:
    break;
  }

  Interval range = getRange(kind, a, b);
  // A sum of one value only may still have a fault of its own.
  if (range.low == range.high && !isExact(kind) && !isDivision(kind))
    return constant(static_cast<int64_t>(range.low));
  Expr expr(kind);
  expr.operands = {a, b};
  expr.low = static_cast<int64_t>(range.low);
  expr.high = static_cast<int64_t>(range.high);
  return make(std::move(expr));
}

const Expr *Expressions::select(const Expr *condition, const Expr *a,
                                const Expr *b) {
  if (a == b || (condition->low == 1 && condition->high == 1))
    return a;
  if (condition->isConstant(0))
    return b;
  if (a->isConstant(1) && b->isConstant(0))
    return condition;
  Expr expr(ExprKind::Select);
  expr.operands = {condition, a, b};
  expr.low = std::min(a->low, b->low);
  expr.high = std::max(a->high, b->high);
  return make(std::move(expr));
}

const Expr *Expressions::logicalNot(const Expr *a) {
  if (a->kind == ExprKind::Equal && a->operands[1]->isConstant(0) &&
      a->operands[0]->low >= 0 && a->operands[0]->high <= 1)
    return a->operands[0];
  if (a->kind == ExprKind::Less)
    return binary(ExprKind::LessEqual, a->operands[1], a->operands[0]);
  if (a->kind == ExprKind::LessEqual)
    return binary(ExprKind::Less, a->operands[1], a->operands[0]);
  return binary(ExprKind::Equal, a, constant(0));
}

const Expr *Expressions::zeroExtend(const Expr *a, unsigned bits) {
  if (bits >= 64)
    return a;
  // The sign bits that an extension added are cut off again.
  while (a->kind == ExprKind::SignExtend && a->value >= int64_t(bits))
    a = a->operands[0];
  auto high = static_cast<int64_t>(llvm::maskTrailingOnes<uint64_t>(bits));
  if (a->low >= 0 && a->high <= high)
    return a;
  if (a->isConstant())
    return constant(a->value & high);
  Expr expr(ExprKind::ZeroExtend);
  expr.operands = {a};
  expr.value = bits;
  expr.low = 0;
  expr.high = high;
  return make(std::move(expr));
}

const Expr *Expressions::signExtend(const Expr *a, unsigned bits) {
  if (bits >= 64)
    return a;
  while ((a->kind == ExprKind::SignExtend || a->kind == ExprKind::ZeroExtend) &&
         a->value >= int64_t(bits))
    a = a->operands[0];
  if (a->low >= llvm::minIntN(bits) && a->high <= llvm::maxIntN(bits))
    return a;
  if (a->isConstant())
    return constant(llvm::SignExtend64(static_cast<uint64_t>(a->value), bits));
  Expr expr(ExprKind::SignExtend);
  expr.operands = {a};
  expr.value = bits;
  expr.low = llvm::minIntN(bits);
  expr.high = llvm::maxIntN(bits);
  return make(std::move(expr));
}

const Expr *Expressions::fit(const Expr *a, int64_t low, int64_t high) {
  if (a->low >= low && a->high <= high)
    return a;
  Expr expr(ExprKind::Fit);
  expr.operands = {a};
  expr.low = std::max(a->low, low);
  expr.high = std::min(a->high, high);
  // Never in range: the bounds say what is asked, whatever comes.
  if (expr.low > expr.high) {
    expr.low = low;
    expr.high = high;
  }
  return make(std::move(expr));
}
