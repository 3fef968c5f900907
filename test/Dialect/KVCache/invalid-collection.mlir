// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi64>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'cache_lengths' of 'i32', got 'i64'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi64>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4x1xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'cache_lengths' of rank 1 [B], got rank 2}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4x1xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32, 3>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'cache_lengths' in the default memory space, got 3 : i64; use memref.memory_space_cast}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32, 3>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32, strided<[2]>>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the last stride of 'cache_lengths' to be 1, got 2}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32, strided<[2]>>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32, strided<[?]>>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the last stride of 'cache_lengths' to be 1, got a dynamic one}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32, strided<[?]>>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32, affine_map<(d0) -> (d0 floordiv 2)>>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'cache_lengths' with a strided layout, got affine_map<(d0) -> (d0 floordiv 2)>}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32, affine_map<(d0) -> (d0 floordiv 2)>>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xui32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'lookup_table' of 'i32', got 'ui32'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xui32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<32xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'lookup_table' of rank 2 [B, M], got rank 1}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<32xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32, strided<[1, 4]>>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the last stride of 'lookup_table' to be 1, got 4}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32, strided<[1, 4]>>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32, strided<[4, 1]>>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 0 (B) of 'lookup_table' to be at least 8, got 4}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32, strided<[4, 1]>>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x?xi32, strided<[-8, 1]>>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 0 (B) of 'lookup_table' to be at least 0, got -8}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x?xi32, strided<[-8, 1]>>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<5xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 0 (B) of 'cache_lengths' to be 4, got 5}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<5xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<65536xi32>, %table: memref<65536x65536xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the number of entries of 'lookup_table' to be less than 4294967296, got B 65536 * M 65536}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<65536xi32>) table(%table : memref<65536x65536xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<9223372036854775807x9223372036854775807xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the number of entries of 'lookup_table' to be less than 4294967296, got B 9223372036854775807 * M 9223372036854775807}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<9223372036854775807x9223372036854775807xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32, strided<[1073741824, 1]>>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the number of entries of 'lookup_table' to be less than 4294967296, got B 4 * stride 1073741824}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32, strided<[1073741824, 1]>>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x268435456xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the number of positions to be less than 4294967296, got M 268435456 * P 16}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x268435456xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xindex>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'max_prompt_length' of 'i32', got 'index'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xindex>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<i32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'max_prompt_length' of rank 1 [1], got rank 0}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<i32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<2xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 0 (1) of 'max_prompt_length' to be 1, got 2}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<2xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'max_cache_length' of 'i32', got 'f32'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<4xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 0 (1) of 'max_cache_length' to be 1, got 4}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<4xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected no 'scales', since the layout has none; add 'scales = <...>' to the layout or drop the operand}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales_table: memref<4x8xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected no 'scales_lookup_table', since the layout has no scales; drop the operand}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales_table(%scales_table : memref<4x8xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'scales', since the layout has scales of 'f32'; pass the scales pool or drop 'scales' from the layout}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales_table: memref<4x8xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'scales', since the layout has scales of 'f32'; pass the scales pool or drop 'scales' from the layout}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales_table(%scales_table : memref<4x8xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf16>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'scales' of 'f32', got 'f16'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf16>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'scales' of rank 6 [NBs, KD, L, P, H, G], got rank 5}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x1x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 1 (KD) of 'scales' to be 2, got 1}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x1x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x4x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 2 (L) of 'scales' to be 3, got 4}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x4x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x8x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (P) of 'scales' to be 16, got 8}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x8x2x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x1x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 4 (H) of 'scales' to be 2, got 1}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x1x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x1xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 5 (G) of 'scales' to be 2, got 1}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x1xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x3x16x2x2xf32, strided<[386, 192, 64, 4, 2, 1]>>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the page pitch (stride 0) of 'scales' to be a multiple of a row of 4 elements, got 386}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x3x16x2x2xf32, strided<[386, 192, 64, 4, 2, 1]>>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'scales_lookup_table', since the layout says 'table = own'; pass the table or say 'table = shared'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %scales_table: memref<4x8xi16>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'scales_lookup_table' of 'i32', got 'i16'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<4x8xi16>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %scales_table: memref<3x8xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 0 (B) of 'scales_lookup_table' to be 4, got 3}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<3x8xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %scales_table: memref<4x9xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 1 (M) of 'scales_lookup_table' to be 8, got 9}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<4x9xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %scales_table: memref<4x8xi32, strided<[1073741824, 1]>>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the number of entries of 'scales_lookup_table' to be less than 4294967296, got B 4 * stride 1073741824}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<4x8xi32, strided<[1073741824, 1]>>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x2xf32>, %scales_table: memref<4x8xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected no 'scales_lookup_table', since the layout says 'table = shared'; drop the operand or say 'table = own'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x2xf32>) scales_table(%scales_table : memref<4x8xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @f(%blocks: memref<9x2x3x16x2x64xf8E4M3FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<7x2x3x16x2x2xf32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected as many scales blocks (NBs) as value blocks (NB) where both share a table, got 7 and 9; pass a 'scales_lookup_table' and say 'table = own'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9x2x3x16x2x64xf8E4M3FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<7x2x3x16x2x2xf32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.collection<#kv>) {
  %layer = arith.constant -1 : index
  // expected-error @+1 {{'kvcache.get_key_cache' op expected 'layer' to be at least 0, got -1}}
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  %layer = arith.constant 3 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.get_key_cache' op expected 'layer' to be less than 3 (layers), got 3}}
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>) {
  %layer = arith.constant 3 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  // expected-error @+1 {{'kvcache.get_value_cache' op expected 'layer' to be less than 3 (layers), got 3}}
  %k = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16>
func.func @f(%c: !kvcache.collection<#kv>, %layer: index) {
  // expected-error @+1 {{'kvcache.get_value_cache' op expected side 'key', got 'value': an MLA layout has no value cache; read the values from its keys}}
  %k = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>) {
  // expected-error @+1 {{'kvcache.scales_mha_operand' op expected a layout with scales, got one without; add 'scales = <...>' or use a plain mha_operand}}
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
  return
}


// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.collection<#own>) {
  // expected-error @+1 {{'kvcache.cast' op expected a result that differs from the source only in 'table = own' in place of 'table = shared', got '!kvcache.collection<<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>>' and '!kvcache.collection<<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>>'}}
  %r = kvcache.cast %c : !kvcache.collection<#own> to !kvcache.collection<#shared>
  return
}


// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.collection<#shared>) {
  // expected-error @+1 {{'kvcache.cast' op expected a result that differs from the source only in 'table = own' in place of 'table = shared', got '!kvcache.collection<<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>>' and '!kvcache.collection<<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>>'}}
  %r = kvcache.cast %c : !kvcache.collection<#shared> to !kvcache.collection<#shared>
  return
}


// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.collection<#none>) {
  // expected-error @+1 {{'kvcache.cast' op expected a result that differs from the source only in 'table = own' in place of 'table = shared', got '!kvcache.collection<<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>>' and '!kvcache.collection<<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>>'}}
  %r = kvcache.cast %c : !kvcache.collection<#none> to !kvcache.collection<#none>
  return
}


// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.cache<key, #shared>) {
  // expected-error @+1 {{'kvcache.cast' op expected a result that differs from the source only in 'table = own' in place of 'table = shared', got '!kvcache.cache<key, <f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>>' and '!kvcache.cache<value, <f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>>'}}
  %r = kvcache.cast %c : !kvcache.cache<key, #shared> to !kvcache.cache<value, #own>
  return
}


// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.cache<key, #shared>) {
  // expected-error @+1 {{'kvcache.cast' op expected a result that differs from the source only in 'table = own' in place of 'table = shared', got '!kvcache.cache<key, <f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>>' and '!kvcache.mha_operand<key, <f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>>'}}
  %r = kvcache.cast %c : !kvcache.cache<key, #shared> to !kvcache.mha_operand<key, #own>
  return
}


// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#none = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%c: !kvcache.collection<#shared>) {
  // expected-error @+1 {{'kvcache.cast' op expected a result that differs from the source only in 'table = own' in place of 'table = shared', got '!kvcache.collection<<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>>' and '!kvcache.cache<key, <f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>>'}}
  %r = kvcache.cast %c : !kvcache.collection<#shared> to !kvcache.cache<key, #own>
  return
}

// -----

func.func @f(%n: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mha_operand' op expected an operand of '!kvcache.cache', got 'memref<?xi32>'}}
  %o = kvcache.mha_operand %n : memref<?xi32>
  return
}

// -----

func.func @f(%n: memref<?xi32>, %i: index) {
  // expected-error @+1 {{'kvcache.get_key_cache' op expected an operand of '!kvcache.collection', got 'memref<?xi32>'}}
  %k = kvcache.get_key_cache %n[%i] : memref<?xi32>
  return
}
