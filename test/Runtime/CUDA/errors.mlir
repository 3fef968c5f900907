// What the user reads when there is no driver, or when a call of it fails: the
// driver's own text. A failed call ends the process with 71 after the program,
// one without which nothing makes sense with 70 at once.
// RUN: %lower_gpu_sync %s -o %t.mlir
// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=/nowhere/libcuda.so.1 \
// RUN:   %run_gpu %t.mlir | FileCheck %s --check-prefix=ABSENT
// ABSENT: kvcache: fatal: cannot open the CUDA driver '/nowhere/libcuda.so.1': /nowhere/libcuda.so.1: cannot open shared object file: No such file or directory
// ABSENT-NEXT: status 70

// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   MOCK_CUDA_FAIL=cuInit %run_gpu %t.mlir | FileCheck %s --check-prefix=INIT
// INIT: kvcache: fatal: cuInit: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)
// INIT-NEXT: status 70

// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   MOCK_CUDA_DEVICES=0 %run_gpu %t.mlir | FileCheck %s --check-prefix=COUNT
// COUNT: kvcache: fatal: there is no CUDA device 0; the driver has 0
// COUNT-NEXT: status 70

// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   MOCK_CUDA_FAIL=cuMemAlloc %run_gpu %t.mlir | FileCheck %s --check-prefix=ALLOC
// ALLOC: kvcache: fatal: mgpuMemAlloc: allocation of 16 bytes: cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)
// ALLOC-NEXT: status 70

// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   MOCK_CUDA_FAIL=cuLaunchKernel %run_gpu %t.mlir | FileCheck %s --check-prefix=LAUNCH
// LAUNCH: kvcache: error: mgpuLaunchKernel: launch of kernel 'fill': cuLaunchKernel: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)
// LAUNCH-NEXT: kvcache: error: mgpuLaunchKernel: launch of kernel 'fill': grid 0 x 1 x 1: every size must be at least 1; launch nothing where there is no work
// LAUNCH-NEXT: kvcache: error: mgpuLaunchKernel: launch of kernel 'fill': 300000 bytes of dynamic and 1024 bytes of static shared memory: cuFuncSetAttribute: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)
// LAUNCH-NEXT: kvcache: error: mgpuLaunchKernel: launch of kernel 'two': the kernel takes 5 parameters, the launch passes 6
// LAUNCH-NEXT: done
// LAUNCH-NEXT: status 71

// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   KVCACHE_ERROR_EXITCODE=0 \
// RUN:   MOCK_CUDA_FAIL=cuLaunchKernel %run_gpu %t.mlir | FileCheck %s --check-prefix=OWN
// OWN: done
// OWN-NEXT: status 0

// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   KVCACHE_STOP_AT_FIRST=1 \
// RUN:   MOCK_CUDA_FAIL=cuLaunchKernel %run_gpu %t.mlir | FileCheck %s --check-prefix=STOP
// STOP: kvcache: error: mgpuLaunchKernel: launch of kernel 'fill': cuLaunchKernel: out of memory
// STOP-NEXT: status 71

// RUN: sed 's/entry fill/entry full/' %t.mlir > %t.renamed.mlir
// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   %run_gpu %t.renamed.mlir | FileCheck %s --check-prefix=NAME
// NAME: kvcache: fatal: mgpuModuleGetFunction: kernel 'fill': cuModuleGetFunction: named symbol not found (CUDA_ERROR_NOT_FOUND, 500)
// NAME-NEXT: status 70

// RUN: sed 's/\.version/.virsion/' %t.mlir > %t.bad.mlir
// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda \
// RUN:   %run_gpu %t.bad.mlir | FileCheck %s --check-prefix=PTX
// PTX: kvcache: fatal: mgpuModuleLoadJIT: cuModuleLoadDataEx: a PTX JIT compilation failed (CUDA_ERROR_INVALID_PTX, 218)
// PTX-NEXT: ptxas fatal: this is no PTX
// PTX-NEXT: status 70

// A driver of CUDA 11.0: no cuGetProcAddress, no clusters.
// RUN: rm -f %t.log
// RUN: %status env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_old_cuda \
// RUN:   MOCK_CUDA_LOG=%t.log %run_gpu %t.mlir | FileCheck %s --check-prefix=OLD
// RUN: FileCheck %s --check-prefix=OLDLOG < %t.log
// OLD: kvcache: error: mgpuLaunchClusterKernel: launch of kernel 'fill': the CUDA driver has no cuLaunchKernelEx, which clusters need; install a driver of CUDA 11.8 or newer
// OLDLOG: cuMemAlloc 16
// OLDLOG: cuLaunchKernel grid 1 1 1 block 1 1 1 shared 0
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fill(%m: memref<4xi32>) kernel {
      gpu.return
    }
    gpu.func @two(%m: memref<4xi32>, %i: i32) kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = arith.constant 1 : i32
    %bytes = arith.constant 300000 : i32
    %device = gpu.alloc () : memref<4xi32>
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%device : memref<4xi32>)
    gpu.launch_func @kernels::@fill blocks in (%c0, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%device : memref<4xi32>)
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) dynamic_shared_memory_size %bytes
        args(%device : memref<4xi32>)
    gpu.launch_func @kernels::@two blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%device : memref<4xi32>, %i : i32)
    gpu.launch_func @kernels::@fill clusters in (%c1, %c1, %c1)
        blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%device : memref<4xi32>)
    gpu.dealloc %device : memref<4xi32>
    vector.print str "done\n"
    return
  }
}
