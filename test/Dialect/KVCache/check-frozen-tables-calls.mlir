// RUN: kvcache-opt %s -kvcache-check-frozen-tables -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @inner(%t: memref<?x?xi32>, %v: i32, %i: index) {
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %t[%i, %i] : memref<?x?xi32>
  return
}
func.func @outer(%i: index, %t: memref<4x8xi32>, %v: i32) {
  %u = memref.cast %t : memref<4x8xi32> to memref<?x?xi32>
  call @inner(%u, %v, %i) : (memref<?x?xi32>, i32, index) -> ()
  return
}
func.func @callee_writes(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-note @+1 {{reached through this call}}
  call @outer(%i, %table, %v) : (index, memref<4x8xi32>, i32) -> ()
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @recursive(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-note @+1 {{reached through this call}}
  call @even(%table, %v, %i, %cond) : (memref<4x8xi32>, i32, index, i1) -> ()
  return
}
func.func @even(%t: memref<4x8xi32>, %v: i32, %i: index, %cond: i1) {
  scf.if %cond {
    func.call @odd(%t, %v, %i, %cond) : (memref<4x8xi32>, i32, index, i1) -> ()
  }
  return
}
func.func @odd(%t: memref<4x8xi32>, %v: i32, %i: index, %cond: i1) {
  func.call @even(%t, %v, %i, %cond) : (memref<4x8xi32>, i32, index, i1) -> ()
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %t[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
memref.global @table : memref<4x8xi32>
func.func @writes(%v: i32, %i: index) {
  %t = memref.get_global @table : memref<4x8xi32>
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %t[%i, %i] : memref<4x8xi32>
  return
}
func.func @callee_writes_global(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  %t = memref.get_global @table : memref<4x8xi32>
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%t : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-note @+1 {{reached through this call}}
  call @writes(%v, %i) : (i32, index) -> ()
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @row(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) -> index {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %k = kvcache.get_key_cache %c[%i] : !collection
  %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  %s = scf.if %cond -> index {
    scf.yield %r : index
  } else {
    scf.yield %i : index
  }
  return %s : index
}
func.func @callee_makes(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) -> index {
  // expected-note @+1 {{what this call returns is computed from it}}
  %r = call @row(%blocks, %lengths, %table, %max, %v, %i, %cond) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>, i32, index, i1) -> index
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  return %r : index
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
module attributes {gpu.container_module} {
func.func @kernel_writes(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-note @+1 {{reached through this call}}
  gpu.launch_func @kernels::@writes blocks in (%i, %i, %i) threads in (%i, %i, %i) args(%v : i32, %table : memref<4x8xi32>)
  return
}
gpu.module @kernels {
  gpu.func @writes(%v: i32, %t: memref<4x8xi32>) kernel {
    %i = gpu.thread_id x
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %t[%i, %i] : memref<4x8xi32>
    gpu.return
  }
}
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @free(%t: memref<4x8xi32>) {
  // expected-error @+1 {{op frees 'lookup_table' of a collection that is still used; free it after the last use}}
  memref.dealloc %t : memref<4x8xi32>
  return
}
func.func @freed_in_callee(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %k = kvcache.get_key_cache %c[%i] : !collection
  // expected-note @+1 {{reached through this call}}
  call @free(%table) : (memref<4x8xi32>) -> ()
  // expected-note @+1 {{what is computed from it is used here}}
  %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  return
}
