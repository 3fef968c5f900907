//===- RuntimeOpVerification.cpp - Checks at run time ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/Transforms/RuntimeOpVerification.h"

#include "Instrument.h"
#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvcache;

void mlir::kvcache::emitAssert(ImplicitLocOpBuilder &b, Value condition,
                               StringRef message, const Twine &expectation,
                               ValueRange numbers) {
  if (matchPattern(condition, m_One()))
    return;
  if (!numbers.empty()) {
    std::string text = locationText(b.getLoc()) + ": error: ";
    std::string format;
    // A name of a file may hold what printf would take for a conversion.
    for (char c : text + expectation.str())
      format += c == '%' ? "%%" : std::string(1, c);
    for (auto [place, number] : llvm::enumerate(numbers))
      format += (place == 0 ? ", got " : " and ") +
                std::string(number.getType().isInteger(32) ? "%d" : "%lld");
    Value broken = arith::XOrIOp::create(
        b, condition, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    auto report = scf::IfOp::create(b, broken, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(report.thenBlock());
    gpu::PrintfOp::create(b, format + "\n", numbers);
  }
  cf::AssertOp::create(b, condition, message);
}

void RuntimeChecks::require(Value condition, const Twine &text,
                            ValueRange numbers) {
  emitAssert(b, condition, message(op, text.str()),
             "'" + op->getName().getStringRef() + "' op " + text, numbers);
}

void RuntimeChecks::requireMultiple(Value number, int64_t factor,
                                    const Twine &text) {
  Value rest = b.createOrFold<arith::RemUIOp>(number, constant(factor));
  require(compare(rest, arith::CmpIPredicate::eq, constant(0)), text, number);
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
    attachPageRuntimeChecks(context);
    context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                         gpu::GPUDialect, memref::MemRefDialect,
                         scf::SCFDialect>();
  });
}
