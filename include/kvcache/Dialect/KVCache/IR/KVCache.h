//===- KVCache.h - The kvcache dialect --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHE_H
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "kvcache/Dialect/KVCache/IR/KVCacheDialect.h.inc"

#include "kvcache/Dialect/KVCache/IR/KVCacheEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheAttrs.h.inc"

#include "kvcache/Dialect/KVCache/IR/KVCacheTypeInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheTypes.h.inc"

namespace mlir::kvcache {

/// Fails, with an error, where `op` lacks one of the attributes that have a
/// default.
LogicalResult verifyDefaultedAttributes(Operation *op,
                                        const NamedAttrList &defaults);

/// Attributes that have a default have a value. One that is set to an attribute
/// of another kind has none any more, which the accessors do not expect.
template <typename ConcreteOp>
class DefaultedAttributes
    : public OpTrait::TraitBase<ConcreteOp, DefaultedAttributes> {
public:
  /// Fails, with an error, where one of them has none.
  static LogicalResult verifyTrait(Operation *op) {
    NamedAttrList attributes;
    if constexpr (ConcreteOp::hasProperties()) {
      typename ConcreteOp::template InferredProperties<ConcreteOp> defaults;
      ConcreteOp::populateDefaultProperties(op->getName(), defaults);
      ConcreteOp::populateInherentAttrs(op->getContext(), defaults, attributes);
    }
    return verifyDefaultedAttributes(op, attributes);
  }
};

} // namespace mlir::kvcache

#define GET_OP_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheCoreOps.h.inc"

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHE_H
