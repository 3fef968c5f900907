//===- RuntimeOpVerification.cpp - Checks at run time ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/Transforms/RuntimeOpVerification.h"

#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvcache;

void mlir::kvcache::emitAssert(ImplicitLocOpBuilder &b, Value condition,
                               StringRef message, const Twine &format,
                               function_ref<SmallVector<Value>()> numbers) {
  if (matchPattern(condition, m_One()))
    return;
  Value broken = arith::XOrIOp::create(
      b, condition, arith::ConstantOp::create(b, b.getBoolAttr(true)));
  auto report = scf::IfOp::create(b, broken, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(report.thenBlock());
    SmallVector<Value> printed = numbers();
    emitReport(b, format, printed);
  }
  cf::AssertOp::create(b, condition, message);
}

void mlir::kvcache::emitAssert(ImplicitLocOpBuilder &b, Value condition,
                               StringRef message, const Twine &expectation,
                               ValueRange numbers) {
  if (numbers.empty()) {
    if (!matchPattern(condition, m_One()))
      cf::AssertOp::create(b, condition, message);
    return;
  }
  std::string format = escapeFormat(expectation.str());
  for (unsigned place = 0; place < numbers.size(); ++place)
    format += place == 0 ? ", got %lld" : " and %lld";
  emitAssert(b, condition, message, format,
             [&] { return llvm::to_vector(numbers); });
}

void RuntimeChecks::require(Value condition, const Twine &text,
                            ValueRange numbers) {
  emitAssert(b, condition, message(op, text.str()),
             reportedName(op) + " " + text, numbers);
}

void RuntimeChecks::requireMultiple(Value number, int64_t factor,
                                    const Twine &text) {
  require(isMultiple(number, factor), text, number);
}

Value RuntimeChecks::isMultiple(Value number, int64_t factor) {
  Value rest = b.createOrFold<arith::RemUIOp>(number, constant(factor));
  return compare(rest, arith::CmpIPredicate::eq, constant(0));
}

Value RuntimeChecks::constant(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value RuntimeChecks::value(OpFoldResult number) {
  if (auto value = dyn_cast<Value>(number))
    return value;
  return constant(cast<IntegerAttr>(cast<Attribute>(number)).getInt());
}

Value RuntimeChecks::compare(Value a, arith::CmpIPredicate predicate, Value c) {
  return b.createOrFold<arith::CmpIOp>(predicate, a, c);
}

void mlir::kvcache::registerRuntimeVerifiableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVCacheDialect *) {
    attachCollectionRuntimeChecks(context);
    attachAccessRuntimeChecks(context);
    context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                         gpu::GPUDialect, memref::MemRefDialect,
                         scf::SCFDialect>();
  });
}
