//===- HeaderExpressions.cpp - Expressions as C ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeaderWriter.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::kvcache;

using llvm::formatv;

std::string kvcache::quoteC(StringRef text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\' || c == '?')
      quoted += {'\\', static_cast<char>(c)};
    else if (c < 32 || c > 126)
      quoted += formatv("\\{0}{1}{2}", c >> 6, (c >> 3) & 7, c & 7).str();
    else
      quoted += static_cast<char>(c);
  }
  return quoted + "\"";
}

std::string kvcache::numberC(int64_t value) {
  // C has no literal for the least one.
  if (value == std::numeric_limits<int64_t>::min())
    return "INT64_MIN";
  if (value == std::numeric_limits<int64_t>::max())
    return "INT64_MAX";
  if (value > std::numeric_limits<int32_t>::max() ||
      value < std::numeric_limits<int32_t>::min())
    return formatv("INT64_C({0})", value);
  return std::to_string(value);
}

std::string HeaderWriter::useScalar(const HostArgument &argument,
                                    StringRef field) const {
  if (argument.dtype == "f32")
    return formatv("kvcache_float_bits({0})", field);
  if (argument.dtype == "f64")
    return formatv("kvcache_double_bits({0})", field);
  if (argument.dtype == "i1")
    return formatv("({0} != 0)", field);
  if (argument.isFloat)
    return formatv("(int64_t)(int{0}_t){1}", argument.bytes * 8, field);
  return formatv("(int64_t){0}", field);
}

std::string HeaderWriter::useLeaf(const Expr *expr) const {
  auto name = [&] { return record.arguments[expr->argument].name; };
  switch (expr->kind) {
  case ExprKind::Constant:
    return numberC(expr->value);
  case ExprKind::Size:
    return formatv("a->{0}.size[{1}]", name(), expr->value);
  case ExprKind::Stride:
    return formatv("a->{0}.stride[{1}]", name(), expr->value);
  case ExprKind::Data:
    return formatv("(int64_t)a->{0}.data", name());
  case ExprKind::Workspace:
    return "(int64_t)a->workspace";
  case ExprKind::Scalar:
    return useScalar(record.arguments[expr->argument],
                     formatv("a->{0}", name()).str());
  case ExprKind::HostElement:
    return useScalar(record.arguments[expr->argument],
                     formatv("a->{0}[{1}]", name(), expr->value).str());
  default:
    llvm_unreachable("not a leaf");
  }
}

std::string HeaderWriter::use(const Expr *expr) const {
  if (expr->kind == ExprKind::Fit)
    return use(expr->operands[0]);
  if (auto variable = variables.find(expr); variable != variables.end())
    return variable->second;
  return expr->isLeaf() ? useLeaf(expr) : compute(expr);
}

std::string HeaderWriter::compute(const Expr *expr) const {
  auto operand = [&](unsigned i) { return use(expr->operands[i]); };
  auto call = [&](StringRef name) {
    return formatv("kvcache_{0}({1}, {2})", name, operand(0), operand(1)).str();
  };
  auto infix = [&](StringRef op) {
    return formatv("{0} {1} {2}", operand(0), op, operand(1)).str();
  };
  switch (expr->kind) {
  case ExprKind::Add:
    return call("add");
  case ExprKind::Sub:
    return call("sub");
  case ExprKind::Mul:
    return call("mul");
  case ExprKind::FloorDiv:
    return call("floordiv");
  case ExprKind::CeilDiv:
    return call("ceildiv");
  case ExprKind::TruncDiv:
    return call("truncdiv");
  case ExprKind::TruncMod:
    return call("truncmod");
  case ExprKind::UnsignedDiv:
    return call("udiv");
  case ExprKind::UnsignedMod:
    return call("umod");
  case ExprKind::UnsignedLess:
    return call("ult");
  case ExprKind::ShiftLeft:
    return call("shl");
  case ExprKind::ShiftRight:
    return call("shr");
  case ExprKind::UnsignedShiftRight:
    return call("ushr");
  case ExprKind::Min:
    return call("min");
  case ExprKind::Max:
    return call("max");
  case ExprKind::And:
    return infix("&");
  case ExprKind::Or:
    return infix("|");
  case ExprKind::Xor:
    return infix("^");
  case ExprKind::Equal:
    return infix("==");
  case ExprKind::Less:
    return infix("<");
  case ExprKind::LessEqual:
    return infix("<=");
  case ExprKind::Select:
    return formatv("{0} ? {1} : {2}", operand(0), operand(1), operand(2));
  case ExprKind::ZeroExtend:
    return formatv("kvcache_zext({0}, {1})", operand(0), expr->value);
  case ExprKind::SignExtend:
    return formatv("kvcache_sext({0}, {1})", operand(0), expr->value);
  default:
    llvm_unreachable("a leaf or a promise");
  }
}

void HeaderWriter::writeValues() {
  for (const Expr *expr : getPostOrder(getRoots(record))) {
    if (expr->isLeaf() || expr->kind == ExprKind::Fit)
      continue;
    std::string name = "v" + std::to_string(variables.size());
    os << formatv("  const int64_t {0} = {1};\n", name, compute(expr));
    variables[expr] = name;
  }
}

void HeaderWriter::writeFaults(ArrayRef<const Expr *> roots, unsigned indent) {
  std::string pad(indent, ' ');
  for (const Expr *expr : getPostOrder(roots)) {
    auto fail = [&](StringRef condition, StringRef format, StringRef values) {
      os << pad << "if (" << condition << ")\n"
         << pad << "  return kvcache_launch_fail(KVCACHE_LAUNCH_RANGE" << tail
         << ",\n"
         << pad << "      " << quoteC((id + ": " + format).str()) << ",\n"
         << pad << "      " << values << ");\n";
    };
    auto describe = [&](const Expr *part) {
      return quoteC(formulas.describe(part));
    };
    switch (expr->getFault()) {
    case ExprFault::None:
      break;
    case ExprFault::Overflow: {
      std::string a = use(expr->operands[0]), b = use(expr->operands[1]);
      bool isSum = expr->kind == ExprKind::Add;
      bool isProduct = expr->kind == ExprKind::Mul;
      StringRef op = isSum ? "+" : isProduct ? "*" : "-";
      StringRef name = isSum ? "add" : isProduct ? "mul" : "sub";
      fail(formatv("kvcache_{0}_overflows({1}, {2})", name, a, b).str(),
           ("%s is %lld " + op + " %lld, which 64 bits cannot hold").str(),
           formatv("{0}, (long long){1}, (long long){2}", describe(expr), a, b)
               .str());
      break;
    }
    case ExprFault::ZeroDivisor:
      fail(formatv("{0} == 0", use(expr->operands[1])).str(),
           "%s is 0, expected another number: it divides %s",
           formatv("{0}, {1}", describe(expr->operands[1]),
                   describe(expr->operands[0]))
               .str());
      break;
    case ExprFault::OutOfRange: {
      const Expr *value = expr->operands[0];
      std::string condition;
      if (value->low < expr->low)
        condition = formatv("{0} < {1}", use(value), numberC(expr->low));
      if (value->high > expr->high)
        condition += formatv("{0}{1} > {2}", condition.empty() ? "" : " || ",
                             use(value), numberC(expr->high))
                         .str();
      if (condition.empty())
        break;
      fail(condition, "%s is %lld, expected %lld to %lld",
           formatv("{0}, (long long)({1}), (long long){2}, (long long){3}",
                   describe(value), use(value), numberC(expr->low),
                   numberC(expr->high))
               .str());
      break;
    }
    }
  }
}
