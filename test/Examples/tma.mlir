// A page of keys by one TMA copy: the host makes a tensor map of the cache's operand,
// a kernel asks for the box of 16 tokens and 64 elements that starts at the row of a
// token, and waits for its bytes.
//
// RUN: kvcache-run --chip=sm_90a %s | FileCheck %s
// RUN: kvcache-run --chip=sm_100a --tool=all %s | FileCheck %s

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Block p fetches page p of sequence 0, head 1; thread i hands on row i.
    gpu.func @fetch(%map: !llvm.ptr, %k: !kvcache.mha_operand<key, #kv>, %out: memref<2x16xf32>)
        workgroup(%tile : memref<16x64xbf16, #gpu.address_space<workgroup>> {llvm.align = 128 : i64},
                  %barrier : memref<1xi64, #gpu.address_space<workgroup>>)
        kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
      %page = gpu.block_id x
      %i = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %first = arith.cmpi eq, %i, %c0 : index
      %tile_index = memref.extract_aligned_pointer_as_index %tile : memref<16x64xbf16, #gpu.address_space<workgroup>> -> index
      %barrier_index = memref.extract_aligned_pointer_as_index %barrier : memref<1xi64, #gpu.address_space<workgroup>> -> index
      %tile_i64 = arith.index_cast %tile_index : index to i64
      %barrier_i64 = arith.index_cast %barrier_index : index to i64
      %to = llvm.inttoptr %tile_i64 : i64 to !llvm.ptr<3>
      %to_cluster = llvm.addrspacecast %to : !llvm.ptr<3> to !llvm.ptr<7>
      %bar = llvm.inttoptr %barrier_i64 : i64 to !llvm.ptr<3>

      %one = arith.constant 1 : i32
      scf.if %first {
        nvvm.mbarrier.init %bar, %one : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
      }
      gpu.barrier

      // The coordinates are 32-bit, innermost first: element, head, row.
      %token = arith.muli %page, %c16 : index
      %row = kvcache.row_idx %k[%c0, %token] : !kvcache.mha_operand<key, #kv>
      scf.if %first {
        %element = arith.constant 0 : i32
        %row32 = arith.index_cast %row : index to i32
        %bytes = arith.constant 2048 : i32
        nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.tensor.shared.cluster.global %to_cluster, %map, %bar, box[%element, %one, %row32] : !llvm.ptr<7>, !llvm.ptr
      }
      %phase = arith.constant 0 : i32
      %ticks = arith.constant 1000000 : i32
      nvvm.mbarrier.try_wait.parity %bar, %phase, %ticks : !llvm.ptr<3>, i32, i32

      %x = memref.load %tile[%i, %c16] : memref<16x64xbf16, #gpu.address_space<workgroup>>
      %wide = arith.extf %x : bf16 to f32
      memref.store %wide, %out[%page, %i] : memref<2x16xf32>
      gpu.return
    }
  }

  memref.global "private" constant @table : memref<1x2xi32> = dense<[[2, 0]]>
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c16 = arith.constant 16 : index
    %count = arith.constant 12288 : index

    // 3 blocks of keys and values, one layer. Each element holds its row of 128.
    %blocks = memref.alloc() {alignment = 16 : i64} : memref<3x2x1x16x2x64xbf16>
    %flat = memref.collapse_shape %blocks [[0, 1, 2, 3, 4, 5]] : memref<3x2x1x16x2x64xbf16> into memref<12288xbf16>
    scf.for %i = %c0 to %count step %c1 {
      %c7 = arith.constant 7 : index
      %row = arith.shrui %i, %c7 : index
      %row32 = arith.index_cast %row : index to i32
      %x = arith.uitofp %row32 : i32 to f32
      %narrow = arith.truncf %x : f32 to bf16
      memref.store %narrow, %flat[%i] : memref<12288xbf16>
    }
    %lengths = memref.alloc() : memref<1xi32>
    %max = memref.alloc() : memref<1xi32>
    %table = memref.alloc() : memref<1x2xi32>
    %out = memref.alloc() : memref<2x16xf32>
    %full = arith.constant 32 : i32
    memref.store %full, %lengths[%c0] : memref<1xi32>
    memref.store %full, %max[%c0] : memref<1xi32>
    %table_0 = memref.get_global @table : memref<1x2xi32>
    memref.copy %table_0, %table : memref<1x2xi32> to memref<1x2xi32>
    %flat_any = memref.cast %flat : memref<12288xbf16> to memref<*xbf16>
    %table_any = memref.cast %table : memref<1x2xi32> to memref<*xi32>
    %out_any = memref.cast %out : memref<2x16xf32> to memref<*xf32>
    gpu.host_register %flat_any : memref<*xbf16>
    gpu.host_register %table_any : memref<*xi32>
    gpu.host_register %out_any : memref<*xf32>

    %collection = kvcache.get_paged_cache blocks(%blocks : memref<3x2x1x16x2x64xbf16>)
        lengths(%lengths : memref<1xi32>) table(%table : memref<1x2xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %collection[%c0] : !kvcache.collection<#kv>
    %o = kvcache.mha_operand %k : !kvcache.cache<key, #kv>
    %map = kvcache.create_tma_tile %o tile(16, 64, 64) : !kvcache.mha_operand<key, #kv>
    gpu.launch_func @kernels::@fetch blocks in (%c2, %c1, %c1) threads in (%c16, %c1, %c1)
        args(%map : !llvm.ptr, %o : !kvcache.mha_operand<key, #kv>, %out : memref<2x16xf32>)

    // Page 0 is block 2, whose keys begin at row 64; page 1 is block 0.
    // CHECK: [64,   65,   66,   67,   68,   69,   70,   71,   72,   73,   74,   75,   76,   77,   78,   79]
    // CHECK-NEXT: [0,   1,   2,   3,   4,   5,   6,   7,   8,   9,   10,   11,   12,   13,   14,   15]
    call @printMemrefF32(%out_any) : (memref<*xf32>) -> ()
    return
  }
}
