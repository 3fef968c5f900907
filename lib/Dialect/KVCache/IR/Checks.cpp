//===- Checks.cpp - What programs check, and say when it fails ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/Checks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::kvcache;

std::string mlir::kvcache::locationText(Location loc) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (auto place = loc->findInstanceOf<FileLineColLoc>())
    out << place.getFilename().getValue() << ":" << place.getLine() << ":"
        << place.getColumn();
  else
    out << "an unknown location";
  return text;
}

/// The operation whose kernel `op` is or is in; null where there is none.
static StringAttr getKernelOp(Operation *op) {
  auto kernel = dyn_cast<gpu::GPUFuncOp>(op);
  if (!kernel)
    kernel = op->getParentOfType<gpu::GPUFuncOp>();
  return kernel ? kernel->getAttrOfType<StringAttr>(
                      KVCacheDialect::getKernelOpAttrName())
                : StringAttr();
}

std::string mlir::kvcache::reportedName(Operation *op) {
  StringAttr of = getKernelOp(op);
  StringRef name = of ? of.getValue() : op->getName().getStringRef();
  return ("'" + name + "' op").str();
}

bool mlir::kvcache::isInKernelOfOp(Operation *op) {
  return getKernelOp(op) != nullptr;
}

std::string mlir::kvcache::escapeFormat(StringRef text) {
  std::string format;
  for (char c : text)
    format += c == '%' ? "%%" : std::string(1, c);
  return format;
}

void mlir::kvcache::emitReport(ImplicitLocOpBuilder &b, const Twine &format,
                               ValueRange numbers) {
  SmallVector<Value> wide;
  for (Value number : numbers)
    wide.push_back(
        number.getType().isInteger(32)
            ? arith::ExtUIOp::create(b, b.getI64Type(), number).getResult()
            : number);
  // A name of a file may hold what printf would take for a conversion.
  gpu::PrintfOp::create(
      b,
      (escapeFormat(locationText(b.getLoc())) + ": error: " + format + "\n")
          .str(),
      wide);
}

Value mlir::kvcache::emitAllBelow(ImplicitLocOpBuilder &b,
                                  ArrayRef<Bound> bounds) {
  Value all;
  for (const Bound &bound : bounds) {
    APInt value, limit;
    if (matchPattern(bound.value, m_ConstantInt(&value)) &&
        matchPattern(bound.limit, m_ConstantInt(&limit)) && value.ult(limit))
      continue;
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                        bound.value, bound.limit);
    all = all ? arith::AndIOp::create(b, all, below).getResult() : below;
  }
  return all;
}

void mlir::kvcache::emitTrapUnless(ImplicitLocOpBuilder &b, Value when,
                                   ArrayRef<Bound> bounds, Operation *op) {
  Value inside = emitAllBelow(b, bounds);
  if (!inside)
    return;
  Value outside = arith::XOrIOp::create(
      b, inside, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  if (when)
    outside = b.createOrFold<arith::AndIOp>(when, outside);
  auto check = scf::IfOp::create(b, outside, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(check.thenBlock());
  std::string text =
      escapeFormat(reportedName(op ? op : check.getOperation())) +
      " is out of range:";
  SmallVector<Value> numbers;
  for (const Bound &bound : bounds) {
    text += (numbers.empty() ? " " : ", ") + escapeFormat(bound.name) +
            " %lld of %lld";
    llvm::append_values(numbers, bound.value, bound.limit);
  }
  emitReport(b, text, numbers);
  LLVM::Trap::create(b);
}
