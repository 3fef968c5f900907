// A host program with a padded pool of 3 blocks, 2 layers and pages of 4 tokens;
// the @WORDS@ are replaced by contract.test.

#kv = #kvcache.layout<i8, params = <num_heads = 1, head_size = 4>, page_size = 4, scales = <f32, granularity = 4>>

func.func @main() -> i32 {
  %batch = arith.constant @BATCH@ : index
  %layer = arith.constant @LAYER@ : index
  %token = arith.constant @TOKEN@ : index
  %pitch = arith.constant @PITCH@ : index
  %block = arith.constant @BLOCK@ : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %pool = memref.alloc() {alignment = 16 : i64} : memref<4096xi8>
  %scales = memref.alloc() {alignment = 16 : i64} : memref<3x2x2x4x1x1xf32>
  %dynamic_scales = memref.cast %scales : memref<3x2x2x4x1x1xf32> to memref<?x2x?x4x1x1xf32>
  %lengths = memref.alloc(%batch) : memref<?xi32>
  %table = memref.alloc(%c2, %c4) : memref<?x?xi32>
  %max = memref.alloc() : memref<1xi32>
  %seven = arith.constant 7 : i8
  linalg.fill ins(%seven : i8) outs(%pool : memref<4096xi8>)
  linalg.fill ins(%block : i32) outs(%table : memref<?x?xi32>)
  %blocks = memref.reinterpret_cast %pool to offset: [0], sizes: [%c3, 2, %c2, 4, 1, 4], strides: [%pitch, 32, 16, 4, 4, 1] : memref<4096xi8> to memref<?x2x?x4x1x4xi8, strided<[?, 32, 16, 4, 4, 1]>>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x1x4xi8, strided<[?, 32, 16, 4, 4, 1]>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%dynamic_scales : memref<?x2x?x4x1x1xf32>) : !kvcache.collection<#kv>
  %k = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  %x = kvcache.load_quantized %k[%c1, %token, %c0, %c3] : !kvcache.cache<value, #kv> -> i8
  %r = arith.extui %x : i8 to i32
  return %r : i32
}
