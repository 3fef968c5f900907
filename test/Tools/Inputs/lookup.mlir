#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
gpu.module @m {
  gpu.func @k(%k: !kvcache.cache<key, #kv>, %out: memref<1xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = kvcache.load %k[%c0, %c0, %c0, %c0] : !kvcache.cache<key, #kv> -> f32
    memref.store %x, %out[%c0] : memref<1xf32>
    gpu.return
  }
}
