//===- Printf.cpp - What checks print -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks print the numbers they failed on by `gpu.printf`, wherever they are.
// On the host that is a call of dprintf, which writes to stderr at once: the
// abort that follows flushes nothing. In a kernel it is the driver's vprintf,
// which takes its numbers in memory: all calls of a kernel share one buffer, so
// that its stack does not grow with the number of checks.
//
//===----------------------------------------------------------------------===//

#include "Patterns.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace mlir::kvcache;

static constexpr int64_t standardError = 2;
static constexpr int64_t numberBytes = 8;

namespace {

/// Lowers the calls in a module, the host's or a kernel's.
class PrintfLowering {
public:
  /// `function` is what prints, of `type`.
  PrintfLowering(Operation *module, StringRef function,
                 LLVM::LLVMFunctionType type)
      : module(module), symbols(module), name(function), type(type) {}

  LogicalResult lowerOnHost(gpu::PrintfOp op);
  LogicalResult lowerInKernel(gpu::PrintfOp op, Value buffer);

private:
  LogicalResult declare(Location loc);
  Value textOf(ImplicitLocOpBuilder &b, gpu::PrintfOp op);

  Operation *module;
  SymbolTable symbols;
  StringRef name;
  LLVM::LLVMFunctionType type;
  LLVM::LLVMFuncOp function;
  llvm::StringMap<LLVM::GlobalOp> texts;
};

LogicalResult PrintfLowering::declare(Location loc) {
  if (function)
    return success();
  if (Operation *taken = symbols.lookup(name)) {
    function = dyn_cast<LLVM::LLVMFuncOp>(taken);
    if (function && function.getFunctionType() == type)
      return success();
    return emitError(loc, "expected no symbol '")
           << name << "' of the program: checks print by that function";
  }
  OpBuilder b(module->getContext());
  function = LLVM::LLVMFuncOp::create(b, module->getLoc(), name, type);
  symbols.insert(function, module->getRegion(0).front().begin());
  return success();
}

Value PrintfLowering::textOf(ImplicitLocOpBuilder &b, gpu::PrintfOp op) {
  auto [place, isNew] = texts.try_emplace(op.getFormat());
  if (isNew) {
    std::string text = op.getFormat().str();
    text.push_back('\0');
    OpBuilder global(module->getContext());
    auto type = LLVM::LLVMArrayType::get(global.getI8Type(), text.size());
    place->second = LLVM::GlobalOp::create(
        global, module->getLoc(), type, /*isConstant=*/true,
        LLVM::Linkage::Internal, "check_text", global.getStringAttr(text));
    // Gets a name of its own where there is one already.
    symbols.insert(place->second, module->getRegion(0).front().begin());
  }
  return LLVM::AddressOfOp::create(b, place->second);
}

/// A number that is no `index`.
static Value toInteger(ImplicitLocOpBuilder &b, Value number) {
  return number.getType().isIndex()
             ? arith::IndexCastOp::create(b, b.getI64Type(), number).getResult()
             : number;
}

LogicalResult PrintfLowering::lowerOnHost(gpu::PrintfOp op) {
  if (failed(declare(op.getLoc())))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> operands = {
      LLVM::ConstantOp::create(b, b.getI32IntegerAttr(standardError)),
      textOf(b, op)};
  for (Value number : op.getArgs()) {
    number = toInteger(b, number);
    // The rule of C for arguments that a prototype does not name.
    if (number.getType().isF32())
      number = arith::ExtFOp::create(b, b.getF64Type(), number);
    operands.push_back(number);
  }
  LLVM::CallOp::create(b, function, operands);
  op.erase();
  return success();
}

LogicalResult PrintfLowering::lowerInKernel(gpu::PrintfOp op, Value buffer) {
  if (failed(declare(op.getLoc())))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  for (auto [place, number] : llvm::enumerate(op.getArgs())) {
    Value entry = buffer;
    if (place > 0)
      entry = LLVM::GEPOp::create(b, buffer.getType(), b.getI64Type(), buffer,
                                  LLVM::GEPArg(place));
    LLVM::StoreOp::create(b, toInteger(b, number), entry);
  }
  LLVM::CallOp::create(b, function, ValueRange{textOf(b, op), buffer});
  op.erase();
  return success();
}

/// Whether all numbers take 8 bytes in memory, as those of checks do.
bool hasWideNumbers(gpu::PrintfOp op) {
  return !op.getArgs().empty() &&
         llvm::all_of(op.getArgs().getTypes(), [](Type type) {
           return type.isIndex() || type.isInteger(64);
         });
}

/// Lowers the calls in kernels of `module`; others are left to the conversion
/// of the gpu dialect.
LogicalResult lowerInKernels(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  PrintfLowering lowering(
      module, "vprintf",
      LLVM::LLVMFunctionType::get(IntegerType::get(context, 32),
                                  {pointer, pointer}));
  for (auto func : module.getOps<gpu::GPUFuncOp>()) {
    SmallVector<gpu::PrintfOp> found;
    size_t most = 0;
    func.walk([&](gpu::PrintfOp op) {
      if (!hasWideNumbers(op))
        return;
      found.push_back(op);
      most = std::max<size_t>(most, op.getArgs().size());
    });
    if (found.empty())
      continue;
    ImplicitLocOpBuilder b(func.getLoc(), context);
    b.setInsertionPointToStart(&func.getFunctionBody().front());
    Value buffer = LLVM::AllocaOp::create(
        b, pointer, b.getI64Type(),
        LLVM::ConstantOp::create(b, b.getI64IntegerAttr(most)), numberBytes);
    for (gpu::PrintfOp op : found)
      if (failed(lowering.lowerInKernel(op, buffer)))
        return failure();
  }
  return success();
}

} // namespace

LogicalResult mlir::kvcache::lowerPrintf(ModuleOp module) {
  SmallVector<gpu::PrintfOp> onHost;
  SmallVector<gpu::GPUModuleOp> kernels;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto kernel = dyn_cast<gpu::GPUModuleOp>(op)) {
      kernels.push_back(kernel);
      return WalkResult::skip();
    }
    // Not a part of the host's code, and no kernel yet.
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    if (auto print = dyn_cast<gpu::PrintfOp>(op))
      onHost.push_back(print);
    return WalkResult::advance();
  });
  for (gpu::GPUModuleOp kernel : kernels)
    if (failed(lowerInKernels(kernel)))
      return failure();
  if (onHost.empty())
    return success();
  MLIRContext *context = module.getContext();
  Type i32 = IntegerType::get(context, 32);
  PrintfLowering lowering(
      module, "dprintf",
      LLVM::LLVMFunctionType::get(
          i32, {i32, LLVM::LLVMPointerType::get(context)}, /*isVarArg=*/true));
  for (gpu::PrintfOp op : onHost)
    if (failed(lowering.lowerOnHost(op)))
      return failure();
  return success();
}
