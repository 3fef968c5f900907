// RUN: kvcache-opt %s -control-flow-sink | FileCheck %s
// RUN: not kvcache-opt %s -kvcache-check-frozen-tables 2>&1 | FileCheck %s --check-prefix=ERROR

// Why a collection freezes its tables for good and not just while it is used:
// the lookup below moves behind a write that follows its last use of the table.
// The check reports the write.

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>

// CHECK-LABEL: func @sunk
func.func @sunk(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index, %v: i32, %cond: i1, %out: memref<1xindex>) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  // ERROR: error: 'memref.store' op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'
  // CHECK: memref.store
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  // CHECK-NEXT: scf.if
  scf.if %cond {
    // CHECK: kvcache.row_idx
    memref.store %r, %out[%i] : memref<1xindex>
  }
  return
}
