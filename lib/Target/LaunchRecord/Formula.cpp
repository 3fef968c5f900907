//===- Formula.cpp - Expressions as text ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::kvcache;

std::vector<const Expr *> kvcache::getPostOrder(ArrayRef<const Expr *> roots) {
  llvm::DenseSet<const Expr *> seen;
  SmallVector<const Expr *> worklist(roots);
  std::vector<const Expr *> found;
  while (!worklist.empty()) {
    const Expr *expr = worklist.pop_back_val();
    if (!seen.insert(expr).second)
      continue;
    found.push_back(expr);
    llvm::append_range(worklist, expr->operands);
  }
  // Operands are made before what uses them.
  llvm::sort(found, [](const Expr *a, const Expr *b) {
    return a->number < b->number;
  });
  return found;
}

std::vector<const Expr *> kvcache::getRoots(const LaunchStep &step) {
  if (step.condition)
    return {step.condition};
  std::vector<const Expr *> roots(step.grid.begin(), step.grid.end());
  llvm::append_range(roots, step.block);
  roots.push_back(step.dynamicShared);
  for (const KernelArgument &argument : step.arguments)
    roots.push_back(argument.value);
  return roots;
}

std::vector<const Expr *> kvcache::getRoots(const LaunchRecord &record) {
  std::vector<const Expr *> roots = {record.workspaceBytes};
  for (const LaunchStep &step : record.steps) {
    llvm::append_range(roots, step.guards);
    llvm::append_range(roots, getRoots(step));
  }
  return roots;
}

namespace {
/// How an operation is written; `precedence` is 0 for calls.
struct Notation {
  const char *text;
  int precedence;
};
} // namespace

// Python's order of precedence.
static Notation getNotation(ExprKind kind) {
  switch (kind) {
  case ExprKind::Equal:
    return {"==", 1};
  case ExprKind::Less:
    return {"<", 1};
  case ExprKind::LessEqual:
    return {"<=", 1};
  case ExprKind::Or:
    return {"|", 2};
  case ExprKind::Xor:
    return {"^", 3};
  case ExprKind::And:
    return {"&", 4};
  case ExprKind::ShiftRight:
    return {">>", 5};
  case ExprKind::Add:
    return {"+", 6};
  case ExprKind::Sub:
    return {"-", 6};
  case ExprKind::Mul:
    return {"*", 7};
  case ExprKind::FloorDiv:
    return {"//", 7};
  case ExprKind::CeilDiv:
    return {"ceildiv", 0};
  case ExprKind::TruncDiv:
    return {"truncdiv", 0};
  case ExprKind::TruncMod:
    return {"truncmod", 0};
  case ExprKind::UnsignedDiv:
    return {"udiv", 0};
  case ExprKind::UnsignedMod:
    return {"umod", 0};
  case ExprKind::UnsignedLess:
    return {"ult", 0};
  case ExprKind::ShiftLeft:
    return {"shl", 0};
  case ExprKind::UnsignedShiftRight:
    return {"ushr", 0};
  case ExprKind::Min:
    return {"min", 0};
  case ExprKind::Max:
    return {"max", 0};
  case ExprKind::Select:
    return {"select", 0};
  default:
    llvm_unreachable("a leaf or a conversion");
  }
}

std::pair<const Expr *, const Expr *>
kvcache::getCompared(const Expr *condition) {
  ArrayRef<const Expr *> operands = condition->operands;
  switch (condition->kind) {
  case ExprKind::Equal:
    if (operands[1]->isConstant(0)) {
      const Expr *inner = operands[0];
      switch (inner->kind) {
      // The contrary of a comparison is that it is 0; a multiple leaves
      // nothing.
      case ExprKind::Equal:
      case ExprKind::Less:
      case ExprKind::LessEqual:
      case ExprKind::UnsignedLess:
      case ExprKind::TruncMod:
      case ExprKind::UnsignedMod:
        return {inner->operands[0], inner->operands[1]};
      default:
        break;
      }
    }
    return {operands[0], operands[1]};
  case ExprKind::Less:
  case ExprKind::LessEqual:
  case ExprKind::UnsignedLess:
    return {operands[0], operands[1]};
  case ExprKind::Or:
    for (const Expr *operand : llvm::reverse(operands))
      if (auto compared = getCompared(operand); compared.first)
        return compared;
    return {};
  default:
    return {};
  }
}

FormulaWriter::FormulaWriter(const LaunchRecord &record) : record(record) {
  std::vector<const Expr *> roots = getRoots(record);
  llvm::DenseMap<const Expr *, unsigned> uses;
  for (const Expr *root : roots)
    ++uses[root];
  std::vector<const Expr *> all = getPostOrder(roots);
  for (const Expr *expr : all)
    for (const Expr *operand : expr->operands)
      ++uses[operand];
  // Sizes when names stand for what they name.
  llvm::DenseMap<const Expr *, unsigned> size;
  for (const Expr *expr : all) {
    unsigned total = !expr->isLeaf(), full = total;
    for (const Expr *operand : expr->operands) {
      total += names.count(operand) ? 0 : size[operand];
      full = std::min(full + fullSize[operand], 1u << 20);
    }
    size[expr] = total;
    fullSize[expr] = full;
    if (total < 3 || uses[expr] < 2 || expr->kind == ExprKind::Fit)
      continue;
    std::string name = "t" + std::to_string(named.size());
    names[expr] = name;
    named.emplace_back(name, expr);
  }
}

std::string FormulaWriter::printLeaf(const Expr *expr) const {
  auto name = [&] { return record.arguments[expr->argument].name; };
  switch (expr->kind) {
  case ExprKind::Constant:
    return std::to_string(expr->value);
  case ExprKind::Size:
    return llvm::formatv("{0}.size[{1}]", name(), expr->value);
  case ExprKind::Stride:
    return llvm::formatv("{0}.stride[{1}]", name(), expr->value);
  case ExprKind::Data:
    return name() + ".data";
  case ExprKind::Scalar:
    return name();
  case ExprKind::HostElement:
    return llvm::formatv("{0}[{1}]", name(), expr->value);
  case ExprKind::Workspace:
    return "workspace";
  default:
    llvm_unreachable("not a leaf");
  }
}

std::string FormulaWriter::print(const Expr *expr, int outer, bool useNames,
                                 bool isRoot) const {
  if (useNames && !isRoot)
    if (auto name = names.find(expr); name != names.end())
      return name->second;
  if (expr->isLeaf())
    return printLeaf(expr);
  auto operand = [&](unsigned number, int around) {
    return print(expr->operands[number], around, useNames, false);
  };
  switch (expr->kind) {
  case ExprKind::Fit:
    return print(expr->operands[0], outer, useNames, false);
  case ExprKind::ZeroExtend:
    return llvm::formatv("u{0}({1})", expr->value, operand(0, 0));
  case ExprKind::SignExtend:
    return llvm::formatv("s{0}({1})", expr->value, operand(0, 0));
  case ExprKind::TruncMod:
    if (expr->operands[0]->isNonNegative() &&
        expr->operands[1]->isNonNegative()) {
      std::string text = operand(0, 7) + " % " + operand(1, 8);
      return outer > 7 ? "(" + text + ")" : text;
    }
    break;
  case ExprKind::Equal:
    // `a != b` is the comparison that is 0.
    if (const Expr *inner = expr->operands[0];
        expr->operands[1]->isConstant(0) && inner->kind == ExprKind::Equal &&
        !(useNames && names.count(inner))) {
      std::string text = print(inner->operands[0], 2, useNames, false) +
                         " != " + print(inner->operands[1], 2, useNames, false);
      return outer > 1 ? "(" + text + ")" : text;
    }
    break;
  default:
    break;
  }

  Notation notation = getNotation(expr->kind);
  if (notation.precedence == 0) {
    std::string text = notation.text;
    for (unsigned i = 0; i < expr->operands.size(); ++i)
      text += (i ? ", " : "(") + operand(i, 0);
    return text + ")";
  }
  // Comparisons do not associate; the others do to the left.
  int left = notation.precedence + (notation.precedence == 1);
  std::string text = operand(0, left) + " " + notation.text + " " +
                     operand(1, notation.precedence + 1);
  return outer > notation.precedence ? "(" + text + ")" : text;
}

std::string FormulaWriter::write(const Expr *expr) const {
  return print(expr, 0, /*useNames=*/true, /*isRoot=*/false);
}

std::string FormulaWriter::writeDefinition(const Expr *expr) const {
  return print(expr, 0, /*useNames=*/true, /*isRoot=*/true);
}

std::string FormulaWriter::describe(const Expr *expr) const {
  bool isLong = fullSize.lookup(expr) > 12;
  return print(expr, 0, /*useNames=*/isLong, /*isRoot=*/isLong);
}
