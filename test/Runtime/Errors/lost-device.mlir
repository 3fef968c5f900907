// A kernel that stops takes its device with it: what follows is refused, with
// the first fault named, and told of once.
// RUN: %lower_gpu %s -o %t.mlir
// RUN: %status %run_gpu %t.mlir | FileCheck %s
// RUN: %status kvcache-run %s | FileCheck %s
// CHECK:     error: mgpuLaunchKernel: launch of kernel 'stop' failed:
// CHECK-NOT: error:
// CHECK:     error: mgpuStreamSynchronize: the device does no more work after a fault (open it anew): launch of kernel 'stop' failed:
// CHECK-NOT: error:
// CHECK:     5 5
// CHECK-NOT: error:
// CHECK:     status {{1|71}}
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @stop(%m: memref<2xi32>) kernel {
      llvm.intr.trap
      gpu.return
    }
    gpu.func @add(%m: memref<2xi32>) kernel {
      %t = gpu.thread_id x
      %one = arith.constant 1 : i32
      %old = memref.load %m[%t] : memref<2xi32>
      %new = arith.addi %old, %one : i32
      memref.store %new, %m[%t] : memref<2xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %five = arith.constant 5 : i32
    %m = memref.alloc() : memref<2xi32>
    %any = memref.cast %m : memref<2xi32> to memref<*xi32>
    gpu.host_register %any : memref<*xi32>
    memref.store %five, %m[%c0] : memref<2xi32>
    memref.store %five, %m[%c1] : memref<2xi32>
    gpu.launch_func @kernels::@stop blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<2xi32>)
    gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1)
        threads in (%c2, %c1, %c1) args(%m : memref<2xi32>)
    %a = memref.load %m[%c0] : memref<2xi32>
    %b = memref.load %m[%c1] : memref<2xi32>
    vector.print %a : i32 punctuation <no_punctuation>
    vector.print str " "
    vector.print %b : i32
    gpu.host_unregister %any : memref<*xi32>
    memref.dealloc %m : memref<2xi32>
    return
  }
}
