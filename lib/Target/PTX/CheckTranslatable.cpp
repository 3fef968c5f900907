//===- CheckTranslatable.cpp - What LLVM can translate --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Target/PTX/PTX.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::kvcache;

/// Returns true if values of `type` have no place in an NVIDIA GPU's code: the
/// code generator ends the process on them.
static bool isUnsupported(Type type, ArrayRef<Type> inside = {}) {
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
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArgumentTypes(), check);
  });
  return failure(failed);
}
