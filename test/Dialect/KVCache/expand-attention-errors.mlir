// RUN: kvcache-opt %s --kvcache-expand-kernels -split-input-file -verify-diagnostics
// RUN: kvcache-opt %s --inline -split-input-file -o /dev/null

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x1x16x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x8xi32>, %max: memref<1xi32>,
             %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %layer: index) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x1x16x2x64xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = 128 : i64}
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'window' to be at most the 128 positions of the table (8 pages of 16 tokens), got 129; leave it out where rows see all keys}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = 129 : i64}
  return
}

// -----

// A cast hides nothing.

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%blocks: memref<?x2x1x16x2x64xbf16>, %lengths: memref<?xi32>, %static: memref<4x8xi32>, %max: memref<1xi32>,
             %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %layer: index) {
  %half = memref.cast %static : memref<4x8xi32> to memref<?x8xi32>
  %table = memref.cast %half : memref<?x8xi32> to memref<?x?xi32>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x1x16x2x64xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  // expected-error @+1 {{expected 'window' to be at most the 128 positions of the table (8 pages of 16 tokens), got 4096}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = 4096 : i64}
  return
}

// -----

// What is valid stays so where functions are inlined.

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func private @attend(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = 4096 : i64}
  return
}
func.func @f(%blocks: memref<?x2x1x16x2x64xbf16>, %lengths: memref<?xi32>, %table: memref<?x8xi32>, %max: memref<1xi32>,
             %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %layer: index) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x1x16x2x64xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  func.call @attend(%k, %v, %q, %out, %o) : (!kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>, memref<?x8x64xbf16>, memref<?x8x64xbf16>, memref<?xi32>) -> ()
  return
}
