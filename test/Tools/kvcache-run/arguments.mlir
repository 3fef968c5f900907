// Arguments from files and scalars, in order, and memrefs back to files.
// RUN: %npy make %t.a.npy '<f4' 3x4
// RUN: %npy make %t.b.npy '<i8' 4
// RUN: %npy make %t.bf16.npy '<u2' 2x2
// RUN: %npy make %t.f8.npy '|V1' 5
// RUN: kvcache-run %s --arg %t.a.npy --arg f32:0.5 --arg %t.b.npy \
// RUN:   --arg index:2 --arg i32:-3 --arg %t.bf16.npy --arg %t.f8.npy \
// RUN:   --out 0=%t.a2.npy --out 2=%t.b2.npy --out 6=%t.f82.npy \
// RUN:   --tool all | FileCheck %s --check-prefix=RESULT
// RUN: %npy show %t.a2.npy | FileCheck %s --check-prefix=A
// RUN: %npy show %t.b2.npy | FileCheck %s --check-prefix=B
// RUN: cmp %t.f8.npy %t.f82.npy || %npy show %t.f82.npy | FileCheck %s --check-prefix=F8

// RESULT: 41
// A:  <f4 (3, 4) 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5 9.5 10.5 11.5
// B:  <i8 (4,) 0 1 -1 3
// F8: |V1 (5,) 0 1 2 3 4
func.func @main(%a: memref<?x4xf32>, %f: f32, %b: memref<4xi64>, %at: index,
                %i: i32, %h: memref<2x2xbf16>, %q: memref<?xf8E4M3FN>) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %rows = memref.dim %a, %c0 : memref<?x4xf32>
  %u = memref.cast %a : memref<?x4xf32> to memref<*xf32>
  gpu.host_register %u : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %rows, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %x = memref.load %a[%bx, %tx] : memref<?x4xf32>
    %y = arith.addf %x, %f : f32
    memref.store %y, %a[%bx, %tx] : memref<?x4xf32>
    gpu.terminator
  }
  gpu.host_unregister %u : memref<*xf32>
  %old = memref.load %b[%at] : memref<4xi64>
  %wide = arith.extsi %i : i32 to i64
  %new = arith.addi %old, %wide : i64
  memref.store %new, %b[%at] : memref<4xi64>
  %n = memref.dim %q, %c0 : memref<?xf8E4M3FN>
  %n64 = arith.index_cast %n : index to i64
  %c42 = arith.constant 37 : i64
  %s = arith.addi %n64, %c42 : i64
  %result = arith.addi %s, %new : i64
  return %result : i64
}
