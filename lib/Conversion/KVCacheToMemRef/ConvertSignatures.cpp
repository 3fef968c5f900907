//===- ConvertSignatures.cpp - Functions, launches, branches -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PagedValues.h"
#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// All values of an operand list, in order.
SmallVector<Value> flatten(ArrayRef<ValueRange> operands) {
  SmallVector<Value> flat;
  for (ValueRange values : operands)
    llvm::append_range(flat, values);
  return flat;
}

//===----------------------------------------------------------------------===//
// What a kernel may be told of its pointers
//===----------------------------------------------------------------------===//

/// Whether `view`, or a view of it, is only loaded from.
bool isOnlyRead(Value view) {
  SmallVector<Value> worklist = {view};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (isa<ViewLikeOpInterface>(user)) {
        llvm::append_range(worklist, user->getResults());
        continue;
      }
      auto effects = dyn_cast<MemoryEffectOpInterface>(user);
      if (!effects || effects.hasEffect<MemoryEffects::Write>() ||
          !user->getRegions().empty())
        return false;
      // An address that leaves as a number may come back as a pointer.
      if (!effects.hasEffect<MemoryEffects::Read>() &&
          !isa<memref::DimOp>(user))
        return false;
    }
  return true;
}

/// Whether a function reaches its pools to read them only: it neither stores
/// through a cache, nor through a view of a page, nor hands either on.
bool readsPoolsOnly(Operation *func) {
  WalkResult result = func->walk([&](Operation *op) {
    if (isa<StoreOp, StoreScaleOp, StoreInPageOp, ScalesRawPtrOp>(op))
      return WalkResult::interrupt();
    if (isa<BlockPagedPtrOp, ScalesBlockPagedPtrOp, PagePtrOp>(op))
      return isOnlyRead(op->getResult(0)) ? WalkResult::advance()
                                          : WalkResult::interrupt();
    // Control flow hands a value on inside the function; others out of it.
    bool stays =
        isa_and_nonnull<KVCacheDialect, scf::SCFDialect, cf::ControlFlowDialect,
                        arith::ArithDialect>(op->getDialect());
    return !stays && llvm::any_of(op->getOperandTypes(), isPagedType)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// Attributes of a kernel's pointer arguments. Tables are frozen, hence only
/// read by anyone. Pools are `noalias` where the kernel writes none: whoever
/// launches it promises not to write them through another argument.
DictionaryAttr kernelAttrs(const PagedPart &part, bool poolsAreReadOnly) {
  Builder b(part.type.getContext());
  SmallVector<NamedAttribute> attrs;
  auto add = [&](StringRef name) {
    attrs.emplace_back(b.getStringAttr(name), b.getUnitAttr());
  };
  if (part.role == PagedRole::table ||
      (part.role == PagedRole::pool && poolsAreReadOnly)) {
    add(LLVM::LLVMDialect::getNoAliasAttrName());
    add(LLVM::LLVMDialect::getReadonlyAttrName());
  }
  if (part.role != PagedRole::scalar)
    add(LLVM::LLVMDialect::getNoUndefAttrName());
  return b.getDictionaryAttr(attrs);
}

/// What launch records call one of the values of an argument.
DictionaryAttr partName(StringAttr argument, const PagedPart &part) {
  Builder b(part.type.getContext());
  return b.getDictionaryAttr(
      b.getNamedAttr(KVCacheDialect::getNameAttrName(),
                     b.getStringAttr(argument.getValue() + "_" + part.name)));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

/// Converts the signature of func.func, gpu.func and the like, and keeps
/// argument attributes on the arguments they were written for.
struct ConvertFunction
    : public OpInterfaceConversionPattern<FunctionOpInterface> {
  using OpInterfaceConversionPattern::OpInterfaceConversionPattern;

  LogicalResult
  matchAndRewrite(FunctionOpInterface func, ArrayRef<Value>,
                  ConversionPatternRewriter &rewriter) const override {
    const TypeConverter &converter = *getTypeConverter();
    auto gpuFunc = dyn_cast<gpu::GPUFuncOp>(func.getOperation());
    bool kernel = gpuFunc && gpuFunc.isKernel();
    bool readOnly = kernel && readsPoolsOnly(func);

    SmallVector<Type> inputs, results;
    SmallVector<Attribute> inputAttrs, resultAttrs;
    DictionaryAttr none = rewriter.getDictionaryAttr({});
    bool anyInputAttrs = false, anyResultAttrs = false;
    for (auto [index, type] : llvm::enumerate(func.getArgumentTypes())) {
      if (isPagedType(type)) {
        auto name = func.getArgAttrOfType<StringAttr>(
            index, KVCacheDialect::getNameAttrName());
        for (const PagedPart &part : getPagedParts(type)) {
          inputs.push_back(part.type);
          inputAttrs.push_back(kernel ? kernelAttrs(part, readOnly)
                               : name ? partName(name, part)
                                      : none);
        }
        anyInputAttrs |= kernel || name;
        continue;
      }
      size_t before = inputs.size();
      if (failed(converter.convertType(type, inputs)))
        return failure();
      DictionaryAttr attrs = func.getArgAttrDict(index);
      inputAttrs.append(inputs.size() - before, attrs ? attrs : none);
      anyInputAttrs |= attrs && !attrs.empty();
    }
    for (auto [index, type] : llvm::enumerate(func.getResultTypes())) {
      size_t before = results.size();
      if (failed(converter.convertType(type, results)))
        return failure();
      DictionaryAttr attrs = func.getResultAttrDict(index);
      if (isPagedType(type) || !attrs)
        attrs = none;
      anyResultAttrs |= !attrs.empty();
      resultAttrs.append(results.size() - before, attrs);
    }

    if (!func.isExternal()) {
      // The entry block may hold more than the arguments: a kernel's workgroup
      // and private memory.
      Block &entry = func.getFunctionBody().front();
      TypeConverter::SignatureConversion signature(entry.getNumArguments());
      for (auto [index, type] : llvm::enumerate(entry.getArgumentTypes()))
        if (failed(converter.convertSignatureArg(index, type, signature)))
          return failure();
      if (failed(rewriter.convertRegionTypes(&func.getFunctionBody(), converter,
                                             &signature)))
        return failure();
    }
    rewriter.modifyOpInPlace(func, [&] {
      func.setType(func.cloneTypeWith(inputs, results));
      if (anyInputAttrs)
        func.setArgAttrsAttr(rewriter.getArrayAttr(inputAttrs));
      else
        func.removeArgAttrsAttr();
      if (anyResultAttrs)
        func.setResAttrsAttr(rewriter.getArrayAttr(resultAttrs));
      else
        func.removeResAttrsAttr();
    });
    return success();
  }
};

/// Ops whose operands are flattened and that stay what they are.
struct ConvertLaunchFunc : public OpConversionPattern<gpu::LaunchFuncOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(gpu::LaunchFuncOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.modifyOpInPlace(op, [&] {
      op.getKernelOperandsMutable().assign(
          flatten(adaptor.getKernelOperands()));
    });
    return success();
  }
};

struct ConvertGPUReturn : public OpConversionPattern<gpu::ReturnOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(gpu::ReturnOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.modifyOpInPlace(
        op, [&] { op->setOperands(flatten(adaptor.getOperands())); });
    return success();
  }
};

struct ConvertSelect : public OpConversionPattern<arith::SelectOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::SelectOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> selected;
    for (auto [ifTrue, ifFalse] :
         llvm::zip_equal(adaptor.getTrueValue(), adaptor.getFalseValue()))
      selected.push_back(arith::SelectOp::create(rewriter, op.getLoc(),
                                                 adaptor.getCondition().front(),
                                                 ifTrue, ifFalse));
    rewriter.replaceOpWithMultiple(op,
                                   SmallVector<SmallVector<Value>>{selected});
    return success();
  }
};

struct ConvertSwitch : public OpConversionPattern<cf::SwitchOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(cf::SwitchOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<SmallVector<Value>> cases;
    for (ArrayRef<ValueRange> operands : adaptor.getCaseOperands())
      cases.push_back(flatten(operands));
    for (Block *successor : op->getSuccessors())
      if (std::optional<TypeConverter::SignatureConversion> signature =
              getTypeConverter()->convertBlockSignature(successor))
        rewriter.applySignatureConversion(successor, *signature,
                                          getTypeConverter());
    SmallVector<ValueRange> ranges(cases.begin(), cases.end());
    rewriter.replaceOpWithNewOp<cf::SwitchOp>(
        op, adaptor.getFlag().front(), op.getDefaultDestination(),
        flatten(adaptor.getDefaultOperands()), op.getCaseValuesAttr(),
        op.getCaseDestinations(), ranges);
    return success();
  }
};

struct ConvertExecuteRegion : public OpConversionPattern<scf::ExecuteRegionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(scf::ExecuteRegionOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    SmallVector<size_t> counts;
    for (Type type : op.getResultTypes()) {
      size_t before = types.size();
      if (failed(getTypeConverter()->convertType(type, types)))
        return failure();
      counts.push_back(types.size() - before);
    }
    auto converted = scf::ExecuteRegionOp::create(rewriter, op.getLoc(), types,
                                                  op.getNoInlineAttr());
    rewriter.inlineRegionBefore(op.getRegion(), converted.getRegion(),
                                converted.getRegion().end());
    if (failed(rewriter.convertRegionTypes(&converted.getRegion(),
                                           *getTypeConverter())))
      return failure();
    SmallVector<SmallVector<Value>> replacements;
    ValueRange results = converted.getResults();
    for (size_t count : counts) {
      replacements.emplace_back(results.take_front(count));
      results = results.drop_front(count);
    }
    rewriter.replaceOpWithMultiple(op, std::move(replacements));
    return success();
  }
};

} // namespace

void mlir::kvcache::populateSignaturePatterns(RewritePatternSet &patterns,
                                              const TypeConverter &converter) {
  patterns.add<ConvertFunction, ConvertLaunchFunc, ConvertGPUReturn,
               ConvertSelect, ConvertSwitch, ConvertExecuteRegion>(
      converter, patterns.getContext());
}
