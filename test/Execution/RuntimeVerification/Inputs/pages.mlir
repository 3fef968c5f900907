// Pages are copied, tokens moved, pools converted, by lists and workspaces of the
// sizes asked for; `block` is a source and `to` the blocks of the target.
#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 16>, page_size = 4>
#hnd = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 16>, page_size = 4, order = hnd>

func.func @main(%entries: index, %sources: index, %block: i32, %to: index, %columns: index) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %one = arith.constant 1 : i32
  %zero = arith.constant 0.0 : bf16
  %b = memref.alloc() : memref<5x2x1x4x1x16xbf16>
  %t = memref.alloc(%to) : memref<?x2x1x1x4x16xbf16>
  %pairs = memref.alloc() : memref<1x2xi32>
  %w = memref.alloc(%entries) : memref<?xi32>
  %s = memref.alloc(%sources) : memref<?xi32>
  %d = memref.alloc(%c2) : memref<?xi32>
  %lengths = memref.alloc() : memref<2xi32>
  %table = memref.alloc() : memref<2x3xi32>
  %new = memref.alloc(%columns) : memref<2x?xi32>
  %max = memref.alloc() : memref<1xi32>
  linalg.fill ins(%zero : bf16) outs(%b : memref<5x2x1x4x1x16xbf16>)
  linalg.fill ins(%block : i32) outs(%pairs : memref<1x2xi32>)
  linalg.fill ins(%one : i32) outs(%s : memref<?xi32>)
  linalg.fill ins(%one : i32) outs(%d : memref<?xi32>)
  linalg.fill ins(%one : i32) outs(%lengths : memref<2xi32>)
  linalg.fill ins(%one : i32) outs(%table : memref<2x3xi32>)
  linalg.fill ins(%one : i32) outs(%max : memref<1xi32>)
  %b_any = memref.cast %b : memref<5x2x1x4x1x16xbf16> to memref<*xbf16>
  gpu.host_register %b_any : memref<*xbf16>
  %t_any = memref.cast %t : memref<?x2x1x1x4x16xbf16> to memref<*xbf16>
  gpu.host_register %t_any : memref<*xbf16>
  %pairs_any = memref.cast %pairs : memref<1x2xi32> to memref<*xi32>
  gpu.host_register %pairs_any : memref<*xi32>
  %w_any = memref.cast %w : memref<?xi32> to memref<*xi32>
  gpu.host_register %w_any : memref<*xi32>
  %s_any = memref.cast %s : memref<?xi32> to memref<*xi32>
  gpu.host_register %s_any : memref<*xi32>
  %d_any = memref.cast %d : memref<?xi32> to memref<*xi32>
  gpu.host_register %d_any : memref<*xi32>
  %lengths_any = memref.cast %lengths : memref<2xi32> to memref<*xi32>
  gpu.host_register %lengths_any : memref<*xi32>
  %table_any = memref.cast %table : memref<2x3xi32> to memref<*xi32>
  gpu.host_register %table_any : memref<*xi32>
  %new_any = memref.cast %new : memref<2x?xi32> to memref<*xi32>
  gpu.host_register %new_any : memref<*xi32>
  %max_any = memref.cast %max : memref<1xi32> to memref<*xi32>
  gpu.host_register %max_any : memref<*xi32>

  %c = kvcache.get_page_pools blocks(%b : memref<5x2x1x4x1x16xbf16>) : !kvcache.collection<#kv>
  %h = kvcache.get_page_pools blocks(%t : memref<?x2x1x1x4x16xbf16>) : !kvcache.collection<#hnd>
  kvcache.copy_pages %c pairs(%pairs : memref<1x2xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#kv>
  kvcache.move_tokens skip %c from(%s : memref<?xi32>) to(%d : memref<?xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#kv>
  kvcache.convert_layout %c into %h : !kvcache.collection<#kv> into !kvcache.collection<#hnd>
  %p = kvcache.get_paged_cache blocks(%b : memref<5x2x1x4x1x16xbf16>) lengths(%lengths : memref<2xi32>) table(%table : memref<2x3xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  kvcache.compact trap %p into(%new : memref<2x?xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#kv>
  return
}
