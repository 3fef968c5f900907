// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// A histogram by atomics on host-shared device memory.
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c100 = arith.constant 100 : index
  %bins = gpu.alloc host_shared () : memref<5xi32>
  %zero = arith.constant 0 : i32
  linalg.fill ins(%zero : i32) outs(%bins : memref<5xi32>)
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c3, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c100, %sy = %c1, %sz = %c1) {
    %one = arith.constant 1 : i32
    %base = arith.muli %bx, %sx : index
    %i = arith.addi %base, %tx : index
    %sq = arith.muli %i, %i : index
    %bin = arith.remui %sq, %c5 : index
    %old = memref.atomic_rmw addi %one, %bins[%bin]
        : (i32, memref<5xi32>) -> i32
    gpu.terminator
  }
  %u = memref.cast %bins : memref<5xi32> to memref<*xi32>
  // Squares modulo 5 are 0, 1, 4, 4, 1.
  // CHECK: [60,  120,  0,  0,  120]
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  %t0 = gpu.wait async
  %t1 = gpu.dealloc async [%t0] %bins : memref<5xi32>
  gpu.wait [%t1]
  return
}
func.func private @printMemrefI32(memref<*xi32>)
