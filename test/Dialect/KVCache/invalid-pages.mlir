// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @lists(%c: !kvcache.collection<#gqa>, %p: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.clear_pages' op expected 1 list of 'pages', got 2; scales lie in the blocks of their values unless the layout says 'table = own'}}
  kvcache.clear_pages %c pages(%p, %p : memref<?xi32>, memref<?xi32>) : !kvcache.collection<#gqa>
  return
}

// -----

#own = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>
func.func @lists(%c: !kvcache.collection<#own>, %p: memref<?x2xi32>) {
  // expected-error @+1 {{'kvcache.copy_pages' op expected 2 lists of 'pairs', got 1; blocks of scales have ids of their own where the layout says 'table = own'}}
  kvcache.copy_pages %c pairs(%p : memref<?x2xi32>) disjoint : !kvcache.collection<#own>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @element(%c: !kvcache.collection<#gqa>, %p: memref<?xi16>) {
  // expected-error @+1 {{'kvcache.clear_pages' op expected 'pages' of 'i32' or 'i64', got 'i16'}}
  kvcache.clear_pages %c pages(%p : memref<?xi16>) : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @shape(%c: !kvcache.collection<#gqa>, %p: memref<?x3xi64>) {
  // expected-error @+1 {{'kvcache.copy_pages' op expected dimension 1 (2) of 'pairs' to be 2, got 3}}
  kvcache.copy_pages %c pairs(%p : memref<?x3xi64>) disjoint : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @layers(%b: memref<?x2x3x16x8x128xbf16>, %p: memref<?xi64>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x3x16x8x128xbf16>) : !kvcache.collection<#gqa>
  // expected-error @+1 {{'kvcache.clear_pages' op expected layers less than 3 layers, got 3}}
  kvcache.clear_pages %c pages(%p : memref<?xi64>) layers = [0, 3] : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @layers(%c: !kvcache.collection<#gqa>, %p: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.clear_pages' op expected layers of at least 0, got -1}}
  kvcache.clear_pages %c pages(%p : memref<?xi64>) layers = [-1] : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @layers(%c: !kvcache.collection<#gqa>, %p: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.clear_pages' op expected each layer once, got layer 5 twice}}
  kvcache.clear_pages %c pages(%p : memref<?xi64>) layers = [5, 1, 5] : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @order(%c: !kvcache.collection<#gqa>, %p: memref<?x2xi64>) {
  // expected-error @+1 {{'kvcache.copy_pages' op expected a 'workspace' of 4 i32 a pair, or 'disjoint' as a promise that no destination is another's or a source}}
  kvcache.copy_pages %c pairs(%p : memref<?x2xi64>) : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @order(%c: !kvcache.collection<#gqa>, %p: memref<?x2xi64>, %w: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.copy_pages' op expected no 'workspace' with 'disjoint'; pairs that are disjoint need none}}
  kvcache.copy_pages %c pairs(%p : memref<?x2xi64>) disjoint workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @order(%c: !kvcache.collection<#gqa>, %p: memref<?x2xi64>, %w: memref<?xi64>) {
  // expected-error @+1 {{'kvcache.copy_pages' op expected 'workspace' of 'i32', got 'i64'}}
  kvcache.copy_pages %c pairs(%p : memref<?x2xi64>) workspace(%w : memref<?xi64>) : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @order(%c: !kvcache.collection<#gqa>, %p: memref<17xi64>, %q: memref<?xi64>, %w: memref<64xi32>) {
  // expected-error @+1 {{'kvcache.move_tokens' op expected a 'workspace' of at least 68 entries for 17 pairs, got 64}}
  kvcache.move_tokens %c from(%q : memref<?xi64>) to(%p : memref<17xi64>) workspace(%w : memref<64xi32>) : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @types(%c: !kvcache.collection<#gqa>, %p: memref<?xi64>, %q: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.move_tokens' op expected 'sources' and 'destinations' of one element type, got 'i64' and 'i32'}}
  kvcache.move_tokens %c from(%p : memref<?xi64>) to(%q : memref<?xi32>) disjoint : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @counts(%c: !kvcache.collection<#gqa>, %p: memref<3xi64>, %q: memref<2xi64>) {
  // expected-error @+1 {{'kvcache.move_tokens' op expected as many 'destinations' as 'sources', got 2 and 3}}
  kvcache.move_tokens %c from(%p : memref<3xi64>) to(%q : memref<2xi64>) disjoint : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @tables(%c: !kvcache.collection<#gqa>, %t: memref<?x?xi64>, %w: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.compact' op expected 'tables' of 'i32', got 'i64'}}
  kvcache.compact %c into(%t : memref<?x?xi64>) workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  return
}

// -----

#own = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>
func.func @tables(%c: !kvcache.collection<#own>, %t: memref<?x?xi32>, %w: memref<?xi32>) {
  // expected-error @+1 {{'kvcache.compact' op expected 2 lists of 'tables', got 1; blocks of scales have ids of their own where the layout says 'table = own'}}
  kvcache.compact %c into(%t : memref<?x?xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#own>
  return
}

// -----

#a = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128>, page_size = 64>
#b = #kvcache.layout<f16, params = <num_heads = 1, head_size = 128>, page_size = 64>
func.func @dtype(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected layouts of one dtype, got 'bf16' and 'f16'}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128>, page_size = 64>
#b = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 128>, page_size = 64>
func.func @heads(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected layouts of the same heads, head size and sides, got #kvcache.params<num_heads = 1, head_size = 128> and #kvcache.params<num_heads = 2, head_size = 128>}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128>, page_size = 64>
#b = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 128>, page_size = 16>
func.func @page_size(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected layouts of one page size, got 64 and 16}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>>
#b = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 64>>
func.func @granularity(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected layouts of one granularity, got 128 and 64}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>>
#b = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <bf16, granularity = 128>>
func.func @scale_dtype(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected layouts of one scale dtype, got 'f32' and 'bf16'}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64>
#b = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>
func.func @scales(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected both layouts with scales or neither, got #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64> and #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128>, page_size = 64, scales = <f32, granularity = 128>>}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
#b = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 32>>
func.func @rope(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected layouts of the same rope tail, got #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>> and #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 32>>}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}

// -----

#a = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
#b = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline>
func.func @ids(%a: !kvcache.collection<#a>, %b: !kvcache.collection<#b>) {
  // expected-error @+1 {{'kvcache.convert_layout' op expected a target with 'table = own', since scales of the source have block ids of their own}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#a> into !kvcache.collection<#b>
  return
}
