// Rows of keys and of values go to explicit (sequence, position) places of one
// layer: a block of threads a row, 8 elements a thread.
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
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %rows = memref.dim %xk, %c0 : memref<?x4x64xbf16, strided<[?, 64, 1]>>
  %rows_v = memref.dim %xv, %c0 : memref<?x4x64xbf16, strided<[?, 64, 1]>>
  %same = arith.cmpi eq, %rows, %rows_v : index
  cf.assert %same, "keys and values have as many rows"
  %layers = memref.dim %blocks, %c2 : memref<?x2x?x16x4x64xbf16, strided<[?, ?, 4096, 256, 64, 1], offset: ?>>
  %inside = arith.cmpi ult, %layer, %layers : index
  cf.assert %inside, "the layer is one of the pool's"
  %xk16 = memref.assume_alignment %xk, 16 : memref<?x4x64xbf16, strided<[?, 64, 1]>>
  %xv16 = memref.assume_alignment %xv, 16 : memref<?x4x64xbf16, strided<[?, 64, 1]>>
  %b, %o, %sizes:3, %strides:3 = memref.extract_strided_metadata %xk : memref<?x4x64xbf16, strided<[?, 64, 1]>> -> memref<bf16>, index, index, index, index, index, index, index
  %rest = arith.remui %strides#0, %c8 : index
  %whole = arith.cmpi eq, %rest, %c0 : index
  cf.assert %whole, "rows of keys are 16 bytes apart, or a multiple"

  %collection = kvcache.get_paged_cache
      blocks(%blocks : memref<?x2x?x16x4x64xbf16, strided<[?, ?, 4096, 256, 64, 1], offset: ?>>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32, strided<[?, 1]>>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %collection[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %collection[%layer] : !kvcache.collection<#kv>
  %work = arith.cmpi ne, %rows, %c0 : index
  scf.if %work {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %rows, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1)
               module(@append_kv) function(@append_kv) {
      %eight = arith.constant 8 : index
      %s32 = memref.load %sequences[%bx] : memref<?xi32>
      %p32 = memref.load %positions[%bx] : memref<?xi32>
      %s = arith.index_castui %s32 : i32 to index
      %p = arith.index_castui %p32 : i32 to index
      %h = arith.divui %tx, %eight : index
      %piece = arith.remui %tx, %eight : index
      %d = arith.muli %piece, %eight : index
      %kx = vector.load %xk16[%bx, %h, %d] {alignment = 16} : memref<?x4x64xbf16, strided<[?, 64, 1]>>, vector<8xbf16>
      %vx = vector.load %xv16[%bx, %h, %d] {alignment = 8} : memref<?x4x64xbf16, strided<[?, 64, 1]>>, vector<8xbf16>
      kvcache.store skip %kx, %k[%s, %p, %h, %d] : vector<8xbf16>, !kvcache.cache<key, #kv>
      kvcache.store skip %vx, %v[%s, %p, %h, %d] : vector<8xbf16>, !kvcache.cache<value, #kv>
      gpu.terminator
    }
  }
  return
}
