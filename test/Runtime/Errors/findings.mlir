// What the checks find is reported once a place with the line of the program,
// and the exit status tells.
// RUN: %lower_gpu %s -o %t.mlir
// RUN: %status env KVCACHE_SIM_TOOL=memcheck %run_gpu %t.mlir | FileCheck %s --check-prefix=RUNNER
// RUN: %status kvcache-run %s --tool memcheck | FileCheck %s --check-prefix=TOOL

// Without the checks, such an access still ends the kernel, as a GPU would.
// RUN: %status %run_gpu %t.mlir | FileCheck %s --check-prefix=UNCHECKED
// UNCHECKED: memcheck: write of 4 bytes of global memory out of bounds
// UNCHECKED: kvcache: error: mgpuLaunchKernel: launch of kernel 'overrun' failed: write of 4 bytes of global memory out of bounds
// UNCHECKED: done
// UNCHECKED: status 71
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @overrun(%m: memref<4xi32>, %at: index) kernel {
      %t = gpu.thread_id x
      %one = arith.constant 1 : i32
      %i = arith.addi %t, %at : index
      // RUNNER:      memcheck: write of 4 bytes of global memory out of bounds
      // RUNNER-NEXT: at overrun, block (0,0,0), thread (3,0,0)
      // RUNNER:      is 0 bytes past the end of 'allocation #1' (16 bytes
      // TOOL:      memcheck: write of 4 bytes of global memory out of bounds
      // TOOL-NEXT: at overrun, block (0,0,0), thread (3,0,0)
      // TOOL-NEXT: findings.mlir:[[#@LINE+1]]:7
      memref.store %one, %m[%i] : memref<4xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %t0 = gpu.wait async
    %device, %t1 = gpu.alloc async [%t0] () : memref<4xi32>
    gpu.wait [%t1]
    gpu.launch_func @kernels::@overrun blocks in (%c1, %c1, %c1)
        threads in (%c4, %c1, %c1) args(%device : memref<4xi32>, %c1 : index)
    gpu.launch_func @kernels::@overrun blocks in (%c1, %c1, %c1)
        threads in (%c4, %c1, %c1) args(%device : memref<4xi32>, %c1 : index)
    // RUNNER-NOT: memcheck
    // RUNNER: done
    // RUNNER: status 71
    // TOOL-NOT: memcheck
    // TOOL: done
    // TOOL: status 1
    vector.print str "done\n"
    return
  }
}
