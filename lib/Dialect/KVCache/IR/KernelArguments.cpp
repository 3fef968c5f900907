//===- KernelArguments.cpp - What kernels rely on ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KernelArguments.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::kvcache;

int64_t mlir::kvcache::getElementBytes(Type type) {
  if (isa<IndexType>(type))
    return 8;
  if (type.isIntOrFloat()) {
    // Narrow ones take a byte each.
    int64_t bytes = llvm::divideCeil(type.getIntOrFloatBitWidth(), 8u);
    return llvm::isPowerOf2_64(bytes) && bytes <= 8 ? bytes : 0;
  }
  if (auto complex = dyn_cast<ComplexType>(type))
    return 2 * getElementBytes(complex.getElementType());
  if (auto vector = dyn_cast<VectorType>(type);
      vector && vector.getRank() == 1 && !vector.isScalable() &&
      vector.getElementType().isIntOrFloat() &&
      vector.getElementTypeBitWidth() % 8 == 0)
    return llvm::PowerOf2Ceil(vector.getElementTypeBitWidth() / 8 *
                              vector.getNumElements());
  return 0;
}

void mlir::kvcache::forEachMemoryUse(
    Value memref, function_ref<void(Operation *, Value)> visit) {
  SmallVector<Value> worklist = {memref};
  while (!worklist.empty()) {
    Value view = worklist.pop_back_val();
    for (Operation *user : view.getUsers()) {
      visit(user, view);
      if (isa<ViewLikeOpInterface, memref::ExtractStridedMetadataOp>(user))
        for (Value result : user->getResults())
          if (isa<BaseMemRefType>(result.getType()))
            worklist.push_back(result);
    }
  }
}

int64_t mlir::kvcache::getKernelAlignment(FunctionOpInterface kernel,
                                          unsigned argument) {
  int64_t alignment = 1;
  if (auto attr = kernel.getArgAttrOfType<IntegerAttr>(
          argument, LLVM::LLVMDialect::getAlignAttrName()))
    alignment = std::max(alignment, attr.getInt());
  Value value = kernel.getArgument(argument);
  if (auto type = dyn_cast<MemRefType>(value.getType())) {
    int64_t bytes = getElementBytes(type.getElementType());
    if (llvm::isPowerOf2_64(bytes))
      alignment = std::max(alignment, bytes);
  }
  // Accesses, and assumptions, that rely on more: they start at the pointer or
  // multiples behind it.
  forEachMemoryUse(value, [&](Operation *user, Value) {
    if (auto attr = user->getAttrOfType<IntegerAttr>("alignment"))
      alignment = std::max(alignment, attr.getInt());
  });
  return alignment;
}
