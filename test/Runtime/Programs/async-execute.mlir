// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu -O0 %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu -O0 %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// async.execute regions that yield tokens of the device: MLIR 22 hands streams
// over where events are expected. (Coroutines need -O0 or more in the runner.)
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @increment(%m: memref<8xi32>) kernel {
      %t = gpu.thread_id x
      %one = arith.constant 1 : i32
      %x = memref.load %m[%t] : memref<8xi32>
      %y = arith.addi %x, %one : i32
      memref.store %y, %m[%t] : memref<8xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %seven = arith.constant 7 : i32
    %host = memref.alloc() : memref<8xi32>
    linalg.fill ins(%seven : i32) outs(%host : memref<8xi32>)
    %u = memref.cast %host : memref<8xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    %done, %value = async.execute -> !async.value<!gpu.async.token> {
      %t0 = gpu.wait async
      %t1 = gpu.launch_func async [%t0] @kernels::@increment
          blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
          args(%host : memref<8xi32>)
      async.yield %t1 : !gpu.async.token
    }
    %token = async.await %value : !async.value<!gpu.async.token>
    %t2 = gpu.launch_func async [%token] @kernels::@increment
        blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1)
        args(%host : memref<8xi32>)
    gpu.wait [%t2]
    // CHECK: [9,  9,  9,  9,  9,  9,  9,  9]
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
