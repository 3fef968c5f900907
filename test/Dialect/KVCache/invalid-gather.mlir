// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xi8>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'out' of 'f32', 'f16' or 'bf16', got 'i8'}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xi8>)
  return
}

// -----

// Codes alone are no numbers.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xf8E4M3FN>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'out' of 'f32', 'f16' or 'bf16', got 'f8E4M3FN'}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xf8E4M3FN>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xf8E5M2>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'out' of 'f32', 'f16', 'bf16' or 'f8E4M3FN', got 'f8E5M2'}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xf8E5M2>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x2x64xbf16>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'out' of rank 4 [B, rows, H, D], got rank 3}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x2x64xbf16>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xbf16>, %o: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'out' of rank 3 [T, H, D], got rank 4}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xbf16>) offsets(%o : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x64x2xbf16>) {
  // expected-error @+1 {{'kvcache.gather' op expected dimension 2 (H) of 'out' to be 2, got 64}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x64x2xbf16>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x?xbf16>) {
  // expected-error @+1 {{'kvcache.gather' op expected dimension 3 (D) of 'out' to be 64, got a dynamic size; it must be static}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x?xbf16>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xbf16, strided<[?, ?, 128, 2]>>) {
  // expected-error @+1 {{'kvcache.gather' op expected the last stride of 'out' to be 1, got 2}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xbf16, strided<[?, ?, 128, 2]>>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xbf16>, %s: memref<?x?x2x4xf32>) {
  // expected-error @+1 {{'kvcache.gather' op expected no 'scales', since the layout has no scales; add 'scales = <...>' to the layout or drop the operand}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xbf16>) scales(%s : memref<?x?x2x4xf32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xbf16>, %g: memref<f32>) {
  // expected-error @+1 {{'kvcache.gather' op expected no 'global_scale', since the layout has no scales; add 'scales = <...>' to the layout or drop the operand}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xbf16>) global_scale(%g : memref<f32>)
  return
}

// -----

#kv = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xf32>, %s: memref<?x?x2x4xf16>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'scales' of 'f32', got 'f16'}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xf32>) scales(%s : memref<?x?x2x4xf16>)
  return
}

// -----

#kv = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xf32>, %s: memref<?x?x2x64xf32>) {
  // expected-error @+1 {{'kvcache.gather' op expected dimension 3 (G) of 'scales' to be 4, got 64}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xf32>) scales(%s : memref<?x?x2x64xf32>)
  return
}

// -----

#kv = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<4x9x2x64xf32>, %s: memref<4x8x2x4xf32>) {
  // expected-error @+1 {{'kvcache.gather' op expected dimension 1 of 'out' and dimension 1 of 'scales' to be the same, got 9 and 8}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<4x9x2x64xf32>) scales(%s : memref<4x8x2x4xf32>)
  return
}

// -----

#kv = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 16>>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xf32>, %g: memref<1xf32>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'global_scale' of rank 0 [], got rank 1}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xf32>) global_scale(%g : memref<1xf32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<4x?x2x64xbf16>, %ids: memref<3xi32>) {
  // expected-error @+1 {{'kvcache.gather' op expected dimension 0 (B) of 'out' and the size of 'sequences' to be the same, got 4 and 3}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<4x?x2x64xbf16>) sequences(%ids : memref<3xi32>)
  return
}

// -----

// 64-bit lists are refused, not misread.
#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x2x64xbf16>, %ids: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'sequences' of 'i32', got 'i64'}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x2x64xbf16>) sequences(%ids : memref<?xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x2x64xbf16>, %o: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'offsets' of 'i32', got 'i64'}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x2x64xbf16>) offsets(%o : memref<?xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x2x64xbf16>, %o: memref<0xi32>) {
  // expected-error @+1 {{'kvcache.gather' op expected 'offsets' of B + 1 entries, got none}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x2x64xbf16>) offsets(%o : memref<0xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @f(%k: !kvcache.cache<key, #kv>, %out: memref<?x2x64xbf16>, %o: memref<4xi32>, %ids: memref<4xi32>) {
  // expected-error @+1 {{'kvcache.gather' op expected the size of 'offsets' less 1 and the size of 'sequences' to be the same, got 3 and 4}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x2x64xbf16>) sequences(%ids : memref<4xi32>) offsets(%o : memref<4xi32>)
  return
}
