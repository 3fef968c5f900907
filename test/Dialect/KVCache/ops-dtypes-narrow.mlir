// RUN: kvcache-opt %s --verify-roundtrip > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | diff - %t.mlir
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | diff - %t.mlir


// Every value dtype with every scale dtype, for keys and values, in packed pools.

#f8E4M3FN_none = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8>
// CHECK-LABEL: func @f8E4M3FN_none
func.func @f8E4M3FN_none(%blocks: memref<?x2x3x8x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %codes: vector<16xf8E4M3FN>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#f8E4M3FN_none>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E4M3FN_none>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_none> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E4M3FN>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_none> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E4M3FN>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E4M3FN>, !kvcache.cache<value, #f8E4M3FN_none>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_none> -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  return
}

#f8E4M3FN_f32 = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @f8E4M3FN_f32
func.func @f8E4M3FN_f32(%blocks: memref<?x2x3x8x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<16xf8E4M3FN>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#f8E4M3FN_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E4M3FN_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E4M3FN>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f32> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E4M3FN>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E4M3FN>, !kvcache.cache<value, #f8E4M3FN_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f32> -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E4M3FN_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #f8E4M3FN_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E4M3FN_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#f8E4M3FN_f16 = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @f8E4M3FN_f16
func.func @f8E4M3FN_f16(%blocks: memref<?x2x3x8x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<16xf8E4M3FN>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#f8E4M3FN_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E4M3FN_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E4M3FN>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f16> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E4M3FN>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E4M3FN>, !kvcache.cache<value, #f8E4M3FN_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f16> -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E4M3FN_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #f8E4M3FN_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E4M3FN_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#f8E4M3FN_bf16 = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @f8E4M3FN_bf16
func.func @f8E4M3FN_bf16(%blocks: memref<?x2x3x8x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<16xf8E4M3FN>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#f8E4M3FN_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E4M3FN_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E4M3FN>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_bf16> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E4M3FN>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E4M3FN>, !kvcache.cache<value, #f8E4M3FN_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_bf16> -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E4M3FN_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #f8E4M3FN_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E4M3FN_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#f8E4M3FN_f8E8M0FNU = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @f8E4M3FN_f8E8M0FNU
func.func @f8E4M3FN_f8E8M0FNU(%blocks: memref<?x2x3x8x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<16xf8E4M3FN>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#f8E4M3FN_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E4M3FN_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E4M3FN>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E4M3FN>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E4M3FN>, !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU> -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #f8E4M3FN_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E4M3FN_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#f8E4M3FN_f8E4M3FN = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @f8E4M3FN_f8E4M3FN
func.func @f8E4M3FN_f8E4M3FN(%blocks: memref<?x2x3x8x2x64xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<16xf8E4M3FN>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E4M3FN>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E4M3FN>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#f8E4M3FN_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E4M3FN_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E4M3FN>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E4M3FN> -> vector<16xf8E4M3FN>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E4M3FN>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E4M3FN>, !kvcache.cache<value, #f8E4M3FN_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E4M3FN> -> memref<4x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E4M3FN_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E4M3FN_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #f8E4M3FN_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E4M3FN_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}

#f8E5M2_none = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 64>, page_size = 8>
// CHECK-LABEL: func @f8E5M2_none
func.func @f8E5M2_none(%blocks: memref<?x2x3x8x2x64xf8E5M2>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %codes: vector<16xf8E5M2>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E5M2>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E5M2>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#f8E5M2_none>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E5M2_none>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_none> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E5M2>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_none> -> vector<16xf8E5M2>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E5M2>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E5M2>, !kvcache.cache<value, #f8E5M2_none>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E5M2_none> -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  return
}

#f8E5M2_f32 = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @f8E5M2_f32
func.func @f8E5M2_f32(%blocks: memref<?x2x3x8x2x64xf8E5M2>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<16xf8E5M2>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E5M2>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E5M2>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#f8E5M2_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E5M2_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E5M2>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f32> -> vector<16xf8E5M2>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E5M2>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E5M2>, !kvcache.cache<value, #f8E5M2_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E5M2_f32> -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E5M2_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #f8E5M2_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E5M2_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#f8E5M2_f16 = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @f8E5M2_f16
func.func @f8E5M2_f16(%blocks: memref<?x2x3x8x2x64xf8E5M2>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<16xf8E5M2>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E5M2>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E5M2>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#f8E5M2_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E5M2_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E5M2>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f16> -> vector<16xf8E5M2>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E5M2>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E5M2>, !kvcache.cache<value, #f8E5M2_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E5M2_f16> -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E5M2_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #f8E5M2_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E5M2_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#f8E5M2_bf16 = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @f8E5M2_bf16
func.func @f8E5M2_bf16(%blocks: memref<?x2x3x8x2x64xf8E5M2>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<16xf8E5M2>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E5M2>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E5M2>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#f8E5M2_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E5M2_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E5M2>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_bf16> -> vector<16xf8E5M2>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E5M2>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E5M2>, !kvcache.cache<value, #f8E5M2_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E5M2_bf16> -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E5M2_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #f8E5M2_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E5M2_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#f8E5M2_f8E8M0FNU = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @f8E5M2_f8E8M0FNU
func.func @f8E5M2_f8E8M0FNU(%blocks: memref<?x2x3x8x2x64xf8E5M2>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<16xf8E5M2>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E5M2>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E5M2>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#f8E5M2_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E5M2_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E5M2>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E8M0FNU> -> vector<16xf8E5M2>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E5M2>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E5M2>, !kvcache.cache<value, #f8E5M2_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E8M0FNU> -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E5M2_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #f8E5M2_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E5M2_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#f8E5M2_f8E4M3FN = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @f8E5M2_f8E4M3FN
func.func @f8E5M2_f8E4M3FN(%blocks: memref<?x2x3x8x2x64xf8E5M2>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<16xf8E5M2>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf8E5M2>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf8E5M2>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#f8E5M2_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f8E5M2_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf8E5M2>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E4M3FN> -> vector<16xf8E5M2>
  // CHECK: kvcache.store %{{.*}} : vector<16xf8E5M2>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf8E5M2>, !kvcache.cache<value, #f8E5M2_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E4M3FN> -> memref<4x64xf8E5M2, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f8E5M2_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f8E5M2_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #f8E5M2_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f8E5M2_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}

#i8_f32 = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @i8_f32
func.func @i8_f32(%blocks: memref<?x2x3x8x2x64xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<16xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#i8_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#i8_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f32> -> vector<16xi8>
  // CHECK: kvcache.store %{{.*}} : vector<16xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xi8>, !kvcache.cache<value, #i8_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #i8_f32> -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #i8_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #i8_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #i8_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#i8_f16 = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @i8_f16
func.func @i8_f16(%blocks: memref<?x2x3x8x2x64xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<16xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#i8_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#i8_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f16> -> vector<16xi8>
  // CHECK: kvcache.store %{{.*}} : vector<16xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xi8>, !kvcache.cache<value, #i8_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #i8_f16> -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #i8_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #i8_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #i8_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#i8_bf16 = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @i8_bf16
func.func @i8_bf16(%blocks: memref<?x2x3x8x2x64xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<16xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#i8_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#i8_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_bf16> -> vector<16xi8>
  // CHECK: kvcache.store %{{.*}} : vector<16xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xi8>, !kvcache.cache<value, #i8_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #i8_bf16> -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #i8_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #i8_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #i8_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#i8_f8E8M0FNU = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @i8_f8E8M0FNU
func.func @i8_f8E8M0FNU(%blocks: memref<?x2x3x8x2x64xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<16xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#i8_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#i8_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E8M0FNU> -> vector<16xi8>
  // CHECK: kvcache.store %{{.*}} : vector<16xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xi8>, !kvcache.cache<value, #i8_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #i8_f8E8M0FNU> -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #i8_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #i8_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #i8_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#i8_f8E4M3FN = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @i8_f8E4M3FN
func.func @i8_f8E4M3FN(%blocks: memref<?x2x3x8x2x64xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<16xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#i8_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#i8_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E4M3FN> -> vector<16xi8>
  // CHECK: kvcache.store %{{.*}} : vector<16xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xi8>, !kvcache.cache<value, #i8_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #i8_f8E4M3FN> -> memref<4x64xi8, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #i8_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #i8_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #i8_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #i8_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}

#f4E2M1FN_f32 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @f4E2M1FN_f32
func.func @f4E2M1FN_f32(%blocks: memref<?x2x3x8x2x32xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<8xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x32xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x32xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#f4E2M1FN_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f4E2M1FN_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<8xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f32> -> vector<8xi8>
  // CHECK: kvcache.store %{{.*}} : vector<8xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<8xi8>, !kvcache.cache<value, #f4E2M1FN_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f32> -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f4E2M1FN_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #f4E2M1FN_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f4E2M1FN_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#f4E2M1FN_f16 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @f4E2M1FN_f16
func.func @f4E2M1FN_f16(%blocks: memref<?x2x3x8x2x32xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<8xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x32xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x32xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#f4E2M1FN_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f4E2M1FN_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<8xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f16> -> vector<8xi8>
  // CHECK: kvcache.store %{{.*}} : vector<8xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<8xi8>, !kvcache.cache<value, #f4E2M1FN_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f16> -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f4E2M1FN_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #f4E2M1FN_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f4E2M1FN_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#f4E2M1FN_bf16 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @f4E2M1FN_bf16
func.func @f4E2M1FN_bf16(%blocks: memref<?x2x3x8x2x32xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<8xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x32xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x32xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#f4E2M1FN_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f4E2M1FN_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<8xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_bf16> -> vector<8xi8>
  // CHECK: kvcache.store %{{.*}} : vector<8xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<8xi8>, !kvcache.cache<value, #f4E2M1FN_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_bf16> -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f4E2M1FN_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #f4E2M1FN_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f4E2M1FN_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#f4E2M1FN_f8E8M0FNU = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @f4E2M1FN_f8E8M0FNU
func.func @f4E2M1FN_f8E8M0FNU(%blocks: memref<?x2x3x8x2x32xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<8xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x32xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x32xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#f4E2M1FN_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f4E2M1FN_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<8xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU> -> vector<8xi8>
  // CHECK: kvcache.store %{{.*}} : vector<8xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<8xi8>, !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU> -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #f4E2M1FN_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f4E2M1FN_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#f4E2M1FN_f8E4M3FN = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @f4E2M1FN_f8E4M3FN
func.func @f4E2M1FN_f8E4M3FN(%blocks: memref<?x2x3x8x2x32xi8>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<8xi8>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x32xi8>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x32xi8>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#f4E2M1FN_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f4E2M1FN_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<8xi8>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E4M3FN> -> vector<8xi8>
  // CHECK: kvcache.store %{{.*}} : vector<8xi8>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<8xi8>, !kvcache.cache<value, #f4E2M1FN_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E4M3FN> -> memref<4x32xi8, strided<[64, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f4E2M1FN_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f4E2M1FN_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #f4E2M1FN_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f4E2M1FN_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}
