// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index, %v: f8E4M3FN) {
  // expected-error @+1 {{'kvcache.store' op expected a cache or a plain mha_operand, got a scales_mha_operand: it speaks of scales; use store_scale of the cache, or block_paged_ptr}}
  kvcache.store %v, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.scales_mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index, %v: f32) {
  // expected-error @+1 {{'kvcache.store_scale' op expected a cache or a plain mha_operand, got a scales_mha_operand: its scales have no scales; use store_scale of the cache, or block_paged_ptr}}
  kvcache.store_scale %v, %k[%i, %i, %i, %i] : f32, !kvcache.scales_mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) {
  // expected-error @+1 {{'kvcache.store_scale' op expected a layout with scales, got one without; add 'scales = <...>' to the layout}}
  kvcache.store_scale %v, %k[%i, %i, %i, %i] : f32, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: bf16) {
  // expected-error @+1 {{'kvcache.store_scale' op expected a value of the scale dtype 'f16' or f32, got 'bf16'}}
  kvcache.store_scale %v, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) {
  // expected-error @+1 {{'kvcache.store' op expected a value of 'f8E4M3FN', got 'f32': a store does not quantise; convert with the scale first}}
  kvcache.store %v, %k[%i, %i, %i, %i] : f32, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f64) {
  // expected-error @+1 {{'kvcache.store' op expected a value of f32, f16 or bf16, got 'f64'}}
  kvcache.store %v, %k[%i, %i, %i, %i] : f64, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f64) {
  // expected-error @+1 {{'kvcache.store' op expected a value of 'f8E4M3FN', f32, f16 or bf16, got 'f64'}}
  kvcache.store %v, %k[%i, %i, %i, %i] : f64, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: vector<[4]xf8E4M3FN>) {
  // expected-error @+1 {{'kvcache.store' op expected a vector of fixed length, got 'vector<[4]xf8E4M3FN>'}}
  kvcache.store %v, %k[%i, %i, %i, %i] : vector<[4]xf8E4M3FN>, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f8E4M3FN) {
  // expected-error @+1 {{'kvcache.store' op expected 'alignment' to be a power of two of at least 1 bytes, got -4}}
  kvcache.store %v, %k[%i, %i, %i, %i] {alignment = -4 : i64} : f8E4M3FN, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f8E4M3FN) {
  %c0 = arith.constant -2 : index
  // expected-error @+1 {{'kvcache.store' op expected 'token' to be at least 0, got -2}}
  kvcache.store %v, %k[%i, %c0, %i, %i] : f8E4M3FN, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f8E4M3FN) {
  %c0 = arith.constant 5 : index
  // expected-error @+1 {{'kvcache.store' op expected 'head' to be less than 2 (num_heads), got 5}}
  kvcache.store %v, %k[%i, %i, %c0, %i] : f8E4M3FN, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f8E4M3FN) {
  %c0 = arith.constant 99 : index
  // expected-error @+1 {{'kvcache.store' op expected 'dim' to be less than 64 (head_size), got 99}}
  kvcache.store %v, %k[%i, %i, %i, %c0] : f8E4M3FN, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: vector<[4]xf32>) {
  // expected-error @+1 {{'kvcache.store_scale' op expected a vector of fixed length, got 'vector<[4]xf32>'}}
  kvcache.store_scale %v, %k[%i, %i, %i, %i] : vector<[4]xf32>, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) {
  // expected-error @+1 {{'kvcache.store_scale' op expected 'alignment' to be a power of two of at least 1 bytes, got -4}}
  kvcache.store_scale %v, %k[%i, %i, %i, %i] {alignment = -4 : i64} : f32, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) {
  %c0 = arith.constant -2 : index
  // expected-error @+1 {{'kvcache.store_scale' op expected 'token' to be at least 0, got -2}}
  kvcache.store_scale %v, %k[%i, %c0, %i, %i] : f32, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) {
  %c0 = arith.constant 5 : index
  // expected-error @+1 {{'kvcache.store_scale' op expected 'head' to be less than 2 (num_heads), got 5}}
  kvcache.store_scale %v, %k[%i, %i, %c0, %i] : f32, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: f32) {
  %c0 = arith.constant 99 : index
  // expected-error @+1 {{'kvcache.store_scale' op expected 'dim' to be less than 64 (head_size), got 99}}
  kvcache.store_scale %v, %k[%i, %i, %i, %c0] : f32, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: i8) {
  %c0 = arith.constant 5 : index
  // expected-error @+1 {{'kvcache.store' op expected an even 'dim' for dtype 'f4E2M1FN', which stores two elements a byte, got 5}}
  kvcache.store %v, %k[%i, %i, %i, %c0] : i8, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %v: vector<2xf32>) {
  %c0 = arith.constant 63 : index
  // expected-error @+1 {{'kvcache.store_scale' op expected at most 1 scales from 'dim' 63 on, got 2}}
  kvcache.store_scale %v, %k[%i, %i, %i, %c0] : vector<2xf32>, !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index, %v: bf16) {
  %c0 = arith.constant 200 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  %o = kvcache.mha_operand %k : !kvcache.cache<key, #kv>
  // expected-error @+1 {{'kvcache.store' op expected 'token' to be less than 128 (table columns * page_size), got 200}}
  kvcache.store %v, %o[%i, %c0, %i, %i] : bf16, !kvcache.mha_operand<key, #kv>
  return
}
