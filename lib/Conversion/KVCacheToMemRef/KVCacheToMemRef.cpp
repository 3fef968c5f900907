//===- KVCacheToMemRef.cpp - Lower kvcache to memref ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Conversion/KVCacheToMemRef/KVCacheToMemRef.h"

#include "PagedValues.h"
#include "Patterns.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/DialectConversion.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_CONVERTKVCACHETOMEMREFPASS
#include "kvcache/Conversion/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

void mlir::kvcache::populateKVCacheToMemRefTypeConversion(
    TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion(
      [](Type type,
         SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
        if (!isPagedType(type))
          return std::nullopt;
        for (const PagedPart &part : getPagedParts(type))
          types.push_back(part.type);
        return success();
      });
}

void mlir::kvcache::populateKVCacheToMemRefPatterns(
    RewritePatternSet &patterns, const TypeConverter &converter) {
  populateCollectionPatterns(patterns, converter);
  populateLookupPatterns(patterns, converter);
  populateAccessPatterns(patterns, converter);
  populatePagePatterns(patterns, converter);
  populateTMAPatterns(patterns, converter);
  populateSignaturePatterns(patterns, converter);
}

/// A table that came with a kernel's argument was frozen before the launch: no
/// thread writes it while the kernel runs.
static void markInvariantReads(gpu::GPUFuncOp func) {
  if (!func.isKernel())
    return;
  for (unsigned index = 0; index < func.getNumArguments(); ++index) {
    if (!func.getArgAttr(index, LLVM::LLVMDialect::getNoAliasAttrName()) ||
        !func.getArgAttr(index, LLVM::LLVMDialect::getReadonlyAttrName()))
      continue;
    for (Operation *user : func.getArgument(index).getUsers())
      if (auto read = dyn_cast<TableReadOp>(user))
        read.setInvariant(true);
  }
}

namespace {
struct ConvertKVCacheToMemRefPass
    : public kvcache::impl::ConvertKVCacheToMemRefPassBase<
          ConvertKVCacheToMemRefPass> {
  void runOnOperation() override {
    Operation *root = getOperation();
    // Programs of builders may come here without.
    if (failed(verify(root)) || failed(checkLowerable(root)))
      return signalPassFailure();

    TypeConverter converter;
    populateKVCacheToMemRefTypeConversion(converter);
    RewritePatternSet patterns(&getContext());
    populateKVCacheToMemRefPatterns(patterns, converter);
    populateCallOpTypeConversionPattern(patterns, converter);
    populateReturnOpTypeConversionPattern(patterns, converter);
    cf::populateCFStructuralTypeConversions(converter, patterns);
    scf::populateSCFStructuralTypeConversions(converter, patterns);

    ConversionTarget target(getContext());
    target.addIllegalDialect<KVCacheDialect>();
    target.addLegalOp<TableReadOp, ByteViewOp, ScaleLimitOp, HasWgmmaOp,
                      DecodeScaledOp, DecodedUnitOp, RestoreNaNOp>();
    target.markUnknownOpDynamicallyLegal([&](Operation *op) {
      if (auto func = dyn_cast<FunctionOpInterface>(op))
        return converter.isLegal(func.getArgumentTypes()) &&
               converter.isLegal(func.getResultTypes());
      return converter.isLegal(op);
    });
    if (failed(applyPartialConversion(root, target, std::move(patterns))))
      return signalPassFailure();
    root->walk(markInvariantReads);
    if (failed(lowerPrintf(getOperation())))
      return signalPassFailure();
  }
};
} // namespace
