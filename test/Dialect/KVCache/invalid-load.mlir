// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected a cache or a plain mha_operand, got a scales_mha_operand: it speaks of scales; use load_scale of the cache, or block_paged_ptr}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.scales_mha_operand<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected a cache or a plain mha_operand, got a scales_mha_operand: it speaks of scales; use load_scale of the cache, or block_paged_ptr}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.scales_mha_operand<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected a cache or a plain mha_operand, got a scales_mha_operand: its scales have no scales; use load_scale of the cache, or block_paged_ptr}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.scales_mha_operand<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected a layout with scales, got one without; add 'scales = <...>' to the layout}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected a result of f32, f16 or bf16, got 'f8E4M3FN'; load_quantized gives the codes}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected a result of f32, f16 or bf16, got 'i32'; load_quantized gives the codes}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<4xi32>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected a result of f32, f16 or bf16, or the cache's dtype, got 'f64'; load_quantized gives the codes}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f64
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op result #0 must be a number or a vector of rank 1, but got 'vector<2x4xf32>'}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<2x4xf32>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op result #0 must be a number or a vector of rank 1, but got 'index'}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> index
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected a result of 'f8E4M3FN', got 'f32'; load dequantises}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected a result of 'i8', got 'f4E2M1FN'; load dequantises}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<2xf4E2M1FN>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected a result of the scale dtype 'f16' or f32, got 'bf16'}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> bf16
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected a vector of fixed length, got 'vector<[4]xf32>'}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<[4]xf32>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected 'alignment' to be a power of two of at least 1 bytes, got 3}}
  %r = kvcache.load %k[%i, %i, %i, %i] {alignment = 3 : i64} : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected 'alignment' to be a power of two of at least 1 bytes, got 0}}
  %r = kvcache.load %k[%i, %i, %i, %i] {alignment = 0 : i64} : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -2 : index
  // expected-error @+1 {{'kvcache.load' op expected 'batch' to be at least 0, got -2}}
  %r = kvcache.load %k[%c0, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 2 : index
  // expected-error @+1 {{'kvcache.load' op expected 'head' to be less than 2 (num_heads), got 2}}
  %r = kvcache.load %k[%i, %i, %c0, %i] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 64 : index
  // expected-error @+1 {{'kvcache.load' op expected 'dim' to be less than 64 (head_size), got 64}}
  %r = kvcache.load %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.load' op expected 'dim' to be at least 0, got -1}}
  %r = kvcache.load %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected a vector of fixed length, got 'vector<[4]xf8E4M3FN>'}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<[4]xf8E4M3FN>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'alignment' to be a power of two of at least 1 bytes, got 3}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] {alignment = 3 : i64} : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'alignment' to be a power of two of at least 1 bytes, got 0}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] {alignment = 0 : i64} : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -2 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'batch' to be at least 0, got -2}}
  %r = kvcache.load_quantized %k[%c0, %i, %i, %i] : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 2 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'head' to be less than 2 (num_heads), got 2}}
  %r = kvcache.load_quantized %k[%i, %i, %c0, %i] : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 64 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'dim' to be less than 64 (head_size), got 64}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'dim' to be at least 0, got -1}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected a vector of fixed length, got 'vector<[4]xf32>'}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<[4]xf32>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected 'alignment' to be a power of two of at least 1 bytes, got 3}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] {alignment = 3 : i64} : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected 'alignment' to be a power of two of at least 1 bytes, got 0}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] {alignment = 0 : i64} : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -2 : index
  // expected-error @+1 {{'kvcache.load_scale' op expected 'batch' to be at least 0, got -2}}
  %r = kvcache.load_scale %k[%c0, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 2 : index
  // expected-error @+1 {{'kvcache.load_scale' op expected 'head' to be less than 2 (num_heads), got 2}}
  %r = kvcache.load_scale %k[%i, %i, %c0, %i] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 64 : index
  // expected-error @+1 {{'kvcache.load_scale' op expected 'dim' to be less than 64 (head_size), got 64}}
  %r = kvcache.load_scale %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.load_scale' op expected 'dim' to be at least 0, got -1}}
  %r = kvcache.load_scale %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> f32
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load' op expected at most 64 elements from 'dim' 0 on, got 65}}
  %r = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<65xf32>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 60 : index
  // expected-error @+1 {{'kvcache.load' op expected at most 4 elements from 'dim' 60 on, got 8}}
  %r = kvcache.load %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> vector<8xf32>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 60 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected at most 4 elements from 'dim' 60 on, got 6}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> vector<3xi8>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_quantized' op expected at most 64 elements from 'dim' 0 on, got 9223372036854775807}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<4611686018427387904xi8>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 5 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected an even 'dim' for dtype 'f4E2M1FN', which stores two elements a byte, got 5}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> i8
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.load_scale' op expected at most 2 scales from 'dim' 0 on, got 3}}
  %r = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> vector<3xf32>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 32 : index
  // expected-error @+1 {{'kvcache.load_scale' op expected at most 1 scales from 'dim' 32 on, got 2}}
  %r = kvcache.load_scale %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> vector<2xf32>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) {
  %c0 = arith.constant 7 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  %o = kvcache.mha_operand %k : !kvcache.cache<key, #kv>
  // expected-error @+1 {{'kvcache.load' op expected 'batch' to be less than 4 (sequences), got 7}}
  %r = kvcache.load %o[%c0, %i, %i, %i] : !kvcache.mha_operand<key, #kv> -> f32
  return
}
