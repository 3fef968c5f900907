//===- KVCacheDialect.cpp - The kvcache dialect --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KVCacheBytecode.h"
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::kvcache;

#include "kvcache/Dialect/KVCache/IR/KVCacheDialect.cpp.inc"

#include "kvcache/Dialect/KVCache/IR/KVCacheEnums.cpp.inc"

#include "kvcache/Dialect/KVCache/IR/KVCacheTypeInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheTypes.cpp.inc"

#define GET_OP_CLASSES
#include "kvcache/Dialect/KVCache/IR/KVCacheCoreOps.cpp.inc"

namespace {
/// Layouts are long and shared by every type of a program: print them once.
struct KVCacheAsmInterface : public OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Attribute attr, raw_ostream &os) const override {
    if (!isa<LayoutAttr>(attr))
      return AliasResult::NoAlias;
    os << "kv";
    return AliasResult::OverridableAlias;
  }
};

/// Everything may be inlined: what freezes a table in the callee freezes it in
/// the caller, as the call does.
struct KVCacheInlinerInterface : public DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;

  bool isLegalToInline(Operation *, Region *, bool,
                       IRMapping &) const override {
    return true;
  }
};
} // namespace

void KVCacheDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "kvcache/Dialect/KVCache/IR/KVCacheAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "kvcache/Dialect/KVCache/IR/KVCacheTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvcache/Dialect/KVCache/IR/KVCacheCoreOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "kvcache/Dialect/KVCache/IR/KVCacheKernels.cpp.inc"
      >();
  addInterfaces<KVCacheAsmInterface, KVCacheInlinerInterface>();
  addBytecodeInterface(*this);
}

Operation *KVCacheDialect::materializeConstant(OpBuilder &builder,
                                               Attribute value, Type type,
                                               Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
