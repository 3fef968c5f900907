//===- KVCacheOpBase.td - What the kvcache operations share -*- tablegen -*-=//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPBASE_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPBASE_TD

include "kvcache/Dialect/KVCache/IR/KVCacheTypes.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/ViewLikeInterface.td"

def KVCache_DefaultedAttributes : NativeOpTrait<"DefaultedAttributes"> {
  let cppNamespace = "::mlir::kvcache";
}

class KVCache_Op<string opMnemonic, list<Trait> traits = []>
    : Op<KVCache_Dialect, opMnemonic, traits # [KVCache_DefaultedAttributes]>;

/// An operation whose result follows from the type of its operands alone.
class KVCache_DerivedOp<string opMnemonic, list<Trait> traits = []>
    : KVCache_Op<opMnemonic, traits # [
        Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]>;

/// A question to the frozen tables and lengths. It has no memory effect, so that
/// it is shared across stores to the pools; it is speculated only where the
/// sequence and the token are proved to lie inside the tables, since the table
/// is read there.
class KVCache_LookupOp<string opMnemonic, list<Trait> traits = []>
    : KVCache_Op<opMnemonic, traits # [
        NoMemoryEffect,
        DeclareOpInterfaceMethods<ConditionallySpeculatable>]>;

/// The policy of an access.
defvar KVCache_assumeUnlessSaid =
    DefaultValuedAttr<KVCache_OutOfRange,
                      "::mlir::kvcache::OutOfRange::assume">;

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEOPBASE_TD
