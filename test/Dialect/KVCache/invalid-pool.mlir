// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of 'bf16', got 'f16'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of rank 6 [NB, KD, L, P, H, D], got rank 5}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<bf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of rank 6 [NB, KD, L, P, H, D], got rank 0}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<bf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<*xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{custom op 'kvcache.get_paged_cache' invalid kind of type specified: expected builtin.memref, but found 'memref<*xbf16>'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<*xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: tensor<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{custom op 'kvcache.get_paged_cache' invalid kind of type specified: expected builtin.memref, but found 'tensor<?x2x?x16x2x64xbf16>'}}
  %c = kvcache.get_paged_cache blocks(%blocks : tensor<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16, 1>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' in the default memory space, got 1 : i64; use memref.memory_space_cast}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16, 1>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16, #gpu.address_space<global>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' in the default memory space, got #gpu.address_space<global>; use memref.memory_space_cast}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16, #gpu.address_space<global>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x1x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 1 (KD) of 'blocks' to be 2, got 1}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x?x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 1 (KD) of 'blocks' to be 2, got a dynamic size; it must be static}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x?x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x32x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 3 (P) of 'blocks' to be 16, got 32}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x32x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x4x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 4 (H) of 'blocks' to be 2, got 4}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x4x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x128xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 5 (D) of 'blocks' to be 64, got 128}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x128xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x?xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 5 (D) of 'blocks' to be 64, got a dynamic size; it must be static}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x?xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%blocks: memref<?x2x?x16x2x64xf4E2M1FN>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x4xf8E4M3FN>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of 'i8', got 'f4E2M1FN'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xf4E2M1FN>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x4xf8E4M3FN>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
func.func @f(%blocks: memref<?x2x?x16x2x64xi8>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>, %scales: memref<?x2x?x16x2x4xf8E4M3FN>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected dimension 5 (D / 2) of 'blocks' to be 32, got 64}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xi8>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) scales(%scales : memref<?x2x?x16x2x4xf8E4M3FN>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4 floordiv 2, d5)>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' with a strided layout, got affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4 floordiv 2, d5)>}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4 floordiv 2, d5)>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<9223372036854775807x2x4x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of less than 2^63 bytes, got 'memref<9223372036854775807x2x4x16x2x64xbf16>'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<9223372036854775807x2x4x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x9223372036854775807x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of less than 2^63 bytes, got 'memref<?x2x9223372036854775807x16x2x64xbf16>'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x9223372036854775807x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16, strided<[9223372036854775680, ?, 2048, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 'blocks' of less than 2^63 bytes, got 'memref<?x2x?x16x2x64xbf16, strided<[9223372036854775680, ?, 2048, 128, 64, 1]>>'}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16, strided<[9223372036854775680, ?, 2048, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[?, ?, 2048, 128, 64, 2]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 5 (D) of 'blocks' to be 1, got 2; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[?, ?, 2048, 128, 64, 2]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[?, ?, 2048, 128, 80, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 4 (H) of 'blocks' to be 64, got 80; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[?, ?, 2048, 128, 80, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[?, ?, 2048, 160, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 3 (P) of 'blocks' to be 128, got 160; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[?, ?, 2048, 160, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[?, ?, 4096, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 2 (L) of 'blocks' to be 2048, got 4096; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[?, ?, 4096, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[?, 8192, 2048, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected stride 1 (KD) of 'blocks' to be 6144, got 8192; only pages may be padded}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[?, 8192, 2048, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[12160, 6144, 2048, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected a page pitch (stride 0) of 'blocks' of at least 12288, got 12160}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[12160, 6144, 2048, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16, strided<[-4096, ?, 2048, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected a page pitch (stride 0) of 'blocks' of at least 4096, got -4096}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16, strided<[-4096, ?, 2048, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x?x16x2x64xbf16, strided<[0, ?, 2048, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected a page pitch (stride 0) of 'blocks' of at least 4096, got 0}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16, strided<[0, ?, 2048, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}


// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x3x16x2x64xbf16, strided<[12300, 6144, 2048, 128, 64, 1]>>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected the page pitch (stride 0) of 'blocks' to be a multiple of a row of 128 elements, got 12300}}
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x3x16x2x64xbf16, strided<[12300, 6144, 2048, 128, 64, 1]>>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>) : !kvcache.collection<#kv>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 8>, page_size = 4>
func.func @misaligned(%b: memref<3x2x1x4x2x8xbf16, strided<[128, 64, 64, 16, 8, 1], offset: 4>>, %l: memref<2xi32>, %t: memref<2x3xi32>, %m: memref<1xi32>) {
  // expected-error@+1 {{'kvcache.get_paged_cache' op expected 'blocks' to start at a multiple of 16 bytes, got an offset of 4 elements of 2 bytes}}
  %c = kvcache.get_paged_cache blocks(%b : memref<3x2x1x4x2x8xbf16, strided<[128, 64, 64, 16, 8, 1], offset: 4>>) lengths(%l : memref<2xi32>)
      table(%t : memref<2x3xi32>) max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
  return
}
