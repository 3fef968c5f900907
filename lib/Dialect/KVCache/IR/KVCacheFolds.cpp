//===- KVCacheFolds.cpp - Folds and canonicalisations --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/PoolLayout.h"

#include "FoldLookups.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::kvcache;

//===----------------------------------------------------------------------===//
// get_paged_cache
//===----------------------------------------------------------------------===//

TypedValue<MemRefType> GetPagedCacheOp::getPool(Pool pool) {
  return pool == Pool::scales && getLayout().hasSeparatePools() ? getScales()
                                                                : getBlocks();
}

TypedValue<MemRefType> GetPagedCacheOp::getTable(Pool pool) {
  return pool == Pool::scales && getScalesLookupTable() ? getScalesLookupTable()
                                                        : getLookupTable();
}

SmallVector<Value> GetPagedCacheOp::getFrozenMemRefs() {
  SmallVector<Value> frozen = {getCacheLengths(), getLookupTable(),
                               getMaxPromptLength(), getMaxCacheLength()};
  if (getScalesLookupTable())
    frozen.push_back(getScalesLookupTable());
  return frozen;
}

/// A scales table that is the lookup table itself is no table of its own.
LogicalResult GetPagedCacheOp::canonicalize(GetPagedCacheOp op,
                                            PatternRewriter &rewriter) {
  if (!op.getScalesLookupTable() ||
      op.getScalesLookupTable() != op.getLookupTable())
    return failure();
  // With one table both pools must have the same blocks.
  int64_t nb = op.getBlocks().getType().getDimSize(0);
  int64_t nbs = op.getScales().getType().getDimSize(0);
  if (!ShapedType::isDynamic(nb) && !ShapedType::isDynamic(nbs) && nb != nbs)
    return failure();
  LayoutAttr shared = op.getLayout().withScalesTable(TableKind::shared);
  auto collection = GetPagedCacheOp::create(
      rewriter, op.getLoc(), CollectionType::get(op.getContext(), shared),
      op.getBlocks(), op.getCacheLengths(), op.getLookupTable(),
      op.getMaxPromptLength(), op.getMaxCacheLength(), op.getScales(),
      /*scales_lookup_table=*/Value());
  rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), collection);
  return success();
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

namespace {
/// Moves a cast below the op that derives a cache or an operand, so that
/// lookups end up on the type that says more.
template <typename DerivedOp>
struct SinkCast : public OpRewritePattern<DerivedOp> {
  using OpRewritePattern<DerivedOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(DerivedOp op,
                                PatternRewriter &rewriter) const override {
    auto cast = op->getOperand(0).template getDefiningOp<CastOp>();
    if (!cast)
      return failure();
    SmallVector<Value> operands(op->getOperands());
    operands.front() = cast.getSource();
    auto derived =
        DerivedOp::create(rewriter, op.getLoc(), operands, op->getAttrs());
    rewriter.replaceOpWithNewOp<CastOp>(op, op.getType(), derived);
    return success();
  }
};

/// Lets a lookup or an access look through a cast: its result does not depend
/// on where the table is said to be.
template <typename AccessOp>
struct LookThroughCast : public OpRewritePattern<AccessOp> {
  using OpRewritePattern<AccessOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(AccessOp op,
                                PatternRewriter &rewriter) const override {
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands())
      if (auto cast = operand.get().getDefiningOp<CastOp>()) {
        rewriter.modifyOpInPlace(op, [&] { operand.set(cast.getSource()); });
        changed = true;
      }
    return success(changed);
  }
};
} // namespace

void KVCacheDialect::getCanonicalizationPatterns(
    RewritePatternSet &patterns) const {
  populateLookupCanonicalizationPatterns(patterns);
  patterns.add<
      SinkCast<GetKeyCacheOp>, SinkCast<GetValueCacheOp>,
      SinkCast<MHAOperandOp>, SinkCast<ScalesMHAOperandOp>,
      LookThroughCast<CacheLengthOp>, LookThroughCast<MaxPromptLengthOp>,
      LookThroughCast<MaxContextLengthOp>, LookThroughCast<EmptyCacheOp>,
      LookThroughCast<NumKVRowsOp>, LookThroughCast<RowIdxOp>,
      LookThroughCast<BlockRowIdxOp>, LookThroughCast<PopulateOp>,
      LookThroughCast<BlockPagedPtrOp>, LookThroughCast<ScalesBlockPagedPtrOp>,
      LookThroughCast<ScalesRawPtrOp>, LookThroughCast<LoadOp>,
      LookThroughCast<LoadQuantizedOp>, LookThroughCast<LoadScaleOp>,
      LookThroughCast<StoreOp>, LookThroughCast<StoreScaleOp>,
      LookThroughCast<CreateTMATileOp>, LookThroughCast<CreateRaggedTMATileOp>>(
      getContext());
}

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

OpFoldResult NumKVRowsOp::fold(FoldAdaptor) {
  GetPagedCacheOp collection = getCollectionOp(getSource());
  if (!collection)
    return {};
  auto operand = cast<MHAOperandTypeInterface>(getSource().getType());
  PoolLayout layout = PoolLayout::get(operand.getLayout(), operand.getPool());
  MemRefType pool = collection.getPool(operand.getPool()).getType();
  std::optional<int64_t> pitch = getStaticPitch(pool);
  int64_t blocks = pool.getDimSize(0), rows;
  if (!pitch || ShapedType::isDynamic(blocks))
    return {};
  if (blocks == 0)
    return IntegerAttr::get(getType(), 0);
  if (llvm::MulOverflow(blocks - 1, *pitch / layout.rowSize(), rows) ||
      llvm::AddOverflow(rows, layout.pageSize, rows))
    return {};
  return IntegerAttr::get(getType(), rows);
}

namespace {
/// There are no scales to point to: the cache has none, or the operand already
/// points to them.
struct NullScalesRawPtr : public OpRewritePattern<ScalesRawPtrOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ScalesRawPtrOp op,
                                PatternRewriter &rewriter) const override {
    if (cast<MHAOperandTypeInterface>(op.getSource().getType()).getScaleDtype())
      return failure();
    rewriter.replaceOpWithNewOp<LLVM::ZeroOp>(op, op.getType());
    return success();
  }
};
} // namespace

void ScalesRawPtrOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<NullScalesRawPtr>(context);
}

/// Offsets of consecutive views add. Two that are computed are left apart: the
/// first view may be shared, or stand outside of a loop.
LogicalResult ByteViewOp::canonicalize(ByteViewOp op,
                                       PatternRewriter &rewriter) {
  auto inner = op.getBase().getDefiningOp<ByteViewOp>();
  if (!inner || (!matchPattern(inner.getOffset(), m_Constant()) &&
                 !matchPattern(op.getOffset(), m_Constant())))
    return failure();
  // Two views by way of bytes may not be one of either's elements.
  Type outer = inner.getBase().getType().getElementType();
  Type viewed = cast<MemRefType>(op.getView().getType()).getElementType();
  if (outer != viewed && !outer.isInteger(8) && !viewed.isInteger(8))
    return failure();
  Value offset = arith::AddIOp::create(rewriter, op.getLoc(), inner.getOffset(),
                                       op.getOffset());
  rewriter.replaceOpWithNewOp<ByteViewOp>(op, op.getView().getType(),
                                          inner.getBase(), offset);
  return success();
}

OpFoldResult ByteViewOp::fold(FoldAdaptor adaptor) {
  auto offset = dyn_cast_or_null<IntegerAttr>(adaptor.getOffset());
  if (offset && offset.getValue().isZero() &&
      getBase().getType() == getView().getType())
    return getBase();
  return {};
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static OpFoldResult foldSize(MLIRContext *context,
                             std::optional<int64_t> size) {
  return size ? OpFoldResult(IntegerAttr::get(IndexType::get(context), *size))
              : OpFoldResult();
}

OpFoldResult BatchSizeOp::fold(FoldAdaptor) {
  return foldSize(getContext(), getKnownTables(getSource()).batch);
}

OpFoldResult TableColumnsOp::fold(FoldAdaptor) {
  return foldSize(getContext(), getKnownTables(getSource()).columns);
}

OpFoldResult NumLayersOp::fold(FoldAdaptor) {
  return foldSize(getContext(), getKnownTables(getSource()).layers);
}

OpFoldResult NumBlocksOp::fold(FoldAdaptor) {
  GetPagedCacheOp collection = getCollectionOp(getSource());
  if (!collection)
    return {};
  auto operand = cast<MHAOperandTypeInterface>(getSource().getType());
  bool scales = operand.getPool() == Pool::scales &&
                operand.getLayout().hasSeparatePools();
  auto pool = cast<MemRefType>(
      collection.getPool(scales ? Pool::scales : Pool::values).getType());
  if (pool.isDynamicDim(0))
    return {};
  return foldSize(getContext(), pool.getDimSize(0));
}
