//===- ResolveChip.cpp - Keep what is for one chip ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"
#include "kvcache/Pipelines/Passes.h"
#include "kvcache/Target/Chip.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_RESOLVECHIPPASS
#include "kvcache/Pipelines/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

namespace {

struct ResolveChip : public kvcache::impl::ResolveChipPassBase<ResolveChip> {
  using ResolveChipPassBase::ResolveChipPassBase;

  LogicalResult initialize(MLIRContext *context) override {
    FailureOr<Chip> found =
        lookupChip(chip, [&] { return emitError(UnknownLoc::get(context)); });
    if (succeeded(found))
      knownChip = *found;
    return failure(failed(found));
  }

  void runOnOperation() override {
    SmallVector<HasWgmmaOp> questions;
    getOperation()->walk([&](HasWgmmaOp op) { questions.push_back(op); });
    if (questions.empty())
      return markAllAnalysesPreserved();
    // What asks, and the forms of which one stays.
    SmallVector<Operation *> askers;
    IRRewriter rewriter(&getContext());
    for (HasWgmmaOp op : questions) {
      llvm::append_range(askers, op->getUsers());
      rewriter.setInsertionPoint(op);
      rewriter.replaceOpWithNewOp<arith::ConstantOp>(
          op, rewriter.getBoolAttr(knownChip.hasWgmma));
    }
    RewritePatternSet patterns(&getContext());
    scf::IfOp::getCanonicalizationPatterns(patterns, &getContext());
    arith::SelectOp::getCanonicalizationPatterns(patterns, &getContext());
    if (failed(applyOpPatternsGreedily(askers, std::move(patterns))))
      signalPassFailure();
  }

  Chip knownChip;
};

} // namespace
