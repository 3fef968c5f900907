// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected start to be at least 0, got -2}}
#start = #kvcache.rotation<start = -2>

// -----

// expected-error @+1 {{expected an eps of at least 0 that is finite in f32, got -1.000000e+00}}
#eps = #kvcache.norm<eps = -1.0>

// -----

// expected-error @+1 {{expected a weight_offset that is finite in f32, got 1.000000e+39}}
#offset = #kvcache.norm<weight_offset = 1.0e39>

// -----

func.func @width(%x: memref<?x8x128xbf16>, %list: memref<?xi32>, %cos: memref<?x?xf32>) {
  // expected-error @+1 {{expected dimension 1 (n) of 'cos' to be static}}
  kvcache.rope %x into %x positions(%list) tables(%cos, %cos) rotation(<>)
      : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xi32>, memref<?x?xf32>, memref<?x?xf32>
  return
}

// -----

func.func @widths(%x: memref<?x8x128xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>, %sin: memref<?x16xf32>) {
  // expected-error @+1 {{expected 'cos' and 'sin' of one width, got 32 and 16}}
  kvcache.rope %x into %x positions(%list) tables(%cos, %sin) rotation(<>)
      : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xi32>, memref<?x32xf32>, memref<?x16xf32>
  return
}

// -----

func.func @no_columns(%x: memref<?x8x128xbf16>, %list: memref<?xi32>, %cos: memref<?x0xf32>) {
  // expected-error @+1 {{expected 'cos' and 'sin' of at least one column}}
  kvcache.rope %x into %x positions(%list) tables(%cos, %cos) rotation(<>)
      : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xi32>, memref<?x0xf32>, memref<?x0xf32>
  return
}

// -----

func.func @past_the_head(%x: memref<?x8x128xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected a rotation within the 128 elements of a head, got 64 from 66 on}}
  kvcache.rope %x into %x positions(%list) tables(%cos, %cos) rotation(<start = 66>)
      : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>
  return
}

// -----

func.func @dynamic_head(%x: memref<?x8x?xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected dimension 2 (D) of 'x' to be static}}
  kvcache.rope %x into %x positions(%list) tables(%cos, %cos) rotation(<>)
      : memref<?x8x?xbf16> into memref<?x8x?xbf16> by memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>
  return
}

// -----

func.func @out(%x: memref<?x8x128xbf16>, %out: memref<?x8x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected dimension 2 (D) of 'out' to be 128, got 64}}
  kvcache.rope %x into %out positions(%list) tables(%cos, %cos) rotation(<>)
      : memref<?x8x128xbf16> into memref<?x8x64xbf16> by memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>
  return
}

// -----

func.func @rows(%x: memref<4x8x128xbf16>, %out: memref<5x8x128xbf16>, %w: memref<128xf32>) {
  // expected-error @+1 {{expected dimension 0 of 'x' and of 'out' to be the same, got 4 and 5}}
  kvcache.rms_norm %x into %out weight(%w) norm(<>) : memref<4x8x128xbf16> into memref<5x8x128xbf16> by memref<128xf32>
  return
}

// -----

func.func @positions(%x: memref<?x8x128xbf16>, %list: memref<?xi64>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected 'positions' of 'i32', got 'i64'}}
  kvcache.rope %x into %x positions(%list) tables(%cos, %cos) rotation(<>)
      : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xi64>, memref<?x32xf32>, memref<?x32xf32>
  return
}

// -----

func.func @weight(%x: memref<?x8x128xbf16>, %w: memref<129xf32>) {
  // expected-error @+1 {{expected 'weight' of 1 to 128 elements, those of a head, got 129}}
  kvcache.rms_norm %x into %x weight(%w) norm(<>) : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<129xf32>
  return
}

// -----

func.func @dynamic_weight(%x: memref<?x8x128xbf16>, %w: memref<?xf32>) {
  // expected-error @+1 {{expected dimension 0 (W) of 'weight' to be static}}
  kvcache.rms_norm %x into %x weight(%w) norm(<>) : memref<?x8x128xbf16> into memref<?x8x128xbf16> by memref<?xf32>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>
func.func @no_quant(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected 'quant', since the layout has scales}}
  kvcache.rope_quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%list : memref<?xi32>) rope(%cos, %cos : memref<?x32xf32>, memref<?x32xf32>) rotation(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @quant(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected no 'quant', since the layout has no scales; add 'scales = <...>' to it or drop the attribute}}
  kvcache.rope_quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%list : memref<?xi32>) rope(%cos, %cos : memref<?x32xf32>, memref<?x32xf32>) rotation(<>) quant(<>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @global_scale(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>, %g: memref<f32>) {
  // expected-error @+1 {{expected no 'global_scale' without 'quant'}}
  kvcache.rope_quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%list : memref<?xi32>) rope(%cos, %cos : memref<?x32xf32>, memref<?x32xf32>) rotation(<>) global_scale(%g : memref<f32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @slots(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected 'rope_positions' in form 'slots', which names no tokens}}
  kvcache.rope_quantize_append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>)
      slots(%list : memref<?xi32>) rope(%cos, %cos : memref<?x32xf32>, memref<?x32xf32>) rotation(<>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @padded_positions(%k: !kvcache.cache<key, #kv>, %x: memref<?x?x2x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected 'rope_positions' of rank 2 [B, S], got rank 1}}
  kvcache.rope_quantize_append sources(%x : memref<?x?x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>)
      padded(%list : memref<?xi32>) rope(%cos, %cos : memref<?x32xf32>, memref<?x32xf32>) rope_positions(%list : memref<?xi32>) rotation(<>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @norm(%k: !kvcache.cache<key, #kv>, %x: memref<?x2x64xbf16>, %list: memref<?xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected 'weight' and 'norm' both or neither}}
  "kvcache.rope_quantize_append"(%x, %k, %list, %cos, %cos) <{form = 0 : i32, rotation = #kvcache.rotation<>, norm = #kvcache.norm<>,
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0>}>
      : (memref<?x2x64xbf16>, !kvcache.cache<key, #kv>, memref<?xi32>, memref<?x32xf32>, memref<?x32xf32>) -> ()
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
func.func @rows_of_positions(%k: !kvcache.cache<key, #kv>, %x: memref<5x2x64xbf16>, %list: memref<?xi32>, %p: memref<4xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected dimension 0 of 'sources' and of 'rope_positions' to be the same, got 5 and 4}}
  kvcache.rope_quantize_append sources(%x : memref<5x2x64xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%list : memref<?xi32>) rope(%cos, %cos : memref<?x32xf32>, memref<?x32xf32>) rope_positions(%p : memref<4xi32>) rotation(<>)
  return
}

// -----

func.func @rows_of_x(%x: memref<5x2x64xbf16>, %y: memref<?x2x64xbf16>, %p: memref<4xi32>, %cos: memref<?x32xf32>) {
  // expected-error @+1 {{expected dimension 0 of 'x' and of 'positions' to be the same, got 5 and 4}}
  kvcache.rope %x into %y positions(%p) tables(%cos, %cos) rotation(<>)
      : memref<5x2x64xbf16> into memref<?x2x64xbf16> by memref<4xi32>, memref<?x32xf32>, memref<?x32xf32>
  return
}

// -----

func.func @rows_of_tables(%x: memref<?x2x64xbf16>, %p: memref<?xi32>, %cos: memref<8x32xf32>, %sin: memref<7x32xf32>) {
  // expected-error @+1 {{expected dimension 0 of 'cos' and of 'sin' to be the same, got 8 and 7}}
  kvcache.rope %x into %x positions(%p) tables(%cos, %sin) rotation(<>)
      : memref<?x2x64xbf16> into memref<?x2x64xbf16> by memref<?xi32>, memref<8x32xf32>, memref<7x32xf32>
  return
}
