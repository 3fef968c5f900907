// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Chains of tokens: two streams that join.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%m: memref<8xi32>, %n: memref<8xi32>, %out: memref<8xi32>)
        kernel {
      %t = gpu.thread_id x
      %x = memref.load %m[%t] : memref<8xi32>
      %y = memref.load %n[%t] : memref<8xi32>
      %z = arith.addi %x, %y : i32
      memref.store %z, %out[%t] : memref<8xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %five = arith.constant 5 : i32
    %host = memref.alloc() : memref<8xi32>
    scf.for %i = %c0 to %c8 step %c1 {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %host[%i] : memref<8xi32>
    }
    %s0 = gpu.wait async
    %a, %s1 = gpu.alloc async [%s0] () : memref<8xi32>
    %s2 = gpu.memcpy async [%s1] %a, %host : memref<8xi32>, memref<8xi32>
    %r0 = gpu.wait async
    %b, %r1 = gpu.alloc async [%r0] () : memref<8xi32>
    %r2 = gpu.memset async [%r1] %b, %five : memref<8xi32>, i32
    %j0 = gpu.wait async [%s2, %r2]
    %j1 = gpu.launch_func async [%j0] @kernels::@add
        blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%a : memref<8xi32>, %b : memref<8xi32>, %b : memref<8xi32>)
    %j2 = gpu.memcpy async [%j1] %host, %b : memref<8xi32>, memref<8xi32>
    %j3 = gpu.dealloc async [%j2] %a : memref<8xi32>
    %j4 = gpu.dealloc async [%j3] %b : memref<8xi32>
    gpu.wait [%j4]
    %u = memref.cast %host : memref<8xi32> to memref<*xi32>
    // CHECK: [5,  6,  7,  8,  9,  10,  11,  12]
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
