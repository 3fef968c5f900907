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
#include "mlir/Interfaces/ViewLikeInterface.h"

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

/// The arguments of `body` that a memref views, or that are pools of a cache or
/// a collection, of which those count that are `written`.
static SmallVector<BlockArgument> findArguments(Value memory, Block *body,
                                                WrittenPools written) {
  SmallVector<BlockArgument> arguments;
  SmallVector<Value> worklist = {memory};
  DenseSet<Value> seen;
  auto addPools = [&](auto op) {
    bool apart = op.getLayout().hasSeparatePools();
    if (written.values || !apart)
      worklist.push_back(op.getBlocks());
    if (written.scales && apart)
      worklist.push_back(op.getScales());
  };
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!value || !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      if (argument.getOwner() == body)
        arguments.push_back(argument);
    } else if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      worklist.push_back(view.getViewSource());
    } else if (auto cache = dyn_cast<GetPagedCacheOp>(op)) {
      addPools(cache);
    } else if (auto pages = dyn_cast<GetPagePoolsOp>(op)) {
      addPools(pages);
    } else if (isMemoryEffectFree(op)) {
      // A lookup, a cast, a select: what it gives is what it got.
      llvm::copy_if(op->getOperands(), std::back_inserter(worklist),
                    [](Value operand) {
                      return !operand.getType().isIntOrIndexOrFloat();
                    });
    }
  }
  return arguments;
}

/// The analysis of bufferization believes that what `reads` names is not
/// written.
static LogicalResult verifyReads(WithBuffersOp buffers) {
  Block *body = &buffers.getBody().front();
  unsigned numReads = buffers.getReads().size();
  WalkResult result = body->walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (!isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect()) ||
          !effect.getValue())
        continue;
      for (BlockArgument argument :
           findArguments(effect.getValue(), body, WrittenPools::of(op))) {
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
  for (OpOperand &written : update.getDpsInitsMutable()) {
    if (state.isInPlace(written))
      continue;
    InFlightDiagnostic error =
        update.emitOpError("operand #")
        << written.getOperandNumber() << " of type " << written.get().getType()
        << " would be copied to be written; use the operation's result "
        << "afterwards instead";
    if (auto *oneShot = dyn_cast<OneShotAnalysisState>(&state))
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
                               bufferizationState)))
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
