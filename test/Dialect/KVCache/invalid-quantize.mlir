// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected a floor of at least 0 that is finite in f32, got -1.000000e+00}}
#negative = #kvcache.quantization<floor = -1.0>

// -----

// expected-error @+1 {{expected a floor of at least 0 that is finite in f32, got 1.000000e+39}}
#large = #kvcache.quantization<floor = 1.0e39>

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @targets(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected one or two targets, got 3}}
  kvcache.quantize_append sources(%x, %x, %x : memref<?x2x64xbf16>, memref<?x2x64xbf16>, memref<?x2x64xbf16>)
      into(%k, %k, %k : !kvcache.cache<key, #kv>, !kvcache.cache<key, #kv>, !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @sources(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a source for each target, got 2 and 1}}
  kvcache.quantize_append sources(%x, %x : memref<?x2x64xbf16>, memref<?x2x64xbf16>)
      into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
#other = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 64>>
func.func @layouts(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #other>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected caches of one layout, got #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>> and #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 64>>}}
  kvcache.quantize_append sources(%x, %x : memref<?x2x64xbf16>, memref<?x2x64xbf16>)
      into(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #other>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @no_scales(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a layout with scales, got #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>; add 'scales = <...>' to it, or use kvcache.append}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @dtype(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a cache of f8E4M3FN, f8E5M2, f4E2M1FN or i8, got 'bf16'}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @global_scale(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>, %g: memref<1xf32>) {
  // expected-error @+1 {{expected 'global_scale' of rank 0 [], got rank 1}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>) global_scale(%g : memref<1xf32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @codes(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xf8E4M3FN>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected 'sources' of 'f32', 'f16' or 'bf16', got 'f8E4M3FN'}}
  kvcache.quantize_append sources(%x : memref<?x2x64xf8E4M3FN>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @shape(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x46xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected dimension 2 (D) of 'sources' to be 64, got 46}}
  kvcache.quantize_append sources(%x : memref<?x2x46xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @rank(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected 'sources' of rank 4 [B, S, H, D], got rank 3}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) padded(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @slots(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected 2 operands (slots, scale_slots) in form 'slots', got 1}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) slots(%list : memref<?xi32>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @append_no_scales(%k: !kvcache.cache<key, #kv>, %s: memref<?x2x2xf32>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a layout with scales, got #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>; add 'scales = <...>' to it}}
  kvcache.append_scales scales(%s : memref<?x2x2xf32>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>
func.func @append_scales_slots(%k: !kvcache.cache<key, #kv>, %s: memref<?x2x2xf32>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected 1 operand (slots) in form 'slots', got 2}}
  kvcache.append_scales scales(%s : memref<?x2x2xf32>) into(%k : !kvcache.cache<key, #kv>) slots(%list, %list : memref<?xi32>, memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @append_scales_shape(%k: !kvcache.cache<key, #kv>, %s: memref<?x2x1xf32>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected dimension 2 (G) of 'scales' to be 2, got 1}}
  kvcache.append_scales scales(%s : memref<?x2x1xf32>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @append_scales_count(%k: !kvcache.cache<key, #kv>, %s: memref<?x2x2xf32>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected scales for each target, got 2 and 1}}
  kvcache.append_scales scales(%s, %s : memref<?x2x2xf32>, memref<?x2x2xf32>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 32>>
func.func @floor_scale(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a floor on the scale of at most 6.550400e+04, what a scale of 'f16' holds, got 1.000000e+05}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<floor = 1.0e5>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 32>>
func.func @floor_power(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a floor on the scale of at most 3.276800e+04, what a scale of 'f16' holds as a power of two, got 4.000000e+04}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<contract = power_of_two, floor = 4.0e4>)
  return
}

// -----

#kv = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 32>>
func.func @floor_amax(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>) {
  // expected-error @+1 {{expected a floor on the amax of at most 5.689600e+04, what a scale of 'f8E4M3FN' holds, got 6.000000e+04}}
  kvcache.quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%list : memref<?xi32>) quant(<floor = 6.0e4, floor_on = amax>)
  return
}
