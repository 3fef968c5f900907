// All key scales of a collection that the original system has recorded numbers of:
// 7 blocks of values, 9 of scales with a table of their own, 3 layers, pages of 4
// tokens, 2 heads of 64 elements, a scale for each 32 of them. `tools/quickstart`
// runs it on the recorded tables and compares.
//
// REQUIRES: ml-dtypes
// RUN: %python %kvcache_src/tools/lib/quickstart.py %kvcache_lib/.. %t --no-ptxas | FileCheck %s
// CHECK: --- the kernel
// CHECK: --- its PTX for sm_90a, the loop of it
// CHECK: ld.global
// CHECK: st.global
// CHECK: assembling was skipped
// CHECK: |     0 |    0 |     0 |    0 |       0 |     8 | 4.625 | 4.625 |
// CHECK: all {{[0-9]+}} recorded scales of keys are the same

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 4,
                      scales = <f32, granularity = 32, table = own>>

module attributes {gpu.container_module} {
  gpu.module @recorded_scales {
    // A block for each sequence and head, a thread for each token.
    gpu.func @scales_of(%scales: !kvcache.scales_mha_operand<key, #kv>, %layer: index,
                        %out: memref<3x2x11x2x64xf32>)
        kernel attributes {known_block_size = array<i32: 11, 1, 1>} {
      %b = gpu.block_id x
      %h = gpu.block_id y
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %D = arith.constant 64 : index
      scf.for %d = %c0 to %D step %c1 {
        %p = kvcache.block_paged_ptr %scales[%b, %t, %h, %d]
            : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[4, 1], offset: ?>>
        %scale = memref.load %p[%c0, %c0] : memref<1x1xf32, strided<[4, 1], offset: ?>>
        memref.store %scale, %out[%layer, %b, %t, %h, %d] : memref<3x2x11x2x64xf32>
      }
      gpu.return
    }
  }

  func.func @main(%blocks: memref<7x2x3x4x2x64xf8E4M3FN>, %lengths: memref<2xi32>, %table: memref<2x3xi32>,
                  %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>,
                  %scales: memref<9x2x3x4x2x2xf32>, %scales_table: memref<2x3xi32>,
                  %out: memref<3x2x11x2x64xf32>) {
    %scales_any = memref.cast %scales : memref<9x2x3x4x2x2xf32> to memref<*xf32>
    %table_any = memref.cast %scales_table : memref<2x3xi32> to memref<*xi32>
    %out_any = memref.cast %out : memref<3x2x11x2x64xf32> to memref<*xf32>
    gpu.host_register %scales_any : memref<*xf32>
    gpu.host_register %table_any : memref<*xi32>
    gpu.host_register %out_any : memref<*xf32>

    %collection = kvcache.get_paged_cache blocks(%blocks : memref<7x2x3x4x2x64xf8E4M3FN>)
        lengths(%lengths : memref<2xi32>) table(%table : memref<2x3xi32>)
        max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
        scales(%scales : memref<9x2x3x4x2x2xf32>) scales_table(%scales_table : memref<2x3xi32>)
        : !kvcache.collection<#kv>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %B = arith.constant 2 : index
    %H = arith.constant 2 : index
    %L = arith.constant 3 : index
    %tokens = arith.constant 11 : index
    scf.for %layer = %c0 to %L step %c1 {
      %k = kvcache.get_key_cache %collection[%layer] : !kvcache.collection<#kv>
      %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
      gpu.launch_func @recorded_scales::@scales_of blocks in (%B, %H, %c1) threads in (%tokens, %c1, %c1)
          args(%s : !kvcache.scales_mha_operand<key, #kv>, %layer : index, %out : memref<3x2x11x2x64xf32>)
    }
    return
  }
}
