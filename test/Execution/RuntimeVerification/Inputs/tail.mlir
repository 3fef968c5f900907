// A host program with padded pages of bytes, 3 blocks of 2 layers: rows of 4 codes
// and 2 elements of f32, then a scale a token, 64 bytes a layer. @PITCH@ is
// replaced by tail.test.

#kv = #kvcache.layout<i8, params = <num_heads = 1, head_size = 6, is_mla = true>, page_size = 4, scales = <f32, granularity = 4>, placement = page_split, rope = <f32, size = 2>, page_align = 24>

func.func @main() -> i32 {
  %pitch = arith.constant @PITCH@ : index
  %block = arith.constant 2 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %pool = memref.alloc() {alignment = 16 : i64} : memref<1024xi8>
  %lengths = memref.alloc(%c1) : memref<?xi32>
  %table = memref.alloc(%c1, %c2) : memref<?x?xi32>
  %max = memref.alloc() : memref<1xi32>
  %zero = arith.constant 0 : i8
  linalg.fill ins(%zero : i8) outs(%pool : memref<1024xi8>)
  linalg.fill ins(%block : i32) outs(%table : memref<?x?xi32>)
  %blocks = memref.reinterpret_cast %pool to offset: [0], sizes: [%c3, 1, %c2, 64], strides: [%pitch, 128, 64, 1] : memref<1024xi8> to memref<?x1x?x64xi8, strided<[?, 128, 64, 1]>>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x64xi8, strided<[?, 128, 64, 1]>>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c1] : !kvcache.collection<#kv>
  // Element 1 of the tail, and code times scale.
  %seven = arith.constant 7.0 : f32
  %code = arith.constant -3 : i8
  %last = arith.constant 5 : index
  %half = arith.constant 0.5 : f32
  kvcache.store %seven, %k[%c0, %c3, %c0, %last] : f32, !kvcache.cache<key, #kv>
  kvcache.store %code, %k[%c0, %c3, %c0, %c2] : i8, !kvcache.cache<key, #kv>
  kvcache.store_scale %half, %k[%c0, %c3, %c0, %c2] : f32, !kvcache.cache<key, #kv>
  %x = kvcache.load %k[%c0, %c3, %c0, %last] : !kvcache.cache<key, #kv> -> f32
  %y = kvcache.load %k[%c0, %c3, %c0, %c2] : !kvcache.cache<key, #kv> -> f32
  // 7 - 1.5, doubled.
  %sum = arith.addf %x, %y : f32
  %two = arith.addf %sum, %sum : f32
  %r = arith.fptosi %two : f32 to i32
  return %r : i32
}
