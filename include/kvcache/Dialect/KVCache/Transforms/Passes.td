//===- Passes.td - Passes on the kvcache dialect -----------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_TD
#define KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

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

    What is not seen is not reported: functions without a body, indirect calls
    and operations of unknown memory effects are taken not to write tables.
  }];
}

#endif // KVCACHE_DIALECT_KVCACHE_TRANSFORMS_PASSES_TD
