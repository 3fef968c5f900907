//===- Divisibility.cpp - What divides an index --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Divisibility.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

/// Stands for what everything divides: 0.
static constexpr int64_t everything = int64_t(1) << 32;
/// How far definitions are followed.
static constexpr unsigned maxDepth = 8;

static int64_t cap(int64_t divisor) {
  // The magnitude of the least number is none; 2^32 divides it.
  if (divisor == 0 || divisor == std::numeric_limits<int64_t>::min())
    return everything;
  return std::abs(divisor) <= everything ? std::abs(divisor)
                                         : std::gcd(divisor, everything);
}

/// Products are capped, so that callers may multiply what they get.
static int64_t product(int64_t a, int64_t b) {
  int64_t result;
  return llvm::MulOverflow(a, b, result) ? everything
                                         : std::min(result, everything);
}

static int64_t divisorOf(Value value, unsigned depth);

static int64_t divisorOf(AffineExpr expr, ValueRange operands, unsigned numDims,
                         unsigned depth) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return cap(constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return divisorOf(operands[dim.getPosition()], depth);
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return divisorOf(operands[numDims + symbol.getPosition()], depth);
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = divisorOf(binary.getLHS(), operands, numDims, depth);
  int64_t rhs = divisorOf(binary.getRHS(), operands, numDims, depth);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
  case AffineExprKind::Mod:
    return std::gcd(lhs, rhs);
  case AffineExprKind::Mul:
    return product(lhs, rhs);
  default:
    return 1;
  }
}

static int64_t divisorOf(Value value, unsigned depth) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSignificantBits() <= 64 ? cap(constant.getSExtValue())
                                               : 1;
  if (depth == 0)
    return 1;
  --depth;

  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast_if_present<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument != loop.getInductionVar())
      return 1;
    return std::gcd(divisorOf(loop.getLowerBound(), depth),
                    divisorOf(loop.getStep(), depth));
  }

  Operation *op = value.getDefiningOp();
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp,
          arith::ExtSIOp>(op))
    return divisorOf(op->getOperand(0), depth);
  if (isa<arith::AddIOp, arith::SubIOp, arith::RemUIOp, arith::RemSIOp,
          arith::MinUIOp, arith::MaxUIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0), depth),
                    divisorOf(op->getOperand(1), depth));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return std::gcd(divisorOf(select.getTrueValue(), depth),
                    divisorOf(select.getFalseValue(), depth));
  if (isa<arith::MulIOp>(op))
    return product(divisorOf(op->getOperand(0), depth),
                   divisorOf(op->getOperand(1), depth));
  if (auto shift = dyn_cast<arith::ShLIOp>(op)) {
    APInt amount;
    if (matchPattern(shift.getRhs(), m_ConstantInt(&amount)) && amount.ult(32))
      return product(divisorOf(shift.getLhs(), depth),
                     int64_t(1) << amount.getZExtValue());
    return 1;
  }
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op))
    return divisorOf(apply.getAffineMap().getResult(0), apply.getMapOperands(),
                     apply.getAffineMap().getNumDims(), depth);
  return 1;
}

int64_t mlir::kvcache::getKnownDivisor(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return divisorOf(value, /*depth=*/0);
  // Arithmetic wraps and casts cut off: only powers of two survive that.
  int64_t divisor = divisorOf(value, maxDepth);
  return divisor & -divisor;
}
