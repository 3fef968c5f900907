// RUN: kvcache-opt %s -generate-runtime-verification=verbose-level=0 | FileCheck %s
// RUN: kvcache-opt %s -generate-runtime-verification -o /dev/null

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#f4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>

// Nothing is known: everything is checked.
// CHECK-LABEL: func @dynamic
func.func @dynamic(%blocks: memref<?x2x?x16x2x64xf8E4M3FN, strided<[?, ?, ?, ?, ?, ?], offset: ?>>, %lengths: memref<?xi32>, %table: memref<?x?xi32, strided<[?, 1], offset: ?>>, %max: memref<?xi32>, %scales: memref<?x2x?x16x2x2xf32>, %scales_table: memref<?x?xi32>, %layer: index) -> !kvcache.cache<key, #own> {
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected as many 'cache_lengths' as rows of 'lookup_table' (B)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 0 (B) of 'lookup_table' to be at least M
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the number of entries of 'lookup_table' to be less than 4294967296
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the number of positions, M * P, to be less than 4294967296
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'max_prompt_length' to have 1 entry
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'max_cache_length' to have 1 entry
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 1 (KD) of 'blocks' to be packed; only pages may be padded
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 2 (L) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 3 (P) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 4 (H) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected stride 5 (D) of 'blocks' to be packed
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected a page pitch (stride 0) of 'blocks' of at least a packed page
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page pitch (stride 0) of 'blocks' to be a multiple of a row of 128 elements
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'blocks' to be aligned to 16 bytes
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'scales' to be aligned to 16 bytes
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected as many layers (L) of 'scales' as of 'blocks'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected as many rows (B) of 'scales_lookup_table' as of 'lookup_table'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected as many columns (M) of 'scales_lookup_table' as of 'lookup_table'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the number of entries of 'scales_lookup_table' to be less than 4294967296
  // CHECK: kvcache.get_paged_cache
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN, strided<[?, ?, ?, ?, ?, ?], offset: ?>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32, strided<[?, 1], offset: ?>>) max_prompt(%max : memref<?xi32>) max_cache(%max : memref<?xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#own>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'layer' to be less than the number of layers (L)
  // CHECK: kvcache.get_key_cache
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#own>
  return %k : !kvcache.cache<key, #own>
}

// What types settle is not checked again: the pools' alignment is left.
// CHECK-LABEL: func @static
func.func @static(%blocks: memref<9x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<9x2x3x16x2x2xf32>) -> !kvcache.cache<value, #kv> {
  %layer = arith.constant 2 : index
  // CHECK-COUNT-2: cf.assert {{.*}}aligned to 16 bytes
  // CHECK-NOT: cf.assert
  // CHECK: kvcache.get_paged_cache
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<9x2x3x16x2x2xf32>) : !kvcache.collection<#kv>
  // CHECK-NOT: cf.assert
  // CHECK: kvcache.get_value_cache
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  return %v : !kvcache.cache<value, #kv>
}

// CHECK-LABEL: func @shared_table
func.func @shared_table(%blocks: memref<?x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<9x2x3x16x2x2xf32>) -> !kvcache.collection<#kv> {
  // CHECK: expected as many scales blocks (NBs) as value blocks (NB) where both share a table
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<9x2x3x16x2x2xf32>) : !kvcache.collection<#kv>
  return %c : !kvcache.collection<#kv>
}

// The collection is in sight: its tables and pools say what is inside.
// CHECK-LABEL: func @in_sight
// CHECK-SAME: %[[TABLE:.*]]: memref<4x8xi32>, %{{.*}}: memref<1xi32>
func.func @in_sight(%blocks: memref<9x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<9x2x3x16x2x2xf32>, %b: index, %t: index, %h: index, %d: index) {
  %layer = arith.constant 0 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<9x2x3x16x2x2xf32>) : !kvcache.collection<#kv>
  // CHECK: %[[K:.*]] = kvcache.get_key_cache
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  // CHECK: %[[C4:.*]] = arith.constant 4 : index
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %[[B:.*]], %[[C4]] : index
  // CHECK: cf.assert %[[IN]], "{{.*}}expected 'batch' to be less than the number of sequences (B)
  // CHECK-NEXT: kvcache.cache_length
  %0 = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'batch'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'token' to be less than 4294967296
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page of 'token' to be less than the number of table columns (M)
  // CHECK-NEXT: kvcache.row_idx
  %1 = kvcache.row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page of 'token'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'token' to be a multiple of 16
  // CHECK-NEXT: kvcache.populate
  %2 = kvcache.populate %k[%b, %t] : !kvcache.cache<key, #kv> -> vector<32xindex>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page of 'token'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 4 tokens from 'token' on to lie in one page
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'head' to be less than num_heads 2
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than head_size 64
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 8 elements from 'dim' on to lie in the head
  // CHECK-NEXT: kvcache.block_paged_ptr
  %3 = kvcache.block_paged_ptr %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> memref<4x8xf8E4M3FN, strided<[128, 1], offset: ?>>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page of 'token'
  // CHECK: kvcache.block_id
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of value blocks (NB)
  // CHECK: kvcache.block_id
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of scales blocks (NBs)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'head'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim'
  // CHECK-NEXT: kvcache.load %
  %4 = kvcache.load %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> f32
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of scales blocks (NBs)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 2 scales from 'dim' on to lie in the head
  // CHECK-NEXT: kvcache.load_scale
  %5 = kvcache.load_scale %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> vector<2xf32>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of scales blocks (NBs)
  // CHECK: kvcache.store_scale
  %s = arith.constant 1.0 : f32
  kvcache.store_scale %s, %k[%b, %t, %h, %d] : f32, !kvcache.cache<key, #kv>
  return
}

// Out of sight the cache or the collection itself is asked for its sizes;
// `skip` makes what is out of range no fault.
// CHECK-LABEL: func @out_of_sight
func.func @out_of_sight(%k: !kvcache.cache<key, #f4>, %c: !kvcache.collection<#f4>, %v: i8, %b: index, %t: index, %h: index, %d: index) {
  // CHECK: %[[LAYERS:.*]] = kvcache.num_layers %
  // CHECK: arith.cmpi ult, %{{.*}}, %[[LAYERS]]
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'layer' to be less than the number of layers (L)
  // CHECK-NEXT: kvcache.get_key_cache
  %k2 = kvcache.get_key_cache %c[%b] : !kvcache.collection<#f4>
  // CHECK: %[[SIZE:.*]] = kvcache.batch_size %
  // CHECK: arith.cmpi ult, %{{.*}}, %[[SIZE]]
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'batch' to be less than the number of sequences (B)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'token' to be less than 4294967296
  // CHECK: kvcache.table_columns
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the page of 'token' to be less than the number of table columns (M)
  // CHECK-NEXT: kvcache.row_idx
  %0 = kvcache.row_idx %k[%b, %t] : !kvcache.cache<key, #f4>
  // CHECK-NOT: cf.assert
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected an even 'dim'
  // CHECK-NEXT: kvcache.store skip
  kvcache.store skip %v, %k[%b, %t, %h, %d] : i8, !kvcache.cache<key, #f4>
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected an even 'dim'
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'batch' to be less than the number of sequences (B)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'token' to be less than 4294967296
  // CHECK: kvcache.num_blocks
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected the block to be less than the number of value blocks (NB)
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'head' to be less than num_heads 2
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 'dim' to be less than head_size 64
  // CHECK: cf.assert %{{.*}}, "{{.*}}expected 2 elements from 'dim' on to lie in the head
  // CHECK-NEXT: kvcache.store %
  kvcache.store %v, %k[%b, %t, %h, %d] : i8, !kvcache.cache<key, #f4>
  // CHECK-NOT: cf.assert
  // CHECK: kvcache.max_context_length
  %1 = kvcache.max_context_length %k : !kvcache.cache<key, #f4>
  return
}
