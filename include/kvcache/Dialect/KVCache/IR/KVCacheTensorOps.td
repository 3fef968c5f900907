//===- KVCacheTensorOps.td - The cache in tensor programs --*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef KVCACHE_DIALECT_KVCACHE_IR_KVCACHETENSOROPS_TD
#define KVCACHE_DIALECT_KVCACHE_IR_KVCACHETENSOROPS_TD

include "kvcache/Dialect/KVCache/IR/KVCacheOpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"

def KVCache_WithBuffersOp : KVCache_Op<"with_buffers", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<DestinationStyleOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    NoTerminator, RecursiveMemoryEffects, SingleBlock]> {
  let summary = "work with the buffers of tensors";
  let description = [{
    Kernels and lookups act on memory: a cache is a pool that is written in place.
    A program on tensors says here which tensors they read and which they write;
    the body sees each as a memref, `reads` first. Results are the tensors of
    `writes` with what the body wrote, in destination-passing style: all of
    `writes` that the body leaves alone stays as it was.

    One-shot bufferization (`one-shot-bufferize`, or `kvcache-to-ptx` on the
    bufferized program) puts the body in place of the operation. It copies no
    tensor of `writes`, and no pool that the body reads, neither here nor at
    another operation that has the same buffer, be it in a function that calls
    this one: where the old contents are needed afterwards, or may not be
    written, that is an error which names the use, since a copy of a pool is
    never meant. The body must not keep a buffer beyond its end.

    **Constraints:**
    - The body's arguments are strided memrefs, one for each tensor, `reads`
      first, of the tensors' element types and shapes.
    - There are one or more `writes`.
    - No operation in the body writes a memref of `reads` by a memory effect on
      it, on a view of it or on a cache whose pool it is. What calls and launches
      do is the program's affair.

    **Errors of bufferization:** a tensor of `writes` or a pool would be copied; the
    analysis is turned off (`copy-before-write`); a buffer has a layout that the
    body's memref type has not.

    Example:
    ```mlir
    %pool1 = kvcache.with_buffers
        reads(%x, %offsets, %lengths, %table, %max : tensor<?x8x128xbf16>,
              tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<1xi32>)
        writes(%pool : tensor<?x2x?x16x8x128xbf16>) {
    ^bb0(%rows: memref<?x8x128xbf16>, %row_offsets: memref<?xi32>,
         %cached: memref<?xi32>, %pages: memref<?x?xi32>, %longest: memref<1xi32>,
         %blocks: memref<?x2x?x16x8x128xbf16>):
      %c = kvcache.get_paged_cache
          blocks(%blocks : memref<?x2x?x16x8x128xbf16>)
          lengths(%cached : memref<?xi32>) table(%pages : memref<?x?xi32>)
          max_prompt(%longest : memref<1xi32>)
          max_cache(%longest : memref<1xi32>) : !kvcache.collection<#gqa>
      %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
      kvcache.append sources(%rows : memref<?x8x128xbf16>)
          into(%k : !kvcache.cache<key, #gqa>)
          ragged(%row_offsets : memref<?xi32>)
    }
    ```
  }];
  let arguments = (ins
    Variadic<AnyRankedTensor>:$reads,
    Variadic<AnyRankedTensor>:$writes
  );
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`reads` `(` $reads^ `:` type($reads) `)`)?
    `writes` `(` $writes `:` type($writes) `)` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

#endif // KVCACHE_DIALECT_KVCACHE_IR_KVCACHETENSOROPS_TD
