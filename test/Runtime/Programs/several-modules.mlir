// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Several modules with kernels of the same name, and a device function.
module attributes {gpu.container_module} {
  gpu.module @first {
    func.func @square(%x: i32) -> i32 attributes {no_inline} {
      %y = arith.muli %x, %x : i32
      return %y : i32
    }
    gpu.func @apply(%m: memref<4xi32>) kernel {
      %t = gpu.thread_id x
      %x = memref.load %m[%t] : memref<4xi32>
      %y = func.call @square(%x) : (i32) -> i32
      memref.store %y, %m[%t] : memref<4xi32>
      gpu.return
    }
  }
  gpu.module @second {
    gpu.func @apply(%m: memref<4xi32>) kernel {
      %t = gpu.thread_id x
      %hundred = arith.constant 100 : i32
      %x = memref.load %m[%t] : memref<4xi32>
      %y = arith.addi %x, %hundred : i32
      memref.store %y, %m[%t] : memref<4xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %m = memref.alloc() : memref<4xi32>
    scf.for %i = %c0 to %c4 step %c1 {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %m[%i] : memref<4xi32>
    }
    %u = memref.cast %m : memref<4xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    scf.for %i = %c0 to %c4 step %c1 {
      gpu.launch_func @first::@apply blocks in (%c1, %c1, %c1)
          threads in (%c4, %c1, %c1) args(%m : memref<4xi32>)
      gpu.launch_func @second::@apply blocks in (%c1, %c1, %c1)
          threads in (%c4, %c1, %c1) args(%m : memref<4xi32>)
    }
    // x -> x * x + 100, four times, in 32 bits.
    // CHECK: [-1011103500,  761948109,  276094196,  1170501133]
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
