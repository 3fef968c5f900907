// Where is the scale of a token? A collection of 8-bit keys and values whose
// scales are paged independently of the values (a table of their own), asked on
// the host and on the device. Scale number i of the pool is i, so that what is
// looked up says where it lies.
//
// RUN: kvcache-run %s | FileCheck %s
// RUN: kvcache-run --chip=sm_80 --tool=all %s | FileCheck %s

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 4,
                      scales = <f32, granularity = 32, table = own>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // A thread for each token of a sequence: the scale of element d of head h.
    gpu.func @scales_of(%scales: !kvcache.scales_mha_operand<key, #kv>, %b: i32, %h: i32, %d: i32,
                        %out: memref<12xf32>)
        kernel attributes {known_block_size = array<i32: 12, 1, 1>} {
      %t = gpu.thread_id x
      %bi = arith.index_castui %b : i32 to index
      %hi = arith.index_castui %h : i32 to index
      %di = arith.index_castui %d : i32 to index
      %zero = arith.constant 0 : index
      // H * G = 4 scales from one token to the next.
      %view = kvcache.block_paged_ptr %scales[%bi, %t, %hi, %di]
          : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[4, 1], offset: ?>>
      %scale = memref.load %view[%zero, %zero] : memref<1x1xf32, strided<[4, 1], offset: ?>>
      memref.store %scale, %out[%t] : memref<12xf32>
      gpu.return
    }
  }

  memref.global "private" constant @lookup_table : memref<2x3xi32> = dense<[[5, 0, 3], [6, 2, 4]]>
  memref.global "private" constant @scales_table : memref<2x3xi32> = dense<[[8, 1, 7], [0, 3, 2]]>
  memref.global "private" constant @lengths : memref<2xi32> = dense<[9, 11]>
  memref.global "private" constant @max_prompt : memref<1xi32> = dense<3>
  memref.global "private" constant @max_cache : memref<1xi32> = dense<11>
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
  func.func private @printI64(i64)
  func.func private @printNewline()

  func.func @main() {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %layer = arith.constant 1 : index

    // The pools: 7 blocks of values, 9 of scales, 3 layers.
    %blocks = memref.alloc() : memref<7x2x3x4x2x64xf8E4M3FN>
    %scales = memref.alloc() : memref<9x2x3x4x2x2xf32>
    %flat = memref.collapse_shape %scales [[0, 1, 2, 3, 4, 5]] : memref<9x2x3x4x2x2xf32> into memref<864xf32>
    %count = arith.constant 864 : index
    scf.for %i = %zero to %count step %one {
      %i32 = arith.index_cast %i : index to i32
      %x = arith.uitofp %i32 : i32 to f32
      memref.store %x, %flat[%i] : memref<864xf32>
    }

    // Tables are copied: they are frozen once the collection stands.
    %table = memref.alloc() : memref<2x3xi32>
    %scales_table = memref.alloc() : memref<2x3xi32>
    %lengths = memref.alloc() : memref<2xi32>
    %table_0 = memref.get_global @lookup_table : memref<2x3xi32>
    %scales_table_0 = memref.get_global @scales_table : memref<2x3xi32>
    %lengths_0 = memref.get_global @lengths : memref<2xi32>
    memref.copy %table_0, %table : memref<2x3xi32> to memref<2x3xi32>
    memref.copy %scales_table_0, %scales_table : memref<2x3xi32> to memref<2x3xi32>
    memref.copy %lengths_0, %lengths : memref<2xi32> to memref<2xi32>
    %max_prompt = memref.get_global @max_prompt : memref<1xi32>
    %max_cache = memref.get_global @max_cache : memref<1xi32>
    %out = memref.alloc() : memref<12xf32>

    // What kernels read and write is registered with the device.
    %scales_any = memref.cast %flat : memref<864xf32> to memref<*xf32>
    %scales_table_any = memref.cast %scales_table : memref<2x3xi32> to memref<*xi32>
    %out_any = memref.cast %out : memref<12xf32> to memref<*xf32>
    gpu.host_register %scales_any : memref<*xf32>
    gpu.host_register %scales_table_any : memref<*xi32>
    gpu.host_register %out_any : memref<*xf32>

    %collection = kvcache.get_paged_cache blocks(%blocks : memref<7x2x3x4x2x64xf8E4M3FN>)
        lengths(%lengths : memref<2xi32>) table(%table : memref<2x3xi32>)
        max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
        scales(%scales : memref<9x2x3x4x2x2xf32>) scales_table(%scales_table : memref<2x3xi32>)
        : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %collection[%layer] : !kvcache.collection<#kv>
    %values_operand = kvcache.mha_operand %k : !kvcache.cache<key, #kv>
    %scales_operand = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>

    // On the host: token 6 of sequence 1 lies in page 1, slot 2. Its values are in
    // block 2, row 2 * (2*3*4) + 2; its scales in block 3, row 3 * (2*3*4) + 2.
    // CHECK: 50{{$}}
    // CHECK-NEXT: 74{{$}}
    %six = arith.constant 6 : index
    %row = kvcache.row_idx %values_operand[%one, %six] : !kvcache.mha_operand<key, #kv>
    %scales_row = kvcache.row_idx %scales_operand[%one, %six] : !kvcache.scales_mha_operand<key, #kv>
    %row64 = arith.index_cast %row : index to i64
    %scales_row64 = arith.index_cast %scales_row : index to i64
    call @printI64(%row64) : (i64) -> ()
    call @printNewline() : () -> ()
    call @printI64(%scales_row64) : (i64) -> ()
    call @printNewline() : () -> ()

    // On the device: sequence 1, head 1, element 40, which granule 1 covers. Block
    // 0 begins at 0, block 3 at 3 * 96, block 2 at 2 * 96; layer 1 of the keys is 16
    // on; a token takes 4; head 1, granule 1 is the 3rd after its first.
    // CHECK: [19,  23,  27,  31,  307,  311,  315,  319,  211,  215,  219,  223]
    %b = arith.constant 1 : i32
    %h = arith.constant 1 : i32
    %d = arith.constant 40 : i32
    %threads = arith.constant 12 : index
    gpu.launch_func @kernels::@scales_of blocks in (%one, %one, %one) threads in (%threads, %one, %one)
        args(%scales_operand : !kvcache.scales_mha_operand<key, #kv>, %b : i32, %h : i32, %d : i32,
             %out : memref<12xf32>)
    call @printMemrefF32(%out_any) : (memref<*xf32>) -> ()
    return
  }
}
