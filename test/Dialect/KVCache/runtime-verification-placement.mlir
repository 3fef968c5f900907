// RUN: kvcache-opt %s -generate-runtime-verification=verbose-level=0 | FileCheck %s

// What is checked of a pool of bytes, of heads outside of tokens, and of an
// unquantised tail.

#padded = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 4, scales = <f32, granularity = 128>, placement = page_split, rope = <bf16, size = 64>, page_align = 576>
#odd = #kvcache.layout<i8, params = <num_heads = 1, head_size = 5>, page_size = 4, scales = <f32, granularity = 5>, placement = inline, kv_inner = true>
#hnd = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16, order = hnd>

// CHECK-LABEL: func @padded
func.func @padded(%blocks: memref<?x1x?x2624xi8, strided<[?, ?, ?, ?], offset: ?>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) -> !kvcache.collection<#padded> {
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 2 (L) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 3 (bytes) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected a page pitch (stride 0) of 'blocks' of at least a packed page
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page pitch (stride 0) of 'blocks' to be a multiple of 576 bytes
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'blocks' to be aligned to 16 bytes
  // CHECK-NOT: cf.assert
  // CHECK: kvcache.get_paged_cache
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x2624xi8, strided<[?, ?, ?, ?], offset: ?>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#padded>
  return %c : !kvcache.collection<#padded>
}

// Rows of 18 bytes, 72 a page: pages keep an alignment of 8.
// CHECK-LABEL: func @odd
func.func @odd(%blocks: memref<?x1x?x72xi8, strided<[?, ?, ?, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) -> !kvcache.collection<#odd> {
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page pitch (stride 0) of 'blocks' to be a multiple of 8 bytes
  // CHECK: kvcache.get_paged_cache
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x72xi8, strided<[?, ?, ?, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#odd>
  return %c : !kvcache.collection<#odd>
}

// CHECK-LABEL: func @heads_outside
func.func @heads_outside(%blocks: memref<?x2x3x2x16x64xbf16, strided<[?, ?, ?, ?, ?, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) -> !kvcache.collection<#hnd> {
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 3 (H) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 4 (P) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page pitch (stride 0) of 'blocks' to be a multiple of a row of 128 elements
  // CHECK: kvcache.get_paged_cache
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2x16x64xbf16, strided<[?, ?, ?, ?, ?, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#hnd>
  return %c : !kvcache.collection<#hnd>
}

// Scales lie in the value's block: one check of it, and of the whole head for a
// load.
// CHECK-LABEL: func @accesses
func.func @accesses(%blocks: memref<9x1x3x2624xi8, strided<[8064, 7872, 2624, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %b: index, %t: index, %h: index, %d: index, %code: f8E4M3FN, %x: vector<2xf32>, %s: f32) {
  %layer = arith.constant 0 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x1x3x2624xi8, strided<[8064, 7872, 2624, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#padded>
  // CHECK: kvcache.get_key_cache
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#padded>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of value blocks (NB)
  // CHECK-NOT: blocks (NB
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than head_size 576
  // CHECK-NEXT: kvcache.load %
  %0 = kvcache.load %k[%b, %t, %h, %d] : !kvcache.cache<key, #padded> -> f32
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of value blocks (NB)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than 512 (head_size less the rope size)
  // CHECK-NEXT: kvcache.load_scale
  %1 = kvcache.load_scale %k[%b, %t, %h, %d] : !kvcache.cache<key, #padded> -> f32
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than 512 (head_size less the rope size)
  // CHECK-NEXT: kvcache.store %
  kvcache.store %code, %k[%b, %t, %h, %d] : f8E4M3FN, !kvcache.cache<key, #padded>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than head_size 576
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be at least 512 (head_size less the rope size)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 2 elements from 'dim' on to lie in the head
  // CHECK-NEXT: kvcache.store %
  kvcache.store %x, %k[%b, %t, %h, %d] : vector<2xf32>, !kvcache.cache<key, #padded>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than 512 (head_size less the rope size)
  // CHECK-NEXT: kvcache.block_paged_ptr
  %2 = kvcache.block_paged_ptr %k[%b, %t, %h, %d] : !kvcache.cache<key, #padded> -> memref<1x1xf8E4M3FN, strided<[640, 1], offset: ?>>
  return
}
