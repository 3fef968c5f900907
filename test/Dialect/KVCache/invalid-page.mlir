// RUN: kvcache-opt %s --split-input-file --verify-diagnostics

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @result_type(%o: !kvcache.mha_operand<key, #kv>, %block: i32, %i: index) {
  // expected-error@+1 {{'kvcache.load_in_page' op expected a result of 'f8E4M3FN', which the pool stores, got 'f32'}}
  %0 = kvcache.load_in_page %o[%block, %i, %i, %i] : !kvcache.mha_operand<key, #kv> -> f32
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @value_type(%o: !kvcache.scales_mha_operand<key, #kv>, %v: f16, %block: i32, %i: index) {
  // expected-error@+1 {{'kvcache.store_in_page' op expected a value of 'f32', which the pool stores, got 'f16'}}
  kvcache.store_in_page %v, %o[%block, %i, %i, %i] : f16, !kvcache.scales_mha_operand<key, #kv>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @slot(%o: !kvcache.mha_operand<key, #kv>, %block: i32, %i: index) {
  %c16 = arith.constant 16 : index
  // expected-error@+1 {{'kvcache.load_in_page' op expected 'slot' to be less than 16 (page_size), got 16}}
  %0 = kvcache.load_in_page %o[%block, %c16, %i, %i] : !kvcache.mha_operand<key, #kv> -> f8E4M3FN
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @head(%o: !kvcache.mha_operand<key, #kv>, %block: i32, %i: index) {
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{'kvcache.load_in_page' op expected 'head' to be less than 2 (num_heads), got 2}}
  %0 = kvcache.load_in_page %o[%block, %i, %c2, %i] : !kvcache.mha_operand<key, #kv> -> f8E4M3FN
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

// Heads lie side by side: elements count on to the end of the row.
func.func @dim(%o: !kvcache.mha_operand<key, #kv>, %block: i32, %i: index) {
  %c127 = arith.constant 127 : index
  %0 = kvcache.load_in_page %o[%block, %i, %i, %c127] : !kvcache.mha_operand<key, #kv> -> f8E4M3FN
  %c128 = arith.constant 128 : index
  // expected-error@+1 {{'kvcache.load_in_page' op expected 'dim' to be less than 128 (elements side by side), got 128}}
  %1 = kvcache.load_in_page %o[%block, %i, %i, %c128] : !kvcache.mha_operand<key, #kv> -> f8E4M3FN
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @lanes(%o: !kvcache.mha_operand<key, #kv>, %block: i32, %i: index) {
  // expected-error@+1 {{'kvcache.load_in_page' op expected at most 128 elements side by side, got 256}}
  %0 = kvcache.load_in_page %o[%block, %i, %i, %i] : !kvcache.mha_operand<key, #kv> -> vector<256xf8E4M3FN>
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @tail(%o: !kvcache.mha_operand<key, #kv>, %block: i32, %i: index) {
  // expected-error@+1 {{'kvcache.load_in_page' op expected a layout with a rope tail for 'tail', got one without; add 'rope = <...>' to the layout}}
  %0 = kvcache.load_in_page %o[%block, %i, %i, %i] tail : !kvcache.mha_operand<key, #kv> -> bf16
  return
}

// -----

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>

func.func @tail_of_scales(%o: !kvcache.scales_mha_operand<key, #mla>, %block: i32, %i: index) {
  // expected-error@+1 {{'kvcache.load_in_page' op expected a cache or a plain mha_operand for 'tail', got a scales_mha_operand}}
  %0 = kvcache.load_in_page %o[%block, %i, %i, %i] tail : !kvcache.scales_mha_operand<key, #mla> -> bf16
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @page(%blocks: memref<?x2x?x16x8x128xbf16>, %lengths: memref<2xi32>, %table: memref<2x4xi32>, %max: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x8x128xbf16>) lengths(%lengths : memref<2xi32>) table(%table : memref<2x4xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#gqa>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#gqa>
  // expected-error@+1 {{'kvcache.block_id' op expected 'page' to be less than 4 (table columns), got 4}}
  %0 = kvcache.block_id %k[%c0, %c4] : !kvcache.cache<key, #gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @pools(%blocks: memref<?x2x?x16x8x64xbf16>) {
  // expected-error@+1 {{'kvcache.get_page_pools' op expected dimension 5 (D) of 'blocks' to be 128, got 64}}
  %c = kvcache.get_page_pools blocks(%blocks : memref<?x2x?x16x8x64xbf16>) : !kvcache.collection<#gqa>
  return
}
