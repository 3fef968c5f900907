// One scale for each thread: token by thread, sequence by block.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>,
                      page_size = 64, scales = <f32, granularity = 128, table = own>>
gpu.module @kernels {
  gpu.func @scale_per_thread(%scales: !kvcache.scales_mha_operand<key, #kv>,
                             %out: memref<?xf32> {llvm.noalias},
                             %h: i32, %d: i32) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %head = arith.index_castui %h : i32 to index
    %element = arith.index_castui %d : i32 to index
    %p = kvcache.block_paged_ptr %scales[%b, %t, %head, %element]
        : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
    %v = memref.load %p[%c0, %c0] : memref<1x1xf32, strided<[1, 1], offset: ?>>
    %row = arith.muli %b, %c128 : index
    %i = arith.addi %row, %t : index
    memref.store %v, %out[%i] : memref<?xf32>
    gpu.return
  }
}
