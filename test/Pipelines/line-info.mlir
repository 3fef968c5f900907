// Lines of the program in PTX where they are asked for, and no debug info
// otherwise or beyond: the code is the same.
// RUN: kvcache-opt %s --pass-pipeline='builtin.module(kvcache-to-ptx{chip=sm_80 line-info})' | FileCheck %s
// RUN: kvcache-opt %s --pass-pipeline='builtin.module(kvcache-to-ptx{chip=sm_80})' | FileCheck %s --check-prefix=NONE
// NONE: .target sm_80
// NONE-NOT: .loc
// NONE-NOT: .file
gpu.module @kernels {
  // CHECK-NOT: debug
  gpu.func @add(%m: memref<?xi32>, %i: i32) kernel {
    %t = gpu.thread_id x
    // CHECK: .loc{{[^0-9]+}}1 [[#@LINE+2]] 10
    // CHECK: ld.global
    %x = memref.load %m[%t] : memref<?xi32>
    // CHECK: .loc{{[^0-9]+}}1 [[#@LINE+2]] 10
    // CHECK: add.s32
    %y = arith.addi %x, %i : i32
    // CHECK: .loc{{[^0-9]+}}1 [[#@LINE+2]] 5
    // CHECK: st.global
    memref.store %y, %m[%t] : memref<?xi32>
    gpu.return
  }
  // CHECK: .file{{[^0-9]+}}1 {{.*}}line-info.mlir
}
