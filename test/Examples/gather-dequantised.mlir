// The keys of a paged MLA cache, gathered into one dense f32 array and dequantised on
// the way. Vectors of 16 elements straddle the granules of 24: each lane takes the
// scale of its own. Tokens past a sequence's length stay as they are.
//
// RUN: kvcache-run %s | FileCheck %s
// RUN: kvcache-run --chip=sm_80 --tool=all %s | FileCheck %s

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 48, is_mla = true>, page_size = 2,
                      scales = <bf16, granularity = 24, table = own>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Fills tokens 0 to 3 of each sequence: element d of token t of sequence b holds
    // code 1 + d mod 8 and scales 2^(t + 4 b) (granule 0) and 3 times that.
    gpu.func @fill(%k: !kvcache.cache<key, #kv>) kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c7 = arith.constant 7 : index
      %c24 = arith.constant 24 : index
      %D = arith.constant 48 : index
      %b4 = arith.shli %b, %c2 : index
      %exponent = arith.addi %t, %b4 : index
      %power = arith.shli %c1, %exponent : index
      %power32 = arith.index_cast %power : index to i32
      %scale = arith.uitofp %power32 : i32 to f32
      %three = arith.constant 3.0 : f32
      %scale3 = arith.mulf %scale, %three : f32
      kvcache.store_scale %scale, %k[%b, %t, %c0, %c0] : f32, !kvcache.cache<key, #kv>
      kvcache.store_scale %scale3, %k[%b, %t, %c0, %c24] : f32, !kvcache.cache<key, #kv>
      scf.for %d = %c0 to %D step %c1 {
        %low = arith.andi %d, %c7 : index
        %value = arith.addi %low, %c1 : index
        %value32 = arith.index_cast %value : index to i32
        %x = arith.uitofp %value32 : i32 to f32
        %code = arith.truncf %x : f32 to f8E4M3FN
        kvcache.store %code, %k[%b, %t, %c0, %d] : f8E4M3FN, !kvcache.cache<key, #kv>
      }
      gpu.return
    }

    // A block for each sequence and token, a thread for each 16 elements.
    gpu.func @gather(%k: !kvcache.cache<key, #kv>, %out: memref<2x4x48xf32>)
        kernel attributes {known_block_size = array<i32: 3, 1, 1>} {
      %b = gpu.block_id x
      %t = gpu.block_id y
      %v = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %d = arith.muli %v, %c16 : index
      %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
      %live = arith.cmpi ult, %t, %n : index
      scf.if %live {
        %x = kvcache.load %k[%b, %t, %c0, %d] : !kvcache.cache<key, #kv> -> vector<16xf32>
        vector.store %x, %out[%b, %t, %d] : memref<2x4x48xf32>, vector<16xf32>
      }
      gpu.return
    }
  }

  memref.global "private" constant @table : memref<2x2xi32> = dense<[[3, 1], [0, 2]]>
  memref.global "private" constant @scales_table : memref<2x2xi32> = dense<[[0, 4], [2, 1]]>
  memref.global "private" constant @lengths : memref<2xi32> = dense<[3, 1]>
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %blocks = memref.alloc() : memref<4x1x2x2x1x48xf8E4M3FN>
    %scales = memref.alloc() : memref<5x1x2x2x1x2xbf16>
    %table = memref.alloc() : memref<2x2xi32>
    %scales_table = memref.alloc() : memref<2x2xi32>
    %lengths = memref.alloc() : memref<2xi32>
    %max = memref.alloc() : memref<1xi32>
    %table_0 = memref.get_global @table : memref<2x2xi32>
    %scales_table_0 = memref.get_global @scales_table : memref<2x2xi32>
    %lengths_0 = memref.get_global @lengths : memref<2xi32>
    memref.copy %table_0, %table : memref<2x2xi32> to memref<2x2xi32>
    memref.copy %scales_table_0, %scales_table : memref<2x2xi32> to memref<2x2xi32>
    memref.copy %lengths_0, %lengths : memref<2xi32> to memref<2xi32>
    %three = arith.constant 3 : i32
    memref.store %three, %max[%c0] : memref<1xi32>
    %out = memref.alloc() : memref<2x4x48xf32>
    %minus_one = arith.constant -1.0 : f32
    %D = arith.constant 48 : index
    scf.for %b = %c0 to %c2 step %c1 {
      scf.for %t = %c0 to %c4 step %c1 {
        scf.for %d = %c0 to %D step %c1 {
          memref.store %minus_one, %out[%b, %t, %d] : memref<2x4x48xf32>
        }
      }
    }
    %blocks_any = memref.cast %blocks : memref<4x1x2x2x1x48xf8E4M3FN> to memref<*xf8E4M3FN>
    %scales_any = memref.cast %scales : memref<5x1x2x2x1x2xbf16> to memref<*xbf16>
    %table_any = memref.cast %table : memref<2x2xi32> to memref<*xi32>
    %scales_table_any = memref.cast %scales_table : memref<2x2xi32> to memref<*xi32>
    %lengths_any = memref.cast %lengths : memref<2xi32> to memref<*xi32>
    %out_any = memref.cast %out : memref<2x4x48xf32> to memref<*xf32>
    gpu.host_register %blocks_any : memref<*xf8E4M3FN>
    gpu.host_register %scales_any : memref<*xbf16>
    gpu.host_register %table_any : memref<*xi32>
    gpu.host_register %scales_table_any : memref<*xi32>
    gpu.host_register %lengths_any : memref<*xi32>
    gpu.host_register %out_any : memref<*xf32>

    %collection = kvcache.get_paged_cache blocks(%blocks : memref<4x1x2x2x1x48xf8E4M3FN>)
        lengths(%lengths : memref<2xi32>) table(%table : memref<2x2xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
        scales(%scales : memref<5x1x2x2x1x2xbf16>) scales_table(%scales_table : memref<2x2xi32>)
        : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %collection[%c1] : !kvcache.collection<#kv>
    gpu.launch_func @kernels::@fill blocks in (%c2, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%k : !kvcache.cache<key, #kv>)
    gpu.launch_func @kernels::@gather blocks in (%c2, %c4, %c1) threads in (%c3, %c1, %c1)
        args(%k : !kvcache.cache<key, #kv>, %out : memref<2x4x48xf32>)

    // Sequence 0 has 3 tokens: 1 to 8 over and over, times 1, 2, 4, and three times
    // that from element 24 on.
    // CHECK:      {{\[}}[1,    2,    3,    4,    5,    6,    7,    8,    1,
    // CHECK-SAME: 8,    3,    6,    9,    12,    15,    18,    21,    24,    3,
    // CHECK-NEXT: [2,    4,    6,
    // CHECK-NEXT: [4,    8,    12,
    // CHECK-SAME: 32,    12,    24,
    // CHECK-NEXT: [-1,    -1,
    // Sequence 1 has one, times 16.
    // CHECK-NEXT: {{\[}}[16,    32,    48,
    // CHECK-SAME: 128,    48,    96,
    // CHECK-NEXT: [-1,    -1,
    // CHECK-NEXT: [-1,    -1,
    // CHECK-NEXT: [-1,    -1,
    call @printMemrefF32(%out_any) : (memref<*xf32>) -> ()
    return
  }
}
