// One scale a thread, through the scales operand: thread t of block b looks up the
// scale of token t of sequence b. Two layouts: keys of grouped-query attention
// (8 heads of 128) and of MLA (one head of 576, one scale a token).
//
// RUN: kvcache-run %s | FileCheck %s
// RUN: kvcache-run --chip=sm_80 --tool=all %s | FileCheck %s
// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_80,sm_90a,sm_100a output=%t" -o /dev/null
// RUN: cat %t/scale_per_thread.sm_80.ptx %t/scale_per_thread.sm_90a.ptx %t/scale_per_thread.sm_100a.ptx | FileCheck %s --check-prefix=PTX

// Each kernel reads the table once and the scale once; nothing is undefined.
// PTX-NOT: .extern
// PTX: .target sm_80
// PTX-NOT: .extern
// PTX-COUNT-4: ld.global.nc.b32
// PTX: .target sm_90a
// PTX-NOT: .extern
// PTX-COUNT-4: ld.global.nc.b32
// PTX: .target sm_100a
// PTX-NOT: .extern
// PTX-COUNT-4: ld.global.nc.b32
// PTX-NOT: ld.global

#gqa = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16,
                       scales = <f32, granularity = 128, table = own>>
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64,
                       scales = <f32, granularity = 576, table = own>>

module attributes {gpu.container_module} {
  gpu.module @scale_per_thread {
    gpu.func @gqa(%scales: !kvcache.scales_mha_operand<key, #gqa>, %h: i32, %d: i32, %out: memref<2x128xf32>)
        kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %zero = arith.constant 0 : index
      %hi = arith.index_castui %h : i32 to index
      %di = arith.index_castui %d : i32 to index
      %view = kvcache.block_paged_ptr %scales[%b, %t, %hi, %di]
          : !kvcache.scales_mha_operand<key, #gqa> -> memref<1x1xf32, strided<[8, 1], offset: ?>>
      %scale = memref.load %view[%zero, %zero] : memref<1x1xf32, strided<[8, 1], offset: ?>>
      memref.store %scale, %out[%b, %t] : memref<2x128xf32>
      gpu.return
    }
    gpu.func @mla(%scales: !kvcache.scales_mha_operand<key, #mla>, %h: i32, %d: i32, %out: memref<2x128xf32>)
        kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %zero = arith.constant 0 : index
      %hi = arith.index_castui %h : i32 to index
      %di = arith.index_castui %d : i32 to index
      %view = kvcache.block_paged_ptr %scales[%b, %t, %hi, %di]
          : !kvcache.scales_mha_operand<key, #mla> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
      %scale = memref.load %view[%zero, %zero] : memref<1x1xf32, strided<[1, 1], offset: ?>>
      memref.store %scale, %out[%b, %t] : memref<2x128xf32>
      gpu.return
    }
  }

  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  // Scale number i of a pool is i.
  func.func @count_up(%pool: memref<?xf32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %count = memref.dim %pool, %zero : memref<?xf32>
    scf.for %i = %zero to %count step %one {
      %i32 = arith.index_cast %i : index to i32
      %x = arith.uitofp %i32 : i32 to f32
      memref.store %x, %pool[%i] : memref<?xf32>
    }
    return
  }
  // Page p of sequence b lies in block (pages - 1 - p) * 2 + b.
  func.func @fill_table(%table: memref<2x?xi32>) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %pages = memref.dim %table, %one : memref<2x?xi32>
    scf.for %b = %zero to %two step %one {
      scf.for %p = %zero to %pages step %one {
        %last = arith.subi %pages, %one : index
        %from_end = arith.subi %last, %p : index
        %twice = arith.muli %from_end, %two : index
        %block = arith.addi %twice, %b : index
        %block32 = arith.index_cast %block : index to i32
        memref.store %block32, %table[%b, %p] : memref<2x?xi32>
      }
    }
    return
  }

  func.func @main() {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %two = arith.constant 2 : index
    %threads = arith.constant 128 : index
    %out = memref.alloc() : memref<2x128xf32>
    %lengths = memref.alloc() : memref<2xi32>
    %max = memref.alloc() : memref<1xi32>
    %full = arith.constant 128 : i32
    memref.store %full, %lengths[%zero] : memref<2xi32>
    memref.store %full, %lengths[%one] : memref<2xi32>
    memref.store %full, %max[%zero] : memref<1xi32>
    %out_any = memref.cast %out : memref<2x128xf32> to memref<*xf32>
    gpu.host_register %out_any : memref<*xf32>

    // 16 blocks of scales of keys and values, 2 layers.
    %gqa_blocks = memref.alloc() : memref<16x2x2x16x8x128xf8E4M3FN>
    %gqa_scales = memref.alloc() : memref<16x2x2x16x8x1xf32>
    %gqa_flat = memref.collapse_shape %gqa_scales [[0, 1, 2, 3, 4, 5]] : memref<16x2x2x16x8x1xf32> into memref<8192xf32>
    %gqa_flat_d = memref.cast %gqa_flat : memref<8192xf32> to memref<?xf32>
    call @count_up(%gqa_flat_d) : (memref<?xf32>) -> ()
    %gqa_any = memref.cast %gqa_flat : memref<8192xf32> to memref<*xf32>
    gpu.host_register %gqa_any : memref<*xf32>
    %gqa_table = memref.alloc() : memref<2x8xi32>
    %gqa_table_d = memref.cast %gqa_table : memref<2x8xi32> to memref<2x?xi32>
    call @fill_table(%gqa_table_d) : (memref<2x?xi32>) -> ()
    %gqa_table_any = memref.cast %gqa_table : memref<2x8xi32> to memref<*xi32>
    gpu.host_register %gqa_table_any : memref<*xi32>

    %gqa = kvcache.get_paged_cache blocks(%gqa_blocks : memref<16x2x2x16x8x128xf8E4M3FN>)
        lengths(%lengths : memref<2xi32>) table(%gqa_table : memref<2x8xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
        scales(%gqa_scales : memref<16x2x2x16x8x1xf32>) scales_table(%gqa_table : memref<2x8xi32>)
        : !kvcache.collection<#gqa>
    %gqa_k = kvcache.get_key_cache %gqa[%one] : !kvcache.collection<#gqa>
    %gqa_s = kvcache.scales_mha_operand %gqa_k : !kvcache.cache<key, #gqa>

    // Head 3, any element. Sequence 0, page 0 is block 14: 14 * 512 + 128 + 3, then
    // 8 a token; page 1 is block 12.
    // CHECK: [7299,   7307,   7315,   7323,
    // CHECK-SAME: 7419,   6275,   6283
    // Sequence 1, page 0 is block 15.
    // CHECK-NEXT: [7811,   7819,
    %h = arith.constant 3 : i32
    %d = arith.constant 100 : i32
    gpu.launch_func @scale_per_thread::@gqa blocks in (%two, %one, %one) threads in (%threads, %one, %one)
        args(%gqa_s : !kvcache.scales_mha_operand<key, #gqa>, %h : i32, %d : i32, %out : memref<2x128xf32>)
    call @printMemrefF32(%out_any) : (memref<*xf32>) -> ()

    // MLA: keys only, one scale a token.
    %mla_blocks = memref.alloc() : memref<4x1x2x64x1x576xf8E4M3FN>
    %mla_scales = memref.alloc() : memref<4x1x2x64x1x1xf32>
    %mla_flat = memref.collapse_shape %mla_scales [[0, 1, 2, 3, 4, 5]] : memref<4x1x2x64x1x1xf32> into memref<512xf32>
    %mla_flat_d = memref.cast %mla_flat : memref<512xf32> to memref<?xf32>
    call @count_up(%mla_flat_d) : (memref<?xf32>) -> ()
    %mla_any = memref.cast %mla_flat : memref<512xf32> to memref<*xf32>
    gpu.host_register %mla_any : memref<*xf32>
    %mla_table = memref.alloc() : memref<2x2xi32>
    %mla_table_d = memref.cast %mla_table : memref<2x2xi32> to memref<2x?xi32>
    call @fill_table(%mla_table_d) : (memref<2x?xi32>) -> ()
    %mla_table_any = memref.cast %mla_table : memref<2x2xi32> to memref<*xi32>
    gpu.host_register %mla_table_any : memref<*xi32>

    %mla = kvcache.get_paged_cache blocks(%mla_blocks : memref<4x1x2x64x1x576xf8E4M3FN>)
        lengths(%lengths : memref<2xi32>) table(%mla_table : memref<2x2xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
        scales(%mla_scales : memref<4x1x2x64x1x1xf32>) scales_table(%mla_table : memref<2x2xi32>)
        : !kvcache.collection<#mla>
    %mla_k = kvcache.get_key_cache %mla[%zero] : !kvcache.collection<#mla>
    %mla_s = kvcache.scales_mha_operand %mla_k : !kvcache.cache<key, #mla>

    // Sequence 0: block 2, then block 0; sequence 1: block 3, then block 1; a block
    // of one layer takes 64, of both 128.
    // CHECK: [256,   257,   258,
    // CHECK-SAME: 319,   0,   1,
    // CHECK-SAME: 63],
    // CHECK-NEXT: [384,   385,
    // CHECK-SAME: 447,   128,   129,
    %no_head = arith.constant 0 : i32
    gpu.launch_func @scale_per_thread::@mla blocks in (%two, %one, %one) threads in (%threads, %one, %one)
        args(%mla_s : !kvcache.scales_mha_operand<key, #mla>, %no_head : i32, %d : i32, %out : memref<2x128xf32>)
    call @printMemrefF32(%out_any) : (memref<*xf32>) -> ()
    return
  }
}
