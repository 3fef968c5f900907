// Cubins and fatbins go to the CUDA driver as they are.
// REQUIRES: ptxas
// RUN: rm -f %t.*.log
// RUN: %lower_gpu_bin %s -o %t.bin.mlir
// RUN: env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   MOCK_CUDA_LOG=%t.bin.log %run_gpu %t.bin.mlir
// RUN: FileCheck %s --check-prefix=BIN < %t.bin.log
// BIN: cuModuleLoadDataEx cubin -O4
// BIN: cuLaunchKernel
// RUN: %lower_gpu_fatbin %s -o %t.fatbin.mlir
// RUN: env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   MOCK_CUDA_LOG=%t.fatbin.log %run_gpu %t.fatbin.mlir
// RUN: FileCheck %s --check-prefix=FATBIN < %t.fatbin.log
// FATBIN: cuModuleLoadDataEx fatbin -O4
// FATBIN: cuLaunchKernel

// The simulator runs the PTX inside a fatbin, and says what a cubin lacks.
// RUN: %run_gpu %t.fatbin.mlir | FileCheck %s --check-prefix=SIM
// SIM: [42]
// RUN: %status %run_gpu %t.bin.mlir | FileCheck %s --check-prefix=CUBIN
// CUBIN: kvcache: fatal: mgpuModuleLoad: a cubin runs on a GPU only, the simulator needs PTX; compile to format=isa or format=fatbin, or choose KVCACHE_DEVICE=cuda
// CUBIN-NEXT: status 70
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fill(%m: memref<1xi32>) kernel {
      %c0 = arith.constant 0 : index
      %v = arith.constant 42 : i32
      memref.store %v, %m[%c0] : memref<1xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %m = memref.alloc() : memref<1xi32>
    %u = memref.cast %m : memref<1xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<1xi32>)
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
