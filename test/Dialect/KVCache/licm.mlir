// RUN: kvcache-opt %s -loop-invariant-code-motion | FileCheck %s

// Lookups are hoisted out of a loop, which may run zero times, only where the
// table entry that they read is sure to exist.

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>

// CHECK-LABEL: func @bounded
func.func @bounded(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %layer: index, %n: index, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c112 = arith.constant 112 : index
  %c127 = arith.constant 127 : index
  // CHECK: kvcache.get_paged_cache
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  // CHECK: kvcache.cache_length
  // CHECK: kvcache.row_idx
  // CHECK: kvcache.block_row_idx
  // CHECK: kvcache.block_paged_ptr
  // CHECK: kvcache.populate
  // CHECK: kvcache.max_context_length
  // CHECK: kvcache.num_kv_rows
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 {
    %0 = kvcache.cache_length %k[%c3] : !kvcache.cache<key, #kv>
    %1 = kvcache.row_idx %k[%c3, %c127] : !kvcache.cache<key, #kv>
    %2:2 = kvcache.block_row_idx %k[%c3, %c127] : !kvcache.cache<key, #kv>
    %3 = kvcache.block_paged_ptr %k[%c3, %c127, %c0] : !kvcache.cache<key, #kv> -> memref<1x64xbf16, strided<[128, 1], offset: ?>>
    %4 = kvcache.populate %k[%c3, %c112] : !kvcache.cache<key, #kv> -> vector<16xindex>
    %5 = kvcache.max_context_length %k : !kvcache.cache<key, #kv>
    %6 = kvcache.num_kv_rows %k : !kvcache.cache<key, #kv>
    // CHECK-NEXT: memref.store
    memref.store %0, %out[%i] : memref<?xindex>
    memref.store %1, %out[%i] : memref<?xindex>
    memref.store %2#0, %out[%i] : memref<?xindex>
    %v = memref.load %3[%c0, %c0] : memref<1x64xbf16, strided<[128, 1], offset: ?>>
    %w = vector.extract %4[0] : index from vector<16xindex>
    memref.store %w, %out[%i] : memref<?xindex>
    memref.store %5, %out[%i] : memref<?xindex>
    memref.store %6, %out[%i] : memref<?xindex>
  }
  return
}

// The bound is proved from the loop around.
// CHECK-LABEL: func @loop_bounds
func.func @loop_bounds(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %layer: index, %n: index, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  scf.for %b = %c0 to %c4 step %c1 {
    scf.for %t = %c0 to %c128 step %c1 {
      // CHECK: kvcache.row_idx
      // CHECK-NEXT: scf.for
      scf.for %i = %c0 to %n step %c1 {
        %r = kvcache.row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
        memref.store %r, %out[%i] : memref<?xindex>
      }
    }
  }
  return
}

// Not proved: an unknown or a too large sequence or token, tables of unknown
// size, a collection out of sight.
// CHECK-LABEL: func @unproved
func.func @unproved(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %any: memref<?x?xi32>, %any_lengths: memref<?xi32>, %max: memref<1xi32>, %layer: index, %n: index, %b: index, %far: !kvcache.cache<key, #kv>, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c120 = arith.constant 120 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %u = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%any_lengths : memref<?xi32>) table(%any : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %uk = kvcache.get_key_cache %u[%layer] : !kvcache.collection<#kv>
  scf.for %b5 = %c0 to %c5 step %c1 {
    // CHECK: scf.for
    // CHECK: scf.for
    scf.for %i = %c0 to %n step %c1 {
      // CHECK-COUNT-7: kvcache.
      %0 = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
      %1 = kvcache.row_idx %k[%b5, %c0] : !kvcache.cache<key, #kv>
      %2 = kvcache.row_idx %k[%c0, %b] : !kvcache.cache<key, #kv>
      %3 = kvcache.populate %k[%c0, %b] : !kvcache.cache<key, #kv> -> vector<16xindex>
      %4 = kvcache.row_idx %uk[%c0, %c0] : !kvcache.cache<key, #kv>
      %5 = kvcache.cache_length %uk[%c0] : !kvcache.cache<key, #kv>
      %6 = kvcache.block_paged_ptr %far[%c0, %c0, %c0] : !kvcache.cache<key, #kv> -> memref<1x64xbf16, strided<[128, 1], offset: ?>>
      // CHECK: memref.store
      memref.store %0, %out[%i] : memref<?xindex>
      memref.store %1, %out[%i] : memref<?xindex>
      memref.store %2, %out[%i] : memref<?xindex>
      %w = vector.extract %3[0] : index from vector<16xindex>
      memref.store %w, %out[%i] : memref<?xindex>
      memref.store %4, %out[%i] : memref<?xindex>
      memref.store %5, %out[%i] : memref<?xindex>
      %v = memref.load %6[%c0, %c0] : memref<1x64xbf16, strided<[128, 1], offset: ?>>
    }
  }
  return
}

// A lookup that traps stays, bounds or not: the block is checked too. Accesses
// of pools stay.
// CHECK-LABEL: func @stays
func.func @stays(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %layer: index, %n: index, %v: bf16, %out: memref<?xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  // CHECK: scf.for
  // CHECK-NEXT: kvcache.row_idx trap
  // CHECK-NEXT: kvcache.store
  // CHECK-NEXT: kvcache.load
  scf.for %i = %c0 to %n step %c1 {
    %r = kvcache.row_idx trap %k[%c0, %c0] : !kvcache.cache<key, #kv>
    kvcache.store %v, %k[%c0, %c0, %c0, %c0] : bf16, !kvcache.cache<key, #kv>
    %x = kvcache.load %k[%c0, %c0, %c0, %c0] : !kvcache.cache<key, #kv> -> bf16
    memref.store %r, %out[%i] : memref<?xindex>
  }
  return
}
