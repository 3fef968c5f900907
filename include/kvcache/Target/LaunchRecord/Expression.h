//===- Expression.h - Integers over a function's arguments ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What host code computes before it launches, as expressions over the sizes,
// strides, pointers and scalars of the function's arguments. Values are signed
// 64-bit integers; an integer of fewer bits is sign-extended, an i1 is 0 or 1,
// a float is its bits.
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_TARGET_LAUNCHRECORD_EXPRESSION_H
#define KVCACHE_TARGET_LAUNCHRECORD_EXPRESSION_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <tuple>

namespace mlir::kvcache {

/// What a node of an expression does.
enum class ExprKind {
  /// Leaves. `value` is the constant, the dimension or the element's number.
  Constant,
  Size,
  Stride,
  Data,
  Scalar,
  HostElement,
  Workspace,
  /// On mathematical integers. A result that 64 bits cannot hold is an error
  /// that getFault() describes.
  Add,
  Sub,
  Mul,
  /// Quotients and remainders; 0 where the divisor is 0, which getFault()
  /// describes, too. Floor and Ceil round so, Trunc towards zero.
  FloorDiv,
  CeilDiv,
  TruncDiv,
  TruncMod,
  /// Of the operands as unsigned 64-bit numbers.
  UnsignedDiv,
  UnsignedMod,
  UnsignedLess,
  /// Of the operands' bits.
  And,
  Or,
  Xor,
  /// 0 (or the sign) where the distance is 64 or more.
  ShiftLeft,
  ShiftRight,
  UnsignedShiftRight,
  /// The lesser and the greater operand.
  Min,
  Max,
  /// 1 where it is so, else 0.
  Equal,
  Less,
  LessEqual,
  /// The second operand where the first is not 0, else the third.
  Select,
  /// The low `value` bits, as an unsigned or a signed number.
  ZeroExtend,
  SignExtend,
  /// The operand, of which is promised that it lies in [low, high].
  Fit,
};

/// What may be wrong with an expression.
enum class ExprFault {
  /// Nothing.
  None,
  /// 64 bits do not hold the result.
  Overflow,
  /// The divisor is 0.
  ZeroDivisor,
  /// The number does not lie where it is promised to.
  OutOfRange
};

/// One node; made by Expressions, which makes equal ones once.
struct Expr {
  explicit Expr(ExprKind kind) : kind(kind) {}

  /// What it does.
  ExprKind kind;
  /// The function's argument, of leaves that belong to one.
  unsigned argument = 0;
  /// What the kind says of it.
  int64_t value = 0;
  /// None for leaves.
  SmallVector<const Expr *, 3> operands;
  /// The least and the largest value.
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();
  /// In order of creation: operands come first.
  unsigned number = 0;

  /// What is known of the node's value.
  bool isConstant() const { return kind == ExprKind::Constant; }
  bool isConstant(int64_t number) const {
    return isConstant() && value == number;
  }
  bool isLeaf() const { return operands.empty(); }
  bool isNonNegative() const { return low >= 0; }
  /// What may be wrong with this node, its operands aside.
  ExprFault getFault() const;
};

/// Makes and owns expressions. Each function folds what it can.
class Expressions {
public:
  /// Constants.
  const Expr *constant(int64_t value);
  const Expr *boolean(bool value) { return constant(value); }
  /// `kind` is a leaf's; `low` and `high` are what is known of it.
  const Expr *leaf(ExprKind kind, unsigned argument, int64_t value, int64_t low,
                   int64_t high);

  /// Arithmetic and comparisons of 64 bits.
  const Expr *binary(ExprKind kind, const Expr *a, const Expr *b);
  const Expr *add(const Expr *a, const Expr *b) {
    return binary(ExprKind::Add, a, b);
  }
  const Expr *sub(const Expr *a, const Expr *b) {
    return binary(ExprKind::Sub, a, b);
  }
  const Expr *mul(const Expr *a, const Expr *b) {
    return binary(ExprKind::Mul, a, b);
  }
  /// Choices, and the value cut to its low bits or to a range.
  const Expr *select(const Expr *condition, const Expr *a, const Expr *b);
  const Expr *logicalNot(const Expr *a);
  const Expr *zeroExtend(const Expr *a, unsigned bits);
  const Expr *signExtend(const Expr *a, unsigned bits);
  const Expr *fit(const Expr *a, int64_t low, int64_t high);

private:
  const Expr *make(Expr expr);

  std::deque<Expr> nodes;
  using Key = std::tuple<ExprKind, unsigned, int64_t, int64_t, int64_t,
                         SmallVector<const Expr *, 3>>;
  std::map<Key, const Expr *> unique;
};

} // namespace mlir::kvcache

#endif // KVCACHE_TARGET_LAUNCHRECORD_EXPRESSION_H
