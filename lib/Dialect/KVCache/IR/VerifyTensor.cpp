//===- VerifyTensor.cpp - kvcache.with_buffers ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Interfaces/ViewLikeInterface.h"

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

/// The arguments of `body` that a memref views, or that are pools of a cache or
/// a collection.
static SmallVector<BlockArgument> findArguments(Value memory, Block *body) {
  SmallVector<BlockArgument> arguments;
  SmallVector<Value> worklist = {memory};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!value || !seen.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(value);
      if (argument.getOwner() == body)
        arguments.push_back(argument);
    } else if (auto view = dyn_cast<ViewLikeOpInterface>(op)) {
      worklist.push_back(view.getViewSource());
    } else if (auto cache = dyn_cast<GetPagedCacheOp>(op)) {
      worklist.append({cache.getBlocks(), cache.getScales()});
    } else if (auto pages = dyn_cast<GetPagePoolsOp>(op)) {
      worklist.append({pages.getBlocks(), pages.getScales()});
    } else if (isMemoryEffectFree(op)) {
      // A lookup, a cast, a select: what it gives is what it got.
      llvm::copy_if(op->getOperands(), std::back_inserter(worklist),
                    [](Value operand) {
                      return !operand.getType().isIntOrIndexOrFloat();
                    });
    }
  }
  return arguments;
}

/// The analysis of bufferization believes that what `reads` names is not
/// written.
LogicalResult WithBuffersOp::verifyRegions() {
  Block *body = &getBody().front();
  unsigned numReads = getReads().size();
  WalkResult result = body->walk([&](MemoryEffectOpInterface op) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    op.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (!isa<MemoryEffects::Write, MemoryEffects::Free>(effect.getEffect()) ||
          !effect.getValue())
        continue;
      for (BlockArgument argument : findArguments(effect.getValue(), body)) {
        if (argument.getArgNumber() >= numReads)
          continue;
        InFlightDiagnostic error =
            op->emitOpError("writes what 'kvcache.with_buffers' takes as "
                            "operand #")
            << argument.getArgNumber()
            << " of 'reads'; name the tensor in 'writes'";
        error.attachNote(getLoc()) << "the tensor is taken here";
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
