// RUN: kvcache-opt %s --convert-kvcache-to-memref --canonicalize --split-input-file | FileCheck %s

#own = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>

// The scales' pool, from values of layer 3 on: L + 3 layers of 16 * 2 * 4 f16.
// CHECK-LABEL: func @lookups
// CHECK-SAME: (%{{.*}}: memref<i8>, %{{.*}}: index, %{{.*}}: index, %{{.*}}: memref<i32>, %{{.*}}: i32, %[[BASE:[a-z0-9]*]]: memref<f16>, %[[PITCH:[a-z0-9]*]]: index, {{.*}}, %[[LAYERS:[a-z0-9]*]]: index, %[[BLOCK:[a-z0-9]*]]: i32)
func.func @lookups(%c: !kvcache.collection<#own>, %block: i32) -> (index, index, memref<i8>) {
  %layer = arith.constant 3 : index
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#own>
  %s = kvcache.scales_mha_operand %v : !kvcache.cache<value, #own>
  // CHECK: %[[LAYER:.*]] = arith.addi %[[LAYERS]], %{{.*}} : index
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[LAYER]], %c256
  // CHECK: %[[VIEW:.*]] = kvcache.byte_view %[[BASE]][%[[OFFSET]]] : memref<f16> to memref<f16>
  // CHECK: %[[INDEX:.*]] = arith.index_castui %[[BLOCK]] : i32 to index
  // CHECK: %[[PAGE:.*]] = arith.muli %[[INDEX]], %[[PITCH]] : index
  // CHECK: %[[PTR:.*]] = kvcache.byte_view %[[VIEW]][%[[PAGE]]] : memref<f16> to memref<i8>
  %0 = kvcache.num_layers %c : !kvcache.collection<#own>
  %1 = kvcache.page_pitch %s : !kvcache.scales_mha_operand<value, #own>
  %2 = kvcache.page_ptr %s[%block] : !kvcache.scales_mha_operand<value, #own> -> memref<i8>
  // CHECK: return %[[LAYERS]], %[[PITCH]], %[[PTR]]
  return %0, %1, %2 : index, index, memref<i8>
}

// -----

// Views of bytes merge where the two elements may stand for one another.
// CHECK-LABEL: func @merge
// CHECK-SAME: %[[BASE:.*]]: memref<f32>
func.func @merge(%base: memref<f32>, %i: index) -> (memref<4xf32>, memref<4xi8>, memref<2xf16>) {
  %c8 = arith.constant 8 : index
  %bytes = kvcache.byte_view %base[%c8] : memref<f32> to memref<i8>
  // CHECK: arith.addi %{{.*}}, %c8
  // CHECK: kvcache.byte_view %[[BASE]][%{{.*}}] : memref<f32> to memref<4xf32>
  // CHECK: kvcache.byte_view %[[BASE]][%{{.*}}] : memref<f32> to memref<4xi8>
  // CHECK: kvcache.byte_view %{{.*}}[%{{.*}}] : memref<i8> to memref<2xf16>
  %0 = kvcache.byte_view %bytes[%i] : memref<i8> to memref<4xf32>
  %1 = kvcache.byte_view %bytes[%i] : memref<i8> to memref<4xi8>
  %2 = kvcache.byte_view %bytes[%i] : memref<i8> to memref<2xf16>
  return %0, %1, %2 : memref<4xf32>, memref<4xi8>, memref<2xf16>
}
