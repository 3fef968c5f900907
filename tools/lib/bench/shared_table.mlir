// A value and its scale through one table, with a store between them: the table is
// read once.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16,
                      scales = <f32, granularity = 128>>

gpu.module @shared_table {
  gpu.func @value_and_scale(%cache: !kvcache.cache<key, #kv>, %h: i32, %d: i32,
                            %codes: memref<1024x128xf8E4M3FN>, %scales: memref<1024x128xf32>)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %hi = arith.index_castui %h : i32 to index
    %di = arith.index_castui %d : i32 to index
    %code = kvcache.load_quantized %cache[%b, %t, %hi, %di] : !kvcache.cache<key, #kv> -> f8E4M3FN
    memref.store %code, %codes[%b, %t] : memref<1024x128xf8E4M3FN>
    %scale = kvcache.load_scale %cache[%b, %t, %hi, %di] : !kvcache.cache<key, #kv> -> f32
    memref.store %scale, %scales[%b, %t] : memref<1024x128xf32>
    gpu.return
  }
}
