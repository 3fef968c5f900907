//===- RuntimeOpVerification.cpp - Checks at run time ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/Transforms/RuntimeOpVerification.h"

#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::kvcache;

void RuntimeChecks::require(Value condition, const Twine &text) {
  if (matchPattern(condition, m_One()))
    return;
  cf::AssertOp::create(b, condition, message(op, text.str()));
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
                         memref::MemRefDialect>();
  });
}
