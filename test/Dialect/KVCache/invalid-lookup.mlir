// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.cache_length' op expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to skip; use 'skip' on the load or store}}
  %r = kvcache.cache_length skip %k[%i] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.row_idx' op expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to skip; use 'skip' on the load or store}}
  %r = kvcache.row_idx skip %k[%i, %i] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_row_idx' op expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to skip; use 'skip' on the load or store}}
  %r:2 = kvcache.block_row_idx skip %k[%i, %i] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.populate' op expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to skip; use 'skip' on the load or store}}
  %r = kvcache.populate skip %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<16xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to skip; use 'skip' on the load or store}}
  %r = kvcache.block_paged_ptr skip %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected policy 'assume' or 'trap', got 'skip': a lookup has nothing to skip; use 'skip' on the load or store}}
  %r = kvcache.scales_block_paged_ptr skip %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x1xf32, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.cache_length' op expected 'batch' to be at least 0, got -1}}
  %r = kvcache.cache_length %k[%c0] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.row_idx' op expected 'token' to be at least 0, got -1}}
  %r = kvcache.row_idx %k[%i, %c0] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 4294967296 : index
  // expected-error @+1 {{'kvcache.row_idx' op expected 'token' to be less than 4294967296 (positions are 32-bit), got 4294967296}}
  %r = kvcache.row_idx %k[%i, %c0] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) {
  %c0 = arith.constant 4 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.cache_length' op expected 'batch' to be less than 4 (sequences), got 4}}
  %r = kvcache.cache_length %k[%c0] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) {
  %c0 = arith.constant 4 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.row_idx' op expected 'batch' to be less than 4 (sequences), got 4}}
  %r = kvcache.row_idx %k[%c0, %i] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) {
  %c0 = arith.constant 128 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.row_idx' op expected 'token' to be less than 128 (table columns * page_size), got 128}}
  %r = kvcache.row_idx %k[%i, %c0] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) {
  %c0 = arith.constant 128 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.block_row_idx' op expected 'token' to be less than 128 (table columns * page_size), got 128}}
  %r:2 = kvcache.block_row_idx %k[%i, %c0] : !kvcache.cache<key, #kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %i: index) {
  %c0 = arith.constant 112 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.populate' op expected 'token' + 32 to be at most 128 (table columns * page_size), got token 112}}
  %r = kvcache.populate %k[%i, %c0] : !kvcache.cache<key, #kv> -> vector<32xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.populate' op expected a vector of fixed length, got 'vector<[16]xindex>'}}
  %r = kvcache.populate %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<[16]xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.populate' op expected the page size to divide the number of rows or the other way round, got page_size 16 and 24 rows}}
  %r = kvcache.populate %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<24xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.populate' op expected 'alignment' to be a power of two of at least 4 bytes, got 2}}
  %r = kvcache.populate %k[%i, %i] {alignment = 2 : i64} : !kvcache.cache<key, #kv> -> vector<16xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.populate' op expected 'alignment' to be a power of two of at least 4 bytes, got 12}}
  %r = kvcache.populate %k[%i, %i] {alignment = 12 : i64} : !kvcache.cache<key, #kv> -> vector<16xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 12 : index
  // expected-error @+1 {{'kvcache.populate' op expected 'token' to be a multiple of 8 (the smaller of page_size and the number of rows), got 12}}
  %r = kvcache.populate %k[%i, %c0] : !kvcache.cache<key, #kv> -> vector<8xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 8 : index
  // expected-error @+1 {{'kvcache.populate' op expected 'token' to be a multiple of 16 (the smaller of page_size and the number of rows), got 8}}
  %r = kvcache.populate %k[%i, %c0] : !kvcache.cache<key, #kv> -> vector<32xindex>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 'bf16', got 'f32'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xf32, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 'f32', got 'f8E4M3FN'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf8E4M3FN, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 'i8', got 'f4E2M1FN'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xf4E2M1FN, strided<[64, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x8xbf16, strided<[128, 1], offset: ?>>' with static sizes, got 'memref<1x8xbf16>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x8xbf16, strided<[128, 1], offset: ?>>' with static sizes, got 'memref<1x8xbf16, strided<[64, 1], offset: ?>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[64, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x8xbf16, strided<[128, 1], offset: ?>>' with static sizes, got 'memref<1x8xbf16, strided<[128, 1]>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1]>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x8xbf16, strided<[128, 1], offset: ?>>' with static sizes, got 'memref<1x8xbf16, strided<[128, 1], offset: ?>, 1>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>, 1>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x?xbf16, strided<[128, 1], offset: ?>>' with static sizes, got 'memref<1x?xbf16, strided<[128, 1], offset: ?>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x?xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x8xbf16, strided<[128, 1], offset: ?>>' with static sizes, got 'memref<1x8xbf16, affine_map<(d0, d1) -> (d0, d1 floordiv 2)>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, affine_map<(d0, d1) -> (d0, d1 floordiv 2)>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op result #0 must be 2D memref of any type values, but got 'memref<8xbf16, strided<[1], offset: ?>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<8xbf16, strided<[1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a tile that divides page_size 16, got 3 tokens}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<3x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a tile that divides page_size 16, got 32 tokens}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<32x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a tile that divides page_size 16, got 0 tokens}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<0x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 1 to 64 elements of a head, got 65}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x65xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 1 to 64 elements of a head, got 0}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x0xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 1 to 32 elements of a head, got 64}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x64xi8, strided<[64, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 1 to 2 scales of a head, got 3}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x3xf32, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected 'token' to be at least 0, got -1}}
  %r = kvcache.block_paged_ptr %k[%i, %c0, %i] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 30 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected 4 tokens in one page of page_size 16, got a tile from slot 14}}
  %r = kvcache.block_paged_ptr %k[%i, %c0, %i] : !kvcache.cache<key, #kv> -> memref<4x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 2 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected 'head' to be less than 2 (num_heads), got 2}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %c0] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected 'head' to be at least 0, got -1}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %c0] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 64 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected 'dim' to be less than 64 (head_size), got 64}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 3 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected an even 'dim' for dtype 'f4E2M1FN', which stores two elements a byte, got 3}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> memref<1x8xi8, strided<[64, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  %c0 = arith.constant 60 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of at most 4 elements from 'dim' 60 on, got 8}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %c0] : !kvcache.cache<key, #kv> -> memref<1x8xbf16, strided<[128, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  %c0 = arith.constant 33 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of at most 1 scales from 'dim' 33 on, got 2}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %c0] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x2xf32, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.scales_mha_operand<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a cache or a plain mha_operand, got a scales_mha_operand: its scales have no scales to point to; use block_paged_ptr, which gives the address of a scale}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a layout with scales, got one without; add 'scales = <...>' to the layout}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x1xf32, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a view of 'f32', got 'bf16'}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x1xbf16, strided<[4, 1], offset: ?>>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a view of 1 to 2 scales of a head, got 4}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x4xf32, strided<[4, 1], offset: ?>>
  return
}
