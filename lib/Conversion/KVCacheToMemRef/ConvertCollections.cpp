//===- ConvertCollections.cpp - Collections, caches, operands ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Addressing.h"
#include "Patterns.h"

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
    auto pool = [&](Value memref, Pool which) {
      auto metadata = memref::ExtractStridedMetadataOp::create(b, memref);
      PoolValues values;
      values.base = baseOf(b, metadata);
      values.pitch = b.createOrFold<arith::MulIOp>(
          toValue(b, metadata.getConstifiedMixedStrides()[0]),
          arith::ConstantIndexOp::create(
              b, PoolLayout::get(layout, which).poolBytes()));
      values.blocks = toValue(b, metadata.getConstifiedMixedSizes()[0]);
      if (which == Pool::values)
        paged.layers = toValue(b, metadata.getConstifiedMixedSizes()[2]);
      return values;
    };
    auto firstEntry = [&](Value memref) -> Value {
      return memref::LoadOp::create(
          b, memref, ValueRange{arith::ConstantIndexOp::create(b, 0)});
    };

    paged.values = pool(adaptor.getBlocks(), Pool::values);
    auto metadata = table(adaptor.getLookupTable(), *paged.values);
    paged.batch = toValue(b, metadata.getConstifiedMixedSizes()[0]);
    paged.columns = toValue(b, metadata.getConstifiedMixedSizes()[1]);
    if (op.getScales()) {
      paged.scales = pool(adaptor.getScales(), Pool::scales);
      if (layout.hasOwnScalesTable())
        table(adaptor.getScalesLookupTable(), *paged.scales);
    }
    paged.lengths = baseOf(b, memref::ExtractStridedMetadataOp::create(
                                  b, adaptor.getCacheLengths()));
    paged.maxPrompt = firstEntry(adaptor.getMaxPromptLength());
    paged.maxCache = firstEntry(adaptor.getMaxCacheLength());
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
  patterns.add<ConvertGetPagedCache, ConvertGetCache<GetKeyCacheOp, Side::key>,
               ConvertGetCache<GetValueCacheOp, Side::value>,
               ConvertRepack<MHAOperandOp>, ConvertRepack<ScalesMHAOperandOp>,
               ConvertRepack<CastOp>>(converter, patterns.getContext());
}
