// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op TMA not supported for a scales_mha_operand: a tensor map reads values; read scales with block_paged_ptr}}
  %m = kvcache.create_tma_tile %k tile(16, 1, 1) : !kvcache.scales_mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
gpu.module @m {
  gpu.func @f(%k: !kvcache.mha_operand<key, #kv>) {
    // expected-error @+1 {{'kvcache.create_tma_tile' op expected host code, got device code; create the tensor map on the host and pass it to the kernel}}
    %m = kvcache.create_tma_tile %k tile(16, 64, 64) : !kvcache.mha_operand<key, #kv>
    gpu.return
  }
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_ragged_tma_tile' op TMA not supported for a scales_mha_operand: a tensor map reads values; read scales with block_paged_ptr}}
  %m = kvcache.create_ragged_tma_tile %k tile(16, 1, 1) : !kvcache.scales_mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
gpu.module @m {
  gpu.func @f(%k: !kvcache.mha_operand<key, #kv>) {
    // expected-error @+1 {{'kvcache.create_ragged_tma_tile' op expected host code, got device code; create the tensor map on the host and pass it to the kernel}}
    %m = kvcache.create_ragged_tma_tile %k tile(16, 64, 64) : !kvcache.mha_operand<key, #kv>
    gpu.return
  }
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %i, %gy = %i, %gz = %i) threads(%tx, %ty, %tz) in (%sx = %i, %sy = %i, %sz = %i) {
    // expected-error @+1 {{'kvcache.create_tma_tile' op expected host code, got device code; create the tensor map on the host and pass it to the kernel}}
    %m = kvcache.create_tma_tile %k tile(16, 64, 64) : !kvcache.mha_operand<key, #kv>
    gpu.terminator
  }
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected BN to be at most 256 rows, got 257}}
  %m = kvcache.create_tma_tile %k tile(257, 64, 64) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected depth to be at most head_size 64, got 65}}
  %m = kvcache.create_tma_tile %k tile(16, 65, 64) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected BK to be at most depth 32, got 64}}
  %m = kvcache.create_tma_tile %k tile(16, 32, 64) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected an even depth and BK for dtype 'f4E2M1FN', got 64 and 31}}
  %m = kvcache.create_tma_tile %k tile(16, 64, 31) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected BK to be a multiple of the swizzle width of 128 bytes, got 32 elements of 64 bytes; use a narrower swizzle}}
  %m = kvcache.create_tma_tile %k tile(16, 64, 32) swizzle(swizzle_128b) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected BK to be at most 256 elements without a swizzle, got 512}}
  %m = kvcache.create_tma_tile %k tile(16, 512, 512) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected BK to take a multiple of 16 bytes, got 8}}
  %m = kvcache.create_tma_tile %k tile(16, 64, 4) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 46>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected the stride of a head to be a multiple of 16 bytes, got 92; load without TMA}}
  %m = kvcache.create_tma_tile %k tile(16, 46, 8) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 4, head_size = 46>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_ragged_tma_tile' op expected the stride of a head to be a multiple of 16 bytes, got 92; load without TMA}}
  %m = kvcache.create_ragged_tma_tile %k tile(16, 46, 8) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op attribute 'bn' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %m = kvcache.create_tma_tile %k tile(0, 64, 64) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op attribute 'depth' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %m = kvcache.create_tma_tile %k tile(16, 0, 64) : !kvcache.mha_operand<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op attribute 'bk' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %m = kvcache.create_tma_tile %k tile(16, 64, -8) : !kvcache.mha_operand<key, #kv>
  return
}
