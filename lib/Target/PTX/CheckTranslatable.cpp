//===- CheckTranslatable.cpp - What LLVM can translate --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Target/PTX/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/LLVMContext.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Returns true if values of `type` have no place in an NVIDIA GPU's code: the
/// code generator ends the process on them.
static bool isUnsupported(Type type, ArrayRef<Type> inside = {}) {
  // Products of wide integers are written out, each word by each: LLVM takes
  // minutes for the widest, and nobody has integers of more than a few hundred.
  constexpr unsigned maxIntegerBits = 1024;
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() > maxIntegerBits;
  if (isa<Float80Type, Float128Type>(type))
    return true;
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.isScalable() ||
           isUnsupported(vector.getElementType(), inside);
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return isUnsupported(array.getElementType(), inside);
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    // A structure that contains itself has no size.
    if (llvm::is_contained(inside, type))
      return true;
    SmallVector<Type> nested(inside);
    nested.push_back(type);
    return llvm::any_of(structure.getBody(), [&](Type member) {
      return isUnsupported(member, nested);
    });
  }
  return isa<LLVM::LLVMPPCFP128Type, LLVM::LLVMX86AMXType,
             LLVM::LLVMTargetExtType>(type);
}

/// Checks that inline assembly has an operand or result for each constraint:
/// the code generator ends the process where it has not.
static LogicalResult checkConstraints(LLVM::InlineAsmOp op) {
  // Only how many there are is looked at.
  llvm::LLVMContext context;
  llvm::Type *any = llvm::Type::getInt32Ty(context);
  llvm::Type *result = llvm::Type::getVoidTy(context);
  if (op.getRes()) {
    auto several = dyn_cast<LLVM::LLVMStructType>(op.getRes().getType());
    result = several ? llvm::StructType::get(context,
                                             SmallVector<llvm::Type *>(
                                                 several.getBody().size(), any))
                     : any;
  }
  SmallVector<llvm::Type *> operands(op.getNumOperands(), any);
  llvm::Error error = llvm::InlineAsm::verify(
      llvm::FunctionType::get(result, operands, /*isVarArg=*/false),
      op.getConstraints());
  if (!error)
    return success();
  return op.emitOpError("has constraints \"")
         << op.getConstraints() << "\" for " << op.getNumOperands()
         << " operands and " << op->getNumResults()
         << " results, of which LLVM says: "
         << llvm::toString(std::move(error));
}

LogicalResult kvcache::checkTranslatable(gpu::GPUModuleOp module) {
  bool failed = false;
  module.walk([&](Operation *op) {
    if (op == module.getOperation())
      return;
    if (!isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(
            op->getDialect())) {
      auto diagnostic = op->emitOpError("cannot be lowered to PTX");
      if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op);
          cast && !cast.getInputs().empty())
        diagnostic << ": no conversion uses " << cast.getInputs()[0].getType()
                   << " as " << cast.getResultTypes()[0];
      failed = true;
      return;
    }
    auto check = [&](Type type) {
      if (failed || !isUnsupported(type))
        return;
      op->emitOpError("has a value of type ")
          << type << ", which no NVIDIA GPU has";
      failed = true;
    };
    llvm::for_each(op->getResultTypes(), check);
    if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
        assembly && mlir::failed(checkConstraints(assembly)))
      failed = true;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), check);
  });
  return failure(failed);
}
