// A tensor map made by the CUDA driver: the innermost dimension first, strides in
// bytes.
// RUN: rm -f %t.log
// RUN: mlir-opt %s -o %t.mlir --pass-pipeline='builtin.module(func.func(gpu-async-region),convert-nvgpu-to-nvvm,convert-vector-to-llvm,gpu-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,convert-func-to-llvm,canonicalize,reconcile-unrealized-casts)'
// RUN: env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_cuda MOCK_CUDA_LOG=%t.log \
// RUN:   %run_gpu %t.mlir 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=LOG < %t.log
// RUN: not env KVCACHE_DEVICE=cuda KVCACHE_CUDA_LIBRARY=%mock_old_cuda %run_gpu %t.mlir 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OLD
// RUN: env KVCACHE_DEVICE=sim %run_gpu %t.mlir 2>&1 | FileCheck %s

// CHECK: done
// LOG: cuTensorMapEncodeTiled type 7 rank 2 dims 128 96 stride 512 box 32 64 steps 1 1 modes 0 3 3 1
// The map is copied to the device once, however often it is made.
// LOG-NEXT: cuMemAlloc 128
// LOG: cuMemcpyAsync 128
// LOG: cuTensorMapEncodeTiled
// LOG-NOT: {{cuMemAlloc|cuMemcpy}}
// OLD: kvcache: fatal: mgpuTensorMapEncodeTiledMemref: the CUDA driver has no cuTensorMapEncodeTiled; install a driver of CUDA 12 or newer
func.func @main() {
  %c64 = arith.constant 64 : index
  %c32 = arith.constant 32 : index
  %d = gpu.alloc () : memref<96x128xf32>
  %any = memref.cast %d : memref<96x128xf32> to memref<*xf32>
  %map = nvgpu.tma.create.descriptor %any box[%c64, %c32]
    : memref<*xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>,
      swizzle = swizzle_128b, l2promo = l2promo_256b, oob = nan, interleave = none>
  %again = nvgpu.tma.create.descriptor %any box[%c64, %c32]
    : memref<*xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32, 3>,
      swizzle = swizzle_128b, l2promo = l2promo_256b, oob = nan, interleave = none>
  gpu.dealloc %d : memref<96x128xf32>
  vector.print str "done\n"
  return
}
