// RUN: kvcache-opt %s --verify-roundtrip > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | diff - %t.mlir
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | diff - %t.mlir

// Every operation in every form. ops-dtypes-*.mlir have the element types,
// pools.mlir the shapes and strides.

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#mha = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16>>
#mha_own = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>

// CHECK-DAG: #[[MLA:kv.*]] = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
// CHECK-DAG: #[[GQA:kv.*]] = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK-DAG: #[[MHA:kv.*]] = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16>>
// CHECK-DAG: #[[OWN:kv.*]] = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>

// CHECK-LABEL: func @get_paged_cache
func.func @get_paged_cache(%mla: memref<?x1x?x64x1x128xf8E4M3FN>, %gqa: memref<?x2x?x16x8x128xbf16>, %mha: memref<?x2x?x16x2x64xi8>,
                           %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>,
                           %mla_scales: memref<?x1x?x64x1x1xf32>, %mha_scales: memref<?x2x?x16x2x4xf16>, %scales_table: memref<?x?xi32>) {
  // With scales and a table of their own.
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x1x?x64x1x128xf8E4M3FN>) lengths(%{{.*}} : memref<?xi32>) table(%{{.*}} : memref<?x?xi32>) max_prompt(%{{.*}} : memref<1xi32>) max_cache(%{{.*}} : memref<1xi32>) scales(%{{.*}} : memref<?x1x?x64x1x1xf32>) scales_table(%{{.*}} : memref<?x?xi32>) : !kvcache.collection<#[[MLA]]>
  %0 = kvcache.get_paged_cache blocks(%mla : memref<?x1x?x64x1x128xf8E4M3FN>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      scales(%mla_scales : memref<?x1x?x64x1x1xf32>) scales_table(%scales_table : memref<?x?xi32>)
      : !kvcache.collection<#mla>
  // With scales that share the table.
  // CHECK: max_cache(%{{.*}} : memref<1xi32>) scales(%{{.*}} : memref<?x2x?x16x2x4xf16>) : !kvcache.collection<#[[MHA]]>
  %1 = kvcache.get_paged_cache blocks(%mha : memref<?x2x?x16x2x64xi8>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      scales(%mha_scales : memref<?x2x?x16x2x4xf16>) : !kvcache.collection<#mha>
  // Without scales; attributes are kept.
  // CHECK: max_cache(%{{.*}} : memref<1xi32>) {note = "kept"} : !kvcache.collection<#[[GQA]]>
  %2 = kvcache.get_paged_cache blocks(%gqa : memref<?x2x?x16x8x128xbf16>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) {note = "kept"}
      : !kvcache.collection<#gqa>
  return
}

// CHECK-LABEL: func @caches
// CHECK-SAME: %[[C:.*]]: !kvcache.collection<#[[MHA]]>, %[[L:.*]]: index
func.func @caches(%c: !kvcache.collection<#mha>, %layer: index) {
  // CHECK: %[[K:.*]] = kvcache.get_key_cache %[[C]][%[[L]]] : !kvcache.collection<#[[MHA]]>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#mha>
  // CHECK: %[[V:.*]] = kvcache.get_value_cache %[[C]][%[[L]]] : !kvcache.collection<#[[MHA]]>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#mha>
  // CHECK: %[[KO:.*]] = kvcache.mha_operand %[[K]] : !kvcache.cache<key, #[[MHA]]>
  %ko = kvcache.mha_operand %k : !kvcache.cache<key, #mha>
  // CHECK: %[[VS:.*]] = kvcache.scales_mha_operand %[[V]] : !kvcache.cache<value, #[[MHA]]>
  %vs = kvcache.scales_mha_operand %v : !kvcache.cache<value, #mha>
  // CHECK: kvcache.cast %[[C]] : !kvcache.collection<#[[MHA]]> to !kvcache.collection<#[[OWN]]>
  %c1 = kvcache.cast %c : !kvcache.collection<#mha> to !kvcache.collection<#mha_own>
  // CHECK: kvcache.cast %[[K]] : !kvcache.cache<key, #[[MHA]]> to !kvcache.cache<key, #[[OWN]]>
  %c2 = kvcache.cast %k : !kvcache.cache<key, #mha> to !kvcache.cache<key, #mha_own>
  // CHECK: kvcache.cast %[[KO]] : !kvcache.mha_operand<key, #[[MHA]]> to !kvcache.mha_operand<key, #[[OWN]]>
  %c3 = kvcache.cast %ko : !kvcache.mha_operand<key, #mha> to !kvcache.mha_operand<key, #mha_own>
  // CHECK: kvcache.cast %[[VS]] : !kvcache.scales_mha_operand<value, #[[MHA]]> to !kvcache.scales_mha_operand<value, #[[OWN]]>
  %c4 = kvcache.cast %vs : !kvcache.scales_mha_operand<value, #mha> to !kvcache.scales_mha_operand<value, #mha_own>
  return
}

// CHECK-LABEL: func @lengths
func.func @lengths(%c: !kvcache.collection<#gqa>, %k: !kvcache.cache<value, #gqa>, %o: !kvcache.mha_operand<key, #gqa>, %s: !kvcache.scales_mha_operand<key, #mla>, %b: index) {
  // CHECK: kvcache.cache_length %{{.*}}[%{{.*}}] : !kvcache.collection<#[[GQA]]>
  %0 = kvcache.cache_length %c[%b] : !kvcache.collection<#gqa>
  // An `assume` is not printed.
  // CHECK: kvcache.cache_length %{{.*}}[%{{.*}}] : !kvcache.cache<value, #[[GQA]]>
  %1 = kvcache.cache_length assume %k[%b] : !kvcache.cache<value, #gqa>
  // CHECK: kvcache.cache_length trap %{{.*}}[%{{.*}}] : !kvcache.mha_operand<key, #[[GQA]]>
  %2 = kvcache.cache_length trap %o[%b] : !kvcache.mha_operand<key, #gqa>
  // CHECK: kvcache.cache_length %{{.*}}[%{{.*}}] : !kvcache.scales_mha_operand<key, #[[MLA]]>
  %3 = kvcache.cache_length %s[%b] : !kvcache.scales_mha_operand<key, #mla>
  // CHECK: kvcache.max_prompt_length %{{.*}} : !kvcache.collection<#[[GQA]]>
  %4 = kvcache.max_prompt_length %c : !kvcache.collection<#gqa>
  // CHECK: kvcache.max_context_length %{{.*}} : !kvcache.scales_mha_operand<key, #[[MLA]]>
  %5 = kvcache.max_context_length %s : !kvcache.scales_mha_operand<key, #mla>
  // CHECK: kvcache.empty_cache %{{.*}} : !kvcache.cache<value, #[[GQA]]>
  %6 = kvcache.empty_cache %k : !kvcache.cache<value, #gqa>
  return
}

// CHECK-LABEL: func @rows
func.func @rows(%k: !kvcache.cache<key, #gqa>, %o: !kvcache.mha_operand<key, #gqa>, %s: !kvcache.scales_mha_operand<key, #mla>, %b: index, %t: index) {
  // CHECK: kvcache.num_kv_rows %{{.*}} : !kvcache.cache<key, #[[GQA]]>
  %0 = kvcache.num_kv_rows %k : !kvcache.cache<key, #gqa>
  // CHECK: kvcache.num_kv_rows %{{.*}} : !kvcache.scales_mha_operand<key, #[[MLA]]>
  %1 = kvcache.num_kv_rows %s : !kvcache.scales_mha_operand<key, #mla>
  // CHECK: kvcache.row_idx %{{.*}}[%{{.*}}, %{{.*}}] : !kvcache.cache<key, #[[GQA]]>
  %2 = kvcache.row_idx %k[%b, %t] : !kvcache.cache<key, #gqa>
  // CHECK: kvcache.row_idx trap %{{.*}}[%{{.*}}, %{{.*}}] : !kvcache.scales_mha_operand<key, #[[MLA]]>
  %3 = kvcache.row_idx trap %s[%b, %t] : !kvcache.scales_mha_operand<key, #mla>
  // CHECK: %{{.*}}, %{{.*}} = kvcache.block_row_idx %{{.*}}[%{{.*}}, %{{.*}}] : !kvcache.mha_operand<key, #[[GQA]]>
  %4, %5 = kvcache.block_row_idx %o[%b, %t] : !kvcache.mha_operand<key, #gqa>
  // CHECK: kvcache.block_row_idx trap
  %6:2 = kvcache.block_row_idx trap %s[%b, %t] : !kvcache.scales_mha_operand<key, #mla>
  // CHECK: kvcache.populate %{{.*}}[%{{.*}}, %{{.*}}] : !kvcache.mha_operand<key, #[[GQA]]> -> vector<128xindex>
  %7 = kvcache.populate %o[%b, %t] : !kvcache.mha_operand<key, #gqa> -> vector<128xindex>
  // CHECK: kvcache.populate trap %{{.*}}[%{{.*}}, %{{.*}}] {alignment = 16 : i64} : !kvcache.scales_mha_operand<key, #[[MLA]]> -> vector<8xindex>
  %8 = kvcache.populate trap %s[%b, %t] {alignment = 16 : i64} : !kvcache.scales_mha_operand<key, #mla> -> vector<8xindex>
  return
}

// CHECK-LABEL: func @pointers
func.func @pointers(%k: !kvcache.cache<key, #mla>, %o: !kvcache.mha_operand<key, #mla>, %s: !kvcache.scales_mha_operand<key, #mla>, %b: index, %t: index, %h: index, %d: index) {
  // CHECK: kvcache.block_paged_ptr %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : !kvcache.scales_mha_operand<key, #[[MLA]]> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  %0 = kvcache.block_paged_ptr %s[%b, %t, %h, %d] : !kvcache.scales_mha_operand<key, #mla> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  // CHECK: kvcache.block_paged_ptr trap %{{.*}}[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}] : !kvcache.mha_operand<key, #[[MLA]]> -> memref<64x128xf8E4M3FN, strided<[128, 1], offset: ?>>
  %1 = kvcache.block_paged_ptr trap %o[%b, %t, %h] : !kvcache.mha_operand<key, #mla> -> memref<64x128xf8E4M3FN, strided<[128, 1], offset: ?>>
  // CHECK: kvcache.scales_block_paged_ptr %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : !kvcache.cache<key, #[[MLA]]> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  %2 = kvcache.scales_block_paged_ptr %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  // CHECK: kvcache.scales_block_paged_ptr trap %{{.*}}[%{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}}] : !kvcache.mha_operand<key, #[[MLA]]> -> memref<64x1xf32, strided<[1, 1], offset: ?>>
  %3 = kvcache.scales_block_paged_ptr trap %o[%b, %t, %h] : !kvcache.mha_operand<key, #mla> -> memref<64x1xf32, strided<[1, 1], offset: ?>>
  // CHECK: kvcache.scales_raw_ptr %{{.*}} : !kvcache.mha_operand<key, #[[MLA]]>
  %4 = kvcache.scales_raw_ptr %o : !kvcache.mha_operand<key, #mla>
  // CHECK: kvcache.scales_raw_ptr %{{.*}} : !kvcache.scales_mha_operand<key, #[[MLA]]>
  %5 = kvcache.scales_raw_ptr %s : !kvcache.scales_mha_operand<key, #mla>
  return
}

// CHECK-LABEL: func @loads
func.func @loads(%k: !kvcache.cache<key, #mla>, %o: !kvcache.mha_operand<key, #mla>, %plain: !kvcache.cache<value, #gqa>, %b: index, %t: index, %h: index, %d: index) {
  // CHECK: kvcache.load %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : !kvcache.cache<key, #[[MLA]]> -> f32
  %0 = kvcache.load %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> f32
  // CHECK: kvcache.load skip %{{.*}} {alignment = 16 : i64} : !kvcache.mha_operand<key, #[[MLA]]> -> vector<8xbf16>
  %1 = kvcache.load skip %o[%b, %t, %h, %d] {alignment = 16 : i64} : !kvcache.mha_operand<key, #mla> -> vector<8xbf16>
  // CHECK: kvcache.load trap %{{.*}} : !kvcache.cache<value, #[[GQA]]> -> vector<8xf16>
  %2 = kvcache.load trap %plain[%b, %t, %h, %d] : !kvcache.cache<value, #gqa> -> vector<8xf16>
  // CHECK: kvcache.load_quantized skip %{{.*}} : !kvcache.cache<key, #[[MLA]]> -> vector<16xf8E4M3FN>
  %3 = kvcache.load_quantized skip %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.load_quantized trap %{{.*}} {alignment = 2 : i64} : !kvcache.cache<value, #[[GQA]]> -> bf16
  %4 = kvcache.load_quantized trap %plain[%b, %t, %h, %d] {alignment = 2 : i64} : !kvcache.cache<value, #gqa> -> bf16
  // CHECK: kvcache.load_scale trap %{{.*}} : !kvcache.cache<key, #[[MLA]]> -> f32
  %5 = kvcache.load_scale trap %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> f32
  // CHECK: kvcache.load_scale skip %{{.*}} : !kvcache.mha_operand<key, #[[MLA]]> -> vector<1xf32>
  %6 = kvcache.load_scale skip %o[%b, %t, %h, %d] : !kvcache.mha_operand<key, #mla> -> vector<1xf32>
  return
}

// CHECK-LABEL: func @stores
func.func @stores(%k: !kvcache.cache<key, #mla>, %o: !kvcache.mha_operand<key, #mla>, %plain: !kvcache.cache<value, #gqa>,
                  %code: f8E4M3FN, %codes: vector<16xf8E4M3FN>, %wide: vector<8xf32>, %scale: f32, %scales: vector<1xf32>, %b: index, %t: index, %h: index, %d: index) {
  // CHECK: kvcache.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : f8E4M3FN, !kvcache.cache<key, #[[MLA]]>
  kvcache.store %code, %k[%b, %t, %h, %d] : f8E4M3FN, !kvcache.cache<key, #mla>
  // CHECK: kvcache.store skip %{{.*}} {alignment = 16 : i64} : vector<16xf8E4M3FN>, !kvcache.mha_operand<key, #[[MLA]]>
  kvcache.store skip %codes, %o[%b, %t, %h, %d] {alignment = 16 : i64} : vector<16xf8E4M3FN>, !kvcache.mha_operand<key, #mla>
  // CHECK: kvcache.store trap %{{.*}} : vector<8xf32>, !kvcache.cache<value, #[[GQA]]>
  kvcache.store trap %wide, %plain[%b, %t, %h, %d] : vector<8xf32>, !kvcache.cache<value, #gqa>
  // CHECK: kvcache.store_scale %{{.*}} : f32, !kvcache.cache<key, #[[MLA]]>
  kvcache.store_scale %scale, %k[%b, %t, %h, %d] : f32, !kvcache.cache<key, #mla>
  // CHECK: kvcache.store_scale skip %{{.*}} : vector<1xf32>, !kvcache.mha_operand<key, #[[MLA]]>
  kvcache.store_scale skip %scales, %o[%b, %t, %h, %d] : vector<1xf32>, !kvcache.mha_operand<key, #mla>
  // CHECK: kvcache.store_scale trap %{{.*}} {alignment = 4 : i64} : f32, !kvcache.cache<key, #[[MLA]]>
  kvcache.store_scale trap %scale, %k[%b, %t, %h, %d] {alignment = 4 : i64} : f32, !kvcache.cache<key, #mla>
  return
}

// CHECK-LABEL: func @tensor_maps
func.func @tensor_maps(%k: !kvcache.cache<key, #gqa>, %o: !kvcache.mha_operand<value, #gqa>) {
  // CHECK: kvcache.create_tma_tile %{{.*}} tile(64, 128, 64) : !kvcache.cache<key, #[[GQA]]>
  %0 = kvcache.create_tma_tile %k tile(64, 128, 64) : !kvcache.cache<key, #gqa>
  // CHECK: kvcache.create_tma_tile %{{.*}} tile(64, 128, 16) swizzle(swizzle_32b) : !kvcache.mha_operand<value, #[[GQA]]>
  %1 = kvcache.create_tma_tile %o tile(64, 128, 16) swizzle(swizzle_32b) : !kvcache.mha_operand<value, #gqa>
  // CHECK: kvcache.create_ragged_tma_tile %{{.*}} tile(256, 64, 32) swizzle(swizzle_64b) : !kvcache.mha_operand<value, #[[GQA]]>
  %2 = kvcache.create_ragged_tma_tile %o tile(256, 64, 32) swizzle(swizzle_64b) : !kvcache.mha_operand<value, #gqa>
  // CHECK: kvcache.create_ragged_tma_tile %{{.*}} tile(1, 128, 128) swizzle(swizzle_128b) : !kvcache.mha_operand<value, #[[GQA]]>
  %3 = kvcache.create_ragged_tma_tile %o tile(1, 128, 128) swizzle(swizzle_128b) : !kvcache.mha_operand<value, #gqa>
  // CHECK: kvcache.create_ragged_tma_tile %{{.*}} tile(1, 128, 128) : !kvcache.mha_operand<value, #[[GQA]]>
  %4 = kvcache.create_ragged_tma_tile %o tile(1, 128, 128) swizzle(none) : !kvcache.mha_operand<value, #gqa>
  return
}

// CHECK-LABEL: func @addresses
func.func @addresses(%table: memref<i32>, %i: i32, %base: memref<bf16>, %offset: index) {
  // CHECK: kvcache.table_read %{{.*}}[%{{.*}}] : memref<i32> -> i32
  %0 = kvcache.table_read %table[%i] : memref<i32> -> i32
  // CHECK: kvcache.table_read %{{.*}}[%{{.*}}] {alignment = 16 : i64} : memref<i32> -> vector<4xi32>
  %1 = kvcache.table_read %table[%i] {alignment = 16 : i64} : memref<i32> -> vector<4xi32>
  // CHECK: kvcache.byte_view %{{.*}}[%{{.*}}] : memref<bf16> to memref<4x64xbf16>
  %2 = kvcache.byte_view %base[%offset] : memref<bf16> to memref<4x64xbf16>
  // CHECK: kvcache.byte_view %{{.*}}[%{{.*}}] : memref<bf16> to memref<bf16>
  %3 = kvcache.byte_view %base[%offset] : memref<bf16> to memref<bf16>
  return
}

// CHECK-LABEL: func @pages
func.func @pages(%blocks: memref<?x2x?x16x2x64xi8>, %scales: memref<?x2x?x16x2x4xf16>, %gqa: memref<?x2x?x16x8x128xbf16>,
                 %s: !kvcache.scales_mha_operand<key, #mha>, %o: !kvcache.mha_operand<key, #mha>, %k: !kvcache.cache<value, #gqa>,
                 %b: index, %page: index, %block: i32, %slot: index, %h: index, %d: index) {
  // CHECK: kvcache.get_page_pools blocks(%{{.*}} : memref<?x2x?x16x2x64xi8>) scales(%{{.*}} : memref<?x2x?x16x2x4xf16>) : !kvcache.collection<#[[MHA]]>
  %0 = kvcache.get_page_pools blocks(%blocks : memref<?x2x?x16x2x64xi8>) scales(%scales : memref<?x2x?x16x2x4xf16>) : !kvcache.collection<#mha>
  // CHECK: kvcache.get_page_pools blocks(%{{.*}} : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#[[GQA]]>
  %1 = kvcache.get_page_pools blocks(%gqa : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#gqa>
  // CHECK: kvcache.num_blocks %{{.*}} : !kvcache.scales_mha_operand<key, #[[MHA]]>
  %2 = kvcache.num_blocks %s : !kvcache.scales_mha_operand<key, #mha>
  // CHECK: kvcache.batch_size %{{.*}} : !kvcache.collection<#[[MHA]]>
  %3 = kvcache.batch_size %0 : !kvcache.collection<#mha>
  // CHECK: kvcache.table_columns %{{.*}} : !kvcache.mha_operand<key, #[[MHA]]>
  %12 = kvcache.table_columns %o : !kvcache.mha_operand<key, #mha>
  // CHECK: kvcache.block_id %{{.*}}[%{{.*}}, %{{.*}}] : !kvcache.mha_operand<key, #[[MHA]]>
  %4 = kvcache.block_id %o[%b, %page] : !kvcache.mha_operand<key, #mha>
  // CHECK: kvcache.block_id skip %{{.*}}[%{{.*}}, %{{.*}}] : !kvcache.scales_mha_operand<key, #[[MHA]]>
  %5 = kvcache.block_id skip %s[%b, %page] : !kvcache.scales_mha_operand<key, #mha>
  // CHECK: kvcache.block_id trap
  %6 = kvcache.block_id trap %k[%b, %page] : !kvcache.cache<value, #gqa>
  // CHECK: kvcache.load_in_page %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : !kvcache.mha_operand<key, #[[MHA]]> -> i8
  %7 = kvcache.load_in_page %o[%block, %slot, %h, %d] : !kvcache.mha_operand<key, #mha> -> i8
  // CHECK: kvcache.load_in_page %{{.*}} {alignment = 16 : i64} : !kvcache.cache<value, #[[GQA]]> -> vector<8xbf16>
  %8 = kvcache.load_in_page %k[%block, %slot, %h, %d] {alignment = 16 : i64} : !kvcache.cache<value, #gqa> -> vector<8xbf16>
  // CHECK: kvcache.store_in_page %{{.*}}, %{{.*}}[%{{.*}}] {alignment = 16 : i64} : vector<8xbf16>, !kvcache.cache<value, #[[GQA]]>
  kvcache.store_in_page %8, %k[%block, %slot, %h, %d] {alignment = 16 : i64} : vector<8xbf16>, !kvcache.cache<value, #gqa>
  // CHECK: kvcache.load_in_page %{{.*}} -> f16
  %9 = kvcache.load_in_page %s[%block, %slot, %h, %d] : !kvcache.scales_mha_operand<key, #mha> -> f16
  // CHECK: kvcache.store_in_page %{{.*}} : f16, !kvcache.scales_mha_operand<key, #[[MHA]]>
  kvcache.store_in_page %9, %s[%block, %slot, %h, %d] : f16, !kvcache.scales_mha_operand<key, #mha>
  return
}

// CHECK-LABEL: func @append
func.func @append(%k: !kvcache.cache<key, #gqa>, %v: !kvcache.cache<value, #gqa>, %m: !kvcache.cache<key, #mha_own>,
                  %x: memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>, %p: memref<?x?x8x128xf32>, %c: memref<?x2x64xi8>,
                  %cs: memref<?x2x4xf16>, %list: memref<?xi32>, %slots: memref<?xi64>) {
  // CHECK: kvcache.append sources(%{{.*}} : memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>) into(%{{.*}} : !kvcache.cache<key, #[[GQA]]>) ragged(%{{.*}} : memref<?xi32>)
  kvcache.append sources(%x : memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>)
      into(%k : !kvcache.cache<key, #gqa>) ragged(%list : memref<?xi32>)
  // CHECK: kvcache.append skip sources(%{{.*}}, %{{.*}} : memref<?x?x8x128xf32>, memref<?x?x8x128xf32>) into(%{{.*}}, %{{.*}} : !kvcache.cache<key, #[[GQA]]>, !kvcache.cache<value, #[[GQA]]>) padded(%{{.*}} : memref<?xi32>)
  kvcache.append skip sources(%p, %p : memref<?x?x8x128xf32>, memref<?x?x8x128xf32>)
      into(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>) padded(%list : memref<?xi32>)
  // CHECK: kvcache.append trap sources(%{{.*}}) into(%{{.*}}) positions(%{{.*}}, %{{.*}} : memref<?xi32>, memref<?xi32>) scales(%{{.*}} : memref<?x2x4xf16>) tuning(<threads = 256>)
  kvcache.append trap sources(%c : memref<?x2x64xi8>) into(%m : !kvcache.cache<key, #mha_own>)
      positions(%list, %list : memref<?xi32>, memref<?xi32>) scales(%cs : memref<?x2x4xf16>) tuning(<threads = 256>)
  // CHECK: kvcache.append sources(%{{.*}}) into(%{{.*}}) slots(%{{.*}}, %{{.*}} : memref<?xi64>, memref<?xi32>) scales(%{{.*}} : memref<?x2x4xf16>)
  kvcache.append sources(%c : memref<?x2x64xi8>) into(%m : !kvcache.cache<key, #mha_own>)
      slots(%slots, %list : memref<?xi64>, memref<?xi32>) scales(%cs : memref<?x2x4xf16>)
  // CHECK: kvcache.append sources(%{{.*}}) slots(%{{.*}} : memref<?xi64>) workspace(%{{.*}} : memref<?xi32>)
  kvcache.append sources(%x : memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>)
      into(%k : !kvcache.cache<key, #gqa>) slots(%slots : memref<?xi64>) workspace(%list : memref<?xi32>)
  return
}

// CHECK-LABEL: func @gather
func.func @gather(%k: !kvcache.cache<key, #gqa>, %m: !kvcache.cache<value, #mha_own>, %padded: memref<?x?x8x128xbf16>,
                  %ragged: memref<?x2x64xf32, strided<[?, ?, 1], offset: ?>>, %scales: memref<?x2x4xf32>, %list: memref<?xi32>, %g: memref<f32>) {
  // CHECK: kvcache.gather from(%{{.*}} : !kvcache.cache<key, #[[GQA]]>) into(%{{.*}} : memref<?x?x8x128xbf16>)
  kvcache.gather from(%k : !kvcache.cache<key, #gqa>) into(%padded : memref<?x?x8x128xbf16>)
  // CHECK: kvcache.gather trap from(%{{.*}}) into(%{{.*}}) sequences(%{{.*}} : memref<?xi32>) tuning(<chunks = 8>)
  kvcache.gather trap from(%k : !kvcache.cache<key, #gqa>) into(%padded : memref<?x?x8x128xbf16>)
      sequences(%list : memref<?xi32>) tuning(<chunks = 8>)
  // CHECK: kvcache.gather skip from(%{{.*}} : !kvcache.cache<value, #[[OWN]]>) into(%{{.*}} : memref<?x2x64xf32, strided<[?, ?, 1], offset: ?>>) sequences(%{{.*}}) offsets(%{{.*}} : memref<?xi32>) scales(%{{.*}} : memref<?x2x4xf32>) global_scale(%{{.*}} : memref<f32>)
  kvcache.gather skip from(%m : !kvcache.cache<value, #mha_own>) into(%ragged : memref<?x2x64xf32, strided<[?, ?, 1], offset: ?>>)
      sequences(%list : memref<?xi32>) offsets(%list : memref<?xi32>) scales(%scales : memref<?x2x4xf32>) global_scale(%g : memref<f32>)
  return
}

// CHECK-LABEL: func @paged_attention
func.func @paged_attention(%k: !kvcache.cache<key, #gqa>, %v: !kvcache.cache<value, #gqa>, %q: memref<?x32x128xbf16>,
                           %out: memref<?x32x128xf32>, %list: memref<?xi32>, %sinks: memref<32xf32>, %lse: memref<?x32xf32>, %w: memref<?xf32>) {
  // CHECK: kvcache.paged_attention queries(%{{.*}} : memref<?x32x128xbf16>) over(%{{.*}}, %{{.*}} : !kvcache.cache<key, #[[GQA]]>, !kvcache.cache<value, #[[GQA]]>) into(%{{.*}} : memref<?x32x128xf32>) ragged(%{{.*}} : memref<?xi32>){{$}}
  kvcache.paged_attention queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>)
      into(%out : memref<?x32x128xf32>) ragged(%list : memref<?xi32>)
  // CHECK: kvcache.paged_attention trap {{.*}} sinks(%{{.*}} : memref<32xf32>) lse(%{{.*}} : memref<?x32xf32>) workspace(%{{.*}} : memref<?xf32>) tuning(<threads = 64>) {scale = 1.000000e-01 : f32, softcap = 5.000000e+01 : f32, window = 128 : i64}
  kvcache.paged_attention trap queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>)
      into(%out : memref<?x32x128xf32>) ragged(%list : memref<?xi32>) sinks(%sinks : memref<32xf32>) lse(%lse : memref<?x32xf32>)
      workspace(%w : memref<?xf32>) tuning(<threads = 64>) {scale = 0.1 : f32, softcap = 50.0 : f32, window = 128 : i64}
  return
}

// CHECK-LABEL: func @paged_attention_of_codes
func.func @paged_attention_of_codes(%k: !kvcache.cache<key, #mha_own>, %v: !kvcache.cache<value, #mha_own>, %q: memref<?x4x64xbf16>,
                                    %out: memref<?x4x64xf32>, %list: memref<?xi32>, %w: memref<?xf32>, %g: memref<f32>) {
  // CHECK: kvcache.paged_attention queries({{.*}} workspace(%{{.*}} : memref<?xf32>) global_scale(%{{.*}} : memref<f32>) tuning(<threads = 64>){{$}}
  kvcache.paged_attention queries(%q : memref<?x4x64xbf16>) over(%k, %v : !kvcache.cache<key, #mha_own>, !kvcache.cache<value, #mha_own>)
      into(%out : memref<?x4x64xf32>) ragged(%list : memref<?xi32>) workspace(%w : memref<?xf32>) global_scale(%g : memref<f32>)
      tuning(<threads = 64>)
  return
}

// CHECK-LABEL: func @mla_decode
func.func @mla_decode(%k: !kvcache.cache<key, #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>>, %q: memref<?x16x576xbf16>,
                      %out: memref<?x16x512xbf16>, %list: memref<?xi32>, %s: memref<?x?xi64>, %numbers: memref<?x16xf32>, %w: memref<?xf32>, %g: memref<f32>) {
  // CHECK: kvcache.mla_decode queries(%{{.*}} : memref<?x16x576xbf16>) over(%{{.*}} : !kvcache.cache<key, #{{.*}}>) into(%{{.*}} : memref<?x16x512xbf16>) ragged(%{{.*}} : memref<?xi32>){{$}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>>)
      into(%out : memref<?x16x512xbf16>) ragged(%list : memref<?xi32>)
  // CHECK: kvcache.mla_decode trap {{.*}} slots(%{{.*}}, %{{.*}} : memref<?x?xi64>, memref<?x?xi64>) q_scales(%{{.*}} : memref<?x16xf32>) lse(%{{.*}} : memref<?x16xf32>) workspace(%{{.*}} : memref<?xf32>) global_scale(%{{.*}} : memref<f32>) {scale = 1.000000e-01 : f32}
  kvcache.mla_decode trap queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>>)
      into(%out : memref<?x16x512xbf16>) ragged(%list : memref<?xi32>) slots(%s, %s : memref<?x?xi64>, memref<?x?xi64>)
      q_scales(%numbers : memref<?x16xf32>) lse(%numbers : memref<?x16xf32>) workspace(%w : memref<?xf32>) global_scale(%g : memref<f32>) {scale = 0.1 : f32}
  return
}

// CHECK-LABEL: func @has_wgmma
func.func @has_wgmma() -> i1 {
  // CHECK: kvcache.has_wgmma
  %0 = kvcache.has_wgmma
  return %0 : i1
}

// CHECK-LABEL: func @scale_limit
func.func @scale_limit() -> f32 {
  // CHECK: kvcache.scale_limit : f32
  %0 = kvcache.scale_limit : f32
  return %0 : f32
}

// CHECK-LABEL: func @quantize_append
func.func @quantize_append(%k: !kvcache.cache<key, #mha_own>, %v: !kvcache.cache<value, #mha_own>, %x: memref<?x2x64xbf16>,
                           %p: memref<?x?x2x64xf32>, %s: memref<?x2x4xf16>, %ps: memref<?x?x2x4xf16>,
                           %list: memref<?xi32>, %slots: memref<?xi64>, %g: memref<f32>) {
  // What is as by default is not printed.
  // CHECK: kvcache.quantize_append sources(%{{.*}} : memref<?x2x64xbf16>) into(%{{.*}} : !kvcache.cache<key, #[[OWN]]>) ragged(%{{.*}} : memref<?xi32>) quant(<>){{$}}
  kvcache.quantize_append assume sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #mha_own>)
      ragged(%list : memref<?xi32>)
      quant(#kvcache.quantization<contract = arbitrary, floor = 0.0, floor_on = scale, apply = inverse>)
  // CHECK: kvcache.quantize_append skip sources(%{{.*}}, %{{.*}} : memref<?x?x2x64xf32>, memref<?x?x2x64xf32>) into(%{{.*}}, %{{.*}} : {{.*}}) padded(%{{.*}} : memref<?xi32>) quant(<contract = power_of_two, floor = 1.000000e-04, floor_on = amax, apply = divide>)
  kvcache.quantize_append skip sources(%p, %p : memref<?x?x2x64xf32>, memref<?x?x2x64xf32>)
      into(%k, %v : !kvcache.cache<key, #mha_own>, !kvcache.cache<value, #mha_own>) padded(%list : memref<?xi32>)
      quant(<contract = power_of_two, floor = 1.0e-4, floor_on = amax, apply = divide>)
  // CHECK: kvcache.quantize_append trap {{.*}} slots(%{{.*}}, %{{.*}} : memref<?xi64>, memref<?xi32>) quant(<>) global_scale(%{{.*}} : memref<f32>) tuning(<chunks = 2>)
  kvcache.quantize_append trap sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #mha_own>)
      slots(%slots, %list : memref<?xi64>, memref<?xi32>) quant(<>) global_scale(%g : memref<f32>) tuning(<chunks = 2>)
  // CHECK: kvcache.append_scales scales(%{{.*}} : memref<?x2x4xf16>) into(%{{.*}} : !kvcache.cache<key, #[[OWN]]>) slots(%{{.*}} : memref<?xi64>)
  kvcache.append_scales scales(%s : memref<?x2x4xf16>) into(%k : !kvcache.cache<key, #mha_own>) slots(%slots : memref<?xi64>)
  // CHECK: kvcache.append_scales skip scales(%{{.*}}, %{{.*}} : {{.*}}) into(%{{.*}}, %{{.*}} : {{.*}}) padded(%{{.*}} : memref<?xi32>) tuning(<threads = 64>)
  kvcache.append_scales skip scales(%ps, %ps : memref<?x?x2x4xf16>, memref<?x?x2x4xf16>)
      into(%k, %v : !kvcache.cache<key, #mha_own>, !kvcache.cache<value, #mha_own>) padded(%list : memref<?xi32>)
      tuning(<threads = 64>)
  return
}

// CHECK-LABEL: func @rotary
func.func @rotary(%k: !kvcache.cache<key, #gqa>, %m: !kvcache.cache<key, #mha_own>, %x: memref<?x8x128xbf16>, %y: memref<?x8x128xf32>,
                  %p: memref<?x?x2x64xf32>, %cos: memref<?x32xf32>, %sin: memref<?x32xf32>, %w: memref<64xbf16>,
                  %list: memref<?xi32>, %slots: memref<?xi64>, %positions: memref<?x?xi32>, %g: memref<f32>) {
  // CHECK: kvcache.rope %{{.*}} into %{{.*}} positions(%{{.*}}) tables(%{{.*}}, %{{.*}}) rotation(<>) : memref<?x8x128xbf16> into memref<?x8x128xf32> by memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>
  kvcache.rope %x into %y positions(%list) tables(%cos, %sin) rotation(#kvcache.rotation<style = interleaved>)
      : memref<?x8x128xbf16> into memref<?x8x128xf32> by memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>
  // CHECK: kvcache.rope skip %{{.*}} rotation(<style = half, start = 64>) tuning(<threads = 64>)
  kvcache.rope skip %x into %x positions(%list) tables(%cos, %sin) rotation(<style = half, start = 64>) tuning(<threads = 64>)
      : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>
  // CHECK: kvcache.rms_norm %{{.*}} into %{{.*}} weight(%{{.*}}) norm(<>) : memref<?x8x128xbf16> into memref<?x8x128xf32> by memref<64xbf16>
  kvcache.rms_norm %x into %y weight(%w) norm(#kvcache.norm<eps = 1.0e-6>)
      : memref<?x8x128xbf16> into memref<?x8x128xf32> by memref<64xbf16>
  // CHECK: norm(<eps = 1.000000e-05, weight_offset = 1.000000e+00>) tuning(<threads = 64>)
  kvcache.rms_norm %x into %y weight(%w) norm(<eps = 1.0e-5, weight_offset = 1.0>) tuning(<threads = 64>)
      : memref<?x8x128xbf16> into memref<?x8x128xf32> by memref<64xbf16>
  // CHECK: kvcache.rope_quantize_append sources(%{{.*}} : memref<?x8x128xbf16>) into(%{{.*}} : !kvcache.cache<key, #[[GQA]]>) ragged(%{{.*}} : memref<?xi32>) rope(%{{.*}}, %{{.*}} : memref<?x32xf32>, memref<?x32xf32>) rotation(<>){{$}}
  kvcache.rope_quantize_append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>)
      ragged(%list : memref<?xi32>) rope(%cos, %sin : memref<?x32xf32>, memref<?x32xf32>) rotation(<>)
  // CHECK: kvcache.rope_quantize_append trap sources({{.*}}) into({{.*}}) padded(%{{.*}} : memref<?xi32>) rope({{.*}}) rope_positions(%{{.*}} : memref<?x?xi32>) rotation(<style = half>) rms_norm(%{{.*}} : memref<64xbf16>) norm(<eps = 1.000000e-05>) quant(<floor = 1.000000e-04>) global_scale(%{{.*}} : memref<f32>) tuning(<chunks = 2>)
  kvcache.rope_quantize_append trap sources(%p : memref<?x?x2x64xf32>) into(%m : !kvcache.cache<key, #mha_own>)
      padded(%list : memref<?xi32>) rope(%cos, %sin : memref<?x32xf32>, memref<?x32xf32>)
      rope_positions(%positions : memref<?x?xi32>) rotation(<style = half>)
      rms_norm(%w : memref<64xbf16>) norm(<eps = 1.0e-5>) quant(<floor = 1.0e-4>) global_scale(%g : memref<f32>) tuning(<chunks = 2>)
  return
}

// CHECK-LABEL: func @tensors
func.func @tensors(%x: tensor<4xf32>, %y: tensor<?xi8>, %b: i8, %i: index) -> tensor<?xi8> {
  // CHECK: %[[Y:.*]] = kvcache.with_buffers reads(%{{.*}} : tensor<4xf32>) writes(%{{.*}} : tensor<?xi8>) attributes {tag} {
  // CHECK-NEXT: ^bb0(%{{.*}}: memref<4xf32>, %[[B:.*]]: memref<?xi8>):
  // CHECK-NEXT: memref.store %{{.*}}, %[[B]]
  %z = kvcache.with_buffers reads(%x : tensor<4xf32>) writes(%y : tensor<?xi8>) attributes {tag} {
  ^bb0(%mx: memref<4xf32>, %my: memref<?xi8>):
    memref.store %b, %my[%i] : memref<?xi8>
  }
  // CHECK: kvcache.with_buffers writes(%[[Y]] : tensor<?xi8>) {
  %w = kvcache.with_buffers writes(%z : tensor<?xi8>) {
  ^bb0(%my: memref<?xi8>):
  }
  return %w : tensor<?xi8>
}

// CHECK-LABEL: func @scaled_codes
func.func @scaled_codes(%codes: vector<4xf8E4M3FN>, %x: vector<2xf16>) -> (vector<4xf16>, vector<2xf16>, f32) {
  // CHECK: kvcache.decode_scaled %{{.*}} : vector<4xf8E4M3FN> to vector<4xf16>
  %0 = kvcache.decode_scaled %codes : vector<4xf8E4M3FN> to vector<4xf16>
  // CHECK: kvcache.restore_nan %{{.*}} of %{{.*}}, %{{.*}} : vector<2xf16>
  %1 = kvcache.restore_nan %x of %x, %x : vector<2xf16>
  // CHECK: kvcache.decoded_unit : f32
  %2 = kvcache.decoded_unit : f32
  return %0, %1, %2 : vector<4xf16>, vector<2xf16>, f32
}
