//===- Instrument.cpp - The pass kvcache-instrument ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instrument.h"

#include "ExpandKernels/CollectionChecks.h"
#include "RuntimeChecks.h"

#include "kvcache/Dialect/KVCache/IR/Checks.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"
#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_INSTRUMENTPASS
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

static std::string messageOf(Operation *op, StringRef text) {
  return locationText(op->getLoc()) + ": " + reportedName(op) + " " +
         text.str();
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

/// Where the first of the scales lies that an operation loads or stores: names
/// and numbers of what says so, the last one counting elements of `head`.
struct ScalePlace {
  const char *format;
  SmallVector<Value> where;
  Value head, dim;
  LayoutAttr layout;
};

static ScalePlace placeOf(Operation *op) {
  static constexpr char token[] = "sequence %lld, token %lld",
                        slot[] = "block %lld, slot %lld";
  return TypeSwitch<Operation *, ScalePlace>(op)
      .Case([&](LoadScaleOp op) -> ScalePlace {
        return {token,
                {op.getBatch(), op.getToken()},
                op.getHead(),
                op.getDim(),
                getLayout(op.getSource().getType())};
      })
      .Case([&](StoreScaleOp op) -> ScalePlace {
        return {token,
                {op.getBatch(), op.getToken()},
                op.getHead(),
                op.getDim(),
                getLayout(op.getTarget().getType())};
      })
      .Case([&](LoadInPageOp op) -> ScalePlace {
        return {slot,
                {op.getBlock(), op.getSlot()},
                op.getHead(),
                op.getDim(),
                kvcache::getLayout(op.getSource().getType())};
      })
      .Case([&](StoreInPageOp op) -> ScalePlace {
        return {slot,
                {op.getBlock(), op.getSlot()},
                op.getHead(),
                op.getDim(),
                kvcache::getLayout(op.getTarget().getType())};
      });
}

/// Asserts that none of the `scales` that `op` has at `place` is NaN, and says
/// which one is.
static void checkScales(ImplicitLocOpBuilder &b, Operation *op,
                        const ScalePlace &place, Value scales) {
  std::string text = "expected scales that are no NaN";
  std::string format = escapeFormat(reportedName(op)) + " " + text +
                       ", got one at " + place.format +
                       ", head %lld, scale %lld";
  auto constant = [&](int64_t number) {
    return arith::ConstantIndexOp::create(b, number);
  };
  auto vector = dyn_cast<VectorType>(scales.getType());
  for (int64_t lane = 0, lanes = vector ? vector.getDimSize(0) : 1;
       lane < lanes; ++lane) {
    Value scale = scales;
    if (vector)
      scale = vector::ExtractOp::create(b, scales, lane);
    if (scale.getType().getIntOrFloatBitWidth() < 32)
      scale = arith::ExtFOp::create(b, b.getF32Type(), scale);
    Value isNumber =
        arith::CmpFOp::create(b, arith::CmpFPredicate::ORD, scale, scale);
    emitAssert(b, isNumber, messageOf(op, text), format, [&] {
      // Scales count on over heads that lie side by side.
      int64_t slots = place.layout.getScaleSlots();
      Value index = b.createOrFold<arith::AddIOp>(
          b.createOrFold<arith::DivUIOp>(
              place.dim, constant(place.layout.getGranularity())),
          constant(lane));
      SmallVector<Value> numbers(place.where);
      numbers.push_back(b.createOrFold<arith::AddIOp>(
          place.head, b.createOrFold<arith::DivUIOp>(index, constant(slots))));
      numbers.push_back(b.createOrFold<arith::RemUIOp>(index, constant(slots)));
      return numbers;
    });
  }
}

static void checkScales(Operation *op, Value scales) {
  OpBuilder builder(op);
  if (scales.getDefiningOp() == op)
    builder.setInsertionPointAfter(op);
  ImplicitLocOpBuilder b(op->getLoc(), builder);
  checkScales(b, op, placeOf(op), scales);
}

/// The same for the scales that a load multiplies with: one of each granule
/// that its lanes may be in.
static void checkScalesOf(LoadOp op) {
  LayoutAttr layout = kvcache::getLayout(op.getSource().getType());
  // Elements of a tail have none.
  APInt constant;
  if (layout.getRope() &&
      (!matchPattern(op.getDim(), m_ConstantInt(&constant)) ||
       constant.sge(layout.getQuantizedSize())))
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  auto vector = dyn_cast<VectorType>(op.getResult().getType());
  int64_t lanes = vector ? vector.getDimSize(0) : 1;
  if (layout.getRope())
    lanes =
        std::min(lanes, layout.getQuantizedSize() - constant.getSExtValue());
  int64_t granules = llvm::divideCeil(lanes - 1, layout.getGranularity()) + 1;
  for (int64_t i = 0; i < granules; ++i) {
    int64_t lane = std::min(i * layout.getGranularity(), lanes - 1);
    Value dim = b.createOrFold<arith::AddIOp>(
        op.getDim(), arith::ConstantIndexOp::create(b, lane));
    Value scale =
        LoadScaleOp::create(b, b.getF32Type(), op.getSource(), op.getBatch(),
                            op.getToken(), op.getHead(), dim, op.getPolicy(),
                            /*alignment=*/IntegerAttr());
    ScalePlace place = placeOf(scale.getDefiningOp());
    checkScales(b, op, place, scale);
  }
}

void mlir::kvcache::emitRuntimeChecks(Operation *op) {
  auto checked = dyn_cast<RuntimeVerifiableOpInterface>(op);
  if (!checked)
    return;
  OpBuilder builder(op);
  checked.generateRuntimeVerification(builder, op->getLoc(), messageOf);
}

void mlir::kvcache::instrumentLookups(Operation *root, bool checkNaN) {
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (isa_and_nonnull<KVCacheDialect>(op->getDialect()))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    emitRuntimeChecks(op);
    if (!checkNaN)
      continue;
    if (Value scales = getScales(op))
      checkScales(op, scales);
    if (auto load = dyn_cast<LoadOp>(op))
      if (kvcache::getLayout(load.getSource().getType()).isQuantized())
        checkScalesOf(load);
  }
}

namespace {
struct InstrumentPass
    : public kvcache::impl::InstrumentPassBase<InstrumentPass> {
  void runOnOperation() override {
    // Programs of builders may come here without.
    if (failed(verify(getOperation())))
      return signalPassFailure();
    // First what is there: what is made below comes with its own checks.
    instrumentLookups(getOperation());
    getOperation()->walk([](Operation *op) {
      if (auto launch = dyn_cast<gpu::LaunchOp>(op)) {
        llvm::SetVector<Value> captured;
        getUsedValuesDefinedAbove(launch.getBody(), captured);
        emitGivenCollectionChecks(op, captured.getArrayRef());
      } else if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
        emitGivenCollectionChecks(op, launch.getKernelOperands());
      }
    });
    getOperation()->walk([&](Operation *op) {
      if (op->hasTrait<KernelOpTrait>())
        op->setAttr(KVCacheDialect::getInstrumentAttrName(),
                    UnitAttr::get(&getContext()));
    });
  }
};
} // namespace
