// Launches that no device allows are refused in words, the program runs on, and
// its exit status tells.
// RUN: %lower_gpu %s -o %t.mlir
// RUN: %status %run_gpu %t.mlir | FileCheck %s --check-prefixes=CHECK,RUNNER
// RUN: %status kvcache-run %s | FileCheck %s --check-prefixes=CHECK,TOOL
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @count(%m: memref<1xi32>) kernel {
      %c0 = arith.constant 0 : index
      %one = arith.constant 1 : i32
      %old = memref.atomic_rmw addi %one, %m[%c0] : (i32, memref<1xi32>) -> i32
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c1024 = arith.constant 1024 : index
    %c100000 = arith.constant 100000 : index
    %zero = arith.constant 0 : i32
    %bytes = arith.constant 1000000 : i32
    %m = memref.alloc() : memref<1xi32>
    memref.store %zero, %m[%c0] : memref<1xi32>
    %u = memref.cast %m : memref<1xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    // CHECK: error: mgpuLaunchKernel: launch of kernel 'count': grid 0 x 1 x 1: every size must be at least 1; launch nothing where there is no work
    gpu.launch_func @kernels::@count blocks in (%c0, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<1xi32>)
    // CHECK-NEXT: error: mgpuLaunchKernel: launch of kernel 'count': block 1 x 0 x 1: every size must be at least 1
    gpu.launch_func @kernels::@count blocks in (%c1, %c1, %c1)
        threads in (%c1, %c0, %c1) args(%m : memref<1xi32>)
    // CHECK-NEXT: error: mgpuLaunchKernel: launch of kernel 'count': block 1024 x 2 x 1 has 2048 threads, the limit is 1024
    gpu.launch_func @kernels::@count blocks in (%c1, %c1, %c1)
        threads in (%c1024, %c2, %c1) args(%m : memref<1xi32>)
    // CHECK-NEXT: error: mgpuLaunchKernel: launch of kernel 'count': grid 1 x 100000 x 1 is above the limit 2147483647 x 65535 x 65535
    gpu.launch_func @kernels::@count blocks in (%c1, %c100000, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<1xi32>)
    // CHECK-NEXT: error: mgpuLaunchKernel: launch of kernel 'count' was refused: shared memory of 1000000 bytes (0 static, 1000000 dynamic) exceeds the 232448 of sm_90
    gpu.launch_func @kernels::@count blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) dynamic_shared_memory_size %bytes
        args(%m : memref<1xi32>)
    // CHECK-NEXT: error: mgpuLaunchClusterKernel: launch of kernel 'count': grid 1 x 1 x 1 is no multiple of the cluster 2 x 1 x 1
    gpu.launch_func @kernels::@count clusters in (%c2, %c1, %c1)
        blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%m : memref<1xi32>)
    gpu.launch_func @kernels::@count blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<1xi32>)
    // CHECK: [1]
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    // RUNNER: status 71
    // TOOL: status 1
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
