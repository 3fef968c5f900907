// RUN: kvcache-opt %s -kvcache-check-frozen-tables | FileCheck %s

// What must not be reported.

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>

memref.global @table : memref<4x8xi32>
memref.global @other : memref<4x8xi32>

func.func private @make(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) -> !collection {
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  return %c : !collection
}

// CHECK-LABEL: func @write_before
func.func @write_before(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index) -> !collection {
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  scf.for %j = %i to %i step %i {
    memref.store %v, %lengths[%j] : memref<4xi32>
  }
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  return %c : !collection
}

// CHECK-LABEL: func @write_to_pool
func.func @write_to_pool(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: bf16, %i: index) {
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %k = kvcache.get_key_cache %c[%i] : !collection
  kvcache.store %v, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<key, #kv>
  memref.store %v, %blocks[%i, %i, %i, %i, %i, %i] : !blocks
  %p = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x64xbf16, strided<[64, 1], offset: ?>>
  memref.store %v, %p[%i, %i] : memref<1x64xbf16, strided<[64, 1], offset: ?>>
  return
}

// CHECK-LABEL: func @write_to_other
func.func @write_to_other(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %other: memref<4x8xi32>, %v: i32, %i: index) {
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  memref.store %v, %other[%i, %i] : memref<4x8xi32>
  memref.copy %table, %other : memref<4x8xi32> to memref<4x8xi32>
  %alloc = memref.alloc() : memref<4xi32>
  memref.copy %lengths, %alloc : memref<4xi32> to memref<4xi32>
  %read = memref.load %table[%i, %i] : memref<4x8xi32>
  %g = memref.get_global @other : memref<4x8xi32>
  memref.store %read, %g[%i, %i] : memref<4x8xi32>
  return
}

// CHECK-LABEL: func @write_to_other_global
func.func @write_to_other_global(%blocks: !blocks, %lengths: memref<4xi32>, %max: memref<1xi32>, %v: i32, %i: index) -> !collection {
  %t = memref.get_global @table : memref<4x8xi32>
  %c = func.call @make(%blocks, %lengths, %t, %max) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>) -> !collection
  %g = memref.get_global @other : memref<4x8xi32>
  memref.store %v, %g[%i, %i] : memref<4x8xi32>
  return %c : !collection
}

// CHECK-LABEL: func @other_branch
func.func @other_branch(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.if %cond {
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  } else {
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
  }
  cf.cond_br %cond, ^made, ^written
^made:
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  return
^written:
  return
}

// A function freezes what it makes its collection of; another one may write.
// CHECK-LABEL: func @step
func.func @step(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %out: memref<4xindex>, %i: index) {
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %n = kvcache.cache_length %c[%i] : !collection
  memref.store %n, %out[%i] : memref<4xindex>
  return
}
func.func @advance(%lengths: memref<4xi32>, %v: i32, %i: index) {
  memref.store %v, %lengths[%i] : memref<4xi32>
  return
}
func.func @serve(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %out: memref<4xindex>, %v: i32, %i: index) {
  scf.for %j = %i to %i step %i {
    func.call @step(%blocks, %lengths, %table, %max, %out, %i) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>, memref<4xindex>, index) -> ()
    func.call @advance(%lengths, %v, %i) : (memref<4xi32>, i32, index) -> ()
  }
  return
}

// Memory allocated in a loop is new in each iteration, and may be freed after
// the last use.
// CHECK-LABEL: func @alloc_in_loop
func.func @alloc_in_loop(%blocks: !blocks, %lengths: memref<4xi32>, %max: memref<1xi32>, %out: memref<4xindex>, %v: i32, %i: index) {
  scf.for %j = %i to %i step %i {
    %t = memref.alloc() : memref<4x8xi32>
    memref.store %v, %t[%i, %i] : memref<4x8xi32>
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%t : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
    %k = kvcache.get_key_cache %c[%i] : !collection
    %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
    memref.store %r, %out[%i] : memref<4xindex>
    memref.dealloc %t : memref<4x8xi32>
  }
  return
}

// CHECK-LABEL: func @alloc_in_cf_loop
func.func @alloc_in_cf_loop(%blocks: !blocks, %lengths: memref<4xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  cf.br ^loop
^loop:
  %t = memref.alloc() : memref<4x8xi32>
  memref.store %v, %t[%i, %i] : memref<4x8xi32>
  cf.br ^body
^body:
  %c = func.call @make(%blocks, %lengths, %t, %max) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>) -> !collection
  memref.dealloc %t : memref<4x8xi32>
  cf.cond_br %cond, ^loop, ^exit
^exit:
  return
}

// Recursion ends, and what only reads is fine.
// CHECK-LABEL: func @recursive
func.func @recursive(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) -> i32 {
  %c = func.call @make(%blocks, %lengths, %table, %max) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>) -> !collection
  %v = func.call @recursive(%blocks, %lengths, %table, %max, %i) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>, index) -> i32
  %r = memref.load %lengths[%i] : memref<4xi32>
  return %r : i32
}

// A function without a body is taken to read only.
func.func private @printMemrefI32(memref<*xi32>)
// CHECK-LABEL: func @print
func.func @print(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) -> !collection {
  %c = func.call @make(%blocks, %lengths, %table, %max) : (!blocks, memref<4xi32>, memref<4x8xi32>, memref<1xi32>) -> !collection
  %u = memref.cast %table : memref<4x8xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return %c : !collection
}

// CHECK-LABEL: gpu.module @kernels
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @reads(%table: memref<4x8xi32>, %out: memref<4xi32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %table[%i, %i] : memref<4x8xi32>
    memref.store %v, %out[%i] : memref<4xi32>
    gpu.return
  }
}
func.func @launch(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %out: memref<4xi32>, %i: index) -> !collection {
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  gpu.launch_func @kernels::@reads blocks in (%i, %i, %i) threads in (%i, %i, %i) args(%table : memref<4x8xi32>, %out : memref<4xi32>)
  return %c : !collection
}
}

// Kernels that write pools which lie in one allocation with the tables.
// CHECK-LABEL: func @one_allocation
func.func @one_allocation(%arena: memref<1048576xi8>, %at: index, %n: index, %pages: memref<?xi32>, %rows: memref<?x1x64xbf16>, %max: memref<1xi32>) {
  %blocks = memref.view %arena[%at][%n, %n] : memref<1048576xi8> to !blocks
  %lengths = memref.view %arena[%n][] : memref<1048576xi8> to memref<4xi32>
  %table = memref.view %arena[%n][] : memref<1048576xi8> to memref<4x8xi32>
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %p = kvcache.get_page_pools blocks(%blocks : !blocks) : !collection
  kvcache.clear_pages %p pages(%pages : memref<?xi32>) : !collection
  %k = kvcache.get_key_cache %c[%n] : !collection
  kvcache.append sources(%rows : memref<?x1x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%pages : memref<?xi32>)
  return
}
