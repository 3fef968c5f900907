// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: memref<?x?xi64>) {
  // expected-error @+1 {{'kvcache.remap_indices' op expected 'indices' of 'i32', got 'i64'}}
  kvcache.remap_indices indices(%i : memref<?x?xi64>) from(%k : !kvcache.cache<key, #kv>) into(%i : memref<?x?xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: memref<?xi32>, %s: memref<?x?xi64>) {
  // expected-error @+1 {{'kvcache.remap_indices' op expected 'indices' of rank 2 [B, K], got rank 1}}
  kvcache.remap_indices indices(%i : memref<?xi32>) from(%k : !kvcache.cache<key, #kv>) into(%s : memref<?x?xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: memref<?x?xi32>, %s: memref<?x?xi16>) {
  // expected-error @+1 {{'kvcache.remap_indices' op expected 'slots' of 'i32' or 'i64', got 'i16'}}
  kvcache.remap_indices indices(%i : memref<?x?xi32>) from(%k : !kvcache.cache<key, #kv>) into(%s : memref<?x?xi16>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: memref<?x8xi32>, %s: memref<?x9xi64>) {
  // expected-error @+1 {{'kvcache.remap_indices' op expected dimension 1 of 'indices' and of 'slots' to be the same, got 8 and 9}}
  kvcache.remap_indices indices(%i : memref<?x8xi32>) from(%k : !kvcache.cache<key, #kv>) into(%s : memref<?x9xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: memref<?x8xi32>, %s: memref<?x8xi64>) {
  // expected-error @+1 {{'kvcache.remap_indices' op expected no 'scale_slots', since the layout has no scales in a pool of their own}}
  kvcache.remap_indices indices(%i : memref<?x8xi32>) from(%k : !kvcache.cache<key, #kv>) into(%s : memref<?x8xi64>) scale_slots(%s : memref<?x8xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %i: memref<?x8xi32>, %s: memref<?x8xi64>, %o: memref<0xi32>) {
  // expected-error @+1 {{'kvcache.remap_indices' op expected 'offsets' of B + 1 entries, got none}}
  kvcache.remap_indices indices(%i : memref<?x8xi32>) from(%k : !kvcache.cache<key, #kv>) into(%s : memref<?x8xi64>) offsets(%o : memref<0xi32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf16>, %n: memref<?xi32>, %i: memref<?x8xi32>) {
  // expected-error @+1 {{'kvcache.topk' op expected 'scores' of 'f32', got 'f16'}}
  kvcache.topk scores(%s : memref<?x?xf16>) live(%n : memref<?xi32>) into(%i : memref<?x8xi32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf32>, %n: memref<?xi64>, %i: memref<?x8xi32>) {
  // expected-error @+1 {{'kvcache.topk' op expected 'live' of 'i32', got 'i64'}}
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi64>) into(%i : memref<?x8xi32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<?x2049xi32>) {
  // expected-error @+1 {{'kvcache.topk' op expected a K, dimension 1 of 'indices', of 1 to 2048, got 2049}}
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x2049xi32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<?x?xi32>) {
  // expected-error @+1 {{'kvcache.topk' op expected dimension 1 (K) of 'indices' to be static, got a dynamic size}}
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x?xi32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<?x8xi32>, %v: memref<?x9xf32>) {
  // expected-error @+1 {{'kvcache.topk' op expected dimension 1 (K) of 'values' to be 8, got 9}}
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x8xi32>) values(%v : memref<?x9xf32>)
  return
}

// -----

func.func @f(%s: memref<3x?xf32>, %n: memref<4xi32>, %i: memref<?x8xi32>) {
  // expected-error @+1 {{'kvcache.topk' op expected dimension 0 of 'scores' and of 'live' to be the same, got 3 and 4}}
  kvcache.topk scores(%s : memref<3x?xf32>) live(%n : memref<4xi32>) into(%i : memref<?x8xi32>)
  return
}

// -----

func.func @f(%s: memref<3x?xf32>, %n: memref<?xi32>, %i: memref<4x8xi32>) {
  // expected-error @+1 {{'kvcache.topk' op expected dimension 0 of 'scores' and of 'indices' to be the same, got 3 and 4}}
  kvcache.topk scores(%s : memref<3x?xf32>) live(%n : memref<?xi32>) into(%i : memref<4x8xi32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<3x8xi32>, %v: memref<2x8xf32>) {
  // expected-error @+1 {{'kvcache.topk' op expected dimension 0 of 'indices' and of 'values' to be the same, got 3 and 2}}
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<3x8xi32>) values(%v : memref<2x8xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<value, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a cache of keys, got one of values}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<value, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128>, page_size = 64>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a cache of 'f8E4M3FN', got 'bf16'}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a cache of 1 head, got 8}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 256>, page_size = 64, scales = <f32, granularity = 256>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x256xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a head size that is a multiple of 16 and at most 128, got 256}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x256xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 72>, page_size = 64, scales = <f32, granularity = 72>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x72xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a head size that is a multiple of 16 and at most 128, got 72}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x72xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 64>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a cache without an unquantised tail, got one of 64 elements}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected a cache with scales; add 'scales = <...>' to the layout}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected one scale a token, got 2; let the granularity be the head size, 128}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xbf16>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected 'queries' of 'f8E4M3FN', got 'bf16'}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xbf16>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x64xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected dimension 2 (D) of 'queries' to be 128, got 64}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x64xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x?x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected dimension 1 (Hq) of 'queries' to be static, got a dynamic size}}
  kvcache.indexer_scores queries(%q, %w : memref<?x?x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x129x128xf8E4M3FN>, %w: memref<?x129xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected queries of 1 to 128 heads, got 129}}
  kvcache.indexer_scores queries(%q, %w : memref<?x129x128xf8E4M3FN>, memref<?x129xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x32xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected dimension 1 (Hq) of 'weights' to be 64, got 32}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x32xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xbf16>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected 'weights' of 'f32', got 'bf16'}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xbf16>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x64x128xf8E4M3FN>, %w: memref<4x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected dimension 0 of 'queries' and of 'weights' to be the same, got 3 and 4}}
  kvcache.indexer_scores queries(%q, %w : memref<3x64x128xf8E4M3FN>, memref<4x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi64>, %s: memref<?x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected 'offsets' of 'i32', got 'i64'}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi64>) into(%s : memref<?x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xbf16>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected 'scores' of 'f32', got 'bf16'}}
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xbf16>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<4x?xf32>) {
  // expected-error @+1 {{'kvcache.indexer_scores' op expected dimension 0 of 'queries' and of 'scores' to be the same, got 3 and 4}}
  kvcache.indexer_scores queries(%q, %w : memref<3x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%s : memref<4x?xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x4096xi32>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected a K, dimension 1 of 'indices', of 1 to 2048, got 4096}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x4096xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<4x512xi32>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected dimension 0 of 'queries' and of 'indices' to be the same, got 3 and 4}}
  kvcache.indexer_topk queries(%q, %w : memref<3x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<4x512xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %scores: memref<?x?xf32>, %workspace: memref<?x?x1024xi32>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected 'scores' or 'workspace', got both}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) scores(%scores : memref<?x?xf32>) workspace(%workspace : memref<?x?x1024xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %workspace: memref<?x?x512xi32>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected dimension 2 (2 K) of 'workspace' to be 1024, got 512}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) workspace(%workspace : memref<?x?x512xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %workspace: memref<?x?x1024xf32>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected 'workspace' of 'i32', got 'f32'}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) workspace(%workspace : memref<?x?x1024xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %scores: memref<?x?xf16>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected 'scores' of 'f32', got 'f16'}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) scores(%scores : memref<?x?xf16>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %values: memref<?x512xf16>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected 'values' of 'f32', got 'f16'}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) values(%values : memref<?x512xf16>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %g: memref<1xf32>) {
  // expected-error @+1 {{'kvcache.indexer_topk' op expected 'global_scale' of rank 0 [], got rank 1}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) global_scale(%g : memref<1xf32>)
  return
}

// -----

func.func @f(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<?x512xi32>) {
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x512xi32>) tuning(<threads = 64>)
  // expected-error @+1 {{'kvcache.topk' op expected a tuning of at least 64 threads, which keep candidates together, got 32; leave 'threads' out}}
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x512xi32>) tuning(<threads = 32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x512xi32>, %scores: memref<?x?xf32>) {
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) scores(%scores : memref<?x?xf32>) tuning(<threads = 32>)
  // expected-error @+1 {{'kvcache.indexer_topk' op expected a tuning of at least 64 threads, which keep candidates together, got 32; leave 'threads' out}}
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) tuning(<threads = 32>)
  return
}
