// RUN: %lower_gpu_sync %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Memory of the device, copies to it and back, and a kernel in a gpu.module.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @scale(%m: memref<?xi32>, %factor: i32) kernel {
      %b = gpu.block_id x
      %n = gpu.block_dim x
      %t = gpu.thread_id x
      %base = arith.muli %b, %n : index
      %i = arith.addi %base, %t : index
      %c0 = arith.constant 0 : index
      %size = memref.dim %m, %c0 : memref<?xi32>
      %in = arith.cmpi ult, %i, %size : index
      scf.if %in {
        %x = memref.load %m[%i] : memref<?xi32>
        %y = arith.muli %x, %factor : i32
        memref.store %y, %m[%i] : memref<?xi32>
      }
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c4 = arith.constant 4 : index
    %c100 = arith.constant 100 : index
    %three = arith.constant 3 : i32
    %host = memref.alloc(%c100) : memref<?xi32>
    scf.for %i = %c0 to %c100 step %c1 {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %host[%i] : memref<?xi32>
    }
    %device = gpu.alloc (%c100) : memref<?xi32>
    gpu.memcpy %device, %host : memref<?xi32>, memref<?xi32>
    gpu.launch_func @kernels::@scale blocks in (%c4, %c1, %c1)
        threads in (%c32, %c1, %c1) args(%device : memref<?xi32>, %three : i32)
    gpu.memcpy %host, %device : memref<?xi32>, memref<?xi32>
    gpu.dealloc %device : memref<?xi32>
    %u = memref.cast %host : memref<?xi32> to memref<*xi32>
    // CHECK: sizes = [100]
    // CHECK-NEXT: [0,  3,  6,
    // CHECK-SAME: 294,  297]
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
