// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

// Operations in the generic form, with types and attributes that the custom form
// does not let through.

func.func @no_operands() {
  // expected-error @+1 {{'kvcache.get_key_cache' op expected 2 operands, but found 0}}
  %0 = "kvcache.get_key_cache"() : () -> i32
  return
}

// -----

func.func @wrong_collection(%i: index) {
  // expected-error @+1 {{'kvcache.get_key_cache' op operand #0 must be a paged key-value cache collection, but got 'index'}}
  %0 = "kvcache.get_key_cache"(%i, %i) : (index, index) -> i32
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @wrong_result(%c: !kvcache.collection<#kv>, %i: index) {
  // expected-error @+1 {{'kvcache.get_key_cache' op result #0 must be one layer of keys or values of a collection, but got 'i32'}}
  %0 = "kvcache.get_key_cache"(%c, %i) : (!kvcache.collection<#kv>, index) -> i32
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @other_side(%c: !kvcache.collection<#kv>, %i: index) {
  // expected-error @+2 {{'kvcache.get_key_cache' op failed to infer returned types}}
  // expected-error @+1 {{'kvcache.get_key_cache' op inferred type(s) '!kvcache.cache<key, <bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>>' are incompatible with return type(s) of operation '!kvcache.cache<value, <bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>>'}}
  %0 = "kvcache.get_key_cache"(%c, %i) : (!kvcache.collection<#kv>, index) -> !kvcache.cache<value, #kv>
  return
}

// -----

func.func @wrong_memrefs(%i: index) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op operand #0 must be memref of any type values, but got 'index'}}
  %0 = "kvcache.get_paged_cache"(%i, %i, %i, %i, %i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>}> : (index, index, index, index, index) -> i32
  return
}

// -----

func.func @wrong_segments(%i: index) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op expected 5 or more operands, but found 1}}
  %0 = "kvcache.get_paged_cache"(%i) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>}> : (index) -> i32
  return
}

// -----

func.func @collection_type(%m: memref<i32>) {
  // expected-error @+1 {{'kvcache.get_paged_cache' op result #0 must be a paged key-value cache collection, but got 'i32'}}
  %0 = "kvcache.get_paged_cache"(%m, %m, %m, %m, %m) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0>}> : (memref<i32>, memref<i32>, memref<i32>, memref<i32>, memref<i32>) -> i32
  return
}

// -----

func.func @operand_of(%i: index) {
  // expected-error @+1 {{'kvcache.scales_mha_operand' op operand #0 must be one layer of keys or values of a collection, but got 'index'}}
  %0 = "kvcache.scales_mha_operand"(%i) : (index) -> index
  return
}

// -----

func.func @row_of(%i: index) {
  // expected-error @+1 {{'kvcache.row_idx' op operand #0 must be a cache or an operand of one, but got 'index'}}
  %0 = "kvcache.row_idx"(%i, %i, %i) : (index, index, index) -> index
  return
}

// -----

func.func @cast_of(%i: index) {
  // expected-error @+1 {{'kvcache.cast' op operand #0 must be a collection, a cache or an operand of one, but got 'index'}}
  %0 = "kvcache.cast"(%i) : (index) -> index
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @policy(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{invalid properties {policy = 7 : i32} for op kvcache.row_idx: Invalid attribute `policy` in property conversion: 7 : i32}}
  %0 = "kvcache.row_idx"(%k, %i, %i) <{policy = 7 : i32}> : (!kvcache.cache<key, #kv>, index, index) -> index
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @view(%k: !kvcache.cache<key, #kv>, %i: index) {
  // expected-error @+1 {{'kvcache.block_paged_ptr' op result #0 must be 2D memref of any type values, but got 'memref<*xbf16>'}}
  %0 = "kvcache.block_paged_ptr"(%k, %i, %i, %i) : (!kvcache.cache<key, #kv>, index, index, index) -> memref<*xbf16>
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @tile(%k: !kvcache.cache<key, #kv>) {
  // expected-error @+1 {{'kvcache.create_tma_tile' op requires attribute 'bk'}}
  %0 = "kvcache.create_tma_tile"(%k) <{bn = 16 : i64, depth = 128 : i64}> : (!kvcache.cache<key, #kv>) -> !llvm.ptr
  return
}

// -----

func.func @scale_of_nothing(%i: index, %v: f32) {
  // expected-error @+1 {{'kvcache.store_scale' op operand #1 must be a cache or an operand of one, but got 'index'}}
  "kvcache.store_scale"(%v, %i, %i, %i, %i, %i) : (f32, index, index, index, index, index) -> ()
  return
}

// -----

func.func @byte_view(%b: memref<f32>, %i: index) {
  // expected-error @+1 {{'kvcache.byte_view' op result #0 must be memref of any type values, but got 'f32'}}
  %0 = "kvcache.byte_view"(%b, %i) : (memref<f32>, index) -> f32
  return
}
