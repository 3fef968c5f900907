// RUN: kvcache-opt %s -kvcache-check-frozen-tables -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @same_block(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @cache_lengths(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'cache_lengths', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %lengths[%i] : memref<4xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @max_prompt_length(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'max_prompt_length', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %max[%i] : memref<1xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @copy(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.copy %other, %table : memref<4x8xi32> to memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @atomic(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  %a = memref.atomic_rmw addi %v, %table[%i, %i] : (i32, memref<4x8xi32>) -> i32
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @vector_store(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  vector.store %vec, %table[%i, %i] : memref<4x8xi32>, vector<4xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @transfer_write(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  vector.transfer_write %vec, %table[%i, %i] : vector<4xi32>, memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @linalg_fill(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  linalg.fill ins(%v : i32) outs(%table : memref<4x8xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @gpu_memcpy(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  gpu.memcpy %table, %other : memref<4x8xi32>, memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @gpu_memset(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  gpu.memset %table, %v : memref<4x8xi32>, i32
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @affine_store(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>, %vec: vector<4xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  affine.store %v, %table[0, 0] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @views(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %0 = memref.subview %table[1, 0] [2, 8] [1, 1] : memref<4x8xi32> to memref<2x8xi32, strided<[8, 1], offset: 8>>
  %1 = memref.cast %0 : memref<2x8xi32, strided<[8, 1], offset: 8>> to memref<?x?xi32, strided<[?, ?], offset: ?>>
  %2 = memref.reinterpret_cast %1 to offset: [0], sizes: [8], strides: [1] : memref<?x?xi32, strided<[?, ?], offset: ?>> to memref<8xi32>
  %3 = memref.expand_shape %2 [[0, 1]] output_shape [2, 4] : memref<8xi32> into memref<2x4xi32>
  %4 = memref.transpose %3 (i, j) -> (j, i) : memref<2x4xi32> to memref<4x2xi32, strided<[1, 4]>>
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %4[%i, %i] : memref<4x2xi32, strided<[1, 4]>>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @reshaped(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %shape: memref<1xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %0 = memref.reshape %table(%shape) : (memref<4x8xi32>, memref<1xi32>) -> memref<32xi32>
  %1 = memref.memory_space_cast %0 : memref<32xi32> to memref<32xi32, 1>
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %1[%i] : memref<32xi32, 1>
  memref.store %v, %shape[%i] : memref<1xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @table_is_a_view(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %all: memref<8x8xi32>) {
  %t = memref.subview %all[0, 0] [4, 8] [1, 1] : memref<8x8xi32> to memref<4x8xi32, strided<[8, 1]>>
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%t : memref<4x8xi32, strided<[8, 1]>>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %all[%i, %i] : memref<8x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @select(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %s = arith.select %cond, %other, %table : memref<4x8xi32>
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %s[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @yielded(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %s = scf.if %cond -> memref<4x8xi32> {
    scf.yield %other : memref<4x8xi32>
  } else {
    %f = scf.for %j = %i to %i step %i iter_args(%p = %table) -> memref<4x8xi32> {
      scf.yield %p : memref<4x8xi32>
    }
    scf.yield %f : memref<4x8xi32>
  }
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %s[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @block_argument(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %other: memref<4x8xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  cf.cond_br %cond, ^write(%table : memref<4x8xi32>), ^write(%other : memref<4x8xi32>)
^write(%s: memref<4x8xi32>):
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %s[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
memref.global @table : memref<4x8xi32>
func.func @global(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  %t = memref.get_global @table : memref<4x8xi32>
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%t : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %t2 = memref.get_global @table : memref<4x8xi32>
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %t2[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @later_block(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  cf.cond_br %cond, ^a, ^b
^a:
  cf.br ^b
^b:
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @cf_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  cf.br ^loop
^loop:
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  cf.cond_br %cond, ^loop, ^exit
^exit:
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @after_region(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.if %cond {
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  }
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %table[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @nested_write(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  scf.if %cond {
    scf.for %j = %i to %i step %i {
      // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
      memref.store %v, %table[%i, %i] : memref<4x8xi32>
    }
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @for_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.for %j = %i to %i step %i {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @parallel_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.parallel (%j) = (%i) to (%i) step (%i) {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
    scf.reduce
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @forall_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.forall (%j) in (%i) {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @affine_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  affine.for %j = 0 to 8 {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @affine_parallel(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  affine.parallel (%j) = (0) to (8) {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @while_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.while : () -> () {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    scf.condition(%cond)
  } do {
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
    scf.yield
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @outer_loop(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  scf.for %j = %i to %i step %i {
    scf.if %cond {
      // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
      memref.store %v, %table[%i, %i] : memref<4x8xi32>
    } else {
      // expected-note @+1 {{the collection is made here}}
      %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
    }
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @launch_writes(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %i, %gy = %i, %gz = %i) threads(%tx, %ty, %tz) in (%sx = %i, %sy = %i, %sz = %i) {
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%tx, %tx] : memref<4x8xi32>
    gpu.terminator
  }
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
gpu.module @kernels {
  gpu.func @in_kernel(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32) kernel {
    %i = gpu.thread_id x
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
    // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
    memref.store %v, %table[%i, %i] : memref<4x8xi32>
    gpu.return
  }
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @freed(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) -> index {
  %t = memref.alloc() : memref<4x8xi32>
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%t : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  %k = kvcache.get_key_cache %c[%i] : !collection
  %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  // expected-error @+1 {{op frees 'lookup_table' of a collection that is still used; free it after the last use}}
  memref.dealloc %t : memref<4x8xi32>
  // expected-note @+1 {{what is computed from it is used here}}
  return %r : index
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @alloc_yielded(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1) {
  %t = scf.if %cond -> memref<4x8xi32> {
    %a = memref.alloc() : memref<4x8xi32>
    // expected-note @+1 {{the collection is made here}}
    %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%a : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
    scf.yield %a : memref<4x8xi32>
  } else {
    scf.yield %table : memref<4x8xi32>
  }
  // expected-error @+1 {{op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %t[%i, %i] : memref<4x8xi32>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
func.func @own_scales_table(%blocks: memref<?x1x?x64x1x128xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %v: i32, %i: index, %cond: i1, %scales: memref<?x1x?x64x1x1xf32>, %scales_table: memref<4x8xi32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x64x1x128xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x1x?x64x1x1xf32>) scales_table(%scales_table : memref<4x8xi32>) : !kvcache.collection<#mla>
  // expected-error @+1 {{op writes 'scales_lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  memref.store %v, %scales_table[%i, %i] : memref<4x8xi32>
  return
}

// -----

// The output of a kernel is written as by a store.
#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 16>
!blocks = memref<?x2x?x16x1x64xbf16>
!collection = !kvcache.collection<#kv>
func.func @kernel(%blocks: !blocks, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scores: memref<4x?xf32>) {
  // expected-note @+1 {{the collection is made here}}
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !collection
  // expected-error @+1 {{'kvcache.topk' op writes 'lookup_table', which a collection has frozen; write it before 'kvcache.get_paged_cache'}}
  kvcache.topk scores(%scores : memref<4x?xf32>) live(%lengths : memref<4xi32>) into(%table : memref<4x8xi32>)
  return
}
