// RUN: kvcache-opt %s -canonicalize -split-input-file | FileCheck %s

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
// CHECK-DAG: #[[SHARED:.*]] = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
// CHECK-DAG: #[[OWN:.*]] = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>

// A scales table that is the lookup table is none; the cast sinks to where the
// type is asked for.
// CHECK-LABEL: func @same_table
func.func @same_table(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %i: index) -> (index, f32, !kvcache.mha_operand<key, #own>) {
  // CHECK: %[[C:.*]] = kvcache.get_paged_cache {{.*}} scales(%{{.*}} : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#[[SHARED]]>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%table : memref<?x?xi32>) : !kvcache.collection<#own>
  // CHECK: %[[K:.*]] = kvcache.get_key_cache %[[C]][%{{.*}}] : !kvcache.collection<#[[SHARED]]>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#own>
  // CHECK: %[[S:.*]] = kvcache.scales_mha_operand %[[K]]
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #own>
  // CHECK: %[[R:.*]] = kvcache.row_idx %[[S]][%{{.*}}, %{{.*}}] : !kvcache.scales_mha_operand<key, #[[SHARED]]>
  %r = kvcache.row_idx %s[%i, %i] : !kvcache.scales_mha_operand<key, #own>
  // CHECK: %[[V:.*]] = kvcache.load %[[K]][%{{.*}}] : !kvcache.cache<key, #[[SHARED]]> -> f32
  %v = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #own> -> f32
  // CHECK: %[[O:.*]] = kvcache.mha_operand %[[K]] : !kvcache.cache<key, #[[SHARED]]>
  // CHECK: %[[CAST:.*]] = kvcache.cast %[[O]] : !kvcache.mha_operand<key, #[[SHARED]]> to !kvcache.mha_operand<key, #[[OWN]]>
  %o = kvcache.mha_operand %k : !kvcache.cache<key, #own>
  // CHECK: return %[[R]], %[[V]], %[[CAST]]
  return %r, %v, %o : index, f32, !kvcache.mha_operand<key, #own>
}

// Different tables stay, and so does one table over pools of different sizes.
// CHECK-LABEL: func @other_table
func.func @other_table(%blocks: memref<9x2x?x16x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %few: memref<7x2x?x16x2x2xf32>, %scales_table: memref<?x?xi32>) -> (!kvcache.collection<#own>, !kvcache.collection<#own>) {
  // CHECK: scales_table(%{{.*}} : memref<?x?xi32>) : !kvcache.collection<#[[OWN]]>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#own>
  // CHECK: scales_table(%{{.*}} : memref<?x?xi32>) : !kvcache.collection<#[[OWN]]>
  %c1 = kvcache.get_paged_cache blocks(%blocks : memref<9x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%few : memref<7x2x?x16x2x2xf32>) scales_table(%table : memref<?x?xi32>) : !kvcache.collection<#own>
  // CHECK-NOT: kvcache.cast
  return %c, %c1 : !kvcache.collection<#own>, !kvcache.collection<#own>
}

// Collections, caches and lookups that nobody uses vanish; accesses that write
// do not.
// CHECK-LABEL: func @dead
func.func @dead(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %i: index) {
  // CHECK-NEXT: return
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%table : memref<?x?xi32>) : !kvcache.collection<#own>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#own>
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #own>
  %r = kvcache.row_idx %s[%i, %i] : !kvcache.scales_mha_operand<key, #own>
  %n = kvcache.cache_length %k[%i] : !kvcache.cache<key, #own>
  %v = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #own> -> f32
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>>

// CHECK-LABEL: func @num_kv_rows
func.func @num_kv_rows(%blocks: memref<9x1x3x64x1x128xf8E4M3FN, strided<[24832, 24576, 8192, 128, 128, 1]>>, %scales: memref<9x1x3x64x1x1xf32>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) -> (index, index) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x1x3x64x1x128xf8E4M3FN, strided<[24832, 24576, 8192, 128, 128, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<9x1x3x64x1x1xf32>) : !kvcache.collection<#mla>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#mla>
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #mla>
  // (9 - 1) * (24832 / 128) + 64 and (9 - 1) * (192 / 1) + 64
  // CHECK-DAG: %[[V:.*]] = arith.constant 1616 : index
  // CHECK-DAG: %[[S:.*]] = arith.constant 1600 : index
  %0 = kvcache.num_kv_rows %k : !kvcache.cache<key, #mla>
  %1 = kvcache.num_kv_rows %s : !kvcache.scales_mha_operand<key, #mla>
  // CHECK: return %[[V]], %[[S]]
  return %0, %1 : index, index
}

// CHECK-LABEL: func @num_kv_rows_no_blocks
func.func @num_kv_rows_no_blocks(%blocks: memref<0x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) -> index {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<0x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // CHECK: %[[N:.*]] = arith.constant 0 : index
  %0 = kvcache.num_kv_rows %k : !kvcache.cache<key, #kv>
  // CHECK: return %[[N]]
  return %0 : index
}

// Neither the number of blocks nor the pitch alone is enough.
// CHECK-LABEL: func @num_kv_rows_dynamic
func.func @num_kv_rows_dynamic(%a: memref<?x2x3x16x2x64xbf16>, %b: memref<9x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) -> (index, index) {
  %c = kvcache.get_paged_cache blocks(%a : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // CHECK: kvcache.num_kv_rows
  %0 = kvcache.num_kv_rows %k : !kvcache.cache<key, #kv>
  %c1 = kvcache.get_paged_cache blocks(%b : memref<9x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k1 = kvcache.get_key_cache %c1[%i] : !kvcache.collection<#kv>
  // CHECK: kvcache.num_kv_rows
  %1 = kvcache.num_kv_rows %k1 : !kvcache.cache<key, #kv>
  return %0, %1 : index, index
}

// CHECK-LABEL: func @scales_raw_ptr
func.func @scales_raw_ptr(%plain: !kvcache.cache<key, #kv>, %s: !kvcache.scales_mha_operand<key, #mla>, %k: !kvcache.cache<key, #mla>) -> (!llvm.ptr, !llvm.ptr, !llvm.ptr) {
  // CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
  // CHECK-DAG: %[[P:.*]] = kvcache.scales_raw_ptr %{{.*}} : !kvcache.cache<key, #{{.*}}>
  %0 = kvcache.scales_raw_ptr %plain : !kvcache.cache<key, #kv>
  %1 = kvcache.scales_raw_ptr %s : !kvcache.scales_mha_operand<key, #mla>
  %2 = kvcache.scales_raw_ptr %k : !kvcache.cache<key, #mla>
  // CHECK: return %[[NULL]], %[[NULL]], %[[P]]
  return %0, %1, %2 : !llvm.ptr, !llvm.ptr, !llvm.ptr
}

// CHECK-LABEL: func @byte_view
// CHECK-SAME: %[[BASE:.*]]: memref<f32>, %[[A:.*]]: index, %[[B:.*]]: index
func.func @byte_view(%base: memref<f32>, %a: index, %b: index) -> (memref<f32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>) {
  %zero = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c48 = arith.constant 48 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
  // CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
  %0 = kvcache.byte_view %base[%zero] : memref<f32> to memref<f32>
  // Offsets add where one is constant.
  // CHECK-DAG: %[[AT_A:.*]] = kvcache.byte_view %[[BASE]][%[[A]]] : memref<f32> to memref<f32>
  // CHECK-DAG: %[[SUM:.*]] = arith.addi %[[A]], %[[C16]] : index
  // CHECK-DAG: %[[V:.*]] = kvcache.byte_view %[[BASE]][%[[SUM]]] : memref<f32> to memref<4xf32>
  %1 = kvcache.byte_view %base[%a] : memref<f32> to memref<f32>
  %2 = kvcache.byte_view %1[%c16] : memref<f32> to memref<4xf32>
  // CHECK-DAG: %[[U:.*]] = kvcache.byte_view %[[AT_A]][%[[B]]] : memref<f32> to memref<4xf32>
  %3 = kvcache.byte_view %1[%b] : memref<f32> to memref<4xf32>
  // CHECK-DAG: %[[W:.*]] = kvcache.byte_view %[[BASE]][%[[C64]]] : memref<f32> to memref<4xf32>
  %4 = kvcache.byte_view %base[%c16] : memref<f32> to memref<f32>
  %5 = kvcache.byte_view %4[%c48] : memref<f32> to memref<4xf32>
  // A view of another shape is no copy of its base.
  // CHECK-DAG: %[[X:.*]] = kvcache.byte_view %[[BASE]][%[[ZERO]]] : memref<f32> to memref<4xf32>
  %6 = kvcache.byte_view %base[%zero] : memref<f32> to memref<4xf32>
  // CHECK: return %[[BASE]], %[[V]], %[[U]], %[[W]], %[[X]]
  return %0, %2, %3, %5, %6 : memref<f32>, memref<4xf32>, memref<4xf32>, memref<4xf32>, memref<4xf32>
}

// Bytes are viewed as anything: a view of another type stays, and views of views
// are of the first base.
// CHECK-LABEL: func @bytes
// CHECK-SAME: %[[BASE:.*]]: memref<i8>, %[[A:.*]]: index
func.func @bytes(%base: memref<i8>, %a: index) -> (memref<f32>, memref<4xf32>, memref<i8>) {
  %zero = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
  // CHECK-DAG: %[[X:.*]] = kvcache.byte_view %[[BASE]][%[[ZERO]]] : memref<i8> to memref<f32>
  %0 = kvcache.byte_view %base[%zero] : memref<i8> to memref<f32>
  // CHECK-DAG: %[[SUM:.*]] = arith.addi %[[A]], %[[C16]] : index
  // CHECK-DAG: %[[Y:.*]] = kvcache.byte_view %[[BASE]][%[[SUM]]] : memref<i8> to memref<4xf32>
  %1 = kvcache.byte_view %base[%a] : memref<i8> to memref<f32>
  %2 = kvcache.byte_view %1[%c16] : memref<f32> to memref<4xf32>
  %3 = kvcache.byte_view %base[%zero] : memref<i8> to memref<i8>
  // CHECK: return %[[X]], %[[Y]], %[[BASE]]
  return %0, %2, %3 : memref<f32>, memref<4xf32>, memref<i8>
}

// -----

// Layers that the type of a pool counts.
#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
// CHECK-LABEL: func @layers
func.func @layers(%blocks: memref<?x2x3x16x2x64xbf16>, %other: !kvcache.collection<#kv>) -> (index, index) {
  %c = kvcache.get_page_pools blocks(%blocks : memref<?x2x3x16x2x64xbf16>) : !kvcache.collection<#kv>
  %known = kvcache.num_layers %c : !kvcache.collection<#kv>
  %unknown = kvcache.num_layers %other : !kvcache.collection<#kv>
  // CHECK: %[[THREE:.*]] = arith.constant 3 : index
  // CHECK: %[[LAYERS:.*]] = kvcache.num_layers
  // CHECK: return %[[THREE]], %[[LAYERS]]
  return %known, %unknown : index, index
}
