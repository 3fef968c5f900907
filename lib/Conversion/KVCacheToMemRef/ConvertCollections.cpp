//===- ConvertCollections.cpp - Collections, caches, operands ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"
#include "Patterns.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// A size or stride as a value, constant where the type knows it.
Value toValue(ImplicitLocOpBuilder &b, OpFoldResult number) {
  if (auto value = dyn_cast<Value>(number))
    return value;
  return arith::ConstantIndexOp::create(b, *getConstantIntValue(number));
}

/// The pointer to the first element of a memref, as a rank-0 memref.
Value baseOf(ImplicitLocOpBuilder &b,
             memref::ExtractStridedMetadataOp metadata) {
  auto type = cast<MemRefType>(metadata.getBaseBuffer().getType());
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  Value offset = b.createOrFold<arith::MulIOp>(
      toValue(b, metadata.getConstifiedMixedOffset()),
      arith::ConstantIndexOp::create(b, bytes));
  return b.createOrFold<ByteViewOp>(type, metadata.getBaseBuffer(), offset);
}

/// Base, pitch and blocks of a pool, and its layers.
PoolValues poolOf(ImplicitLocOpBuilder &b, LayoutAttr layout, Value memref,
                  Pool which, Value &layers) {
  // Launchers check what host code assumes.
  if (!b.getInsertionBlock()
           ->getParentOp()
           ->getParentOfType<gpu::GPUModuleOp>())
    memref = memref::AssumeAlignmentOp::create(b, memref, poolAlignment);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
  PoolValues values;
  values.base = baseOf(b, metadata);
  values.pitch = b.createOrFold<arith::MulIOp>(
      toValue(b, metadata.getConstifiedMixedStrides()[0]),
      arith::ConstantIndexOp::create(
          b, PoolLayout::get(layout, which).poolBytes()));
  values.blocks = toValue(b, metadata.getConstifiedMixedSizes()[0]);
  layers = toValue(b, metadata.getConstifiedMixedSizes()[2]);
  return values;
}

/// Without sequences no table is ever read: any address will do.
struct ConvertGetPagePools : public OpConversionPattern<GetPagePoolsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(GetPagePoolsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    PagedValues paged;
    Value nowhere =
        memref::AllocaOp::create(b, MemRefType::get({}, b.getI32Type()));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    auto pool = [&](Value memref, Pool which, Value &layers) {
      PoolValues values = poolOf(b, op.getLayout(), memref, which, layers);
      values.table = nowhere;
      values.tableStride = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
      return values;
    };
    paged.values = pool(adaptor.getBlocks(), Pool::values, paged.layers);
    Value layers;
    if (op.getScales())
      paged.scales = pool(adaptor.getScales(), Pool::scales, layers);
    paged.lengths = paged.maxPrompt = paged.maxCache = nowhere;
    paged.batch = paged.columns = zero;
    rewriter.replaceOpWithMultiple(
        op, SmallVector<SmallVector<Value>>{packPaged(op.getType(), paged)});
    return success();
  }
};

struct ConvertGetPagedCache : public OpConversionPattern<GetPagedCacheOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(GetPagedCacheOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    LayoutAttr layout = op.getLayout();
    PagedValues paged;

    auto table = [&](Value memref, PoolValues &pool) {
      auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
      pool.table = baseOf(b, metadata);
      pool.tableStride = arith::IndexCastUIOp::create(
          b, b.getI32Type(),
          toValue(b, metadata.getConstifiedMixedStrides()[0]));
      return metadata;
    };
    auto list = [&](Value memref) {
      return baseOf(b, memref::ExtractStridedMetadataOp::create(b, memref));
    };

    paged.values =
        poolOf(b, layout, adaptor.getBlocks(), Pool::values, paged.layers);
    auto metadata = table(adaptor.getLookupTable(), *paged.values);
    paged.batch = toValue(b, metadata.getConstifiedMixedSizes()[0]);
    paged.columns = toValue(b, metadata.getConstifiedMixedSizes()[1]);
    if (op.getScales()) {
      Value layers;
      paged.scales =
          poolOf(b, layout, adaptor.getScales(), Pool::scales, layers);
      if (layout.hasOwnScalesTable())
        table(adaptor.getScalesLookupTable(), *paged.scales);
    }
    paged.lengths = list(adaptor.getCacheLengths());
    paged.maxPrompt = list(adaptor.getMaxPromptLength());
    paged.maxCache = list(adaptor.getMaxCacheLength());
    rewriter.replaceOpWithMultiple(
        op, SmallVector<SmallVector<Value>>{packPaged(op.getType(), paged)});
    return success();
  }
};

/// Moves the base of each pool to the layer and side.
template <typename GetCacheOp, Side side>
struct ConvertGetCache : public OpConversionPattern<GetCacheOp> {
  using OpConversionPattern<GetCacheOp>::OpConversionPattern;
  using OneToNOpAdaptor =
      typename OpConversionPattern<GetCacheOp>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(GetCacheOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    PagedValues paged =
        unpackPaged(op.getCollection().getType(), adaptor.getCollection());
    LayoutAttr layout = op.getCollection().getType().getLayout();
    // Side c and layer l start c * L + l layers into a block; or l layers, with
    // values beside the keys.
    Value layer = adaptor.getLayer().front();
    if (side == Side::value && !layout.getKvInner())
      layer = b.createOrFold<arith::AddIOp>(paged.layers, layer);
    auto enter = [&](PoolValues &pool, Pool which) {
      PoolLayout shape = PoolLayout::get(layout, which);
      Value offset = b.createOrFold<arith::MulIOp>(
          layer, arith::ConstantIndexOp::create(b, shape.layerBytes));
      if (side == Side::value && shape.sideBytes)
        offset = b.createOrFold<arith::AddIOp>(
            offset, arith::ConstantIndexOp::create(b, shape.sideBytes));
      pool.base =
          b.createOrFold<ByteViewOp>(pool.base.getType(), pool.base, offset);
    };
    enter(*paged.values, Pool::values);
    if (paged.scales)
      enter(*paged.scales, Pool::scales);
    rewriter.replaceOpWithMultiple(
        op, SmallVector<SmallVector<Value>>{packPaged(op.getType(), paged)});
    return success();
  }
};

/// An operand is what it needs of its cache; a cast names the shared table
/// twice.
template <typename Op> struct ConvertRepack : public OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using OneToNOpAdaptor = typename OpConversionPattern<Op>::OneToNOpAdaptor;

  LogicalResult
  matchAndRewrite(Op op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    PagedValues paged =
        unpackPaged(op->getOperand(0).getType(), adaptor.getOperands().front());
    rewriter.replaceOpWithMultiple(
        op, SmallVector<SmallVector<Value>>{
                packPaged(op->getResult(0).getType(), paged)});
    return success();
  }
};

} // namespace

void mlir::kvcache::populateCollectionPatterns(RewritePatternSet &patterns,
                                               const TypeConverter &converter) {
  patterns.add<ConvertGetPagedCache, ConvertGetPagePools,
               ConvertGetCache<GetKeyCacheOp, Side::key>,
               ConvertGetCache<GetValueCacheOp, Side::value>,
               ConvertRepack<MHAOperandOp>, ConvertRepack<ScalesMHAOperandOp>,
               ConvertRepack<CastOp>>(converter, patterns.getContext());
}
