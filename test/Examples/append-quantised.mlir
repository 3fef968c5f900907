// New keys go into a quantised cache: each row is scaled by its own amax / 448, and
// codes and scale are stored. Row r of the input belongs to the sequence whose rows
// it lies among (ragged input) and is that sequence's token
// cache_length + r - first row. A page that the table does not have (a sentinel past
// the pool) is skipped.
//
// RUN: kvcache-run %s | FileCheck %s
// RUN: kvcache-run --chip=sm_80 --tool=all %s | FileCheck %s

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 16>, page_size = 4,
                      scales = <f32, granularity = 16>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // A block for each row, a thread for each head.
    gpu.func @append(%k: !kvcache.cache<key, #kv>, %rows: memref<6x2x16xf32>, %offsets: memref<3xi32>)
        kernel attributes {known_block_size = array<i32: 2, 1, 1>} {
      %r = gpu.block_id x
      %h = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %D = arith.constant 16 : index

      // The sequence and the token of this row. Rows past the last offset write
      // nothing.
      %second = memref.load %offsets[%c1] : memref<3xi32>
      %c2 = arith.constant 2 : index
      %end = memref.load %offsets[%c2] : memref<3xi32>
      %first_of_second = arith.index_castui %second : i32 to index
      %num_rows = arith.index_castui %end : i32 to index
      %in_second = arith.cmpi uge, %r, %first_of_second : index
      %b = arith.select %in_second, %c1, %c0 : index
      %first = arith.select %in_second, %first_of_second, %c0 : index
      %length = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
      %behind = arith.subi %r, %first : index
      %t = arith.addi %length, %behind : index
      %live = arith.cmpi ult, %r, %num_rows : index
      scf.if %live {
        %zero = arith.constant 0.0 : f32
        %one = arith.constant 1.0 : f32
        %largest = arith.constant 448.0 : f32
        %amax = scf.for %d = %c0 to %D step %c1 iter_args(%m = %zero) -> f32 {
          %x = memref.load %rows[%r, %h, %d] : memref<6x2x16xf32>
          %negative = arith.negf %x : f32
          %size = arith.maximumf %x, %negative : f32
          %more = arith.maximumf %m, %size : f32
          scf.yield %more : f32
        }
        %scale = arith.divf %amax, %largest : f32
        %is_zero = arith.cmpf oeq, %scale, %zero : f32
        %inverse = arith.divf %one, %scale : f32
        %factor = arith.select %is_zero, %zero, %inverse : f32
        kvcache.store_scale skip %scale, %k[%b, %t, %h, %c0] : f32, !kvcache.cache<key, #kv>
        scf.for %d = %c0 to %D step %c1 {
          %x = memref.load %rows[%r, %h, %d] : memref<6x2x16xf32>
          %scaled = arith.mulf %x, %factor : f32
          %code = arith.truncf %scaled : f32 to f8E4M3FN
          kvcache.store skip %code, %k[%b, %t, %h, %d] : f8E4M3FN, !kvcache.cache<key, #kv>
        }
      }
      gpu.return
    }

    // Element 7 of both heads of 8 tokens of both sequences, dequantised.
    gpu.func @read(%k: !kvcache.cache<key, #kv>, %out: memref<2x8x2xf32>)
        kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
      %b = gpu.block_id x
      %h = gpu.block_id y
      %t = gpu.thread_id x
      %d = arith.constant 7 : index
      %x = kvcache.load skip %k[%b, %t, %h, %d] : !kvcache.cache<key, #kv> -> f32
      memref.store %x, %out[%b, %t, %h] : memref<2x8x2xf32>
      gpu.return
    }
  }

  memref.global "private" constant @table : memref<2x2xi32> = dense<[[2, 0], [1, 3]]>
  memref.global "private" constant @lengths : memref<2xi32> = dense<[3, 2]>
  memref.global "private" constant @offsets : memref<3xi32> = dense<[0, 2, 5]>
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}

  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %rows = arith.constant 6 : index
    %D = arith.constant 16 : index
    %zero = arith.constant 0.0 : f32

    // Block 3 of the table is a sentinel: the pool has 3.
    %blocks = memref.alloc() : memref<3x2x1x4x2x16xf8E4M3FN>
    %scales = memref.alloc() : memref<3x2x1x4x2x1xf32>
    %codes_any = memref.cast %blocks : memref<3x2x1x4x2x16xf8E4M3FN> to memref<*xf8E4M3FN>
    gpu.host_register %codes_any : memref<*xf8E4M3FN>
    %scales_any = memref.cast %scales : memref<3x2x1x4x2x1xf32> to memref<*xf32>
    gpu.host_register %scales_any : memref<*xf32>
    %bits = arith.constant 0 : i8
    %code_zero = arith.bitcast %bits : i8 to f8E4M3FN
    %flat = memref.collapse_shape %blocks [[0, 1, 2, 3, 4, 5]] : memref<3x2x1x4x2x16xf8E4M3FN> into memref<768xf8E4M3FN>
    %flat_scales = memref.collapse_shape %scales [[0, 1, 2, 3, 4, 5]] : memref<3x2x1x4x2x1xf32> into memref<48xf32>
    %num_codes = arith.constant 768 : index
    %num_scales = arith.constant 48 : index
    scf.for %i = %c0 to %num_codes step %c1 {
      memref.store %code_zero, %flat[%i] : memref<768xf8E4M3FN>
    }
    scf.for %i = %c0 to %num_scales step %c1 {
      memref.store %zero, %flat_scales[%i] : memref<48xf32>
    }

    // Row r, head h, element d holds (r + 1) * 2^h * 64 * (d mod 8): amax is
    // (r + 1) * 2^h * 448, the scale (r + 1) * 2^h, and element 7 is amax.
    %input = memref.alloc() : memref<6x2x16xf32>
    %input_any = memref.cast %input : memref<6x2x16xf32> to memref<*xf32>
    gpu.host_register %input_any : memref<*xf32>
    scf.for %r = %c0 to %rows step %c1 {
      scf.for %h = %c0 to %c2 step %c1 {
        scf.for %d = %c0 to %D step %c1 {
          %r1 = arith.addi %r, %c1 : index
          %power = arith.shli %c1, %h : index
          %d8 = arith.remui %d, %c8 : index
          %c64 = arith.constant 64 : index
          %a = arith.muli %r1, %power : index
          %e = arith.muli %d8, %c64 : index
          %n = arith.muli %a, %e : index
          %n32 = arith.index_cast %n : index to i32
          %x = arith.uitofp %n32 : i32 to f32
          memref.store %x, %input[%r, %h, %d] : memref<6x2x16xf32>
        }
      }
    }

    %table = memref.alloc() : memref<2x2xi32>
    %lengths = memref.alloc() : memref<2xi32>
    %offsets = memref.alloc() : memref<3xi32>
    %max = memref.alloc() : memref<1xi32>
    %table_0 = memref.get_global @table : memref<2x2xi32>
    %lengths_0 = memref.get_global @lengths : memref<2xi32>
    %offsets_0 = memref.get_global @offsets : memref<3xi32>
    memref.copy %table_0, %table : memref<2x2xi32> to memref<2x2xi32>
    memref.copy %lengths_0, %lengths : memref<2xi32> to memref<2xi32>
    memref.copy %offsets_0, %offsets : memref<3xi32> to memref<3xi32>
    %five = arith.constant 5 : i32
    memref.store %five, %max[%c0] : memref<1xi32>
    %table_any = memref.cast %table : memref<2x2xi32> to memref<*xi32>
    %lengths_any = memref.cast %lengths : memref<2xi32> to memref<*xi32>
    %offsets_any = memref.cast %offsets : memref<3xi32> to memref<*xi32>
    gpu.host_register %table_any : memref<*xi32>
    gpu.host_register %lengths_any : memref<*xi32>
    gpu.host_register %offsets_any : memref<*xi32>

    %collection = kvcache.get_paged_cache blocks(%blocks : memref<3x2x1x4x2x16xf8E4M3FN>)
        lengths(%lengths : memref<2xi32>) table(%table : memref<2x2xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
        scales(%scales : memref<3x2x1x4x2x1xf32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %collection[%c0] : !kvcache.collection<#kv>
    gpu.launch_func @kernels::@append blocks in (%rows, %c1, %c1) threads in (%c2, %c1, %c1)
        args(%k : !kvcache.cache<key, #kv>, %input : memref<6x2x16xf32>, %offsets : memref<3xi32>)

    // Sequence 0 gets rows 0 and 1 as tokens 3 and 4, on two pages. Sequence 1 gets
    // rows 2, 3, 4 as tokens 2, 3, 4, the last of which has no page. Row 5 is no
    // sequence's.
    %out = memref.alloc() : memref<2x8x2xf32>
    %out_any = memref.cast %out : memref<2x8x2xf32> to memref<*xf32>
    gpu.host_register %out_any : memref<*xf32>
    gpu.launch_func @kernels::@read blocks in (%c2, %c2, %c1) threads in (%c8, %c1, %c1)
        args(%k : !kvcache.cache<key, #kv>, %out : memref<2x8x2xf32>)
    // CHECK:      {{\[}}[0,     0],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [448,     896],
    // CHECK-NEXT: [896,     1792],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [0,     0]]
    // CHECK-NEXT: {{\[}}[0,     0],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [1344,     2688],
    // CHECK-NEXT: [1792,     3584],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [0,     0],
    // CHECK-NEXT: [0,     0]]
    call @printMemrefF32(%out_any) : (memref<*xf32>) -> ()
    return
  }
}
