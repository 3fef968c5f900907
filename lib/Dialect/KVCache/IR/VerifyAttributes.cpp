//===- VerifyAttributes.cpp - Attributes of operations --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Support/Identifiers.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult
mlir::kvcache::verifyDefaultedAttributes(Operation *op,
                                         const NamedAttrList &defaults) {
  for (NamedAttribute attr : defaults)
    if (op->getInherentAttr(attr.getName()) == std::optional(Attribute()))
      return op->emitOpError("attribute '")
             << attr.getName().getValue()
             << "' has been set to an attribute of another kind; the default "
                "is "
             << attr.getValue();
  return success();
}

/// Whether an attribute is for arguments of host functions.
static bool isForArguments(NamedAttribute attr) {
  return attr.getName() == KVCacheDialect::getNameAttrName() ||
         attr.getName() == KVCacheDialect::getHostArrayAttrName();
}

LogicalResult KVCacheDialect::verifyOperationAttribute(Operation *op,
                                                       NamedAttribute attr) {
  if (isForArguments(attr))
    return op->emitOpError("has '")
           << attr.getName().getValue()
           << "', which is for arguments; write it behind an argument's type";
  StringRef ofPasses[] = {getInstrumentAttrName(), getKernelOpAttrName(),
                          getCloneOfAttrName(), getObjectAttrName(),
                          getSharedBytesAttrName()};
  if (!llvm::is_contained(ofPasses, attr.getName()))
    return op->emitOpError("has unknown attribute '")
           << attr.getName().getValue()
           << "'; drop it, or give it a prefix of your own";
  return success();
}

LogicalResult KVCacheDialect::verifyRegionResultAttribute(Operation *op,
                                                          unsigned,
                                                          unsigned resultIndex,
                                                          NamedAttribute attr) {
  return op->emitOpError("result #")
         << resultIndex << " has '" << attr.getName().getValue()
         << "', but results have no attributes of this dialect; drop it";
}

LogicalResult KVCacheDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                       unsigned argIndex,
                                                       NamedAttribute attr) {
  if (!isForArguments(attr))
    return op->emitOpError("argument #")
           << argIndex << " has unknown attribute '"
           << attr.getName().getValue() << "'; expected '" << getNameAttrName()
           << "' or '" << getHostArrayAttrName() << "'";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function || op->getParentOfType<gpu::GPUModuleOp>())
    return op->emitOpError("argument #")
           << argIndex << " has '" << attr.getName().getValue()
           << "', which is for arguments of host functions; drop it";

  if (attr.getName() == getHostArrayAttrName()) {
    auto type = dyn_cast<MemRefType>(function.getArgumentTypes()[argIndex]);
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!isa<UnitAttr>(attr.getValue()) || !type || !type.hasStaticShape() ||
        failed(type.getStridesAndOffset(strides, offset)) ||
        llvm::any_of(strides, ShapedType::isDynamic))
      return op->emitOpError("argument #")
             << argIndex << ": '" << getHostArrayAttrName()
             << "' has no value and marks memrefs of static shape and strides, "
                "got "
             << attr.getValue() << " on "
             << function.getArgumentTypes()[argIndex];
    return success();
  }

  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (!name || !isUsableIdentifier(name))
    return op->emitOpError("argument #")
           << argIndex << ": expected '" << getNameAttrName()
           << "' to be a string that C takes as a name, no word of C or C++ "
              "and not 'workspace', got "
           << attr.getValue();
  for (unsigned other = 0; other < argIndex; ++other)
    if (function.getArgAttr(other, getNameAttrName()) == name)
      return op->emitOpError("arguments #")
             << other << " and #" << argIndex << " are both named '"
             << name.getValue() << "'; rename one";
  return success();
}
