// A copy back that nothing waits for: eager streams hide it, late ones show the
// memory as it was.
// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s --check-prefix=EAGER
// RUN: env KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s --check-prefix=LATE
// EAGER: [7,  7]
// EAGER: [7,  7]
// LATE: [1,  1]
// LATE: [7,  7]
func.func @main() {
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %host = memref.alloc() : memref<2xi32>
  linalg.fill ins(%one : i32) outs(%host : memref<2xi32>)
  %u = memref.cast %host : memref<2xi32> to memref<*xi32>
  %t0 = gpu.wait async
  %d, %t1 = gpu.alloc async [%t0] () : memref<2xi32>
  %t2 = gpu.memset async [%t1] %d, %seven : memref<2xi32>, i32
  %t3 = gpu.memcpy async [%t2] %host, %d : memref<2xi32>, memref<2xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  gpu.wait [%t3]
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
