// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// A block's sum: shuffles in each warp, shared memory and a barrier between
// warps.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @sum(%in: memref<128xf32>, %out: memref<1xf32>)
        workgroup(%partial: memref<4xf32, #gpu.address_space<workgroup>>)
        kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c32 = arith.constant 32 : index
      %width = arith.constant 32 : i32
      %zero = arith.constant 0.0 : f32
      %t = gpu.thread_id x
      %x = memref.load %in[%t] : memref<128xf32>
      %o16 = arith.constant 16 : i32
      %o8 = arith.constant 8 : i32
      %o4 = arith.constant 4 : i32
      %o2 = arith.constant 2 : i32
      %o1 = arith.constant 1 : i32
      %s0, %p0 = gpu.shuffle xor %x, %o16, %width : f32
      %x0 = arith.addf %x, %s0 : f32
      %s1, %p1 = gpu.shuffle xor %x0, %o8, %width : f32
      %x1 = arith.addf %x0, %s1 : f32
      %s2, %p2 = gpu.shuffle xor %x1, %o4, %width : f32
      %x2 = arith.addf %x1, %s2 : f32
      %s3, %p3 = gpu.shuffle xor %x2, %o2, %width : f32
      %x3 = arith.addf %x2, %s3 : f32
      %s4, %p4 = gpu.shuffle xor %x3, %o1, %width : f32
      %x4 = arith.addf %x3, %s4 : f32
      %lane = arith.remui %t, %c32 : index
      %warp = arith.divui %t, %c32 : index
      %first = arith.cmpi eq, %lane, %c0 : index
      scf.if %first {
        memref.store %x4, %partial[%warp]
            : memref<4xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %leader = arith.cmpi eq, %t, %c0 : index
      scf.if %leader {
        %total = scf.for %i = %c0 to %c4 step %c1 iter_args(%acc = %zero)
            -> f32 {
          %v = memref.load %partial[%i]
              : memref<4xf32, #gpu.address_space<workgroup>>
          %next = arith.addf %acc, %v : f32
          scf.yield %next : f32
        }
        memref.store %total, %out[%c0] : memref<1xf32>
      }
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %in = memref.alloc() : memref<128xf32>
    %out = memref.alloc() : memref<1xf32>
    scf.for %i = %c0 to %c128 step %c1 {
      %n = arith.index_cast %i : index to i32
      %v = arith.sitofp %n : i32 to f32
      memref.store %v, %in[%i] : memref<128xf32>
    }
    %ui = memref.cast %in : memref<128xf32> to memref<*xf32>
    %uo = memref.cast %out : memref<1xf32> to memref<*xf32>
    gpu.host_register %ui : memref<*xf32>
    gpu.host_register %uo : memref<*xf32>
    gpu.launch_func @kernels::@sum blocks in (%c1, %c1, %c1)
        threads in (%c128, %c1, %c1)
        args(%in : memref<128xf32>, %out : memref<1xf32>)
    // 0 + 1 + ... + 127
    // CHECK: [8128]
    call @printMemrefF32(%uo) : (memref<*xf32>) -> ()
    return
  }
  func.func private @printMemrefF32(memref<*xf32>)
}
