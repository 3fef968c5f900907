// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Three dimensions of blocks and threads, all ids and sizes.
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %m = memref.alloc() : memref<3x2x2x5x4x2xi32>
  %minus = arith.constant -1 : i32
  linalg.fill ins(%minus : i32) outs(%m : memref<3x2x2x5x4x2xi32>)
  %u = memref.cast %m : memref<3x2x2x5x4x2xi32> to memref<*xi32>
  gpu.host_register %u : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c2, %gz = %c3)
             threads(%tx, %ty, %tz) in (%sx = %c2, %sy = %c4, %sz = %c5) {
    %0 = arith.muli %bz, %gy : index
    %1 = arith.addi %0, %by : index
    %2 = arith.muli %1, %gx : index
    %3 = arith.addi %2, %bx : index
    %4 = arith.muli %3, %sz : index
    %5 = arith.addi %4, %tz : index
    %6 = arith.muli %5, %sy : index
    %7 = arith.addi %6, %ty : index
    %8 = arith.muli %7, %sx : index
    %9 = arith.addi %8, %tx : index
    %v = arith.index_cast %9 : index to i32
    memref.store %v, %m[%bz, %by, %bx, %tz, %ty, %tx]
        : memref<3x2x2x5x4x2xi32>
    gpu.terminator
  }
  // Every element is its own row-major index.
  %flat = memref.collapse_shape %m [[0, 1, 2, 3, 4, 5]]
      : memref<3x2x2x5x4x2xi32> into memref<480xi32>
  %zero = arith.constant 0 : i32
  %c480 = arith.constant 480 : index
  %wrong = scf.for %i = %c0 to %c480 step %c1 iter_args(%acc = %zero) -> i32 {
    %v = memref.load %flat[%i] : memref<480xi32>
    %n = arith.index_cast %i : index to i32
    %differs = arith.cmpi ne, %v, %n : i32
    %one = arith.extui %differs : i1 to i32
    %next = arith.addi %acc, %one : i32
    scf.yield %next : i32
  }
  // CHECK: wrong: 0
  vector.print str "wrong: "
  vector.print %wrong : i32
  return
}
