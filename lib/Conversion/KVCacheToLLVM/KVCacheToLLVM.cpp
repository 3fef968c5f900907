//===- KVCacheToLLVM.cpp - Lower kvcache's addresses to LLVM --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Conversion/KVCacheToLLVM/KVCacheToLLVM.h"

#include "kvcache/Dialect/KVCache/IR/KVCache.h"

#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// A load, invariant where nobody writes the table while the function runs.
struct LowerTableRead : public ConvertOpToLLVMPattern<TableReadOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(TableReadOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MemRefDescriptor table(adaptor.getTable());
    Value base = table.alignedPtr(rewriter, loc);
    // Entries are counted by an unsigned number.
    Value index = LLVM::ZExtOp::create(rewriter, loc, rewriter.getI64Type(),
                                       adaptor.getIndex());
    Value address = LLVM::GEPOp::create(rewriter, loc, base.getType(),
                                        rewriter.getI32Type(), base, index,
                                        LLVM::GEPNoWrapFlags::inbounds);
    unsigned alignment = op.getAlignment().value_or(/*bytes=*/4);
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(
        op, getTypeConverter()->convertType(op.getType()), address, alignment,
        /*isVolatile=*/false, /*isNonTemporal=*/false,
        /*isInvariant=*/op.getInvariant());
    return success();
  }
};

struct LowerByteView : public ConvertOpToLLVMPattern<ByteViewOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult
  matchAndRewrite(ByteViewOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<MemRefType>(op.getView().getType());
    MemRefDescriptor base(adaptor.getBase());
    Value pointer = base.alignedPtr(rewriter, loc);
    Value address =
        LLVM::GEPOp::create(rewriter, loc, pointer.getType(),
                            rewriter.getI8Type(), pointer, adaptor.getOffset());
    Value view = MemRefDescriptor::fromStaticShape(
        rewriter, loc, *getTypeConverter(), type, address);
    rewriter.replaceOp(op, view);
    return success();
  }
};

struct KVCacheToLLVMInterface : public ConvertToLLVMPatternInterface {
  using ConvertToLLVMPatternInterface::ConvertToLLVMPatternInterface;

  void populateConvertToLLVMConversionPatterns(
      ConversionTarget &, LLVMTypeConverter &converter,
      RewritePatternSet &patterns) const override {
    populateKVCacheToLLVMPatterns(converter, patterns);
  }
};

} // namespace

void mlir::kvcache::populateKVCacheToLLVMPatterns(
    const LLVMTypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerTableRead, LowerByteView>(converter);
}

void mlir::kvcache::registerConvertKVCacheToLLVMInterface(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, KVCacheDialect *dialect) {
    dialect->addInterfaces<KVCacheToLLVMInterface>();
  });
}
