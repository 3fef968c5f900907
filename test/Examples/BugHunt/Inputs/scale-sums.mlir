// Two mistakes, which docs/simulator.md finds: see hunt.test.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16,
                      scales = <f32, granularity = 128, table = own>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // A block a sequence, a thread a token: the sum of the scales of its tokens.
    gpu.func @sums(%s: !kvcache.scales_mha_operand<key, #kv>, %out: memref<?xf32>)
        workgroup(%parts: memref<64xf32, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %length = kvcache.cache_length %s[%b] : !kvcache.scales_mha_operand<key, #kv>
      %live = arith.cmpi ule, %t, %length : index
      %mine = scf.if %live -> f32 {
        %p = kvcache.block_paged_ptr %s[%b, %t, %c0, %c0]
            : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
        %x = memref.load %p[%c0, %c0] : memref<1x1xf32, strided<[1, 1], offset: ?>>
        scf.yield %x : f32
      } else {
        scf.yield %zero : f32
      }
      memref.store %mine, %parts[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      %first = arith.cmpi eq, %t, %c0 : index
      scf.if %first {
        %sum = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %zero) -> f32 {
          %p = memref.load %parts[%i] : memref<64xf32, #gpu.address_space<workgroup>>
          %n = arith.addf %a, %p : f32
          scf.yield %n : f32
        }
        memref.store %sum, %out[%b] : memref<?xf32>
      }
      gpu.return
    }
  }

  func.func @main(%blocks: memref<?x1x?x16x1x128xf8E4M3FN>, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                  %max: memref<1xi32>, %scales: memref<?x1x?x16x1x1xf32>, %scales_table: memref<?x?xi32>,
                  %out: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %any0 = memref.cast %blocks : memref<?x1x?x16x1x128xf8E4M3FN> to memref<*xf8E4M3FN>
    gpu.host_register %any0 : memref<*xf8E4M3FN>
    %any1 = memref.cast %lengths : memref<?xi32> to memref<*xi32>
    gpu.host_register %any1 : memref<*xi32>
    %any2 = memref.cast %table : memref<?x?xi32> to memref<*xi32>
    gpu.host_register %any2 : memref<*xi32>
    %any3 = memref.cast %scales : memref<?x1x?x16x1x1xf32> to memref<*xf32>
    gpu.host_register %any3 : memref<*xf32>
    %any4 = memref.cast %scales_table : memref<?x?xi32> to memref<*xi32>
    gpu.host_register %any4 : memref<*xi32>
    %any5 = memref.cast %out : memref<?xf32> to memref<*xf32>
    gpu.host_register %any5 : memref<*xf32>
    %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x16x1x128xf8E4M3FN>)
        lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
        scales(%scales : memref<?x1x?x16x1x1xf32>)
        scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
    %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
    %n = memref.dim %out, %c0 : memref<?xf32>
    gpu.launch_func @kernels::@sums blocks in (%n, %c1, %c1) threads in (%c64, %c1, %c1)
        args(%s : !kvcache.scales_mha_operand<key, #kv>, %out : memref<?xf32>)
    return
  }
}
