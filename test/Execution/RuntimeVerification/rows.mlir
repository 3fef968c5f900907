// Lists that do not fit the rows they speak of end the program before a kernel
// starts, with both numbers, instrumented or not.
//
// DEFINE: %{offsets} = 3
// DEFINE: %{rows} = 5
// DEFINE: %{sequences} = 5
// DEFINE: %{run} = kvcache-run %s --device=sim --arg=index:%{offsets} --arg=index:%{rows} --arg=index:%{sequences}

// RUN: %{run} 2>&1 | count 0

// REDEFINE: %{offsets} = 2
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=OFFSETS
// OFFSETS: rows.mlir:[[@LINE+30]]:3: error: 'kvcache.append' op expected one more of 'row_offsets' than sequences (B), got 2 and 3
// REDEFINE: %{offsets} = 3

// REDEFINE: %{sequences} = 4
// RUN: not %{run} 2>&1 | FileCheck %s --check-prefix=SEQUENCES
// SEQUENCES: rows.mlir:[[@LINE+27]]:3: error: 'kvcache.append' op expected at least as many 'sequences' and 'positions' as rows (T), got 4 and 5

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 16>, page_size = 4>

func.func @main(%offsets: index, %rows: index, %sequences: index) {
  %zero = arith.constant 0 : i32
  %b = gpu.alloc host_shared () : memref<4x2x1x4x1x16xbf16>
  %x = gpu.alloc host_shared (%rows) : memref<?x1x16xbf16>
  %o = gpu.alloc host_shared (%offsets) : memref<?xi32>
  %s = gpu.alloc host_shared (%sequences) : memref<?xi32>
  %p = gpu.alloc host_shared (%rows) : memref<?xi32>
  %lengths = gpu.alloc host_shared () : memref<2xi32>
  %table = gpu.alloc host_shared () : memref<2x2xi32>
  %max = gpu.alloc host_shared () : memref<1xi32>
  linalg.fill ins(%zero : i32) outs(%o : memref<?xi32>)
  linalg.fill ins(%zero : i32) outs(%s : memref<?xi32>)
  linalg.fill ins(%zero : i32) outs(%p : memref<?xi32>)
  linalg.fill ins(%zero : i32) outs(%lengths : memref<2xi32>)
  linalg.fill ins(%zero : i32) outs(%table : memref<2x2xi32>)
  %f = arith.constant 0.0 : bf16
  linalg.fill ins(%f : bf16) outs(%x : memref<?x1x16xbf16>)
  %c = kvcache.get_paged_cache blocks(%b : memref<4x2x1x4x1x16xbf16>) lengths(%lengths : memref<2xi32>) table(%table : memref<2x2xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %layer = arith.constant 0 : index
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.append sources(%x : memref<?x1x16xbf16>)
      into(%k : !kvcache.cache<key, #kv>) ragged(%o : memref<?xi32>)
  kvcache.append sources(%x : memref<?x1x16xbf16>)
      into(%k : !kvcache.cache<key, #kv>) positions(%s, %p : memref<?xi32>, memref<?xi32>)
  return
}
