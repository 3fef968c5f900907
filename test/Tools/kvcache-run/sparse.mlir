// An array of 6 GB that costs only the pages it touches.
// RUN: %npy make %t.at.npy '<i8' 2
// RUN: %npy make %t.bytes.npy '|u1' 2x4
// RUN: kvcache-run %s --arg sparse:6000000001:%t.at.npy:%t.bytes.npy --tool all \
// RUN:   --out 0=%t.at2.npy:%t.bytes2.npy | FileCheck %s --check-prefix=RESULT
// RUN: %npy show %t.at2.npy | FileCheck %s --check-prefix=AT
// RUN: %npy show %t.bytes2.npy | FileCheck %s --check-prefix=DATA

// The segments overlap: the second, at byte 1, is 4 5 6 7.
// RESULT: 7
// AT: <i8 (2,) 0 5999996928
// DATA: |u1 (2, 4096) 0 4 5 6 7 0 {{.*}} 0 9 0 {{[0 ]*$}}

// RUN: not kvcache-run %s --arg sparse:6000000001:%t.at.npy 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: argument 0 of 'main': expected sparse:BYTES:OFFSETS.npy:SEGMENTS.npy, got 'sparse:6000000001:{{.*}}'
// RUN: not kvcache-run %s --arg sparse:6000000002:%t.at.npy:%t.bytes.npy 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: argument 0 of 'main': a sparse array of 6000000002 bytes does not fill memref<6000000001xi8>
// RUN: not kvcache-run %s --entry small --arg sparse:4:%t.at.npy:%t.bytes.npy 2>&1 | FileCheck %s --check-prefix=LEAVES
// LEAVES: argument 0 of 'small': segment 1 of 4 bytes at 1 leaves the array of 4
// RUN: not kvcache-run %s --entry small --arg sparse:80000000000000000:%t.at.npy:%t.bytes.npy 2>&1 | FileCheck %s --check-prefix=SPACE
// SPACE: argument 0 of 'small': 80000000000000000 bytes exceed the address space
// RUN: not kvcache-run %s --entry small --arg sparse:8:%t.bytes.npy:%t.bytes.npy 2>&1 | FileCheck %s --check-prefix=PLACES
// PLACES: bytes.npy: expected offsets of dtype i8 and rank 1, got u1 and rank 2
// RUN: not kvcache-run %s --entry small --arg sparse:8:%t.at.npy:%t.at.npy 2>&1 | FileCheck %s --check-prefix=PIECES
// PIECES: at.npy: expected segments of dtype u1 and rank 2, got i8 and rank 1
// RUN: %npy make %t.three.npy '<i8' 3
// RUN: not kvcache-run %s --entry small --arg sparse:8:%t.three.npy:%t.bytes.npy 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: expected a segment an offset, got 2 segments and 3 offsets
// RUN: not kvcache-run %s --entry square --arg sparse:16:%t.at.npy:%t.bytes.npy 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: a sparse array cannot be memref<4x4xi8>; use a memref of rank 1
// RUN: not kvcache-run %s --entry small --arg sparse:8:%t.at.npy:%t.bytes.npy --out 0=%t.out.npy 2>&1 | FileCheck %s --check-prefix=OUT
// OUT: argument 0 is sparse; expected --out N=OFFSETS.npy:SEGMENTS.npy
func.func @main(%a: memref<6000000001xi8>) -> i8 {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %far = arith.constant 5999999999 : index
  %nine = arith.constant 9 : i8
  %u = memref.cast %a : memref<6000000001xi8> to memref<*xi8>
  gpu.host_register %u : memref<*xi8>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %nine, %a[%far] : memref<6000000001xi8>
    gpu.terminator
  }
  gpu.host_unregister %u : memref<*xi8>
  %result = memref.load %a[%c4] : memref<6000000001xi8>
  return %result : i8
}
func.func @small(%a: memref<?xi8>) {
  return
}
func.func @square(%a: memref<4x4xi8>) {
  return
}
