// RUN: kvcache-opt %s --verify-roundtrip > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | diff - %t.mlir
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | diff - %t.mlir


// Every value dtype with every scale dtype, for keys and values, in packed pools.

#f32_none = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 8>
// CHECK-LABEL: func @f32_none
func.func @f32_none(%blocks: memref<?x2x3x8x2x64xf32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %codes: vector<16xf32>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf32>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf32>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#f32_none>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f32_none>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_none> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf32>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_none> -> vector<16xf32>
  // CHECK: kvcache.store %{{.*}} : vector<16xf32>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf32>, !kvcache.cache<value, #f32_none>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f32_none> -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  return
}

#f32_f32 = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @f32_f32
func.func @f32_f32(%blocks: memref<?x2x3x8x2x64xf32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<16xf32>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf32>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf32>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#f32_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f32_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf32>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f32> -> vector<16xf32>
  // CHECK: kvcache.store %{{.*}} : vector<16xf32>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf32>, !kvcache.cache<value, #f32_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f32_f32> -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f32_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #f32_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f32_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#f32_f16 = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @f32_f16
func.func @f32_f16(%blocks: memref<?x2x3x8x2x64xf32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<16xf32>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf32>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf32>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#f32_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f32_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf32>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f16> -> vector<16xf32>
  // CHECK: kvcache.store %{{.*}} : vector<16xf32>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf32>, !kvcache.cache<value, #f32_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f32_f16> -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f32_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #f32_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f32_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#f32_bf16 = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @f32_bf16
func.func @f32_bf16(%blocks: memref<?x2x3x8x2x64xf32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<16xf32>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf32>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf32>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#f32_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f32_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf32>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_bf16> -> vector<16xf32>
  // CHECK: kvcache.store %{{.*}} : vector<16xf32>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf32>, !kvcache.cache<value, #f32_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f32_bf16> -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f32_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #f32_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f32_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#f32_f8E8M0FNU = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @f32_f8E8M0FNU
func.func @f32_f8E8M0FNU(%blocks: memref<?x2x3x8x2x64xf32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<16xf32>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf32>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf32>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#f32_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f32_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf32>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.store %{{.*}} : vector<16xf32>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf32>, !kvcache.cache<value, #f32_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f32_f8E8M0FNU> -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f32_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #f32_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f32_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#f32_f8E4M3FN = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @f32_f8E4M3FN
func.func @f32_f8E4M3FN(%blocks: memref<?x2x3x8x2x64xf32>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<16xf32>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf32>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf32>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#f32_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f32_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf32>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.store %{{.*}} : vector<16xf32>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf32>, !kvcache.cache<value, #f32_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f32_f8E4M3FN> -> memref<4x64xf32, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f32_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f32_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #f32_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f32_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}

#f16_none = #kvcache.layout<f16, params = <num_heads = 2, head_size = 64>, page_size = 8>
// CHECK-LABEL: func @f16_none
func.func @f16_none(%blocks: memref<?x2x3x8x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %codes: vector<16xf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#f16_none>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f16_none>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_none> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_none> -> vector<16xf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf16>, !kvcache.cache<value, #f16_none>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f16_none> -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  return
}

#f16_f32 = #kvcache.layout<f16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @f16_f32
func.func @f16_f32(%blocks: memref<?x2x3x8x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<16xf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#f16_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f16_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f32> -> vector<16xf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf16>, !kvcache.cache<value, #f16_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f16_f32> -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f16_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #f16_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f16_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#f16_f16 = #kvcache.layout<f16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @f16_f16
func.func @f16_f16(%blocks: memref<?x2x3x8x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<16xf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#f16_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f16_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f16> -> vector<16xf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf16>, !kvcache.cache<value, #f16_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f16_f16> -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f16_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #f16_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f16_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#f16_bf16 = #kvcache.layout<f16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @f16_bf16
func.func @f16_bf16(%blocks: memref<?x2x3x8x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<16xf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#f16_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f16_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_bf16> -> vector<16xf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf16>, !kvcache.cache<value, #f16_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f16_bf16> -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f16_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #f16_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f16_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#f16_f8E8M0FNU = #kvcache.layout<f16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @f16_f8E8M0FNU
func.func @f16_f8E8M0FNU(%blocks: memref<?x2x3x8x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<16xf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#f16_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f16_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E8M0FNU> -> vector<16xf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf16>, !kvcache.cache<value, #f16_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f16_f8E8M0FNU> -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f16_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #f16_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f16_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#f16_f8E4M3FN = #kvcache.layout<f16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @f16_f8E4M3FN
func.func @f16_f8E4M3FN(%blocks: memref<?x2x3x8x2x64xf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<16xf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#f16_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#f16_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E4M3FN> -> vector<16xf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xf16>, !kvcache.cache<value, #f16_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #f16_f8E4M3FN> -> memref<4x64xf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #f16_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #f16_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #f16_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #f16_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}

#bf16_none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8>
// CHECK-LABEL: func @bf16_none
func.func @bf16_none(%blocks: memref<?x2x3x8x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %codes: vector<16xbf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xbf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#bf16_none>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#bf16_none>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_none> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xbf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_none> -> vector<16xbf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xbf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xbf16>, !kvcache.cache<value, #bf16_none>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #bf16_none> -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  return
}

#bf16_f32 = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f32, granularity = 16>>
// CHECK-LABEL: func @bf16_f32
func.func @bf16_f32(%blocks: memref<?x2x3x8x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf32>, %s: f32, %codes: vector<16xbf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xbf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf32>) : !kvcache.collection<#bf16_f32>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#bf16_f32>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f32> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xbf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f32> -> vector<16xbf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xbf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xbf16>, !kvcache.cache<value, #bf16_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #bf16_f32> -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #bf16_f32>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf32>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f32> -> vector<4xf32>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f32> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f32
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<value, #bf16_f32>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #bf16_f32> -> memref<8x4xf32, strided<[8, 1], offset: ?>>
  return
}

#bf16_f16 = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f16, granularity = 16>>
// CHECK-LABEL: func @bf16_f16
func.func @bf16_f16(%blocks: memref<?x2x3x8x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf16>, %s: f16, %codes: vector<16xbf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xbf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf16>) : !kvcache.collection<#bf16_f16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#bf16_f16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xbf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f16> -> vector<16xbf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xbf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xbf16>, !kvcache.cache<value, #bf16_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #bf16_f16> -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #bf16_f16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f16> -> vector<4xf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f16, !kvcache.cache<value, #bf16_f16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #bf16_f16> -> memref<8x4xf16, strided<[8, 1], offset: ?>>
  return
}

#bf16_bf16 = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <bf16, granularity = 16>>
// CHECK-LABEL: func @bf16_bf16
func.func @bf16_bf16(%blocks: memref<?x2x3x8x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xbf16>, %s: bf16, %codes: vector<16xbf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xbf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xbf16>) : !kvcache.collection<#bf16_bf16>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#bf16_bf16>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_bf16> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xbf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_bf16> -> vector<16xbf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xbf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xbf16>, !kvcache.cache<value, #bf16_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #bf16_bf16> -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #bf16_bf16>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xbf16>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_bf16> -> vector<4xbf16>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_bf16> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : bf16
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<value, #bf16_bf16>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #bf16_bf16> -> memref<8x4xbf16, strided<[8, 1], offset: ?>>
  return
}

#bf16_f8E8M0FNU = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E8M0FNU, granularity = 16>>
// CHECK-LABEL: func @bf16_f8E8M0FNU
func.func @bf16_f8E8M0FNU(%blocks: memref<?x2x3x8x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E8M0FNU>, %s: f8E8M0FNU, %codes: vector<16xbf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xbf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E8M0FNU>) : !kvcache.collection<#bf16_f8E8M0FNU>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#bf16_f8E8M0FNU>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E8M0FNU> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xbf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E8M0FNU> -> vector<16xbf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xbf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xbf16>, !kvcache.cache<value, #bf16_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #bf16_f8E8M0FNU> -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #bf16_f8E8M0FNU>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E8M0FNU>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E8M0FNU> -> vector<4xf8E8M0FNU>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E8M0FNU> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E8M0FNU
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E8M0FNU, !kvcache.cache<value, #bf16_f8E8M0FNU>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #bf16_f8E8M0FNU> -> memref<8x4xf8E8M0FNU, strided<[8, 1], offset: ?>>
  return
}

#bf16_f8E4M3FN = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 8, scales = <f8E4M3FN, granularity = 16>>
// CHECK-LABEL: func @bf16_f8E4M3FN
func.func @bf16_f8E4M3FN(%blocks: memref<?x2x3x8x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
    %scales: memref<?x2x3x8x2x4xf8E4M3FN>, %s: f8E4M3FN, %codes: vector<16xbf16>, %i: index) {
  // CHECK: kvcache.get_paged_cache blocks(%{{.*}} : memref<?x2x3x8x2x64xbf16>)
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x8x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x3x8x2x4xf8E4M3FN>) : !kvcache.collection<#bf16_f8E4M3FN>
  %k = kvcache.get_value_cache %c[%i] : !kvcache.collection<#bf16_f8E4M3FN>
  // CHECK: kvcache.load %{{.*}} -> vector<16xf32>
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E4M3FN> -> vector<16xf32>
  // CHECK: kvcache.load_quantized %{{.*}} -> vector<16xbf16>
  %1 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E4M3FN> -> vector<16xbf16>
  // CHECK: kvcache.store %{{.*}} : vector<16xbf16>
  kvcache.store %codes, %k[%i, %i, %i, %i] : vector<16xbf16>, !kvcache.cache<value, #bf16_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #bf16_f8E4M3FN> -> memref<4x64xbf16, strided<[128, 1], offset: ?>>
  %o = kvcache.scales_mha_operand %k : !kvcache.cache<value, #bf16_f8E4M3FN>
  // CHECK: kvcache.load_scale %{{.*}} -> vector<4xf8E4M3FN>
  %3 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E4M3FN> -> vector<4xf8E4M3FN>
  %4 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<value, #bf16_f8E4M3FN> -> f32
  // CHECK: kvcache.store_scale %{{.*}} : f8E4M3FN
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<value, #bf16_f8E4M3FN>
  // CHECK: kvcache.block_paged_ptr %{{.*}} -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  %5 = kvcache.block_paged_ptr %o[%i, %i, %i] : !kvcache.scales_mha_operand<value, #bf16_f8E4M3FN> -> memref<8x4xf8E4M3FN, strided<[8, 1], offset: ?>>
  return
}
