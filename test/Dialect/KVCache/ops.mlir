// RUN: kvcache-opt %s --verify-roundtrip | FileCheck %s
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | FileCheck %s
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | FileCheck %s

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// CHECK-LABEL: func @scale_of
func.func @scale_of(%blocks: memref<?x1x?x64x1x128xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                    %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>,
                    %scales: memref<?x1x?x64x1x1xf32>, %scales_table: memref<?x?xi32>,
                    %layer: index, %b: index, %t: index, %h: index, %d: index) -> f32 {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x1x?x64x1x128xf8E4M3FN>) lengths(%{{.*}} : memref<?xi32>) table(%{{.*}} : memref<?x?xi32>) max_prompt(%{{.*}} : memref<1xi32>) max_cache(%{{.*}} : memref<1xi32>) scales(%{{.*}} : memref<?x1x?x64x1x1xf32>) scales_table(%{{.*}} : memref<?x?xi32>) : !kvcache.collection<#kv>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x64x1x128xf8E4M3FN>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      scales(%scales : memref<?x1x?x64x1x1xf32>) scales_table(%scales_table : memref<?x?xi32>)
      : !kvcache.collection<#mla>
  // CHECK: %[[K:.*]] = kvcache.get_key_cache %{{.*}}[%{{.*}}] : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#mla>
  // CHECK: %[[S:.*]] = kvcache.scales_mha_operand %[[K]] : !kvcache.cache<key, #kv>
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #mla>
  // CHECK: kvcache.block_paged_ptr %[[S]][%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  %p = kvcache.block_paged_ptr %s[%b, %t, %h, %d] : !kvcache.scales_mha_operand<key, #mla> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
  // CHECK: kvcache.load_scale trap %[[K]][
  %v = kvcache.load_scale trap %k[%b, %t, %h, %d] : !kvcache.cache<key, #mla> -> f32
  return %v : f32
}
