// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

// What placements other than pool, order hnd, tails and interleaved scales refuse.

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of 'i8', got 'f8E4M3FN'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x?x16x2x64xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of rank 4 [NB, KD, L, bytes], got rank 6}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x?x2303xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (bytes) of 'blocks' to be 2304, got 2303}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2303xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x?x?xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (bytes) of 'blocks' to be 2304, got a dynamic size; it must be static}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x?xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x1x?x2304xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 1 (KD) of 'blocks' to be 2, got 1}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x2304xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, kv_inner = true>
func.func @f(%blocks: memref<?x2x?x2304xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 1 (KD) of 'blocks' to be 1, got 2}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2304xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline, kv_inner = true>
func.func @f(%blocks: memref<?x1x?x2304xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (bytes) of 'blocks' to be 4608, got 2304}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x2304xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13824, 6912, 2320, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 2 (L) of 'blocks' to be 2304, got 2320; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13824, 6912, 2320, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13824, 6928, 2304, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 1 (KD) of 'blocks' to be 6912, got 6928; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13824, 6928, 2304, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13808, 6912, 2304, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected a page pitch (stride 0) of 'blocks' of at least 13824, got 13808}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13808, 6912, 2304, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13828, 6912, 2304, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the page pitch (stride 0) of 'blocks' to be a multiple of 16 bytes, got 13828; say 'page_align = 4' in the layout for pages that are aligned to less}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13828, 6912, 2304, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, page_align = 512>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13825, 6912, 2304, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the page pitch (stride 0) of 'blocks' to be a multiple of 512 bytes, got 13825; 'page_align' of the layout says so}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13825, 6912, 2304, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, page_align = 500>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13824, 6912, 2304, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected a page pitch (stride 0) of 'blocks' of at least 14000, got 13824}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13824, 6912, 2304, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, page_align = 9223372036854775807>
func.func @f(%blocks: memref<?x2x3x2304xi8, strided<[13824, 6912, 2304, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of less than 2^63 bytes, got 'memref<?x2x3x2304xi8, strided<[13824, 6912, 2304, 1]>>'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x2304xi8, strided<[13824, 6912, 2304, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x?x2304xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected no 'scales', since they lie in 'blocks' with placement inline; drop the operand}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2304xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, page_align = 512>
func.func @f(%blocks: memref<?x2x?x2304xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected no 'scales', since they lie in 'blocks' with placement page_split; drop the operand}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2304xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%blocks: memref<?x2x?x2304xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected no 'scales_lookup_table', since the scales lie in 'blocks' with placement inline; drop the operand}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2304xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales_table(%table : memref<4x8xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (H) of 'blocks' to be 2, got 16}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%blocks: memref<?x2x?x2x16x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (H) of 'scales' to be 2, got 16}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2x16x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>, order = hnd>
func.func @f(%blocks: memref<?x2x?x2x16x64xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 5 (D / 2) of 'blocks' to be 32, got 64}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x2x16x64xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.row_idx' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement inline and order nhd; use block_paged_ptr, or a load or store}}
  %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.num_kv_rows' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement inline and order nhd; use block_paged_ptr, or a load or store}}
  %r = kvcache.num_kv_rows %k : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.populate' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement inline and order nhd; use block_paged_ptr, or a load or store}}
  %r = kvcache.populate %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<16xindex>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement inline and order nhd; load without TMA}}
  %r = kvcache.create_tma_tile %k tile(16, 64, 64) : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.create_ragged_tma_tile' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement inline and order nhd; load without TMA}}
  %r = kvcache.create_ragged_tma_tile %k tile(16, 64, 64) : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.row_idx' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement pool and order hnd; use block_paged_ptr, or a load or store}}
  %r = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.num_kv_rows' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement pool and order hnd; use block_paged_ptr, or a load or store}}
  %r = kvcache.num_kv_rows %k : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.populate' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement pool and order hnd; use block_paged_ptr, or a load or store}}
  %r = kvcache.populate %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<16xindex>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement pool and order hnd; load without TMA}}
  %r = kvcache.create_tma_tile %k tile(16, 64, 64) : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.create_ragged_tma_tile' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement pool and order hnd; load without TMA}}
  %r = kvcache.create_ragged_tma_tile %k tile(16, 64, 64) : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = page_split, page_align = 512>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+2 {{'kvcache.row_idx' op expected a layout of placement pool and order nhd, whose tokens are rows of a matrix, got placement page_split and order nhd; use block_paged_ptr, or a load or store}}
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
  %r = kvcache.row_idx %s[%i, %i] : !kvcache.scales_mha_operand<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.scales_raw_ptr' op expected scales in a pool of their own, got placement inline; use scales_block_paged_ptr or load_scale}}
  %r = kvcache.scales_raw_ptr %k : !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<1x64xf8E4M3FN, strided<[144, 1], offset: ?>>' with static sizes, got 'memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a view of type 'memref<16x2xf32, strided<[36, 1], offset: ?>>' with static sizes, got 'memref<16x2xf32, strided<[4, 1], offset: ?>>'}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<16x2xf32, strided<[4, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>, order = hnd>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of type 'memref<16x64xf8E4M3FN, strided<[64, 1], offset: ?>>' with static sizes, got 'memref<16x64xf8E4M3FN, strided<[128, 1], offset: ?>>'}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<16x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 46>, page_size = 16, scales = <f32, granularity = 46>, placement = inline>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected 'f32' that lie at multiples of 4 bytes, got a layout whose tokens lie 100 bytes apart, from byte 46 of a layer on; use a load or store, which copes}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x1xf32, strided<[25, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>
func.func @f(%k: !kvcache.cache<value, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a view of 1x1 scales where they are swizzled, got 1x4; use load_scale or store_scale}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #kv> -> memref<1x4xf8E4M3FN, strided<[4, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>
func.func @f(%k: !kvcache.cache<value, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.scales_block_paged_ptr' op expected a view of 1x1 scales where they are swizzled, got 4x1; use load_scale or store_scale}}
  %r = kvcache.scales_block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<value, #kv> -> memref<4x1xf8E4M3FN, strided<[4, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected a view of 1 to 512 elements of a head, got 513}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x513xf8E4M3FN, strided<[656, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c512 = arith.constant 512 : index
  // expected-error @+1 {{'kvcache.block_paged_ptr' op expected 'dim' to be less than 512 (head_size less the rope size, which load reads), got 512}}
  %r = kvcache.block_paged_ptr %k[%i, %i, %i, %c512] : !kvcache.cache<key, #kv> -> memref<1x1xf8E4M3FN, strided<[656, 1], offset: ?>>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c512 = arith.constant 512 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected 'dim' to be less than 512 (head_size less the rope size, which load reads), got 512}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %c512] : !kvcache.cache<key, #kv> -> f8E4M3FN
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c508 = arith.constant 508 : index
  // expected-error @+1 {{'kvcache.load_quantized' op expected at most 4 elements from 'dim' 508 on, got 8}}
  %r = kvcache.load_quantized %k[%i, %i, %i, %c508] : !kvcache.cache<key, #kv> -> vector<8xf8E4M3FN>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c512 = arith.constant 512 : index
  // expected-error @+1 {{'kvcache.load_scale' op expected 'dim' to be less than 512 (head_size less the rope size, which load reads), got 512}}
  %r = kvcache.load_scale %k[%i, %i, %i, %c512] : !kvcache.cache<key, #kv> -> f32
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c513 = arith.constant 513 : index
  // expected-error @+1 {{'kvcache.store_scale' op expected 'dim' to be less than 512 (head_size less the rope size, which load reads), got 513}}
  kvcache.store_scale %y, %k[%i, %i, %i, %c513] : f32, !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c573 = arith.constant 573 : index
  // expected-error @+1 {{'kvcache.load' op expected at most 3 elements from 'dim' 573 on, got 8}}
  %r = kvcache.load %k[%i, %i, %i, %c573] : !kvcache.cache<key, #kv> -> vector<8xbf16>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c512 = arith.constant 512 : index
  // expected-error @+1 {{'kvcache.store' op expected 'dim' to be less than 512 (head_size less the rope size, which load reads), got 512}}
  kvcache.store %b, %k[%i, %i, %i, %c512] : f8E4M3FN, !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c511 = arith.constant 511 : index
  // expected-error @+1 {{'kvcache.store' op expected 'dim' to be at least 512 (head_size less the rope size) for a value of 'bf16', got 511; values of 'f8E4M3FN' are stored before}}
  kvcache.store %x, %k[%i, %i, %i, %c511] : bf16, !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c573 = arith.constant 573 : index
  // expected-error @+1 {{'kvcache.store' op expected at most 3 elements from 'dim' 573 on, got 8}}
  kvcache.store %v, %k[%i, %i, %i, %c573] : vector<8xbf16>, !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %w: i16) {
  // expected-error @+1 {{'kvcache.store' op expected a value of 'f8E4M3FN', f32, f16 or bf16, got 'i16'}}
  kvcache.store %w, %k[%i, %i, %i, %i] : i16, !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %b: f8E4M3FN, %x: bf16, %y: f32, %v: vector<8xbf16>) {
  %c512 = arith.constant 512 : index
  // expected-error @+1 {{'kvcache.store' op expected 'dim' to be less than 512 (head_size less the rope size, which load reads), got 512}}
  kvcache.store %x, %k[%i, %i, %i, %c512] : bf16, !kvcache.cache<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f8E4M3FN, granularity = 16>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: index, %w: i8) {
  %c511 = arith.constant 511 : index
  // expected-error @+1 {{'kvcache.store' op expected an even 'dim' for dtype 'f4E2M1FN', which stores two elements a byte, got 511}}
  kvcache.store %w, %k[%i, %i, %i, %c511] : i8, !kvcache.cache<key, #kv>
  return
}
