// Several launches: a scan of chunks through a workspace in two kernels, the first
// in two versions by the input's alignment, with scalars of several types, an
// array in host memory, and static and dynamic shared memory.
module attributes {gpu.container_module} {
  gpu.module @sums {
    // Sum of 64 numbers a block, times a factor, to partial[block].
    gpu.func @aligned(%x: memref<?xf32> {llvm.align = 16 : i64}, %partial: memref<?xf32>,
                      %n: index, %factor: f32)
        workgroup(%tile: memref<64xf32, #gpu.address_space<workgroup>>) kernel
        attributes {known_block_size = array<i32: 16, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %t = gpu.thread_id x
      %b = gpu.block_id x
      %first = arith.muli %b, %c64 : index
      %mine = arith.muli %t, %c4 : index
      %i = arith.addi %first, %mine : index
      %v = vector.load %x[%i] {alignment = 16} : memref<?xf32>, vector<4xf32>
      scf.for %k = %c0 to %c4 step %c1 {
        %e = vector.extract %v[%k] : f32 from vector<4xf32>
        %at = arith.addi %mine, %k : index
        memref.store %e, %tile[%at] : memref<64xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %leads = arith.cmpi eq, %t, %c0 : index
      scf.if %leads {
        %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> f32 {
          %e = memref.load %tile[%k] : memref<64xf32, #gpu.address_space<workgroup>>
          %next = arith.addf %s, %e : f32
          scf.yield %next : f32
        }
        %scaled = arith.mulf %sum, %factor : f32
        memref.store %scaled, %partial[%b] : memref<?xf32>
      }
      gpu.return
    }
    gpu.func @unaligned(%x: memref<?xf32>, %partial: memref<?xf32>, %n: index, %factor: f32) kernel
        attributes {known_block_size = array<i32: 1, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %zero = arith.constant 0.0 : f32
      %b = gpu.block_id x
      %first = arith.muli %b, %c64 : index
      %past = arith.addi %first, %c64 : index
      %end = arith.minui %past, %n : index
      %sum = scf.for %k = %first to %end step %c1 iter_args(%s = %zero) -> f32 {
        %e = memref.load %x[%k] : memref<?xf32>
        %next = arith.addf %s, %e : f32
        scf.yield %next : f32
      }
      %scaled = arith.mulf %sum, %factor : f32
      memref.store %scaled, %partial[%b] : memref<?xf32>
      gpu.return
    }
  }
  gpu.module @totals {
    // Copies partial sums through dynamic shared memory, adds them all and the
    // numbers it was passed.
    gpu.func @total(%partial: memref<?xf32>, %out: memref<6xf64>, %flag: i1, %byte: i8, %half: i16,
                    %wide: f64, %from_host: i32, %pitch: i32) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c5 = arith.constant 5 : index
      %zero = arith.constant 0.0 : f32
      %chunks = memref.dim %partial, %c0 : memref<?xf32>
      %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %shared = memref.view %bytes[%c0][%chunks]
          : memref<?xi8, #gpu.address_space<workgroup>> to memref<?xf32, #gpu.address_space<workgroup>>
      scf.for %k = %c0 to %chunks step %c1 {
        %e = memref.load %partial[%k] : memref<?xf32>
        memref.store %e, %shared[%k] : memref<?xf32, #gpu.address_space<workgroup>>
      }
      %sum = scf.for %k = %c0 to %chunks step %c1 iter_args(%s = %zero) -> f32 {
        %e = memref.load %shared[%k] : memref<?xf32, #gpu.address_space<workgroup>>
        %next = arith.addf %s, %e : f32
        scf.yield %next : f32
      }
      %sum64 = arith.extf %sum : f32 to f64
      memref.store %sum64, %out[%c0] : memref<6xf64>
      %flag64 = arith.uitofp %flag : i1 to f64
      memref.store %flag64, %out[%c1] : memref<6xf64>
      %byte64 = arith.sitofp %byte : i8 to f64
      memref.store %byte64, %out[%c2] : memref<6xf64>
      %half64 = arith.sitofp %half : i16 to f64
      memref.store %half64, %out[%c3] : memref<6xf64>
      memref.store %wide, %out[%c4] : memref<6xf64>
      %host64 = arith.sitofp %from_host : i32 to f64
      memref.store %host64, %out[%c5] : memref<6xf64>
      gpu.return
    }
  }

  func.func @sum_up(%x: memref<?xf32> {kvcache.name = "x"}, %out: memref<6xf64> {kvcache.name = "out"},
                    %factor: f32 {kvcache.name = "factor"}, %flag: i1 {kvcache.name = "flag"},
                    %byte: i8 {kvcache.name = "byte"}, %half: i16 {kvcache.name = "half"},
                    %wide: f64 {kvcache.name = "wide"}, %settings: memref<2x2xi32> {kvcache.name = "settings"},
                    %threads: index {kvcache.name = "threads"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %c64 = arith.constant 64 : index
    %n = memref.dim %x, %c0 : memref<?xf32>
    %chunks = arith.ceildivui %n, %c64 : index
    %partial = gpu.alloc(%chunks) : memref<?xf32>
    %spare = gpu.alloc() : memref<3xi32>
    %address = memref.extract_aligned_pointer_as_index %x : memref<?xf32> -> index
    %low = arith.remui %address, %c16 : index
    %is_aligned = arith.cmpi eq, %low, %c0 : index
    %tail = arith.remui %n, %c64 : index
    %is_whole = arith.cmpi eq, %tail, %c0 : index
    %fast = arith.andi %is_aligned, %is_whole : i1
    scf.if %fast {
      gpu.launch_func @sums::@aligned blocks in (%chunks, %c1, %c1) threads in (%c16, %c1, %c1)
          args(%x : memref<?xf32>, %partial : memref<?xf32>, %n : index, %factor : f32)
    } else {
      gpu.launch_func @sums::@unaligned blocks in (%chunks, %c1, %c1) threads in (%threads, %c1, %c1)
          args(%x : memref<?xf32>, %partial : memref<?xf32>, %n : index, %factor : f32)
    }
    %from_host = memref.load %settings[%c1, %c0] : memref<2x2xi32>
    %bytes = arith.muli %chunks, %c4 : index
    %bytes32 = arith.index_castui %bytes : index to i32
    %some = arith.cmpi ne, %n, %c0 : index
    scf.if %some {
      gpu.launch_func @totals::@total blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
          dynamic_shared_memory_size %bytes32
          args(%partial : memref<?xf32>, %out : memref<6xf64>, %flag : i1, %byte : i8, %half : i16, %wide : f64,
               %from_host : i32, %bytes32 : i32)
    }
    gpu.dealloc %partial : memref<?xf32>
    gpu.dealloc %spare : memref<3xi32>
    return
  }
}
