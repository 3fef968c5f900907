//===- Passes.td - Passes on the kvcache dialect -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_TD
#define KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandKernelsPass : Pass<"kvcache-expand-kernels", "::mlir::ModuleOp"> {
  let summary = "Make kernels and launches of kernel operations";
  let description = [{
    Replaces each kernel operation (`kvcache.append` and the like) by a
    `gpu.func` made of lookups and accesses in pages, in a `gpu.module` of its own
    named `<function>_<operation>`, and by its launch. The grid follows from the
    sizes of the operands on the host; nothing is launched where there is no
    work. Everything that lies in device memory is read on the device.

    Vectors are as wide as the layouts and strides prove safe, up to 16 bytes.
    Where that depends on a stride or an offset of run time, the host chooses
    between two kernels, or between two ways to read in one.

    `threads`, `chunks` and `blocks-per-sm` are defaults for operations without a
    `tuning` attribute, which take them as far as they can (blocks of
    `kvcache.mla_decode` always have 128 threads); 0 leaves the choice to the
    operation. Where there is more
    work than the first dimension of a grid holds blocks (`max-blocks`, by default
    2^31 - 1), the second one counts on, or blocks go on to more of it in turn.

    **Errors:** a kernel operation inside device code; a `window` of
    `kvcache.paged_attention` beyond the positions of its table, where the type of
    that, or of what it was cast from, says how many there are.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", /*default=*/"0",
           "Threads of a block at most">,
    Option<"chunks", "chunks", "int64_t", /*default=*/"0",
           "Vectors that a thread has in flight">,
    Option<"blocksPerSM", "blocks-per-sm", "int64_t", /*default=*/"0",
           "Blocks of a multiprocessor that registers are kept free for">,
    Option<"maxBlocks", "max-blocks", "int64_t", /*default=*/"0",
           "Blocks in the first dimension of a grid at most">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect",
    "::mlir::kvcache::KVCacheDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def ExplainLayoutPass : Pass<"kvcache-explain-layout"> {
  let summary = "Print what lies where in the pages of each layout";
  let description = [{
    Prints, to standard error, of each `#kvcache.layout` in the program the map of
    a page: what lies where, strides, padding, bytes a token. With `token` and the
    lookup table also the places of that token's values, scales and tail, of the
    sequence `batch`. A table's rows, of a block a page, are parted by semicolons:
    `batch=1 token=20 table=4,9;3,7`. All numbers are bytes. The program stays as
    it is.

    **Errors:** no layer, a pitch that the layout does not allow, a negative token,
    one whose page or whose sequence is not in a table, tables without a token, a
    table of scales where no layout has one, a token of more than 2^20 places
    (layers, heads, scales).
  }];
  let options = [
    Option<"layers", "layers", "int64_t", /*default=*/"1",
           "Layers of the pools">,
    Option<"blocksPitch", "blocks-pitch", "int64_t", /*default=*/"0",
           "Bytes from block to block of values; 0: packed">,
    Option<"scalesPitch", "scales-pitch", "int64_t", /*default=*/"0",
           "Bytes from block to block of the pool of scales; 0: packed">,
    ListOption<"tokens", "token", "int64_t",
               "Tokens of a sequence whose places to print">,
    Option<"batch", "batch", "int64_t", /*default=*/"0",
           "The sequence of these tokens, a row of the tables">,
    Option<"table", "table", "std::string", /*default=*/"",
           "Blocks of each sequence, one a page">,
    Option<"scalesTable", "scales-table", "std::string", /*default=*/"",
           "Blocks of each sequence's scales, with 'table = own'">,
  ];
}

def InstrumentPass : Pass<"kvcache-instrument", "::mlir::ModuleOp"> {
  let summary = "Check kernels, lookups and accesses at run time";
  let description = [{
    Puts assertions before lookups and accesses, on the host and on the device:
    indices against tables and layout, blocks and slots against the pool that is
    addressed; after loads, also those that dequantise, and before stores of
    scales: that none is NaN, and which one is. Before launches of kernels that are
    written by hand (`gpu.launch`, `gpu.launch_func`) the host compares page pitches
    and numbers of blocks of the collections and caches that they take and that come
    from elsewhere, as it does for kernel operations. What the policy `skip` leaves
    out is no fault.

    Kernel operations are marked, so that `kvcache-expand-kernels` checks what they
    are given and the kernels that it makes of them. The host compares addresses:
    they are multiples of what the kernels rely on, and what is written overlaps no
    other operand. Kernels that come before the
    operation's own make sure that offsets do not descend and end with the rows
    that there are (those of `kvcache.gather` begin with 0), that new lengths fit
    the rows of a sequence, that the table has the columns that
    `max_cache_length` and the lengths need, that pairs said to be `disjoint` are,
    and before those that append that every row has a place (sequences and pages
    against the table, blocks against their pool) and, unless the operation has a
    `workspace` for these, that no two rows have the same; this takes 4 bytes a slot
    of the pool, from `gpu.alloc`. Rotary
    positions are compared with the rows of the tables. So nothing is written where
    something does not fit.

    A check that fails ends the program on the host; a kernel it stops, and the
    device reports it. Messages have the operation's location.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect",
    "::mlir::kvcache::KVCacheDialect",
    "::mlir::memref::MemRefDialect",
    "::mlir::vector::VectorDialect",
  ];
}

def ExpandKernelMemRefsPass
    : Pass<"kvcache-expand-kernel-memrefs", "::mlir::ModuleOp"> {
  let summary = "Pass memrefs to kernels as pointers and scalars";
  let description = [{
    A kernel's parameters are pointers and scalars, so that whoever launches it
    needs to know nothing of MLIR's memref descriptors. Memrefs whose sizes,
    strides and offset are constants can be passed as bare pointers, and stay as
    they are. Each other one becomes, in this order,

    1. a pointer (a rank-0 memref) to the first element; a run-time offset is
       already applied, a constant one is not;
    2. an `index` for each dynamic size, outermost first;
    3. an `index` for each dynamic stride, in elements, outermost first. Without
       a layout of its own a memref has none: strides follow from the sizes.

    The kernel rebuilds the memref from them, and each `gpu.launch_func` takes
    them from the memref it passed. Argument attributes, for example
    `llvm.noalias`, stay on the pointer. Functions that device code calls are
    treated like kernels.

    **Errors:** unranked memrefs, tensors, memrefs without strides, and a
    run-time offset in a memory space of its own or of elements whose size in
    bytes is not known.

    Example:
    ```mlir
    gpu.func @scale(%x: memref<?x64xf32, strided<[?, 1]>>, %by: f32) kernel
    ```
    becomes
    ```mlir
    gpu.func @scale(%x: memref<f32>, %rows: index, %row_stride: index,
                    %by: f32) kernel {
      %view = memref.reinterpret_cast %x to offset: [0], sizes: [%rows, 64],
                                            strides: [%row_stride, 1]
          : memref<f32> to memref<?x64xf32, strided<[?, 1]>>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::kvcache::KVCacheDialect",
    "::mlir::memref::MemRefDialect",
  ];
}

def CheckFrozenTablesPass
    : Pass<"kvcache-check-frozen-tables", "::mlir::ModuleOp"> {
  let summary = "report writes to tables that a collection has frozen";
  let description = [{
    A collection freezes its tables and lengths: lookups have no memory effect
    and may move anywhere below `kvcache.get_paged_cache`. This pass reports, as
    an error at the writer with a note at the collection, every write to a table
    or a list of lengths that may run after `kvcache.get_paged_cache`: later in
    the block, in blocks and regions that control goes to from there, around
    loops, in functions that are called and in kernels that are launched. It
    changes nothing.

    A memref stands for the memory that views, casts, selects, branches and
    structured control flow say it may be. Two arguments of a function, or an
    argument and an allocation, are taken to be different memory. Memory that is
    allocated in a loop is new in each iteration.

    A collection that a function makes is frozen to the end of that function, and
    on in its callers where what the function returns is computed from it. A loop
    that changes a table in each step therefore makes its collection in a
    function that it calls.

    Freeing a table is an error where something computed from the collection
    (the collection itself, a cache, a row, a view) may be used afterwards.

    A kernel operation writes its outputs as a store does; the pools of caches are
    taken not to be tables. What is not seen is not reported: functions without a
    body, indirect calls and operations of unknown memory effects are taken not
    to write tables.
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_TD
