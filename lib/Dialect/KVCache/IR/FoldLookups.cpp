//===- FoldLookups.cpp - Canonical forms of lookups and accesses ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldLookups.h"

#include "VerifyIndex.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// Asks the collection, as far as it is in sight, for what all of its caches
/// share: lengths.
template <typename LengthOp>
struct AskCollection : public OpRewritePattern<LengthOp> {
  using OpRewritePattern<LengthOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(LengthOp op,
                                PatternRewriter &rewriter) const override {
    Operation *source = op.getSource().getDefiningOp();
    if (!isa_and_nonnull<GetKeyCacheOp, GetValueCacheOp, MHAOperandOp,
                         ScalesMHAOperandOp>(source))
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.getSourceMutable().set(source->getOperand(0)); });
    return success();
  }
};

/// A plain operand answers as its cache does.
template <typename PagedOp> struct AskCache : public OpRewritePattern<PagedOp> {
  using OpRewritePattern<PagedOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(PagedOp op,
                                PatternRewriter &rewriter) const override {
    for (OpOperand &operand : op->getOpOperands())
      if (auto plain = operand.get().getDefiningOp<MHAOperandOp>()) {
        rewriter.modifyOpInPlace(op, [&] { operand.set(plain.getCache()); });
        return success();
      }
    return failure();
  }
};

template <typename PagedOp> LayoutAttr getAccessedLayout(PagedOp op) {
  if constexpr (llvm::is_one_of<PagedOp, StoreOp, StoreScaleOp>::value)
    return kvcache::getLayout(op.getTarget().getType());
  else
    return kvcache::getLayout(op.getSource().getType());
}

/// Where there is one head it is head 0, and where a head has one scale it is
/// that of element 0; else a constant element stands for all that share its
/// scale. Views leave an element 0 out.
template <typename PagedOp>
struct NormalizeCoordinates : public OpRewritePattern<PagedOp> {
  using OpRewritePattern<PagedOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(PagedOp op,
                                PatternRewriter &rewriter) const override {
    LayoutAttr layout = getAccessedLayout(op);
    bool changed = false;
    auto set = [&](OpOperand &operand, int64_t constant) {
      if (getConstant(operand.get()) == constant)
        return;
      Value value =
          arith::ConstantIndexOp::create(rewriter, op.getLoc(), constant);
      rewriter.modifyOpInPlace(op, [&] { operand.set(value); });
      changed = true;
    };
    // A policy that checks must see what is out of range.
    bool inRange = op.getPolicy() == OutOfRange::assume;
    if (inRange && layout.getNumHeads() == 1)
      set(op.getHeadMutable(), 0);

    Value dim = op.getDim();
    if (!dim)
      return success(changed);
    std::optional<int64_t> element = getConstant(dim);
    if (getAccessedPool(op) == Pool::scales) {
      if (inRange && layout.getScaleSlots() == 1)
        element = 0;
      else if (element)
        element = *element - *element % layout.getGranularity();
    }
    if (!element)
      return success(changed);
    if constexpr (llvm::is_one_of<PagedOp, BlockPagedPtrOp,
                                  ScalesBlockPagedPtrOp>::value) {
      if (*element == 0) {
        rewriter.modifyOpInPlace(op, [&] { op.getDimMutable().clear(); });
        return success();
      }
      set(op.getDimMutable()[0], *element);
    } else {
      set(op.getDimMutable(), *element);
    }
    return success(changed);
  }
};

/// The slot of a constant token needs no lookup.
struct FoldConstantSlot : public OpRewritePattern<BlockRowIdxOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BlockRowIdxOp op,
                                PatternRewriter &rewriter) const override {
    int64_t pageSize =
        kvcache::getLayout(op.getSource().getType()).getPageSize();
    std::optional<int64_t> token = getConstant(op.getToken());
    if (pageSize == 1)
      token = 0;
    if (!token || op.getRow().use_empty() ||
        op.getPolicy() != OutOfRange::assume)
      return failure();
    rewriter.replaceAllUsesWith(
        op.getRow(), arith::ConstantIndexOp::create(rewriter, op.getLoc(),
                                                    *token % pageSize));
    return success();
  }
};

} // namespace

void mlir::kvcache::populateLookupCanonicalizationPatterns(
    RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<AskCollection<CacheLengthOp>, AskCollection<MaxPromptLengthOp>,
               AskCollection<MaxContextLengthOp>, AskCollection<EmptyCacheOp>>(
      context);
  patterns
      .add<AskCache<CacheLengthOp>, AskCache<MaxPromptLengthOp>,
           AskCache<MaxContextLengthOp>, AskCache<EmptyCacheOp>,
           AskCache<NumKVRowsOp>, AskCache<RowIdxOp>, AskCache<BlockRowIdxOp>,
           AskCache<PopulateOp>, AskCache<BlockPagedPtrOp>,
           AskCache<ScalesBlockPagedPtrOp>, AskCache<LoadOp>,
           AskCache<LoadQuantizedOp>, AskCache<LoadScaleOp>, AskCache<StoreOp>,
           AskCache<StoreScaleOp>>(context);
  patterns
      .add<NormalizeCoordinates<BlockPagedPtrOp>,
           NormalizeCoordinates<ScalesBlockPagedPtrOp>,
           NormalizeCoordinates<LoadOp>, NormalizeCoordinates<LoadQuantizedOp>,
           NormalizeCoordinates<LoadScaleOp>, NormalizeCoordinates<StoreOp>,
           NormalizeCoordinates<StoreScaleOp>, FoldConstantSlot>(context);
}
