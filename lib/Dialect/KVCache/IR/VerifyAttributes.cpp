//===- VerifyAttributes.cpp - Attributes of other dialects' operations ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "kvcache/Dialect/KVCache/IR/KVCache.h"
#include "kvcache/Support/Identifiers.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::kvcache;

LogicalResult KVCacheDialect::verifyOperationAttribute(Operation *op,
                                                       NamedAttribute attr) {
  if (attr.getName() == getNameAttrName())
    return op->emitOpError("has '")
           << getNameAttrName()
           << "', which names an argument; write it behind the argument's type";
  return success();
}

LogicalResult KVCacheDialect::verifyRegionArgAttribute(Operation *op,
                                                       unsigned regionIndex,
                                                       unsigned argIndex,
                                                       NamedAttribute attr) {
  if (attr.getName() != getNameAttrName())
    return success();
  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (!name || !isUsableIdentifier(name))
    return op->emitOpError("argument #")
           << argIndex << ": expected '" << getNameAttrName()
           << "' to be a string that C takes as a name, no word of C or C++ "
              "and "
              "not 'workspace', got "
           << attr.getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  for (unsigned other = 0; function && other < argIndex; ++other)
    if (function.getArgAttr(other, getNameAttrName()) == name)
      return op->emitOpError("arguments #")
             << other << " and #" << argIndex << " are both named '"
             << name.getValue() << "'; rename one";
  return success();
}
