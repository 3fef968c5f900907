//===- ConvertPages.cpp - Blocks and accesses inside pages ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"
#include "Patterns.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

Pool poolOf(Value operand) {
  return cast<MHAOperandTypeInterface>(operand.getType()).getPool();
}

struct ConvertNumBlocks : public OpConversionPattern<NumBlocksOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NumBlocksOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    PagedValues paged =
        unpackPaged(op.getSource().getType(), adaptor.getSource());
    rewriter.replaceOp(op, paged.pool(poolOf(op.getSource())).blocks);
    return success();
  }
};

struct ConvertBatchSize : public OpConversionPattern<BatchSizeOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BatchSizeOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, unpackPaged(op.getSource().getType(), adaptor.getSource()).batch);
    return success();
  }
};

struct ConvertTableColumns : public OpConversionPattern<TableColumnsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TableColumnsOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, unpackPaged(op.getSource().getType(), adaptor.getSource()).columns);
    return success();
  }
};

struct ConvertNumLayers : public OpConversionPattern<NumLayersOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(NumLayersOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(
        op, unpackPaged(op.getSource().getType(), adaptor.getSource()).layers);
    return success();
  }
};

struct ConvertPagePitch : public OpConversionPattern<PagePitchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PagePitchOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    PagedValues paged =
        unpackPaged(op.getSource().getType(), adaptor.getSource());
    rewriter.replaceOp(op, paged.pool(poolOf(op.getSource())).pitch);
    return success();
  }
};

struct ConvertPagePtr : public OpConversionPattern<PagePtrOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PagePtrOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getSource().getType(), adaptor.getSource());
    const PoolValues &pool = at.getValues().pool(poolOf(op.getSource()));
    Value offset = b.createOrFold<arith::MulIOp>(
        at.toIndex(adaptor.getBlock().front()), pool.pitch);
    rewriter.replaceOpWithNewOp<ByteViewOp>(op, op.getPage().getType(),
                                            pool.base, offset);
    return success();
  }
};

struct ConvertBlockId : public OpConversionPattern<BlockIdOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(BlockIdOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getSource().getType(), adaptor.getSource());
    Pool pool = poolOf(op.getSource());
    Value batch = adaptor.getBatch().front(), page = adaptor.getPage().front();
    auto entry = [&]() -> Value {
      Value batch32 = at.toI32(batch);
      return at.tableEntry(pool, batch32, at.toI32(page));
    };
    if (op.getPolicy() == OutOfRange::assume) {
      rewriter.replaceOp(op, entry());
      return success();
    }

    SmallVector<Bound> bounds = at.insideTable(batch, page);
    if (op.getPolicy() == OutOfRange::trap) {
      at.trapUnless(bounds);
      Value block = entry();
      at.trapUnless(at.insidePool(pool, block));
      rewriter.replaceOp(op, block);
      return success();
    }

    // Only an entry that exists is read.
    Value none = at.i32(-1);
    Value block;
    if (Value inTable = emitAllBelow(b, bounds)) {
      auto check = scf::IfOp::create(b, b.getI32Type(), inTable,
                                     /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(check.thenBlock());
      scf::YieldOp::create(b, entry());
      b.setInsertionPointToStart(check.elseBlock());
      scf::YieldOp::create(b, none);
      block = check.getResult(0);
    } else {
      block = entry();
    }
    if (Value inPool = emitAllBelow(b, at.insidePool(pool, block)))
      block = arith::SelectOp::create(b, inPool, block, none);
    rewriter.replaceOp(op, block);
    return success();
  }
};

/// Remarks what keeps an access that a user wrote from being wide and from
/// 32-bit arithmetic; kernels of operations remark for themselves.
template <typename Op>
void remarkInPage(Op op, Addressing &at, Value head, Value dim, Type type) {
  if (isInKernelOfOp(op))
    return;
  at.remarkWidth(op.getPool(), head, dim, type, op.getAlignment().value_or(0));
  for (auto [name, index] :
       {std::pair("slot", op.getSlot()), std::pair("head", op.getHead()),
        std::pair("dim", op.getDim())}) {
    Operation *made = index.getDefiningOp();
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp,
                        arith::DivUIOp, arith::RemUIOp, arith::ShLIOp,
                        arith::ShRUIOp>(made))
      emitRemark(op.getLoc()) << "'" << name
                              << "' is computed in 64 bits: compute it as i32, "
                                 "and make the index by "
                                 "arith.index_castui";
  }
}

struct ConvertLoadInPage : public OpConversionPattern<LoadInPageOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(LoadInPageOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getSource().getType(), adaptor.getSource());
    Position position{adaptor.getBlock().front(),
                      at.toI32(adaptor.getSlot().front())};
    remarkInPage(op, at, adaptor.getHead().front(), adaptor.getDim().front(),
                 op.getResult().getType());
    rewriter.replaceOp(
        op, at.load(op.getPool(), position, adaptor.getHead().front(),
                    adaptor.getDim().front(), op.getResult().getType(),
                    op.getAlignment().value_or(0)));
    return success();
  }
};

struct ConvertStoreInPage : public OpConversionPattern<StoreInPageOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(StoreInPageOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Addressing at(b, op, op.getTarget().getType(), adaptor.getTarget());
    Position position{adaptor.getBlock().front(),
                      at.toI32(adaptor.getSlot().front())};
    remarkInPage(op, at, adaptor.getHead().front(), adaptor.getDim().front(),
                 op.getValue().getType());
    at.store(op.getPool(), position, adaptor.getHead().front(),
             adaptor.getDim().front(), adaptor.getValue().front(),
             op.getAlignment().value_or(0));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::kvcache::populatePagePatterns(RewritePatternSet &patterns,
                                         const TypeConverter &converter) {
  patterns.add<ConvertNumBlocks, ConvertBatchSize, ConvertTableColumns,
               ConvertNumLayers, ConvertPagePitch, ConvertPagePtr,
               ConvertBlockId, ConvertLoadInPage, ConvertStoreInPage>(
      converter, patterns.getContext());
}
