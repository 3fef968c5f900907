//===- BufferizableOpInterfaceImpl.cpp - Bufferization -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/Transforms/BufferizableOpInterfaceImpl.h"

#include "TensorCopies.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::kvcache;

/// Whether a buffer of type `from` is one of type `to` without a look at its
/// strides: sizes agree (the verifier's business), strides and offset are the
/// same or free in `to`.
static bool isSeenAs(MemRefType from, MemRefType to) {
  if (from == to)
    return true;
  SmallVector<int64_t> fromStrides, toStrides;
  int64_t fromOffset, toOffset;
  if (!memref::CastOp::areCastCompatible(from, to) ||
      failed(from.getStridesAndOffset(fromStrides, fromOffset)) ||
      failed(to.getStridesAndOffset(toStrides, toOffset)))
    return false;
  auto accepts = [](int64_t have, int64_t want) {
    return ShapedType::isDynamic(want) || have == want;
  };
  // Strides that follow from dynamic sizes are dynamic too, and equal only
  // where both layouts are the identity.
  if (to.getLayout().isIdentity())
    return from.getLayout().isIdentity();
  return accepts(fromOffset, toOffset) &&
         llvm::all_of_zip(fromStrides, toStrides, accepts);
}

namespace {

struct WithBuffersModel
    : DstBufferizableOpInterfaceExternalModel<WithBuffersModel, WithBuffersOp> {
  LogicalResult verifyAnalysis(Operation *op, const AnalysisState &state) const;
  LogicalResult
  resolveConflicts(Operation *op, RewriterBase &rewriter,
                   const AnalysisState &state,
                   const BufferizationState &bufferizationState) const;
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const;
};

} // namespace

/// The analysis of bufferization believes that what `reads` names is not
/// written.
static LogicalResult verifyReads(WithBuffersOp buffers) {
  Block *body = &buffers.getBody().front();
  unsigned numReads = buffers.getReads().size();
  SymbolTableCollection symbols;
  MemRefRoots roots(symbols);
  WalkResult result = body->walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (!isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect()) ||
          !effect.getValue())
        continue;
      for (BlockArgument argument : findBodyArguments(
               buffers, effect.getValue(), WrittenPools::of(op), roots)) {
        if (argument.getArgNumber() >= numReads)
          continue;
        InFlightDiagnostic error =
            op->emitOpError("writes what 'kvcache.with_buffers' takes as "
                            "operand #")
            << argument.getArgNumber()
            << " of 'reads'; name the tensor in 'writes'";
        error.attachNote(buffers.getLoc()) << "the tensor is taken here";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult
WithBuffersModel::verifyAnalysis(Operation *op,
                                 const AnalysisState &state) const {
  auto update = cast<WithBuffersOp>(op);
  LogicalResult result = verifyReads(update);
  auto *oneShot = dyn_cast<OneShotAnalysisState>(&state);
  // Without the option a loop that copies is an error of its own, before
  // conflicts are resolved; it does not say what is copied.
  if (oneShot && !oneShot->getOptions().allowReturnAllocsFromLoops &&
      failed(checkTensorCopies(update, *oneShot, nullptr)))
    result = failure();
  for (OpOperand &written : update.getDpsInitsMutable()) {
    if (state.isInPlace(written)) {
      if (!oneShot || !isWrittenAnew(written, *oneShot))
        continue;
      result = update.emitOpError("operand #")
               << written.getOperandNumber() << " of type "
               << written.get().getType()
               << " would be updated once more in each turn of a loop of "
                  "branches; pass the operation's result on as an argument of "
                  "the loop's block";
      continue;
    }
    InFlightDiagnostic error =
        update.emitOpError("operand #")
        << written.getOperandNumber() << " of type " << written.get().getType()
        << " would be copied to be written; use the operation's result "
        << "afterwards instead";
    if (oneShot)
      explainCopy(error, written, *oneShot);
    result = failure();
  }
  return result;
}

/// Comes when the whole program is analysed: operands of this operation are in
/// place by then, and no other may need a copy of them.
LogicalResult WithBuffersModel::resolveConflicts(
    Operation *op, RewriterBase &rewriter, const AnalysisState &state,
    const BufferizationState &bufferizationState) const {
  auto *oneShot = dyn_cast<OneShotAnalysisState>(&state);
  if (!oneShot || state.getOptions().copyBeforeWrite)
    return op->emitOpError(
        "cannot be bufferized without an analysis, which would copy what it "
        "writes; leave 'copy-before-write' and 'no-analysis-func-filter' out");
  if (failed(checkTensorCopies(cast<WithBuffersOp>(op), *oneShot,
                               &bufferizationState)))
    return failure();
  return cast<BufferizableOpInterface>(op).resolveTensorOpOperandConflicts(
      rewriter, state, bufferizationState);
}

LogicalResult WithBuffersModel::bufferize(Operation *op, RewriterBase &rewriter,
                                          const BufferizationOptions &options,
                                          BufferizationState &state) const {
  auto update = cast<WithBuffersOp>(op);
  Block *body = &update.getBody().front();
  SmallVector<Value> buffers, arguments;
  for (auto [number, tensor, argument] :
       llvm::enumerate(op->getOperands(), body->getArguments())) {
    FailureOr<Value> buffer = getBuffer(rewriter, tensor, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
    auto have = dyn_cast<MemRefType>(buffer->getType());
    auto want = cast<MemRefType>(argument.getType());
    if (!have || !isSeenAs(have, want))
      return op->emitOpError("operand #")
             << number << " lies in a buffer of type " << buffer->getType()
             << ", but the body takes " << want
             << "; give functions identity layouts "
             << "(function-boundary-type-conversion=identity-layout-map), or "
                "let "
             << "the body take a strided memref";
    arguments.push_back(
        have == want
            ? *buffer
            : memref::CastOp::create(rewriter, op->getLoc(), want, *buffer)
                  .getResult());
  }
  rewriter.inlineBlockBefore(body, op, arguments);
  replaceOpWithBufferizedValues(
      rewriter, op, ArrayRef(buffers).take_back(update.getWrites().size()));
  return success();
}

void mlir::kvcache::registerBufferizableOpInterfaceExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, KVCacheDialect *) {
    WithBuffersOp::attachInterface<WithBuffersModel>(*context);
    context->loadDialect<bufferization::BufferizationDialect,
                         memref::MemRefDialect>();
  });
}
