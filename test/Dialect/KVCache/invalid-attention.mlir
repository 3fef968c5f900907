// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected the policy assume or trap, got skip: keys that are left out change every result}}
  kvcache.paged_attention skip queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<value, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected a cache of keys, got '!kvcache.cache<value, <bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>>'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<value, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f32, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected a cache of bf16, f16, f8E4M3FN or i8, got 'f32'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xf32>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xf32>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 72>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x72xbf16>, %out: memref<?x8x72xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected a head size of 64, 80, 96, 128, 192 or 256, got 72}}
  kvcache.paged_attention queries(%q : memref<?x8x72xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x72xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xf16>, %out: memref<?x8x64xf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'q' of 'bf16', got 'f16'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xf32>, %out: memref<?x8x64xf32>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'q' of 'bf16' or 'f16', got 'f32'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xf32>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xf32>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x7x64xbf16>, %out: memref<?x7x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected query heads to be a positive multiple of the cache's 2 heads, got 7}}
  kvcache.paged_attention queries(%q : memref<?x7x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x7x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x0x64xbf16>, %out: memref<?x0x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected query heads to be a positive multiple of the cache's 2 heads, got 0}}
  kvcache.paged_attention queries(%q : memref<?x0x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x0x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x?x64xbf16>, %out: memref<?x?x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected dimension 1 (Hq) of 'q' to be static, got a dynamic size}}
  kvcache.paged_attention queries(%q : memref<?x?x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x?x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x128xbf16>, %out: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected dimension 2 (D) of 'q' to be 64, got 128}}
  kvcache.paged_attention queries(%q : memref<?x8x128xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x128xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x6x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected dimension 1 (Hq) of 'out' to be 8, got 6}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x6x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xf64>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'out' of 'f32', 'f16' or 'bf16', got 'f64'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xf64>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<4x8x64xbf16>, %out: memref<5x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected dimension 0 of 'q' and of 'out' to be the same, got 4 and 5}}
  kvcache.paged_attention queries(%q : memref<4x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<5x8x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'row_offsets' of 'i32', got 'i64'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %s: memref<2xf32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected dimension 0 (Hq) of 'sinks' to be 8, got 2}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) sinks(%s : memref<2xf32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %s: memref<?xf32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'lse' of rank 2 [T, Hq], got rank 1}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) lse(%s : memref<?xf32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %s: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'workspace' of 'f32', got 'i32'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) workspace(%s : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'scale' to be a positive number, got 0}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {scale = 0.0 : f32}
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'softcap' to be a positive number, got -1}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {softcap = -1.0 : f32}
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'window' to be at least 1, got 0}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = 0 : i64}
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected the policy assume or trap, got skip: keys that are left out change every result}}
  kvcache.mla_decode skip queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected a cache of latents, with is_mla and 1 head, got 2 heads of #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected one scale a token, got 5; make the granularity the head size, 576}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 608, is_mla = true>, page_size = 64, scales = <f32, granularity = 608>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x608xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected a head size that is a multiple of 64 and at most 576, got 608}}
  kvcache.mla_decode queries(%q : memref<?x16x608xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x576xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected dimension 2 (Dv) of 'out' to be a multiple of 64 and at most 512, got 576}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x576xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x0x576xbf16>, %out: memref<?x0x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected 1 to 128 query heads, got 0}}
  kvcache.mla_decode queries(%q : memref<?x0x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x0x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x129x576xbf16>, %out: memref<?x129x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected 1 to 128 query heads, got 129}}
  kvcache.mla_decode queries(%q : memref<?x129x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x129x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>, %s: memref<?x?xi64>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected 2 operands (slots, scale_slots), got 1}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>) slots(%s : memref<?x?xi64>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>, %s: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected 'slots' of rank 2 [T, K], got rank 1}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>) slots(%s : memref<?xi64>)
  return
}

// -----

#kv = #kvcache.layout<f32, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected a cache of bf16, f16, f8E4M3FN or i8, got 'f32'}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected a cache of 'bf16' without scales, got scales of 'f32'}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected 'q' of 'bf16', got 'f16'}}
  kvcache.mla_decode queries(%q : memref<?x16x576xf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected one scale a token, got 4; make the granularity the head size, 576}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>, %s: memref<?x8xf32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected dimension 1 (Hq) of 'q_scales' to be 16, got 8}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>) q_scales(%s : memref<?x8xf32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 64>>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected a cache of 'bf16' without scales, got scales of 'f32'}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>, placement = inline, rope = <bf16, size = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected a layout whose heads are quantised as a whole, got a tail of 16 of 64 elements; gather them first}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#a = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
#b = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 32>
func.func @f(%k: !kvcache.cache<key, #a>, %v: !kvcache.cache<value, #b>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected keys and values of one layout, got #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16> and #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 32>}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #a>, !kvcache.cache<value, #b>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>, %g: memref<f32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected no 'global_scale', since the layout has no scales; add 'scales = <...>' to the layout or drop the operand}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) global_scale(%g : memref<f32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>, %g: memref<f16>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected 'global_scale' of 'f32', got 'f16'}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>) global_scale(%g : memref<f16>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'window' to be at least 1, got -1}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = -1 : i64}
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'softcap' to be at most 1024, got 1.000000e+05; leave it out where scores stay far below it}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {softcap = 1.0e5 : f32}
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<0xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'row_offsets' of B + 1 entries, got none}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<0xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x16x576xbf16>, %out: memref<3x16x512xbf16>, %o: memref<?xi32>, %s: memref<4x9xi32>, %t: memref<3x9xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected dimension 0 of 'q' and of 'slots' to be the same, got 3 and 4}}
  kvcache.mla_decode queries(%q : memref<3x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<3x16x512xbf16>) ragged(%o : memref<?xi32>) slots(%s, %t : memref<4x9xi32>, memref<3x9xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x16x576xbf16>, %out: memref<3x16x512xbf16>, %o: memref<?xi32>, %s: memref<3x9xi32>, %t: memref<2x9xi32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected dimension 0 of 'q' and of 'scale_slots' to be the same, got 3 and 2}}
  kvcache.mla_decode queries(%q : memref<3x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<3x16x512xbf16>) ragged(%o : memref<?xi32>) slots(%s, %t : memref<3x9xi32>, memref<2x9xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x16x576xbf16>, %out: memref<3x16x512xbf16>, %o: memref<?xi32>, %s: memref<3x9xi32>, %t: memref<3x8xi64>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected dimension 1 of 'slots' and of 'scale_slots' to be the same, got 9 and 8}}
  kvcache.mla_decode queries(%q : memref<3x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<3x16x512xbf16>) ragged(%o : memref<?xi32>) slots(%s, %t : memref<3x9xi32>, memref<3x8xi64>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
func.func @f(%k: !kvcache.cache<key, #kv>, %q: memref<3x16x576xbf16>, %out: memref<3x16x512xbf16>, %o: memref<?xi32>, %s: memref<4x16xf32>) {
  // expected-error @+1 {{'kvcache.mla_decode' op expected dimension 0 of 'q' and of 'q_scales' to be the same, got 3 and 4}}
  kvcache.mla_decode queries(%q : memref<3x16x576xbf16>) over(%k : !kvcache.cache<key, #kv>)
      into(%out : memref<3x16x512xbf16>) ragged(%o : memref<?xi32>) q_scales(%s : memref<4x16xf32>)
  return
}

// -----

#mla = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64>
func.func @f(%k: !kvcache.cache<key, #mla>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %o: memref<?xi32>) {
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #mla>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>) tuning(<threads = 128>)
  // expected-error @+1 {{'kvcache.mla_decode' op expected a tuning of at least 128 threads, of which four warps share a tile, got 96; leave 'threads' out}}
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #mla>)
      into(%out : memref<?x16x512xbf16>) ragged(%o : memref<?xi32>) tuning(<threads = 96>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.paged_attention' op expected 'window' to be at most 4294967295, as many positions as a table may have, got 4294967296; leave it out where rows see all keys}}
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<?xi32>) {window = 4294967296 : i64}
  return
}
