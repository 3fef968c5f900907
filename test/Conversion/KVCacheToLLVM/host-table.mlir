// A host may fill a table and build the collection in one function: its reads are
// plain loads, and so may a kernel. A table that came to a kernel with its argument is
// read as invariant.
// RUN: kvcache-opt %s --pass-pipeline="builtin.module(convert-to-llvm)" | FileCheck %s --check-prefix=HOST
// RUN: kvcache-opt %s --pass-pipeline="builtin.module(gpu.module(convert-gpu-to-nvvm))" | FileCheck %s --check-prefix=DEVICE

// HOST-LABEL: llvm.func @on_host
// HOST: llvm.store
// HOST: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> i32
func.func @on_host(%table: memref<i32>, %i: i32, %entry: i32) -> i32 {
  memref.store %entry, %table[] : memref<i32>
  %e = kvcache.table_read %table[%i] : memref<i32> -> i32
  return %e : i32
}

gpu.module @kernels {
  // DEVICE-LABEL: llvm.func @on_device
  // DEVICE: llvm.load %{{.*}} invariant {alignment = 4 : i64} : !llvm.ptr -> i32
  // DEVICE: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> i32
  gpu.func @on_device(%table: memref<i32>, %i: i32, %out: memref<i32>) kernel {
    %e = kvcache.table_read invariant %table[%i] : memref<i32> -> i32
    memref.store %e, %out[] : memref<i32>
    %f = kvcache.table_read %table[%i] : memref<i32> -> i32
    memref.store %f, %out[] : memref<i32>
    gpu.return
  }
}
