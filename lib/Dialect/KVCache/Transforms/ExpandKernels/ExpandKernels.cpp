//===- ExpandKernels.cpp - The pass kvcache-expand-kernels ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandKernels.h"

#include "../Instrument.h"
#include "AlignmentChecks.h"
#include "CollectionChecks.h"
#include "KernelBuilder.h"
#include "KernelChecks.h"
#include "SizeChecks.h"

#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_EXPANDKERNELSPASS
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

Tuning Tuning::get(TuningAttr attr, Tuning defaults) {
  if (!attr)
    return defaults;
  auto choose = [](int64_t chosen, int64_t other) {
    return chosen ? chosen : other;
  };
  return {choose(attr.getThreads(), defaults.threads),
          choose(attr.getChunks(), defaults.chunks),
          choose(attr.getBlocksPerSm(), defaults.blocksPerSM),
          defaults.maxBlocks};
}

/// Refuses an operation that writes one cache or collection twice, or what it
/// reads. (Verifiers do not: passes may find two values to be one.)
static LogicalResult checkTwice(Operation *op) {
  auto twice = [&](OperandRange targets) -> LogicalResult {
    if (targets.size() == 2 && targets[0] == targets[1])
      return op->emitOpError(
          "expected two targets, got one twice; rows of both "
          "tensors would have the same slots");
    return success();
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<AppendOp, AppendScalesOp, QuantizeAppendOp, RopeQuantizeAppendOp>(
          [&](auto op) { return twice(op.getTargets()); })
      .Case([&](ConvertLayoutOp op) -> LogicalResult {
        Operation *source = getPoolsOp(op.getSource());
        if (op.getSource() == op.getTarget() ||
            (source && source == getPoolsOp(op.getTarget())))
          return op.emitOpError("expected 'source' and 'target' in different "
                                "memory, got one collection twice");
        return success();
      })
      .Default(success());
}

namespace {
struct ExpandKernelsPass
    : public kvcache::impl::ExpandKernelsPassBase<ExpandKernelsPass> {
  using ExpandKernelsPassBase::ExpandKernelsPassBase;

  void runOnOperation() override {
    auto emitError = [&] { return getOperation().emitError(); };
    if (failed(TuningAttr::verify(emitError, threads, chunks, blocksPerSM)))
      return signalPassFailure();
    if (maxBlocks < 0 || maxBlocks > KernelBuilder::maxGrid) {
      emitError() << "expected max-blocks from 0 to " << KernelBuilder::maxGrid
                  << ", got " << int64_t(maxBlocks);
      return signalPassFailure();
    }
    // Programs of builders may come here without.
    if (failed(verify(getOperation())))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    WithBuffersOp onTensors;
    getOperation()->walk([&](Operation *op) {
      if (op->hasTrait<KernelOpTrait>())
        ops.push_back(op);
      else if (auto buffers = dyn_cast<WithBuffersOp>(op))
        onTensors = buffers;
    });
    if (onTensors) {
      onTensors.emitOpError(
          "works on tensors, kernels on buffers; run "
          "'one-shot-bufferize{bufferize-function-boundaries}'"
          " first");
      return signalPassFailure();
    }
    CollectionChecks collections;
    for (Operation *op : ops) {
      if (op->getParentOfType<gpu::GPUModuleOp>() ||
          op->getParentOfType<gpu::LaunchOp>()) {
        op->emitOpError("is launched from the host; use lookups in a kernel");
        return signalPassFailure();
      }
      if (failed(checkTwice(op)))
        return signalPassFailure();
      collections.emit(op);
      emitSizeChecks(op);
      Operation *last = op->getPrevNode();
      bool instrument = op->hasAttr(KVCacheDialect::getInstrumentAttrName());
      if (instrument) {
        emitInputChecks(op, tuning({128, 1, 0}));
        emitRowChecks(op, tuning({128, 1, 0}));
      }
      if (failed(expand(op)))
        return signalPassFailure();
      if (instrument)
        emitAlignmentChecks(op, last);
      op->erase();
    }
  }

  /// What an operation wants where nobody says otherwise: 0 in an option.
  Tuning tuning(Tuning preferred) const {
    return {threads ? threads : preferred.threads,
            chunks ? chunks : preferred.chunks,
            blocksPerSM ? blocksPerSM : preferred.blocksPerSM,
            maxBlocks ? maxBlocks : preferred.maxBlocks};
  }

  LogicalResult expand(Operation *op) {
    Tuning pages = tuning({128, 4, 0});
    return TypeSwitch<Operation *, LogicalResult>(op)
        .Case(
            [&](AppendOp op) { return expandAppend(op, tuning({128, 4, 0})); })
        .Case(
            [&](GatherOp op) { return expandGather(op, tuning({320, 8, 2})); })
        .Case([&](MLADecodeOp op) {
          return expandMLADecode(op, tuning({128, 1, 0}));
        })
        .Case([&](PagedAttentionOp op) {
          return expandPagedAttention(op, tuning({0, 1, 0}));
        })
        .Case([&](ClearPagesOp op) { return expandClearPages(op, pages); })
        .Case([&](CompactOp op) { return expandCompact(op, pages); })
        .Case(
            [&](ConvertLayoutOp op) { return expandConvertLayout(op, pages); })
        .Case([&](CopyPagesOp op) { return expandCopyPages(op, pages); })
        .Case([&](MoveTokensOp op) { return expandMoveTokens(op, pages); })
        .Case([&](AppendScalesOp op) {
          return expandAppendScales(op, tuning({128, 1, 0}));
        })
        .Case([&](QuantizeAppendOp op) {
          return expandQuantizeAppend(op, tuning({128, 4, 0}));
        })
        .Case([&](RMSNormOp op) {
          return expandRMSNorm(op, tuning({128, 1, 0}));
        })
        .Case([&](RopeOp op) { return expandRope(op, tuning({128, 1, 0})); })
        .Case([&](RopeQuantizeAppendOp op) {
          return expandRopeQuantizeAppend(op, tuning({128, 4, 0}));
        })
        .Case([&](RemapIndicesOp op) {
          return expandRemapIndices(op, tuning({128, 4, 0}));
        })
        .Case([&](TopKOp op) { return expandTopK(op, tuning({256, 1, 0})); })
        .Case([&](IndexerScoresOp op) {
          return expandIndexerScores(op, tuning({128, 8, 0}));
        })
        .Case([&](IndexerTopKOp op) {
          return expandIndexerTopK(op, tuning({128, 8, 0}),
                                   tuning({256, 1, 0}));
        });
  }
};
} // namespace
