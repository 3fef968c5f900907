//===- HostPrintf.cpp - What checks print on the host --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks print the numbers they failed on by `gpu.printf`, wherever they are.
// On the host that is a call of dprintf, which writes to stderr at once: the
// abort that follows flushes nothing.
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

static constexpr char functionName[] = "dprintf";
static constexpr int64_t standardError = 2;

namespace {

class HostPrintf {
public:
  explicit HostPrintf(ModuleOp module) : module(module), symbols(module) {}

  LogicalResult lower(gpu::PrintfOp op);

private:
  LogicalResult declare(Location loc);
  LLVM::GlobalOp textOf(gpu::PrintfOp op);

  ModuleOp module;
  SymbolTable symbols;
  LLVM::LLVMFuncOp function;
  llvm::StringMap<LLVM::GlobalOp> texts;
};

LogicalResult HostPrintf::declare(Location loc) {
  if (function)
    return success();
  if (Operation *taken = symbols.lookup(functionName)) {
    function = dyn_cast<LLVM::LLVMFuncOp>(taken);
    if (function && function.isVarArg())
      return success();
    return emitError(loc, "expected no symbol '")
           << functionName << "' of the program: checks print by libc's";
  }
  OpBuilder b(module.getContext());
  auto type = LLVM::LLVMFunctionType::get(
      b.getI32Type(),
      {b.getI32Type(), LLVM::LLVMPointerType::get(b.getContext())},
      /*isVarArg=*/true);
  function = LLVM::LLVMFuncOp::create(b, module.getLoc(), functionName, type);
  symbols.insert(function, module.getBody()->begin());
  return success();
}

LLVM::GlobalOp HostPrintf::textOf(gpu::PrintfOp op) {
  auto [place, isNew] = texts.try_emplace(op.getFormat());
  if (!isNew)
    return place->second;
  std::string text = op.getFormat().str();
  text.push_back('\0');
  OpBuilder b(module.getContext());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), text.size());
  auto global = LLVM::GlobalOp::create(
      b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal,
      "check_text", b.getStringAttr(text));
  // Gets a name of its own where there is one already.
  symbols.insert(global, module.getBody()->begin());
  return place->second = global;
}

LogicalResult HostPrintf::lower(gpu::PrintfOp op) {
  if (failed(declare(op.getLoc())))
    return failure();
  ImplicitLocOpBuilder b(op.getLoc(), op);
  SmallVector<Value> operands = {
      LLVM::ConstantOp::create(b, b.getI32IntegerAttr(standardError)),
      LLVM::AddressOfOp::create(b, textOf(op))};
  for (Value number : op.getArgs()) {
    if (number.getType().isIndex())
      number = arith::IndexCastOp::create(b, b.getI64Type(), number);
    // The rule of C for arguments that a prototype does not name.
    else if (number.getType().isF32())
      number = arith::ExtFOp::create(b, b.getF64Type(), number);
    operands.push_back(number);
  }
  LLVM::CallOp::create(b, function, operands);
  op.erase();
  return success();
}

bool isOnHost(Operation *op) {
  return !op->getParentOfType<gpu::GPUModuleOp>() &&
         !op->getParentOfType<gpu::LaunchOp>();
}

} // namespace

LogicalResult mlir::kvcache::lowerHostPrintf(ModuleOp module) {
  SmallVector<gpu::PrintfOp> found;
  module.walk([&](gpu::PrintfOp op) {
    if (isOnHost(op))
      found.push_back(op);
  });
  if (found.empty())
    return success();
  HostPrintf lowering(module);
  for (gpu::PrintfOp op : found)
    if (failed(lowering.lower(op)))
      return failure();
  return success();
}
