// RUN: kvcache-opt %s --verify-roundtrip > %t.mlir
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | diff - %t.mlir
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | diff - %t.mlir
// RUN: FileCheck %s < %t.mlir

// Shapes and strides of pools and tables that are accepted.

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#short = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 40>, page_size = 3, scales = <f32, granularity = 12>>
#above = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 128>>
#mla = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 1>

// All sizes static.
// CHECK-LABEL: func @static
func.func @static(%blocks: memref<9x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<9x2x3x16x2x2xf32>) {
  // CHECK: memref<9x2x3x16x2x64xf8E4M3FN>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<9x2x3x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// With a table of their own there may be other numbers of blocks.
// CHECK-LABEL: func @own_table
func.func @own_table(%blocks: memref<9x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<7x2x3x16x2x2xf32>, %scales_table: memref<4x8xi32, strided<[10, 1], offset: 2>>) {
  // CHECK: scales_table(%{{.*}} : memref<4x8xi32, strided<[10, 1], offset: 2>>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<7x2x3x16x2x2xf32>) scales_table(%scales_table : memref<4x8xi32, strided<[10, 1], offset: 2>>) : !kvcache.collection<#own>
  return
}

// Padded pages: the pitch is whole rows; or everything is known at run time.
// CHECK-LABEL: func @padded
func.func @padded(%blocks: memref<?x2x3x16x2x64xf8E4M3FN, strided<[12416, 6144, 2048, 128, 64, 1], offset: ?>>, %lengths: memref<4xi32>, %table: memref<4x?xi32, strided<[?, 1]>>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32, strided<[?, ?, ?, ?, ?, ?], offset: ?>>) {
  // CHECK: strided<[12416, 6144, 2048, 128, 64, 1], offset: ?>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xf8E4M3FN, strided<[12416, 6144, 2048, 128, 64, 1], offset: ?>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x?xi32, strided<[?, 1]>>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32, strided<[?, ?, ?, ?, ?, ?], offset: ?>>) : !kvcache.collection<#kv>
  return
}

// One layer of a pool of more; nothing steps along a dimension of one.
// CHECK-LABEL: func @one_layer
func.func @one_layer(%pool: memref<?x1x61x1x1x576xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<?xi32>) {
  %blocks = memref.subview %pool[0, 0, 7, 0, 0, 0] [4, 1, 1, 1, 1, 576] [1, 1, 1, 1, 1, 1] : memref<?x1x61x1x1x576xbf16> to memref<4x1x1x1x1x576xbf16, strided<[35136, 35136, 576, 576, 576, 1], offset: 4032>>
  // CHECK: strided<[35136, 35136, 576, 576, 576, 1], offset: 4032>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<4x1x1x1x1x576xbf16, strided<[35136, 35136, 576, 576, 576, 1], offset: 4032>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<?xi32>) max_cache(%max : memref<?xi32>) : !kvcache.collection<#mla>
  return
}

// A granularity that does not divide the head (40 / 12: 4 scales), and one
// above it (1 scale).
// CHECK-LABEL: func @granularities
func.func @granularities(%blocks: memref<?x2x?x3x2x40xf8E4M3FN>, %wide: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %short: memref<?x2x?x3x2x4xf32>, %above: memref<?x2x?x16x2x1xf32>, %i: index) {
  // CHECK: scales(%{{.*}} : memref<?x2x?x3x2x4xf32>)
  %0 = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x3x2x40xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%short : memref<?x2x?x3x2x4xf32>) : !kvcache.collection<#short>
  %k = kvcache.get_key_cache %0[%i] : !kvcache.collection<#short>
  %d = arith.constant 36 : index
  %v = kvcache.load_scale %k[%i, %i, %i, %d] : !kvcache.cache<key, #short> -> f32
  // CHECK: scales(%{{.*}} : memref<?x2x?x16x2x1xf32>)
  %1 = kvcache.get_paged_cache blocks(%wide : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%above : memref<?x2x?x16x2x1xf32>) : !kvcache.collection<#above>
  return
}

// Empty pools and batches.
// CHECK-LABEL: func @empty
func.func @empty(%blocks: memref<0x2x0x16x2x64xf8E4M3FN>, %lengths: memref<0xi32>, %table: memref<0x0xi32>, %max: memref<1xi32>, %scales: memref<0x2x0x16x2x2xf32>) {
  // CHECK: memref<0x2x0x16x2x64xf8E4M3FN>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<0x2x0x16x2x64xf8E4M3FN>) lengths(%lengths : memref<0xi32>) table(%table : memref<0x0xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<0x2x0x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// One pool of bytes for everything: inline, with keys and values side by side,
// with pages that are padded, and with pages that are aligned to less.
#inline = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
#inner = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, kv_inner = true>
#padded = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 4, scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>
#odd = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, page_align = 1>
// CHECK-LABEL: func @bytes
func.func @bytes(%inline: memref<?x2x?x2304xi8>, %inner: memref<7x1x3x4608xi8>, %padded: memref<?x1x1x2336xi8, strided<[2880, 2336, 2336, 1]>>, %odd: memref<?x2x3x2304xi8, strided<[13825, 6912, 2304, 1]>>, %dynamic: memref<?x2x?x2304xi8, strided<[?, ?, ?, ?], offset: ?>>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>) {
  // CHECK: blocks(%{{.*}} : memref<?x2x?x2304xi8>)
  %0 = kvcache.get_paged_cache blocks(%inline : memref<?x2x?x2304xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#inline>
  %1 = kvcache.get_paged_cache blocks(%inner : memref<7x1x3x4608xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#inner>
  %2 = kvcache.get_paged_cache blocks(%padded : memref<?x1x1x2336xi8, strided<[2880, 2336, 2336, 1]>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#padded>
  %3 = kvcache.get_paged_cache blocks(%odd : memref<?x2x3x2304xi8, strided<[13825, 6912, 2304, 1]>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#odd>
  %4 = kvcache.get_paged_cache blocks(%dynamic : memref<?x2x?x2304xi8, strided<[?, ?, ?, ?], offset: ?>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#inline>
  return
}

// Heads outside of tokens.
#hnd = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16, table = own>, order = hnd, swizzle = kv>
// CHECK-LABEL: func @heads_outside
func.func @heads_outside(%blocks: memref<?x2x?x2x16x32xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x2x16x4xf8E4M3FN>) {
  // CHECK: scales(%{{.*}} : memref<?x2x?x2x16x4xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2x16x32xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x2x16x4xf8E4M3FN>) scales_table(%table : memref<?x?xi32>) : !kvcache.collection<#hnd>
  return
}
