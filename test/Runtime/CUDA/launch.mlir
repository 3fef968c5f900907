// What the CUDA driver is asked to do for a program, with a driver that only
// writes it down. KVCACHE_DEVICE=auto finds it.
// RUN: rm -f %t.log
// RUN: %lower_gpu_sync %s -o %t.mlir
// RUN: env KVCACHE_DEVICE=auto KVCACHE_VERBOSE=1 \
// RUN:     KVCACHE_CUDA_LIBRARY=%mock_cuda MOCK_CUDA_LOG=%t.log \
// RUN:   %run_gpu %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOG < %t.log

// CHECK: kvcache: device 0 is cuda:0: Mock GPU (sm_90a)
// CHECK: [7,  7,  7,  7]

// LOG:      cuModuleLoadDataEx ptx -O2
// LOG-NEXT: cuMemHostRegister 16
// LOG-NEXT: cuStreamCreate
// LOG-NEXT: cuMemAlloc 16
// LOG-NEXT: cuMemcpyAsync 16
// LOG-NEXT: cuMemsetD32Async 7 4
// LOG-NEXT: cuModuleGetFunction fill
// LOG-NEXT: cuFuncSetAttribute 8 50000
// LOG-NEXT: cuLaunchKernel grid 2 3 4 block 8 4 2 shared 50000
// LOG-NEXT: cuLaunchKernelEx grid 4 1 1 block 8 1 1 shared 0 attributes 1 id 4 cluster 2 1 1
// LOG-NEXT: cuMemcpyAsync 16
// LOG-NEXT: cuMemFree
// LOG-NEXT: cuStreamSynchronize
// LOG-NEXT: cuStreamDestroy
// LOG-NEXT: cuMemHostUnregister
// LOG-NEXT: cuModuleUnload
// LOG-NOT:  {{.}}
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fill(%m: memref<4xi32>) kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %bytes = arith.constant 50000 : i32
    %one = arith.constant 1 : i32
    %seven = arith.constant 7 : i32
    %host = memref.alloc() : memref<4xi32>
    linalg.fill ins(%one : i32) outs(%host : memref<4xi32>)
    %u = memref.cast %host : memref<4xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    %device = gpu.alloc () : memref<4xi32>
    gpu.memcpy %device, %host : memref<4xi32>, memref<4xi32>
    gpu.memset %device, %seven : memref<4xi32>, i32
    gpu.launch_func @kernels::@fill blocks in (%c2, %c3, %c4)
        threads in (%c8, %c4, %c2) dynamic_shared_memory_size %bytes
        args(%device : memref<4xi32>)
    gpu.launch_func @kernels::@fill clusters in (%c2, %c1, %c1)
        blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%device : memref<4xi32>)
    gpu.memcpy %host, %device : memref<4xi32>, memref<4xi32>
    gpu.dealloc %device : memref<4xi32>
    gpu.host_unregister %u : memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
