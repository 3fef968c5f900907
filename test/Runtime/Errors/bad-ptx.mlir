// Modules that do not parse, kernels that do not decode, and kernels that take
// other parameters than the launch passes.
// RUN: %lower_gpu %s -o %t.mlir

// Malformed text refuses the module, before the program's main.
// RUN: sed 's/ld.param/ld.param.)/' %t.mlir > %t.syntax.mlir
// RUN: %status %run_gpu %t.syntax.mlir | FileCheck %s --check-prefix=SYNTAX
// SYNTAX: kvcache: fatal: mgpuModuleLoadJIT: <module 1>:{{[0-9]+}}:{{[0-9]+}}: error:
// SYNTAX: status 70
// SYNTAX-NOT: main

// RUN: sed 's/assembly = "/assembly = "nonsense/' %t.mlir > %t.nonsense.mlir
// RUN: %status %run_gpu %t.nonsense.mlir | FileCheck %s --check-prefix=NONSENSE
// NONSENSE: kvcache: fatal: mgpuModuleLoadJIT: <module 1>:1:1: error:
// NONSENSE: status 70

// An unknown instruction refuses its kernel, the others run.
// RUN: sed 's/add.s32/frobnicate.s32/' %t.mlir > %t.unknown.mlir
// RUN: %status %run_gpu %t.unknown.mlir | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: in main
// UNKNOWN: kvcache: error: mgpuLaunchKernel: launch of kernel 'add' was refused: <module 1>:{{[0-9]+}}: error: unsupported instruction 'frobnicate'
// UNKNOWN-NEXT: frobnicate.s32
// UNKNOWN: [7]
// UNKNOWN: status 71

// RUN: sed 's/entry store/entry stare/' %t.mlir > %t.name.mlir
// RUN: %status %run_gpu %t.name.mlir | FileCheck %s --check-prefix=NAME
// NAME: in main
// NAME: kvcache: fatal: mgpuModuleGetFunction: the module has no kernel 'store'; it has {{.*}}'stare'
// NAME-NEXT: status 70

// RUN: sed 's/,\\0A\\09.param .u64 store_param_4//' %t.mlir > %t.count.mlir
// RUN: %status %run_gpu %t.count.mlir | FileCheck %s --check-prefix=COUNT
// COUNT: kvcache: error: mgpuLaunchKernel: launch of kernel 'store': the kernel takes 4 parameters, the launch passes 5
// COUNT: status 71
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add(%m: memref<1xi32>, %i: i32) kernel {
      %c0 = arith.constant 0 : index
      %x = memref.load %m[%c0] : memref<1xi32>
      %y = arith.addi %x, %i : i32
      memref.store %y, %m[%c0] : memref<1xi32>
      gpu.return
    }
    gpu.func @store(%m: memref<1xi32>) kernel {
      %c0 = arith.constant 0 : index
      %seven = arith.constant 7 : i32
      memref.store %seven, %m[%c0] : memref<1xi32>
      gpu.return
    }
  }
  func.func @main() {
    vector.print str "in main\n"
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %i = arith.constant 100 : i32
    %m = memref.alloc() : memref<1xi32>
    %u = memref.cast %m : memref<1xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    gpu.launch_func @kernels::@store blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<1xi32>)
    gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%m : memref<1xi32>, %i : i32)
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
