// Appends to a collection that is an argument, and to one that is made of memrefs.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 32>, page_size = 4,
                      scales = <f32, granularity = 16>>

func.func @given(%c: !kvcache.collection<#kv> {kvcache.name = "c"}, %x: memref<?x2x32xbf16> {kvcache.name = "x"},
                 %offsets: memref<?xi32> {kvcache.name = "offsets"}, %layer: index {kvcache.name = "layer"}) {
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.quantize_append sources(%x : memref<?x2x32xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%offsets : memref<?xi32>) quant(<>)
  return
}

func.func @made(%blocks: memref<?x2x?x4x2x32xf8E4M3FN, strided<[?, ?, 256, 64, 32, 1]>> {kvcache.name = "blocks"},
                %scales: memref<?x2x?x4x2x2xf32> {kvcache.name = "scales"},
                %lengths: memref<?xi32> {kvcache.name = "lengths"}, %table: memref<?x?xi32> {kvcache.name = "table"},
                %max: memref<1xi32> {kvcache.name = "max"}, %out: memref<?x2x32xbf16> {kvcache.name = "out"},
                %offsets: memref<?xi32> {kvcache.name = "offsets"}, %layer: index {kvcache.name = "layer"}) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x2x32xf8E4M3FN, strided<[?, ?, 256, 64, 32, 1]>>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>)
      max_cache(%max : memref<1xi32>) scales(%scales : memref<?x2x?x4x2x2xf32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x2x32xbf16>)
      offsets(%offsets : memref<?xi32>)
  return
}
