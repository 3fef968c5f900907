// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Vector addition over host memory that the device may use.
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %two = arith.constant 2.0 : f32
  %half = arith.constant 0.5 : f32
  %a = memref.alloc() : memref<256xf32>
  %b = memref.alloc() : memref<256xf32>
  linalg.fill ins(%two : f32) outs(%a : memref<256xf32>)
  linalg.fill ins(%half : f32) outs(%b : memref<256xf32>)
  %ua = memref.cast %a : memref<256xf32> to memref<*xf32>
  %ub = memref.cast %b : memref<256xf32> to memref<*xf32>
  gpu.host_register %ua : memref<*xf32>
  gpu.host_register %ub : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c4, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %base = arith.muli %bx, %sx : index
    %i = arith.addi %base, %tx : index
    %x = memref.load %a[%i] : memref<256xf32>
    %y = memref.load %b[%i] : memref<256xf32>
    %sum = arith.addf %x, %y : f32
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %z = arith.addf %sum, %f : f32
    memref.store %z, %b[%i] : memref<256xf32>
    gpu.terminator
  }
  // CHECK: sizes = [256]
  // CHECK-NEXT: [2.5,  3.5,  4.5,
  // CHECK-SAME: 256.5,  257.5]
  call @printMemrefF32(%ub) : (memref<*xf32>) -> ()
  gpu.host_unregister %ua : memref<*xf32>
  gpu.host_unregister %ub : memref<*xf32>
  memref.dealloc %a : memref<256xf32>
  memref.dealloc %b : memref<256xf32>
  return
}
func.func private @printMemrefF32(memref<*xf32>)
