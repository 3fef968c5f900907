//===- Instrument.cpp - The pass kvcache-instrument ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"
#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_INSTRUMENTPASS
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"
} // namespace mlir::kvcache

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

static std::string messageOf(Operation *op, StringRef text) {
  return locationText(op->getLoc()) + ": '" +
         op->getName().getStringRef().str() + "' op " + text.str();
}

/// The scales that an operation loads or stores; null where it does neither.
static Value getScales(Operation *op) {
  return TypeSwitch<Operation *, Value>(op)
      .Case([](LoadScaleOp load) { return load.getResult(); })
      .Case([](StoreScaleOp store) { return store.getValue(); })
      .Case([](LoadInPageOp load) {
        return load.getPool() == Pool::scales ? load.getResult() : Value();
      })
      .Case([](StoreInPageOp store) {
        return store.getPool() == Pool::scales ? store.getValue() : Value();
      })
      .Default(Value());
}

/// Asserts that no scale is NaN.
static void checkScales(Operation *op, Value scales) {
  OpBuilder builder(op);
  if (scales.getDefiningOp() == op)
    builder.setInsertionPointAfter(op);
  RuntimeChecks check(op, builder, op->getLoc(), messageOf);
  ImplicitLocOpBuilder &b = check.b;
  auto vector = dyn_cast<VectorType>(scales.getType());
  for (int64_t lane = 0, lanes = vector ? vector.getDimSize(0) : 1;
       lane < lanes; ++lane) {
    Value scale = scales;
    if (vector)
      scale = vector::ExtractOp::create(b, scales, lane);
    if (scale.getType().getIntOrFloatBitWidth() < 32)
      scale = arith::ExtFOp::create(b, b.getF32Type(), scale);
    check.require(
        arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, scale, scale),
        "expected scales that are no NaN");
  }
}

void mlir::kvcache::instrumentLookups(Operation *root, bool checkNaN) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<KVCacheDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto checked = dyn_cast<RuntimeVerifiableOpInterface>(op)) {
      OpBuilder builder(op);
      checked.generateRuntimeVerification(builder, op->getLoc(), messageOf);
    }
    if (Value scales = checkNaN ? getScales(op) : Value())
      checkScales(op, scales);
  }
}

namespace {
struct InstrumentPass
    : public kvcache::impl::InstrumentPassBase<InstrumentPass> {
  void runOnOperation() override {
    // First what is there: what is made below comes with its own checks.
    instrumentLookups(getOperation());
    getOperation()->walk([&](Operation *op) {
      if (!op->hasTrait<KernelOpTrait>() || isa<CheckRowsOp>(op))
        return;
      op->setAttr(instrumentAttrName, UnitAttr::get(&getContext()));
      if (auto append = dyn_cast<AppendOp>(op))
        checkRows(append);
      if (auto append = dyn_cast<QuantizeAppendOp>(op))
        checkRows(append);
      if (auto append = dyn_cast<RopeQuantizeAppendOp>(op))
        checkRows(append);
    });
  }

  template <typename Op> void checkRows(Op op) {
    ImplicitLocOpBuilder b(op.getLoc(), op);
    SmallVector<Value> sizes;
    for (unsigned i = 0; i < op.getLeadingRank(); ++i)
      sizes.push_back(
          b.createOrFold<memref::DimOp>(op.getSources().front(), i));
    for (Value target : op.getTargets().take_front())
      CheckRowsOp::create(b, op.getPolicy(), sizes, target, op.getForm(),
                          op.getRows());
  }
};
} // namespace
