// What is written twice, found when kernels are made: passes may find two values to
// be one, so that the program as it was written is no error.
//
// RUN: kvcache-opt %s --split-input-file --cse -o /dev/null
// RUN: kvcache-opt %s --split-input-file --verify-diagnostics --cse --kvcache-expand-kernels

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @one_target_twice(%c: !kvcache.collection<#gqa>, %layer: index, %x: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
  %again = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
  // expected-error@+1 {{'kvcache.append' op expected two targets, got one twice; rows of both tensors would have the same slots}}
  kvcache.append sources(%x, %x : memref<?x8x128xbf16>, memref<?x8x128xbf16>)
      into(%k, %again : !kvcache.cache<key, #gqa>, !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @in_place(%blocks: memref<?x2x?x16x8x128xbf16>) {
  %a = kvcache.get_page_pools blocks(%blocks : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#gqa>
  %b = kvcache.get_page_pools blocks(%blocks : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#gqa>
  // expected-error @+1 {{'kvcache.convert_layout' op expected 'source' and 'target' in different memory, got one collection twice}}
  kvcache.convert_layout %a into %b : !kvcache.collection<#gqa> into !kvcache.collection<#gqa>
  return
}
