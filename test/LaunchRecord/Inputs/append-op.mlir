// append.mlir as an operation of the dialect.
#kv = #kvcache.layout<bf16, params = <num_heads = 4, head_size = 64>, page_size = 16>

func.func @append(%xk: memref<?x4x64xbf16, strided<[?, 64, 1]>> {kvcache.name = "k"},
                  %xv: memref<?x4x64xbf16, strided<[?, 64, 1]>> {kvcache.name = "v"},
                  %sequences: memref<?xi32> {kvcache.name = "sequences"},
                  %positions: memref<?xi32> {kvcache.name = "positions"},
                  %blocks: memref<?x2x?x16x4x64xbf16, strided<[?, ?, 4096, 256, 64, 1], offset: ?>>
                      {kvcache.name = "blocks"},
                  %table: memref<?x?xi32, strided<[?, 1]>> {kvcache.name = "table"},
                  %lengths: memref<?xi32> {kvcache.name = "lengths"},
                  %max_prompt: memref<1xi32> {kvcache.name = "max_prompt"},
                  %max_cache: memref<1xi32> {kvcache.name = "max_cache"},
                  %layer: index {kvcache.name = "layer"}) {
  %collection = kvcache.get_paged_cache
      blocks(%blocks : memref<?x2x?x16x4x64xbf16, strided<[?, ?, 4096, 256, 64, 1], offset: ?>>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32, strided<[?, 1]>>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %collection[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %collection[%layer] : !kvcache.collection<#kv>
  kvcache.append skip
      sources(%xk, %xv : memref<?x4x64xbf16, strided<[?, 64, 1]>>, memref<?x4x64xbf16, strided<[?, 64, 1]>>)
      into(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>)
  return
}
