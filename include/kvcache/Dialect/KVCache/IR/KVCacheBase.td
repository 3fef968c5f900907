//===- KVCacheBase.td - The kvcache dialect ----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHEBASE_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHEBASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def KVCache_Dialect : Dialect {
  let name = "kvcache";
  let cppNamespace = "::mlir::kvcache";
  let summary = "Paged key-value caches with scales";
  let description = [{
    The `kvcache` dialect models paged key-value caches as they are used by
    attention kernels: a collection built from a value pool, its tables and,
    where the values are quantised, a scales pool that may be paged by a table
    of its own; the cache of one layer and side; the operands through which
    attention kernels read it; and the lookups those operands answer.

    Letters used throughout: `NB` blocks of the value pool, `NBs` blocks of the
    scales pool, `KD` sides (1 for MLA, else 2), `L` layers, `P` tokens a page,
    `H` key-value heads, `D` elements a head, `g` elements that share a scale,
    `G = ceildiv(D, g)` scales a head, `B` sequences, `M` table columns.

    One attribute, `#kvcache.layout`, is the contract that writers and readers
    share; every type of the dialect carries it. Values of the dialect's types
    lower, by `convert-kvcache-to-memref`, to pointers (rank-0 memrefs) and
    scalars, so that a kernel's arguments are something that C can call.

    **Frozen tables.** A collection freezes its tables and lengths: from
    `kvcache.get_paged_cache` on nobody may write them. Lookups therefore have
    no memory effect and common subexpression elimination shares them across
    stores to the pools. `kvcache-check-frozen-tables` reports a program that
    breaks the promise.

    **Unsigned.** Tables and lengths are signless `i32` that are read as
    unsigned. Addresses are 64-bit.

    **Out of range.** Every access says what happens when its sequence, page,
    block, head or elements lie outside: `assume` (undefined, as fast as it gets;
    the default), `skip` (a store does nothing, a load gives 0) or `trap`. Under
    `assume`, canonicalisation may replace a coordinate that has one legal value
    only; `generate-runtime-verification` therefore runs before it. A layer is the
    program's own affair, verified where it is constant.

    **Launch records.** Two attributes of host functions' arguments are for the
    records of `kvcache-to-ptx`, which drops them when they are written.
    `kvcache.name`, a string, is what the record calls the argument: a C
    identifier, once in a function. `kvcache.host_array`, a unit attribute, says
    that the argument is memory of the host, from which the function reads
    integers before it launches: a memref of static shape and strides.

    **Versions.** Bytecode says the version of the dialect that wrote it; all
    versions up to the tool's own are read, later ones are refused. Text has no
    version: it is the newest.

    | version | kvcache | what changed |
    |---|---|---|
    | 1 | 0.1.0 | First: an encoding of `#kvcache.layout` and of the types `collection`, `cache`, `mha_operand` and `scales_mha_operand`. A layout is written with all of its parameters, those with default values too. `#kvcache.tuning`, `quantization`, `rotation`, `norm` and the operations are in MLIR's own form (text of the attributes; properties by name), and may change without a version of their own until 1.0. |
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The name of a function's argument in launch records.
    static ::llvm::StringRef getNameAttrName() { return "kvcache.name"; }
    /// Marks a function's argument that the host itself reads.
    static ::llvm::StringRef getHostArrayAttrName() {
      return "kvcache.host_array";
    }

    /// Of a kernel operation: its kernel is to be checked as it runs.
    static ::llvm::StringRef getInstrumentAttrName() {
      return "kvcache.instrument";
    }
    /// Of a kernel: the operation whose kernel it is.
    static ::llvm::StringRef getKernelOpAttrName() {
      return "kvcache.kernel_of";
    }
    /// Of a clone of a `gpu.module`: the original's number in walk order.
    static ::llvm::StringRef getCloneOfAttrName() { return "kvcache.clone_of"; }
    /// Of such a clone: the `#gpu.object` that it was compiled to.
    static ::llvm::StringRef getObjectAttrName() { return "kvcache.object"; }
    /// Of such a clone: bytes of shared memory of each kernel, by its name.
    static ::llvm::StringRef getSharedBytesAttrName() {
      return "kvcache.shared_bytes";
    }
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHEBASE_TD
