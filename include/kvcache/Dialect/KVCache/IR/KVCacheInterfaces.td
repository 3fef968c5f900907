//===- KVCacheInterfaces.td - Interfaces of the kvcache dialect -*- tablegen -//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEINTERFACES_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEINTERFACES_TD

include "mlir/IR/OpBase.td"

def KVCache_MHAOperandTypeInterface : TypeInterface<"MHAOperandTypeInterface"> {
  let cppNamespace = "::mlir::kvcache";
  let description = [{
    What an attention kernel may ask of the cache it reads, whichever pool the
    operand speaks of. A cache answers like its plain operand. An operand speaks
    of one pool throughout: the dtype, rows, addresses and sizes of a scales
    operand are those of the scales pool.
  }];
  let methods = [
    InterfaceMethod<"The layout of the cache.",
      "::mlir::kvcache::LayoutAttr", "getLayout">,
    InterfaceMethod<"Keys or values.",
      "::mlir::kvcache::Side", "getSide">,
    InterfaceMethod<"The pool that the operand addresses.",
      "::mlir::kvcache::Pool", "getPool">,
    InterfaceMethod<
      "Element type of the pool: the cache's dtype, or its scale dtype for a "
      "scales operand.",
      "::mlir::Type", "getDtype", (ins), [{}], [{
        auto layout = $_type.getLayout();
        return $_type.getPool() == Pool::scales ? layout.getScaleDtype()
                                                : layout.getDtype();
      }]>,
    InterfaceMethod<
      "Element type of the operand's scales; null (invalid) where it has none: "
      "a cache without scales, and a scales operand, whose scales have no "
      "scales.",
      "::mlir::Type", "getScaleDtype", (ins), [{}], [{
        return $_type.getPool() == Pool::scales
                   ? ::mlir::Type()
                   : $_type.getLayout().getScaleDtype();
      }]>,
    InterfaceMethod<"Tokens a page.",
      "int64_t", "getPageSize", (ins), [{}], [{
        return $_type.getLayout().getPageSize();
      }]>,
    InterfaceMethod<"Whether the cache is quantised.",
      "bool", "getQuantizationEnabled", (ins), [{}], [{
        return $_type.getLayout().isQuantized();
      }]>,
    InterfaceMethod<
      "Elements of a head that share one scale; 0 without scales.",
      "int64_t", "getQuantizationGranularity", (ins), [{}], [{
        return $_type.getLayout().getGranularity();
      }]>
  ];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEINTERFACES_TD
