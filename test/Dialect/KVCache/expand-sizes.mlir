// RUN: kvcache-opt %s --kvcache-expand-kernels --split-input-file | FileCheck %s

// What an operation is given and the collection it acts on are two operations' matter,
// which inlining may bring together: the host compares them when it gets there.

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
// CHECK-LABEL: func @gather
// CHECK: cf.assert %false{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'kvcache.gather' op expected as many sequences in 'out' as sequences (B)
func.func @gather(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x8xi32>, %max: memref<1xi32>, %out: memref<5x9x2x64xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x8xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %l = arith.constant 0 : index
  %k = kvcache.get_key_cache %c[%l] : !kvcache.collection<#kv>
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<5x9x2x64xbf16>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
// CHECK-LABEL: func @remap_indices
// CHECK: cf.assert %false{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'kvcache.remap_indices' op expected a row for each sequence (B)
func.func @remap_indices(%b: memref<?x2x?x16x2x64xbf16>, %n: memref<4xi32>, %t: memref<4x?xi32>, %m: memref<1xi32>, %l: index,
             %i: memref<5x8xi32>, %s: memref<?x8xi64>) {
  %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x16x2x64xbf16>) lengths(%n : memref<4xi32>) table(%t : memref<4x?xi32>)
      max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%l] : !kvcache.collection<#kv>
  kvcache.remap_indices indices(%i : memref<5x8xi32>) from(%k : !kvcache.cache<key, #kv>) into(%s : memref<?x8xi64>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>
// CHECK-LABEL: func @paged_attention
// CHECK: cf.assert %false{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'kvcache.paged_attention' op expected one more of 'row_offsets' than sequences (B)
func.func @paged_attention(%blocks: memref<?x2x?x16x2x64xbf16>, %lengths: memref<4xi32>, %table: memref<4x?xi32>, %max: memref<1xi32>, %layer: index,
             %q: memref<?x8x64xbf16>, %out: memref<?x8x64xbf16>, %o: memref<9xi32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x2x64xbf16>) lengths(%lengths : memref<4xi32>) table(%table : memref<4x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x8x64xbf16>) ragged(%o : memref<9xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK-LABEL: func @compact
// CHECK: cf.assert %false{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'kvcache.compact' op expected 'tables' of as many columns as the collection's
func.func @compact(%b: memref<?x2x?x16x8x128xbf16>, %l: memref<4xi32>, %t: memref<4x9xi32>, %m: memref<1xi32>, %new: memref<4x8xi32>, %w: memref<?xi32>) {
  %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x16x8x128xbf16>) lengths(%l : memref<4xi32>) table(%t : memref<4x9xi32>)
      max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#gqa>
  kvcache.compact %c into(%new : memref<4x8xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#hnd = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>
// CHECK-LABEL: func @convert_layout
// CHECK: cf.assert %false{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'kvcache.convert_layout' op expected as many layers in 'target' as in 'source'
func.func @convert_layout(%b: memref<?x2x3x16x8x128xbf16>, %h: memref<?x2x4x8x16x128xbf16>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x3x16x8x128xbf16>) : !kvcache.collection<#gqa>
  %d = kvcache.get_page_pools blocks(%h : memref<?x2x4x8x16x128xbf16>) : !kvcache.collection<#hnd>
  kvcache.convert_layout %c into %d : !kvcache.collection<#gqa> into !kvcache.collection<#hnd>
  return
}
