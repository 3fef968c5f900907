// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Registration of a strided part of a larger buffer, and of empty and rank-0
// memrefs.
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %seven = arith.constant 7 : i32
  %m = memref.alloc() : memref<4x6xi32>
  linalg.fill ins(%seven : i32) outs(%m : memref<4x6xi32>)
  %part = memref.subview %m[1, 2] [2, 3] [1, 1]
      : memref<4x6xi32> to memref<2x3xi32, strided<[6, 1], offset: 8>>
  %up = memref.cast %part
      : memref<2x3xi32, strided<[6, 1], offset: 8>> to memref<*xi32>
  gpu.host_register %up : memref<*xi32>
  %empty = memref.alloc() : memref<0x3xi32>
  %ue = memref.cast %empty : memref<0x3xi32> to memref<*xi32>
  gpu.host_register %ue : memref<*xi32>
  %scalar = memref.alloc() : memref<i32>
  memref.store %seven, %scalar[] : memref<i32>
  %us = memref.cast %scalar : memref<i32> to memref<*xi32>
  gpu.host_register %us : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c3, %sy = %c2, %sz = %c1) {
    %v = memref.load %scalar[] : memref<i32>
    %n = arith.index_cast %tx : index to i32
    %s = arith.addi %v, %n : i32
    memref.store %s, %part[%ty, %tx]
        : memref<2x3xi32, strided<[6, 1], offset: 8>>
    gpu.terminator
  }
  gpu.host_unregister %us : memref<*xi32>
  gpu.host_unregister %ue : memref<*xi32>
  gpu.host_unregister %up : memref<*xi32>
  %um = memref.cast %m : memref<4x6xi32> to memref<*xi32>
  // CHECK:      {{\[}}[7,   7,   7,   7,   7,   7],
  // CHECK-NEXT:  [7,   7,   7,   8,   9,   7],
  // CHECK-NEXT:  [7,   7,   7,   8,   9,   7],
  // CHECK-NEXT:  [7,   7,   7,   7,   7,   7]]
  call @printMemrefI32(%um) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
