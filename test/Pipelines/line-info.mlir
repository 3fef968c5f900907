// Lines of the program in PTX where they are asked for, and no debug info
// otherwise or beyond: the code is the same.
// RUN: rm -rf %t
// RUN: kvcache-opt %s -o /dev/null --pass-pipeline='builtin.module(kvcache-to-ptx{chip=sm_80 line-info output=%t/lines})'
// RUN: FileCheck %s < %t/lines/kernels.sm_80.ptx
// RUN: kvcache-opt %s -o /dev/null --pass-pipeline='builtin.module(kvcache-to-ptx{chip=sm_80 output=%t/none})'
// RUN: FileCheck %s --check-prefix=NONE < %t/none/kernels.sm_80.ptx
// NONE: .target sm_80
// NONE-NOT: .loc
// NONE-NOT: .file
gpu.module @kernels {
  // CHECK: .target sm_80{{$}}
  gpu.func @add(%m: memref<?xi32>, %i: i32) kernel {
    %t = gpu.thread_id x
    // CHECK: .loc{{[[:space:]]+}}1 [[#@LINE+2]] 10
    // CHECK: ld.global
    %x = memref.load %m[%t] : memref<?xi32>
    // CHECK: .loc{{[[:space:]]+}}1 [[#@LINE+2]] 10
    // CHECK: add.s32
    %y = arith.addi %x, %i : i32
    // CHECK: .loc{{[[:space:]]+}}1 [[#@LINE+2]] 5
    // CHECK: st.global
    memref.store %y, %m[%t] : memref<?xi32>
    gpu.return
  }
  // CHECK: .file{{[[:space:]]+}}1 "{{.*}}line-info.mlir"
}
