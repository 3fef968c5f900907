// Values that do not fit are refused before anything runs, with both sides.
// RUN: %npy make %t.f4.npy '<f4' 3x4
// RUN: %npy make %t.f8.npy '<f8' 3x4
// RUN: %npy make %t.f5.npy '<f4' 3x5
// RUN: %npy make %t.r1.npy '<f4' 12
// RUN: %npy make %t.fo.npy '<f4' 3x4 fortran
// RUN: %npy make %t.be.npy '>f4' 3x4
// RUN: head -c 100 %t.f4.npy > %t.cut.npy
// RUN: echo text > %t.txt
// RUN: rm -f %t.out.npy

// RUN: not kvcache-run %s 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: kvcache-run: error: 'main' takes 2 arguments, got 0; give one --arg each
// RUN: not kvcache-run %s --arg %t.f8.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: argument 0 of 'main': {{.*}}.f8.npy: expected dtype f4 for memref<?x4xf32>, got f8
// RUN: not kvcache-run %s --arg %t.f5.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: argument 0 of 'main': {{.*}}.f5.npy: expected size 4 in dimension 1 for memref<?x4xf32>, got 5
// RUN: not kvcache-run %s --arg %t.r1.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: argument 0 of 'main': {{.*}}.r1.npy: expected rank 2 for memref<?x4xf32>, got 1
// RUN: not kvcache-run %s --arg %t.fo.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=FORTRAN
// FORTRAN: argument 0 of 'main': {{.*}}.fo.npy: the array is in Fortran order; save numpy.ascontiguousarray(array)
// RUN: not kvcache-run %s --arg %t.be.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=BIG
// BIG: argument 0 of 'main': {{.*}}.be.npy: dtype '>f4' is big-endian; save the array as little-endian
// RUN: not kvcache-run %s --arg %t.cut.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: argument 0 of 'main': {{.*}}.cut.npy: the header promises 48 bytes of data, the file holds {{[0-9]+}}
// RUN: not kvcache-run %s --arg %t.txt --arg i32:1 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: argument 0 of 'main': {{.*}}.txt: not a .npy file
// RUN: not kvcache-run %s --arg /nowhere.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: argument 0 of 'main': /nowhere.npy: cannot open: No such file or directory
// RUN: not kvcache-run %s --arg %t.f4.npy --arg f32:1 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: argument 1 of 'main': expected a value of type i32, such as 'i32:1', got 'f32:1'
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:1.5 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: argument 1 of 'main': '1.5' is no whole number
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:4294967296 2>&1 | FileCheck %s --check-prefix=FIT
// FIT: argument 1 of 'main': '4294967296' does not fit into i32
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:1 --out 1=%t.out.npy 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: argument 1 is no memref
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:1 --out 2=%t.out.npy 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: there is no argument 2 among 2
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:1 --out %t.out.npy 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: expected --out N=file.npy
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:1 --out 0=/nowhere/x.npy 2>&1 | FileCheck %s --check-prefix=WRITE
// WRITE: --out 0=/nowhere/x.npy: cannot write to folder '/nowhere': No such file or directory
// RUN: not kvcache-run %s --arg %t.f4.npy --arg i32:1 --out 0=%t.out.npy --out 0=%t.out.npy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: argument 0 is written to that file already
// RUN: not kvcache-run %s --entry other 2>&1 | FileCheck %s --check-prefix=ENTRY
// ENTRY: there is no func.func 'other' with a body; choose one by --entry
// RUN: not kvcache-run %s --entry unranked --arg %t.f4.npy 2>&1 | FileCheck %s --check-prefix=UNRANKED
// UNRANKED: argument 0 of 'unranked': arguments of type memref<*xf32> are not supported; use ranked memrefs and scalars
// RUN: not kvcache-run %s --entry strided --arg %t.f4.npy 2>&1 | FileCheck %s --check-prefix=STRIDED
// STRIDED: argument 0 of 'strided': dimension 0 of memref<3x4xf32, strided<[8, 1]>> has stride 8, the array from the file has 4
// RUN: not kvcache-run %s --chip sm_12 --arg %t.f4.npy --arg i32:1 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: {{^}}kvcache-run: error: --chip: expected one of sm_80, {{.*}}sm_120{{.*}}; got 'sm_12'{{$}}
// RUN: not kvcache-run %s --device gpu 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: kvcache-run: error: --device: expected 'auto', 'cuda' or 'sim', got 'gpu'
// RUN: not kvcache-run %s --tool memchek 2>&1 | FileCheck %s --check-prefix=TOOL
// TOOL: kvcache-run: error: --tool: expected 'none', 'all' or a list of memcheck, initcheck, racecheck and synccheck, got 'memchek'
// RUN: env KVCACHE_DEVICE=tpu not kvcache-run %s 2>&1 | FileCheck %s --check-prefix=SETTING
// SETTING: kvcache-run: error: KVCACHE_DEVICE: expected 'auto', 'cuda' or 'sim', got 'tpu'
// RUN: not kvcache-run /nowhere.mlir 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: kvcache-run: error: cannot open input file '/nowhere.mlir': No such file or directory
// RUN: test ! -e %t.out.npy
func.func @main(%a: memref<?x4xf32>, %i: i32) {
  return
}
func.func @unranked(%a: memref<*xf32>) {
  return
}
func.func @strided(%a: memref<3x4xf32, strided<[8, 1]>>) {
  return
}
