//===- HostIntegers.cpp - arith of host code to expressions ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index and i64 arithmetic is taken to be on mathematical integers: a result
// that 64 bits cannot hold is an error of the launcher, not a wrong grid.
// Narrower integers wrap as MLIR's do, unless their operations promise
// otherwise.
//
//===----------------------------------------------------------------------===//

#include "HostEvaluator.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Bits of an integer or float that an expression can be, or 0.
static unsigned getBits(Type type) {
  if (isa<IndexType>(type))
    return 64;
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() > 64)
    return 0;
  return type.getIntOrFloatBitWidth();
}

static arith::IntegerOverflowFlags getOverflowFlags(Operation *op) {
  if (auto flagged = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    return flagged.getOverflowAttr().getValue();
  return arith::IntegerOverflowFlags::none;
}

static bool has(arith::IntegerOverflowFlags flags,
                arith::IntegerOverflowFlags flag) {
  return (flags & flag) == flag;
}

static int64_t unsignedMax(unsigned bits) {
  return static_cast<int64_t>(llvm::maskTrailingOnes<uint64_t>(bits));
}

const Expr *HostEvaluator::evaluateArith(ExprKind kind, Operation *op,
                                         bool isUnsigned, unsigned bits) {
  const Expr *a = find(op->getOperand(0)), *b = find(op->getOperand(1));
  if (!a || !b)
    return nullptr;
  // Conditions are 0 or 1, not 0 or -1.
  if (bits == 1)
    return kind == ExprKind::And || kind == ExprKind::Or ||
                   kind == ExprKind::Xor
               ? exprs().binary(kind, a, b)
               : nullptr;
  if (isUnsigned) {
    a = exprs().zeroExtend(a, bits);
    b = exprs().zeroExtend(b, bits);
  }
  if (bits == 64)
    return exprs().binary(kind, a, b);

  bool shifts = kind == ExprKind::ShiftLeft || kind == ExprKind::ShiftRight ||
                kind == ExprKind::UnsignedShiftRight;
  if (shifts)
    b = exprs().zeroExtend(b, bits);
  arith::IntegerOverflowFlags flags = getOverflowFlags(op);
  const Expr *result;
  if (has(flags, arith::IntegerOverflowFlags::nsw) &&
      kind != ExprKind::ShiftLeft) {
    result = exprs().fit(exprs().binary(kind, a, b), llvm::minIntN(bits),
                         llvm::maxIntN(bits));
  } else if (has(flags, arith::IntegerOverflowFlags::nuw) &&
             kind != ExprKind::ShiftLeft) {
    result = exprs().fit(exprs().binary(kind, exprs().zeroExtend(a, bits),
                                        exprs().zeroExtend(b, bits)),
                         0, unsignedMax(bits));
  } else {
    // 64 bits hold sums and products of 32 bits each.
    result = exprs().binary(kind, a, b);
  }
  return exprs().signExtend(result, bits);
}

const Expr *HostEvaluator::evaluateCompare(arith::CmpIOp op) {
  unsigned bits = getBits(op.getLhs().getType());
  const Expr *a = find(op.getLhs()), *b = find(op.getRhs());
  if (!a || !b || bits == 0)
    return nullptr;
  using Predicate = arith::CmpIPredicate;
  Predicate predicate = op.getPredicate();
  if (predicate == Predicate::eq)
    return exprs().binary(ExprKind::Equal, a, b);
  if (predicate == Predicate::ne)
    return exprs().logicalNot(exprs().binary(ExprKind::Equal, a, b));
  bool isUnsigned = predicate >= Predicate::ult;
  if (bits == 1) {
    // As a number, a true i1 is -1.
    if (!isUnsigned)
      std::swap(a, b);
  } else if (isUnsigned) {
    a = exprs().zeroExtend(a, bits);
    b = exprs().zeroExtend(b, bits);
  }
  ExprKind less = isUnsigned ? ExprKind::UnsignedLess : ExprKind::Less;
  switch (predicate) {
  case Predicate::slt:
  case Predicate::ult:
    return exprs().binary(less, a, b);
  case Predicate::sgt:
  case Predicate::ugt:
    return exprs().binary(less, b, a);
  case Predicate::sle:
  case Predicate::ule:
    return exprs().logicalNot(exprs().binary(less, b, a));
  default:
    return exprs().logicalNot(exprs().binary(less, a, b));
  }
}

/// The bits of a constant as a signed number; none for other attributes.
static std::optional<int64_t> getConstantBits(Attribute attribute) {
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) {
    const llvm::APInt &value = integer.getValue();
    if (value.getBitWidth() > 64)
      return std::nullopt;
    return value.getBitWidth() == 1 ? value.getZExtValue()
                                    : value.getSExtValue();
  }
  if (auto number = dyn_cast<FloatAttr>(attribute)) {
    llvm::APInt bits = number.getValue().bitcastToAPInt();
    if (bits.getBitWidth() <= 64)
      return bits.getSExtValue();
  }
  return std::nullopt;
}

const Expr *HostEvaluator::evaluateInteger(Operation *op) {
  if (op->getNumResults() != 1)
    return nullptr;
  unsigned bits = getBits(op->getResult(0).getType());
  if (bits == 0)
    return nullptr;
  auto binary = [&](ExprKind kind, bool isUnsigned = false) {
    return evaluateArith(kind, op, isUnsigned, bits);
  };
  auto source = [&] { return find(op->getOperand(0)); };
  auto sourceBits = [&] { return getBits(op->getOperand(0).getType()); };
  auto narrow = [&](const Expr *value) {
    return bits == 1 ? exprs().binary(ExprKind::And, value, exprs().constant(1))
                     : exprs().signExtend(value, bits);
  };
  // A number that is promised to be the same in `bits`.
  auto fitSigned = [&](const Expr *value) {
    return exprs().fit(value, llvm::minIntN(bits), llvm::maxIntN(bits));
  };
  auto fitUnsigned = [&](const Expr *value) {
    return exprs().fit(exprs().zeroExtend(value, sourceBits()), 0,
                       unsignedMax(bits));
  };
  auto unsignedExtreme = [&](bool largest) -> const Expr * {
    const Expr *a = find(op->getOperand(0)), *b = find(op->getOperand(1));
    if (!a || !b || bits == 1)
      return nullptr;
    if (a->isNonNegative() && b->isNonNegative())
      return exprs().binary(largest ? ExprKind::Max : ExprKind::Min, a, b);
    const Expr *less =
        exprs().binary(ExprKind::UnsignedLess, exprs().zeroExtend(a, bits),
                       exprs().zeroExtend(b, bits));
    return largest ? exprs().select(less, b, a) : exprs().select(less, a, b);
  };

  return llvm::TypeSwitch<Operation *, const Expr *>(op)
      .Case([&](arith::ConstantOp constant) -> const Expr * {
        std::optional<int64_t> value = getConstantBits(constant.getValue());
        return value ? exprs().constant(*value) : nullptr;
      })
      .Case([&](arith::AddIOp) { return binary(ExprKind::Add); })
      .Case([&](arith::SubIOp) { return binary(ExprKind::Sub); })
      .Case([&](arith::MulIOp) { return binary(ExprKind::Mul); })
      .Case([&](arith::DivSIOp) { return binary(ExprKind::TruncDiv); })
      .Case([&](arith::RemSIOp) { return binary(ExprKind::TruncMod); })
      .Case([&](arith::FloorDivSIOp) { return binary(ExprKind::FloorDiv); })
      .Case([&](arith::CeilDivSIOp) { return binary(ExprKind::CeilDiv); })
      .Case([&](arith::DivUIOp) { return binary(ExprKind::UnsignedDiv, true); })
      .Case([&](arith::RemUIOp) { return binary(ExprKind::UnsignedMod, true); })
      .Case([&](arith::CeilDivUIOp) -> const Expr * {
        const Expr *a = find(op->getOperand(0)), *b = find(op->getOperand(1));
        if (!a || !b || bits == 1)
          return nullptr;
        a = exprs().zeroExtend(a, bits);
        b = exprs().zeroExtend(b, bits);
        if (a->isNonNegative() && b->isNonNegative())
          return narrow(exprs().binary(ExprKind::CeilDiv, a, b));
        // The quotient, and one more for a rest.
        const Expr *rest = exprs().binary(ExprKind::UnsignedMod, a, b);
        return exprs().add(exprs().binary(ExprKind::UnsignedDiv, a, b),
                           exprs().logicalNot(exprs().binary(
                               ExprKind::Equal, rest, exprs().constant(0))));
      })
      .Case([&](arith::AndIOp) { return binary(ExprKind::And); })
      .Case([&](arith::OrIOp) { return binary(ExprKind::Or); })
      .Case([&](arith::XOrIOp) { return binary(ExprKind::Xor); })
      .Case([&](arith::ShLIOp) { return binary(ExprKind::ShiftLeft); })
      .Case([&](arith::ShRSIOp) { return binary(ExprKind::ShiftRight); })
      .Case([&](arith::ShRUIOp) {
        return binary(ExprKind::UnsignedShiftRight, true);
      })
      .Case([&](arith::MinSIOp) { return binary(ExprKind::Min); })
      .Case([&](arith::MaxSIOp) { return binary(ExprKind::Max); })
      .Case([&](arith::MinUIOp) { return unsignedExtreme(false); })
      .Case([&](arith::MaxUIOp) { return unsignedExtreme(true); })
      .Case([&](arith::CmpIOp compare) { return evaluateCompare(compare); })
      .Case([&](arith::SelectOp select) -> const Expr * {
        const Expr *condition = find(select.getCondition());
        const Expr *a = find(select.getTrueValue());
        const Expr *b = find(select.getFalseValue());
        return condition && a && b ? exprs().select(condition, a, b) : nullptr;
      })
      .Case([&](arith::BitcastOp) -> const Expr * {
        return bits == 1 ? nullptr : source();
      })
      .Case<arith::ExtSIOp>([&](auto) -> const Expr * {
        if (source() && sourceBits() == 1)
          return exprs().sub(exprs().constant(0), source());
        return source();
      })
      .Case<arith::ExtUIOp>([&](auto) -> const Expr * {
        if (!source() || sourceBits() == 1)
          return source();
        return exprs().zeroExtend(source(), sourceBits());
      })
      .Case([&](arith::TruncIOp) -> const Expr * {
        if (!source())
          return nullptr;
        arith::IntegerOverflowFlags flags = getOverflowFlags(op);
        if (bits > 1 && has(flags, arith::IntegerOverflowFlags::nsw))
          return fitSigned(source());
        if (has(flags, arith::IntegerOverflowFlags::nuw))
          return narrow(fitUnsigned(source()));
        return narrow(source());
      })
      .Case<arith::IndexCastOp>([&](auto) -> const Expr * {
        if (!source() || bits == 1)
          return nullptr;
        if (sourceBits() == 1)
          return exprs().sub(exprs().constant(0), source());
        return fitSigned(source());
      })
      .Case<arith::IndexCastUIOp>([&](auto) -> const Expr * {
        if (!source() || bits == 1 || sourceBits() == 1)
          return bits == 1 ? nullptr : source();
        return bits < 64 ? narrow(fitUnsigned(source()))
                         : exprs().zeroExtend(source(), sourceBits());
      })
      .Default([](Operation *) -> const Expr * { return nullptr; });
}
