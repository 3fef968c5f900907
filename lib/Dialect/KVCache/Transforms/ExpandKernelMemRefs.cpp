//===- ExpandKernelMemRefs.cpp - Pointers and scalars for kernels ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/IR/KernelArguments.h"
#include "kvcache/Dialect/KVCache/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::kvcache {
#define GEN_PASS_DEF_EXPANDKERNELMEMREFSPASS
#include "kvcache/Dialect/KVCache/Transforms/Passes.h.inc"
} // namespace mlir::kvcache

using namespace mlir;
using namespace mlir::kvcache;

namespace {

/// How a memref argument is taken apart.
struct Expansion {
  MemRefType type;
  SmallVector<int64_t> strides;
  int64_t offset;
  /// The base pointer as a memref of rank 0.
  MemRefType pointer;

  unsigned getNumSizes() const { return type.getNumDynamicDims(); }
  /// Strides that follow from the sizes are not passed.
  bool passesStrides() const { return !type.getLayout().isIdentity(); }
  unsigned getNumStrides() const {
    return passesStrides() ? llvm::count(strides, ShapedType::kDynamic) : 0;
  }
  unsigned getNumScalars() const { return getNumSizes() + getNumStrides(); }
};

/// One entry per argument; none where the argument stays.
using Plan = SmallVector<std::optional<Expansion>>;

} // namespace

/// Returns how `type` is passed, none when it stays as it is; says through
/// `emitError` why it cannot be passed.
static FailureOr<std::optional<Expansion>>
planArgument(Type type, function_ref<InFlightDiagnostic()> emitError) {
  if (isa<UnrankedMemRefType>(type)) {
    emitError() << "is of type " << type
                << ", whose rank a kernel cannot know; cast it to a ranked "
                   "memref before the launch";
    return failure();
  }
  if (isa<TensorType, TupleType, FunctionType>(type)) {
    emitError() << "is of type " << type
                << ", which has no place in memory; pass a memref or scalars";
    return failure();
  }
  // PTX has parameters of whole bytes, in powers of two, and predicates.
  if (type.isIntOrFloat()) {
    unsigned bits = type.getIntOrFloatBitWidth();
    if (bits != 1 && (bits < 8 || !llvm::isPowerOf2_32(bits))) {
      emitError() << "is of type " << type << " of " << bits
                  << " bits, which PTX cannot pass; pass an integer of 8, 16, "
                     "32 or 64 bits";
      return failure();
    }
  }
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return std::optional<Expansion>();

  Expansion expansion;
  expansion.type = memref;
  if (failed(memref.getStridesAndOffset(expansion.strides, expansion.offset))) {
    emitError() << "is of type " << type
                << ", whose layout is not strided; normalize it or pass a "
                   "memref with strides";
    return failure();
  }
  if (memref.hasStaticShape() && !ShapedType::isDynamic(expansion.offset) &&
      llvm::none_of(expansion.strides, ShapedType::isDynamic))
    return std::optional<Expansion>();
  expansion.pointer =
      MemRefType::get({}, memref.getElementType(), MemRefLayoutAttrInterface(),
                      memref.getMemorySpace());
  return std::optional<Expansion>(expansion);
}

static FailureOr<Plan> planFunction(FunctionOpInterface function) {
  Plan plan;
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    FailureOr<std::optional<Expansion>> argument =
        planArgument(type, [&, number = number] {
          return function.emitOpError("argument #") << number << " ";
        });
    if (failed(argument))
      return failure();
    plan.push_back(*argument);
  }
  return plan;
}

/// Rewrites the signature of `function` and rebuilds its memrefs inside.
static void expandFunction(FunctionOpInterface function, const Plan &plan) {
  Type indexType = IndexType::get(function.getContext());
  // From the last argument on, so that the numbers of the others hold.
  for (unsigned number = plan.size(); number-- > 0;) {
    const std::optional<Expansion> &expansion = plan[number];
    if (!expansion)
      continue;
    Location loc = function.isDeclaration()
                       ? function.getLoc()
                       : function.getArgument(number).getLoc();
    for (unsigned i = 0; i < expansion->getNumScalars(); ++i)
      (void)function.insertArgument(number + 1, indexType, {}, loc);
    SmallVector<Type> inputs(function.getArgumentTypes());
    inputs[number] = expansion->pointer;
    function.setType(function.cloneTypeWith(inputs, function.getResultTypes()));
    if (function.isDeclaration())
      continue;

    BlockArgument argument = function.getArgument(number);
    argument.setType(expansion->pointer);
    OpBuilder builder(function.getFunctionBody());
    unsigned next = number + 1;
    SmallVector<OpFoldResult> sizes, strides;
    for (int64_t size : expansion->type.getShape())
      if (ShapedType::isDynamic(size))
        sizes.push_back(function.getArgument(next++));
      else
        sizes.push_back(builder.getIndexAttr(size));

    OpFoldResult offset;
    if (ShapedType::isDynamic(expansion->offset))
      offset = arith::ConstantIndexOp::create(builder, loc, 0).getResult();
    else
      offset = builder.getIndexAttr(expansion->offset);

    if (expansion->passesStrides()) {
      for (int64_t stride : expansion->strides)
        if (ShapedType::isDynamic(stride))
          strides.push_back(function.getArgument(next++));
        else
          strides.push_back(builder.getIndexAttr(stride));
    } else {
      // Row-major: a stride is the product of the inner sizes.
      strides.resize(sizes.size());
      for (unsigned dim = sizes.size(); dim-- > 0;) {
        int64_t stride = expansion->strides[dim];
        if (!ShapedType::isDynamic(stride)) {
          strides[dim] = builder.getIndexAttr(stride);
          continue;
        }
        if (isOneInteger(strides[dim + 1])) {
          strides[dim] = sizes[dim + 1];
          continue;
        }
        Value inner =
            getValueOrCreateConstantIndexOp(builder, loc, strides[dim + 1]);
        Value size =
            getValueOrCreateConstantIndexOp(builder, loc, sizes[dim + 1]);
        strides[dim] = arith::MulIOp::create(builder, loc, inner, size,
                                             arith::IntegerOverflowFlags::nsw)
                           .getResult();
      }
    }
    Value view = memref::ReinterpretCastOp::create(
        builder, loc, expansion->type, argument, offset, sizes, strides);
    argument.replaceAllUsesExcept(view, view.getDefiningOp());
  }
}

/// Appends what stands for `memref` in a call.
static LogicalResult expandOperand(OpBuilder &builder, Operation *call,
                                   Value memref, const Expansion &expansion,
                                   SmallVectorImpl<Value> &operands) {
  Location loc = call->getLoc();
  auto metadata =
      memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value pointer = metadata.getBaseBuffer();
  if (ShapedType::isDynamic(expansion.offset)) {
    if (expansion.type.getMemorySpace())
      return call->emitOpError("passes ")
             << expansion.type
             << ", whose run-time offset cannot be applied in this memory "
                "space; cast it to the default one or make the offset constant";
    int64_t bytes = getElementBytes(expansion.type.getElementType());
    if (bytes == 0)
      return call->emitOpError("passes ")
             << expansion.type
             << ", whose run-time offset has no known size in bytes; pass a "
                "memref with a constant offset or of other elements";
    Value size = arith::ConstantIndexOp::create(builder, loc, bytes);
    Value offset =
        arith::MulIOp::create(builder, loc, metadata.getOffset(), size);
    pointer =
        ByteViewOp::create(builder, loc, expansion.pointer, pointer, offset);
  }
  operands.push_back(pointer);
  for (auto [size, value] :
       llvm::zip_equal(expansion.type.getShape(), metadata.getSizes()))
    if (ShapedType::isDynamic(size))
      operands.push_back(value);
  if (expansion.passesStrides())
    for (auto [stride, value] :
         llvm::zip_equal(expansion.strides, metadata.getStrides()))
      if (ShapedType::isDynamic(stride))
        operands.push_back(value);
  return success();
}

/// Rewrites the operands of a launch or a call as `plan` says.
static LogicalResult expandOperands(Operation *call,
                                    MutableOperandRange operands,
                                    const Plan &plan) {
  OpBuilder builder(call);
  SmallVector<Value> expanded;
  for (auto [operand, expansion] :
       llvm::zip_equal(OperandRange(operands), plan)) {
    if (!expansion)
      expanded.push_back(operand);
    else if (failed(
                 expandOperand(builder, call, operand, *expansion, expanded)))
      return failure();
  }
  operands.assign(expanded);
  return success();
}

namespace {

struct ExpandKernelMemRefs
    : public kvcache::impl::ExpandKernelMemRefsPassBase<ExpandKernelMemRefs> {
  using ExpandKernelMemRefsPassBase::ExpandKernelMemRefsPassBase;

  void runOnOperation() override {
    ModuleOp root = getOperation();
    // All is planned before anything changes.
    llvm::MapVector<Operation *, Plan> plans;
    bool failedAny = false;
    root.walk([&](gpu::GPUModuleOp module) {
      for (auto function : module.getOps<FunctionOpInterface>()) {
        if (!isa<gpu::GPUFuncOp, func::FuncOp>(function))
          continue;
        FailureOr<Plan> plan = planFunction(function);
        if (failed(plan)) {
          failedAny = true;
          continue;
        }
        if (llvm::any_of(*plan, [](const auto &entry) { return !!entry; }))
          plans.insert({function, std::move(*plan)});
      }
    });
    if (failedAny)
      return signalPassFailure();
    if (plans.empty())
      return;

    SymbolTableCollection symbols;
    root.walk([&](Operation *op) {
      if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op)) {
        Operation *kernel =
            symbols.lookupNearestSymbolFrom(launch, launch.getKernelAttr());
        if (auto plan = plans.find(kernel); plan != plans.end())
          failedAny |= failed(expandOperands(
              launch, launch.getKernelOperandsMutable(), plan->second));
      } else if (auto call = dyn_cast<func::CallOp>(op)) {
        Operation *callee =
            symbols.lookupNearestSymbolFrom(call, call.getCalleeAttr());
        if (auto plan = plans.find(callee); plan != plans.end())
          failedAny |= failed(
              expandOperands(call, call.getArgOperandsMutable(), plan->second));
      }
    });
    if (failedAny)
      return signalPassFailure();
    for (auto &[function, plan] : plans)
      expandFunction(cast<FunctionOpInterface>(function), plan);
  }
};

} // namespace
