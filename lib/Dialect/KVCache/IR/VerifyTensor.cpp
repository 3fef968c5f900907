//===- VerifyTensor.cpp - kvcache.with_buffers ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

using namespace mlir;
using namespace mlir::kvcache;

MutableOperandRange WithBuffersOp::getDpsInitsMutable() {
  return getWritesMutable();
}

LogicalResult WithBuffersOp::inferReturnTypes(
    MLIRContext *, std::optional<Location>, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  Adaptor adaptor(operands, attributes, properties, regions);
  llvm::append_range(types, adaptor.getWrites().getTypes());
  return success();
}

LogicalResult WithBuffersOp::verify() {
  if (getWrites().empty())
    return emitOpError(
        "expected one or more 'writes'; memrefs need no operation "
        "around what only reads them");
  Block *body = &getBody().front();
  if (body->getNumArguments() != getNumOperands())
    return emitOpError("expected a body with an argument for each of ")
           << getNumOperands() << " tensors, got " << body->getNumArguments();
  for (auto [number, tensor, argument] :
       llvm::enumerate(getOperands(), body->getArguments())) {
    auto tensorType = cast<RankedTensorType>(tensor.getType());
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.isStrided() ||
        type.getElementType() != tensorType.getElementType() ||
        type.getShape() != tensorType.getShape())
      return emitOpError("expected argument #")
             << number << " of the body to be a strided memref of the elements "
             << "and the shape of " << tensorType << ", got "
             << argument.getType();
  }
  return success();
}
