//===- HostEvaluator.cpp - Host code to expressions -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostEvaluator.h"
#include "Formula.h"
#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Dialect/KVCache/IR/KernelArguments.h"
#include "kvcache/Support/Identifiers.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

/// A size or stride that nothing bounds.
static constexpr int64_t noLimit = std::numeric_limits<int64_t>::max();

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

LogicalResult HostEvaluator::refuse(Location location, const Twine &why) {
  mlir::emitRemark(location)
      << "no launch record for '" << function.getSymName() << "': " << why;
  return failure();
}

void HostEvaluator::addRequirement(const Expr *condition,
                                   const Twine &message) {
  if (condition->isConstant(1))
    return;
  // One step each, so that messages say which is not met.
  if (condition->kind == ExprKind::And && condition->low >= 0 &&
      condition->high <= 1) {
    addRequirement(condition->operands[0], message);
    return addRequirement(condition->operands[1], message);
  }
  LaunchStep step;
  step.guards = guards;
  step.condition = condition;
  step.message = message.str();
  record.steps.push_back(std::move(step));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

LogicalResult HostEvaluator::addArgument(BlockArgument argument,
                                         std::string name) {
  Type type = argument.getType();
  unsigned number = argument.getArgNumber();
  auto refuseType = [&] {
    return refuse(argument.getLoc(),
                  "argument #" + Twine(number) + " is of type " +
                      typeText(type) +
                      ", which is no scalar of up to 64 bits, pointer or "
                      "memref of strided layout");
  };
  HostArgument host;
  host.name = std::move(name);

  auto memref = dyn_cast<MemRefType>(type);
  if (!memref) {
    host.kind = HostArgument::Kind::Scalar;
    int64_t low = std::numeric_limits<int64_t>::min(), high = noLimit;
    if (isa<LLVM::LLVMPointerType>(type)) {
      host.dtype = "pointer";
      host.bytes = 8;
      low = 0;
    } else if (type.isIntOrIndexOrFloat()) {
      unsigned bits = isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth();
      if (bits > 64 || (bits != 1 && (bits < 8 || !llvm::isPowerOf2_32(bits))))
        return refuseType();
      host.dtype = typeText(type);
      host.bytes = llvm::divideCeil(bits, 8u);
      host.isFloat = isa<FloatType>(type);
      low = bits == 1 ? 0 : llvm::minIntN(bits);
      high = bits == 1 ? 1 : llvm::maxIntN(bits);
    } else {
      return refuseType();
    }
    integers[argument] = exprs().leaf(ExprKind::Scalar, number, 0, low, high);
    record.arguments.push_back(std::move(host));
    return success();
  }

  SmallVector<int64_t> strides;
  int64_t offset;
  int64_t bytes = getElementBytes(memref.getElementType());
  if (failed(memref.getStridesAndOffset(strides, offset)) || bytes == 0 ||
      llvm::any_of(strides, [](int64_t stride) {
        return stride < 0 && !ShapedType::isDynamic(stride);
      }))
    return refuseType();
  host.dtype = typeText(memref.getElementType());
  host.bytes = bytes;
  host.isFloat = isa<FloatType>(memref.getElementType());
  host.packed = memref.getLayout().isIdentity();
  host.kind =
      function.getArgAttr(number, KVCacheDialect::getHostArrayAttrName())
          ? HostArgument::Kind::HostArray
          : HostArgument::Kind::Tensor;
  // What the hardware asks of whole elements.
  host.alignment = llvm::isPowerOf2_64(bytes) ? bytes : 1;

  MemRefExpr value;
  for (auto [dim, size] : llvm::enumerate(memref.getShape())) {
    bool isFree = ShapedType::isDynamic(size);
    host.sizes.push_back(isFree ? std::nullopt : std::optional(size));
    value.sizes.push_back(
        isFree ? exprs().leaf(ExprKind::Size, number, dim, 0, noLimit)
               : exprs().constant(size));
  }
  for (auto [dim, stride] : llvm::enumerate(strides)) {
    bool isFree = ShapedType::isDynamic(stride);
    host.strides.push_back(isFree ? std::nullopt : std::optional(stride));
    value.strides.push_back(
        isFree ? exprs().leaf(ExprKind::Stride, number, dim, 0, noLimit)
               : exprs().constant(stride));
  }
  // Packed strides are products, like the verifier of the layout has them.
  if (host.packed)
    for (unsigned dim = value.sizes.size(); dim-- > 0;)
      value.strides[dim] =
          dim + 1 == value.sizes.size()
              ? exprs().constant(1)
              : exprs().mul(value.sizes[dim + 1], value.strides[dim + 1]);
  // The caller passes the pointer to the first element.
  const Expr *data = exprs().leaf(ExprKind::Data, number, 0, 0, noLimit);
  bool isFree = ShapedType::isDynamic(offset);
  value.offset = exprs().constant(isFree ? 0 : offset);
  value.base = isFree || offset == 0
                   ? data
                   : exprs().sub(data, exprs().constant(offset * bytes));
  memrefs[argument] = std::move(value);
  record.arguments.push_back(std::move(host));
  return success();
}

LogicalResult HostEvaluator::addArguments() {
  // Given names first, so that others make way for them.
  std::vector<std::string> taken, names(function.getNumArguments());
  for (unsigned i = 0; i < names.size(); ++i)
    if (auto given = function.getArgAttrOfType<StringAttr>(
            i, KVCacheDialect::getNameAttrName())) {
      names[i] = given.str();
      taken.push_back(names[i]);
    }
  for (unsigned i = 0; i < names.size(); ++i) {
    if (!names[i].empty())
      continue;
    std::string name = "arg" + std::to_string(i);
    if (auto loc = function.getArgument(i).getLoc()->findInstanceOf<NameLoc>())
      name = loc.getName().str();
    names[i] = makeIdentifier(name, taken);
  }
  for (BlockArgument argument : function.getArguments())
    if (failed(addArgument(argument, names[argument.getArgNumber()])))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult HostEvaluator::explain(Value value) {
  // The first operation on the way whose operands are known.
  Operation *op = value.getDefiningOp();
  while (op) {
    auto unknown = llvm::find_if(op->getOperands(), [&](Value operand) {
      return !find(operand) && !findMemRef(operand);
    });
    if (unknown == op->operand_end() || !(*unknown).getDefiningOp())
      break;
    op = (*unknown).getDefiningOp();
  }
  if (!op)
    return refuse(value.getLoc(),
                  "a value that control flow hands over is no expression over "
                  "the arguments");
  return refuse(op->getLoc(),
                "'" + op->getName().getStringRef() +
                    "' cannot be expressed over the sizes, strides and scalars "
                    "of the arguments");
}

FailureOr<const Expr *> HostEvaluator::need(Value value) {
  if (const Expr *found = find(value))
    return found;
  return explain(value);
}

LogicalResult HostEvaluator::evaluateIf(scf::IfOp op) {
  const Expr *condition = find(op.getCondition());
  bool matters = false;
  op->walk([&](Operation *inner) {
    matters |= isa<gpu::LaunchFuncOp, cf::AssertOp>(inner);
  });
  if (!condition) {
    if (matters)
      return explain(op.getCondition());
    // Its results are not known; effects in it still count.
    guards.push_back(exprs().constant(0));
    LogicalResult result = success();
    for (Region &region : op->getRegions())
      if (!region.empty() && succeeded(result))
        result = evaluate(region.front());
    guards.pop_back();
    return result;
  }
  auto enter = [&](Region &region, const Expr *guard) {
    if (region.empty())
      return success();
    bool always = guard->isConstant(1);
    if (!always)
      guards.push_back(guard);
    LogicalResult result = evaluate(region.front());
    if (!always)
      guards.pop_back();
    return result;
  };
  if (failed(enter(op.getThenRegion(), condition)) ||
      failed(enter(op.getElseRegion(), exprs().logicalNot(condition))))
    return failure();
  for (OpResult result : op->getResults()) {
    Value a = op.thenYield().getOperand(result.getResultNumber());
    Value b = op.elseYield().getOperand(result.getResultNumber());
    if (isa<BaseMemRefType>(result.getType())) {
      if (auto chosen = select(condition, findMemRef(a), findMemRef(b)))
        memrefs[result] = *chosen;
    } else if (find(a) && find(b)) {
      integers[result] = exprs().select(condition, find(a), find(b));
    }
  }
  return success();
}

LogicalResult HostEvaluator::evaluateAlloc(gpu::AllocOp op) {
  auto type = cast<MemRefType>(op.getMemref().getType());
  int64_t bytes = getElementBytes(type.getElementType());
  if (op.getHostShared() || !op.getSymbolOperands().empty() ||
      !type.getLayout().isIdentity() || bytes == 0)
    return refuse(op.getLoc(), "'gpu.alloc' of this kind is no part of a "
                               "workspace; allocate packed device memory");
  if (!guards.empty())
    return refuse(op.getLoc(),
                  "'gpu.alloc' below a condition is no part of a workspace; "
                  "allocate at the function's top level");
  MemRefExpr value;
  auto sizes = op.getDynamicSizes().begin();
  const Expr *total = exprs().constant(bytes);
  for (int64_t size : type.getShape()) {
    const Expr *expr = exprs().constant(size);
    if (ShapedType::isDynamic(size)) {
      FailureOr<const Expr *> dynamic = need(*sizes++);
      if (failed(dynamic))
        return failure();
      expr = exprs().fit(*dynamic, 0, noLimit);
    }
    value.sizes.push_back(expr);
    total = exprs().mul(total, expr);
  }
  const Expr *stride = exprs().constant(1);
  value.strides.resize(value.sizes.size());
  for (unsigned dim = value.sizes.size(); dim-- > 0;) {
    value.strides[dim] = stride;
    stride = exprs().mul(stride, value.sizes[dim]);
  }
  const Expr *unit = exprs().constant(workspaceAlignment);
  const Expr *workspace = exprs().leaf(ExprKind::Workspace, 0, 0, 0, noLimit);
  value.base = exprs().add(workspace, record.workspaceBytes);
  value.offset = exprs().constant(0);
  record.workspaceBytes = exprs().add(
      record.workspaceBytes,
      exprs().mul(exprs().binary(ExprKind::CeilDiv, total, unit), unit));
  memrefs[op.getMemref()] = std::move(value);
  return success();
}

LogicalResult HostEvaluator::evaluate(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::IfOp branch) { return evaluateIf(branch); })
      .Case([&](gpu::LaunchFuncOp launch) { return evaluateLaunch(launch); })
      .Case([&](gpu::AllocOp alloc) { return evaluateAlloc(alloc); })
      .Case([&](memref::AllocaOp alloca) {
        // What stands for no address has none on the device.
        if (alloca.getType().getRank() == 0)
          memrefs[alloca.getResult()] = {
              exprs().constant(0), exprs().constant(0), {}, {}};
        return success();
      })
      .Case([&](memref::LoadOp load) {
        evaluateLoad(load);
        return success();
      })
      .Case([&](cf::AssertOp check) -> LogicalResult {
        FailureOr<const Expr *> condition = need(check.getArg());
        if (failed(condition))
          return failure();
        addRequirement(*condition, check.getMsg());
        return success();
      })
      .Case([&](LLVM::CallOp call) -> LogicalResult {
        // What a check prints before its assertion, which is a requirement.
        if (call.getCallee() == StringRef("dprintf"))
          return success();
        return refuse(call.getLoc(), "'llvm.call' is neither a launch nor "
                                     "arithmetic on the arguments");
      })
      // The launches of a record are in one stream, in their order.
      .Case<gpu::WaitOp, gpu::DeallocOp, func::ReturnOp, scf::YieldOp>(
          [](auto) { return success(); })
      .Default([&](Operation *other) -> LogicalResult {
        if (!isMemoryEffectFree(other)) {
          auto effects = dyn_cast<MemoryEffectOpInterface>(other);
          if (!effects || !effects.onlyHasEffect<MemoryEffects::Read>() ||
              other->getNumRegions() != 0)
            return refuse(other->getLoc(),
                          "'" + other->getName().getStringRef() +
                              "' is neither a launch nor arithmetic on the "
                              "arguments");
          return success();
        }
        if (const Expr *value = evaluateInteger(other))
          integers[other->getResult(0)] = value;
        else
          evaluateMemRef(other);
        return success();
      });
}

LogicalResult HostEvaluator::evaluate(Block &block) {
  for (Operation &op : block)
    if (failed(evaluate(&op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Calls `visit` with the argument of each pointer in `expr`.
static void forEachPointer(const Expr *expr,
                           llvm::function_ref<void(unsigned)> visit) {
  for (const Expr *part : getPostOrder(expr))
    if (part->kind == ExprKind::Data)
      visit(part->argument);
}

LogicalResult HostEvaluator::evaluateLaunch(gpu::LaunchFuncOp op) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(op, op.getKernelAttr());
  if (!kernel)
    return refuse(op.getLoc(), "the kernel '" + op.getKernelName().getValue() +
                                   "' is no gpu.func of this program");
  if (op.hasClusterSize())
    return refuse(op.getLoc(), "it launches clusters of a size of its own");
  if (op.getAsyncObject())
    return refuse(op.getLoc(), "it launches into a stream of its own");

  LaunchStep step;
  step.guards = guards;
  auto assign = [&](Value value, const Expr *&place) {
    FailureOr<const Expr *> found = need(value);
    if (succeeded(found))
      place = *found;
    return LogicalResult(found);
  };
  gpu::KernelDim3 grid = op.getGridSizeOperandValues();
  gpu::KernelDim3 block = op.getBlockSizeOperandValues();
  step.dynamicShared = exprs().constant(0);
  if (failed(assign(grid.x, step.grid[0])) ||
      failed(assign(grid.y, step.grid[1])) ||
      failed(assign(grid.z, step.grid[2])) ||
      failed(assign(block.x, step.block[0])) ||
      failed(assign(block.y, step.block[1])) ||
      failed(assign(block.z, step.block[2])) ||
      (op.getDynamicSharedMemorySize() &&
       failed(assign(op.getDynamicSharedMemorySize(), step.dynamicShared))))
    return failure();

  for (auto [number, operand] : llvm::enumerate(op.getKernelOperands())) {
    Type type = operand.getType();
    bool isMemRef = isa<MemRefType>(type);
    KernelArgument argument;
    if (isMemRef || isa<LLVM::LLVMPointerType>(type)) {
      argument.type = "pointer";
      argument.bytes = 8;
    } else if (type.isIntOrIndexOrFloat()) {
      argument.type = typeText(type);
      argument.bytes = getElementBytes(type);
    }
    if (argument.bytes == 0)
      return refuse(op.getLoc(), "kernel argument #" + Twine(number) +
                                     " is of type " + typeText(type));
    argument.used = !kernel.getArgument(number).use_empty();
    if (!argument.used) {
      argument.value = exprs().constant(0);
    } else if (isMemRef) {
      const MemRefExpr *memref = findMemRef(operand);
      if (!memref)
        return explain(operand);
      argument.value = memref->base;
    } else if (failed(assign(operand, argument.value))) {
      return failure();
    }
    if (argument.type == "pointer" && argument.used) {
      int64_t alignment = getKernelAlignment(kernel, number);
      if (argument.value->kind == ExprKind::Data && guards.empty()) {
        HostArgument &host = record.arguments[argument.value->argument];
        host.alignment = std::max(host.alignment, alignment);
      } else {
        argument.alignment = alignment;
      }
      MemoryAccess access = getKernelAccess(kernel, number);
      forEachPointer(argument.value, [&](unsigned index) {
        HostArgument &host = record.arguments[index];
        host.access = join(host.access, access);
      });
    }
    step.arguments.push_back(std::move(argument));
  }

  RecordedKernel found;
  found.module = op.getKernelModuleName().str();
  found.entry = op.getKernelName().str();
  if (std::optional<ArrayRef<int32_t>> size = kernel.getKnownBlockSize())
    found.blockSize = {(*size)[0], (*size)[1], (*size)[2]};
  found.staticShared = staticShared(found.module, found.entry);
  auto same = llvm::find_if(record.kernels, [&](const RecordedKernel &other) {
    return other.module == found.module && other.entry == found.entry;
  });
  step.kernel = same - record.kernels.begin();
  if (same == record.kernels.end())
    record.kernels.push_back(std::move(found));
  record.steps.push_back(std::move(step));
  return success();
}

FailureOr<LaunchRecord> HostEvaluator::run() {
  record.function = function.getSymName().str();
  if (!function.getBody().hasOneBlock())
    return refuse(function.getLoc(),
                  "its body has " +
                      Twine(function.getBody().getBlocks().size()) +
                      " blocks; use scf.if instead of branches");
  if (function.getNumResults() != 0)
    return refuse(function.getLoc(), "it returns " +
                                         Twine(function.getNumResults()) +
                                         " values, which a launcher does not");
  if (failed(addArguments()) || failed(evaluate(function.getBody().front())))
    return failure();

  for (const Expr *expr : getPostOrder(getRoots(record))) {
    switch (expr->kind) {
    case ExprKind::Data:
      record.arguments[expr->argument].pointerUsed = true;
      [[fallthrough]];
    case ExprKind::Size:
    case ExprKind::Stride:
    case ExprKind::Scalar:
    case ExprKind::HostElement:
      record.arguments[expr->argument].used = true;
      break;
    default:
      break;
    }
  }
  for (const auto &[number, host] : llvm::enumerate(record.arguments))
    if (host.kind == HostArgument::Kind::HostArray && host.pointerUsed)
      return refuse(function.getArgument(number).getLoc(),
                    "argument '" + host.name +
                        "' is read by the host and by a kernel; pass host and "
                        "device memory as two arguments");
  return std::move(record);
}

bool kvcache::launchesKernels(func::FuncOp function) {
  return function
      ->walk([](gpu::LaunchFuncOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

FailureOr<LaunchRecord>
kvcache::evaluateLaunches(func::FuncOp function,
                          StaticSharedLookup staticShared) {
  return HostEvaluator(function, staticShared).run();
}
