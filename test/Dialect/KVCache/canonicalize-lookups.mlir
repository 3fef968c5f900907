// RUN: kvcache-opt %s -canonicalize | FileCheck %s

// Lookups and accesses of the same thing get the same form.

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 24>>
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 1, scales = <f32, granularity = 128>>

// Lengths are the collection's, as far up as it is in sight.
// CHECK-LABEL: func @lengths
// CHECK-SAME: %[[C:.*]]: !kvcache.collection<{{.*}}>, %[[K:.*]]: !kvcache.cache<key, {{.*}}>, %[[I:.*]]: index
func.func @lengths(%c: !kvcache.collection<#kv>, %k: !kvcache.cache<key, #kv>, %i: index) -> (index, index, index, i1, index) {
  %v = kvcache.get_value_cache %c[%i] : !kvcache.collection<#kv>
  %o = kvcache.mha_operand %v : !kvcache.cache<value, #kv>
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
  // CHECK: kvcache.cache_length trap %[[C]][%[[I]]]
  %0 = kvcache.cache_length trap %o[%i] : !kvcache.mha_operand<value, #kv>
  // CHECK: kvcache.max_prompt_length %[[C]]
  %1 = kvcache.max_prompt_length %v : !kvcache.cache<value, #kv>
  // CHECK: kvcache.max_context_length %[[C]]
  %2 = kvcache.max_context_length %o : !kvcache.mha_operand<value, #kv>
  // CHECK: kvcache.empty_cache %[[C]]
  %3 = kvcache.empty_cache %v : !kvcache.cache<value, #kv>
  // CHECK: kvcache.cache_length %[[K]][%[[I]]]
  %4 = kvcache.cache_length %s[%i] : !kvcache.scales_mha_operand<key, #kv>
  return %0, %1, %2, %3, %4 : index, index, index, i1, index
}

// A plain operand answers as its cache does; a scales operand does not.
// CHECK-LABEL: func @plain_operand
// CHECK-SAME: %[[K:.*]]: !kvcache.cache<key, {{.*}}>, %[[I:.*]]: index, %[[V:.*]]: f8E4M3FN
func.func @plain_operand(%k: !kvcache.cache<key, #kv>, %i: index, %v: f8E4M3FN) -> (index, f32, index) {
  %o = kvcache.mha_operand %k : !kvcache.cache<key, #kv>
  // CHECK: %[[S:.*]] = kvcache.scales_mha_operand %[[K]]
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
  // CHECK: kvcache.row_idx trap %[[K]][
  %0 = kvcache.row_idx trap %o[%i, %i] : !kvcache.mha_operand<key, #kv>
  // CHECK: kvcache.load skip %[[K]][
  %1 = kvcache.load skip %o[%i, %i, %i, %i] : !kvcache.mha_operand<key, #kv> -> f32
  // CHECK: kvcache.store skip %[[V]], %[[K]][
  kvcache.store skip %v, %o[%i, %i, %i, %i] : f8E4M3FN, !kvcache.mha_operand<key, #kv>
  // CHECK: kvcache.row_idx %[[S]][
  %2 = kvcache.row_idx %s[%i, %i] : !kvcache.scales_mha_operand<key, #kv>
  return %0, %1, %2 : index, f32, index
}

// A constant element of a scale stands for its granule.
// CHECK-LABEL: func @granule
// CHECK-SAME: %[[K:.*]]: !kvcache.cache<key, {{.*}}>, %[[I:.*]]: index, %[[V:.*]]: f32
func.func @granule(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) -> (f32, memref<1x2xf32, strided<[6, 1], offset: ?>>, memref<1x1xf32, strided<[6, 1], offset: ?>>, f32) {
  %c23 = arith.constant 23 : index
  %c47 = arith.constant 47 : index
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C24:.*]] = arith.constant 24 : index
  // CHECK-DAG: %[[C47:.*]] = arith.constant 47 : index
  // CHECK: kvcache.load_scale %[[K]][%[[I]], %[[I]], %[[I]], %[[C24]]]
  %0 = kvcache.load_scale %k[%i, %i, %i, %c47] : !kvcache.cache<key, #kv> -> f32
  // CHECK: kvcache.store_scale %[[V]], %[[K]][%[[I]], %[[I]], %[[I]], %[[C0]]]
  kvcache.store_scale %v, %k[%i, %i, %i, %c23] : f32, !kvcache.cache<key, #kv>
  // CHECK: kvcache.scales_block_paged_ptr %[[K]][%[[I]], %[[I]], %[[I]], %[[C24]]]
  %1 = kvcache.scales_block_paged_ptr %k[%i, %i, %i, %c47] : !kvcache.cache<key, #kv> -> memref<1x2xf32, strided<[6, 1], offset: ?>>
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
  // CHECK: kvcache.block_paged_ptr %{{.*}}[%[[I]], %[[I]], %[[I]]] :
  %2 = kvcache.block_paged_ptr %s[%i, %i, %i, %c23] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[6, 1], offset: ?>>
  // A value's element is its own.
  // CHECK: kvcache.load %[[K]][%[[I]], %[[I]], %[[I]], %[[C47]]]
  %3 = kvcache.load %k[%i, %i, %i, %c47] : !kvcache.cache<key, #kv> -> f32
  return %0, %1, %2, %3 : f32, memref<1x2xf32, strided<[6, 1], offset: ?>>, memref<1x1xf32, strided<[6, 1], offset: ?>>, f32
}

// One head is head 0, and a head's only scale is that of element 0.
// CHECK-LABEL: func @only_one
// CHECK-SAME: %[[K:.*]]: !kvcache.cache<key, {{.*}}>, %[[B:.*]]: index, %[[T:.*]]: index, %[[H:.*]]: index, %[[D:.*]]: index
func.func @only_one(%k: !kvcache.cache<key, #mla>, %b: index, %t: index, %h: index, %d: index) -> (f32, f32, memref<1x1xf32, strided<[1, 1], offset: ?>>, memref<1x8xf8E4M3FN, strided<[128, 1], offset: ?>>, index, index) {
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK: kvcache.load_scale %[[K]][%[[B]], %[[T]], %[[C0]], %[[C0]]]
  %0 = kvcache.load_scale %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> f32
  // CHECK: kvcache.load %[[K]][%[[B]], %[[T]], %[[C0]], %[[D]]]
  %1 = kvcache.load %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> f32
  // CHECK: kvcache.scales_block_paged_ptr %[[K]][%[[B]], %[[T]], %[[C0]]] :
  %2 = kvcache.scales_block_paged_ptr %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  // CHECK: kvcache.block_paged_ptr %[[K]][%[[B]], %[[T]], %[[C0]], %[[D]]] :
  %3 = kvcache.block_paged_ptr %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> memref<1x8xf8E4M3FN, strided<[128, 1], offset: ?>>
  // Pages of one token have slot 0 only.
  // CHECK: %[[BLOCK:.*]], %{{.*}} = kvcache.block_row_idx
  %4, %5 = kvcache.block_row_idx %k[%b, %t] : !kvcache.cache<key, #mla>
  // CHECK: return {{.*}}, %[[BLOCK]], %[[C0]]
  return %0, %1, %2, %3, %4, %5 : f32, f32, memref<1x1xf32, strided<[1, 1], offset: ?>>, memref<1x8xf8E4M3FN, strided<[128, 1], offset: ?>>, index, index
}

// CHECK-LABEL: func @constant_slot
func.func @constant_slot(%k: !kvcache.cache<key, #kv>, %b: index, %t: index) -> (index, index, index, index) {
  %c37 = arith.constant 37 : index
  // CHECK-DAG: %[[SLOT:.*]] = arith.constant 5 : index
  // CHECK: %[[BLOCK:.*]], %{{.*}} = kvcache.block_row_idx %{{.*}}[%{{.*}}, %{{.*}}]
  %0, %1 = kvcache.block_row_idx %k[%b, %c37] : !kvcache.cache<key, #kv>
  // CHECK: %[[B2:.*]], %[[S2:.*]] = kvcache.block_row_idx
  %2, %3 = kvcache.block_row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
  // CHECK: return %[[BLOCK]], %[[SLOT]], %[[B2]], %[[S2]]
  return %0, %1, %2, %3 : index, index, index, index
}

// A policy that checks sees what is out of range: nothing is replaced.
// CHECK-LABEL: func @checked
// CHECK-SAME: %[[K:.*]]: !kvcache.cache<key, {{.*}}>, %[[B:.*]]: index, %[[T:.*]]: index, %[[H:.*]]: index, %[[D:.*]]: index
func.func @checked(%k: !kvcache.cache<key, #mla>, %b: index, %t: index, %h: index, %d: index) -> (f32, memref<1x1xf32, strided<[1, 1], offset: ?>>, index) {
  // CHECK: kvcache.load_scale skip %[[K]][%[[B]], %[[T]], %[[H]], %[[D]]]
  %0 = kvcache.load_scale skip %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> f32
  // CHECK: kvcache.scales_block_paged_ptr trap %[[K]][%[[B]], %[[T]], %[[H]], %[[D]]]
  %1 = kvcache.scales_block_paged_ptr trap %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  // CHECK: %{{.*}}, %[[ROW:.*]] = kvcache.block_row_idx trap
  %2, %3 = kvcache.block_row_idx trap %k[%b, %t] : !kvcache.cache<key, #mla>
  // CHECK: return {{.*}}, %[[ROW]]
  return %0, %1, %3 : f32, memref<1x1xf32, strided<[1, 1], offset: ?>>, index
}
