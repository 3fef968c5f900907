// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Dynamic shared memory above the 48 KiB that need no permission: reverses a
// row through it.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @reverse(%m: memref<256xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c255 = arith.constant 255 : index
      %offset = arith.constant 60000 : index
      %t = gpu.thread_id x
      %bytes = gpu.dynamic_shared_memory
          : memref<?xi8, #gpu.address_space<workgroup>>
      %row = memref.view %bytes[%offset][]
          : memref<?xi8, #gpu.address_space<workgroup>>
            to memref<256xi32, #gpu.address_space<workgroup>>
      %x = memref.load %m[%t] : memref<256xi32>
      memref.store %x, %row[%t]
          : memref<256xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %i = arith.subi %c255, %t : index
      %y = memref.load %row[%i]
          : memref<256xi32, #gpu.address_space<workgroup>>
      memref.store %y, %m[%t] : memref<256xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    %bytes = arith.constant 61024 : i32
    %m = memref.alloc() : memref<256xi32>
    scf.for %i = %c0 to %c256 step %c1 {
      %v = arith.index_cast %i : index to i32
      memref.store %v, %m[%i] : memref<256xi32>
    }
    %u = memref.cast %m : memref<256xi32> to memref<*xi32>
    gpu.host_register %u : memref<*xi32>
    gpu.launch_func @kernels::@reverse blocks in (%c1, %c1, %c1)
        threads in (%c256, %c1, %c1) dynamic_shared_memory_size %bytes
        args(%m : memref<256xi32>)
    // CHECK: [255,  254,  253,
    // CHECK-SAME: 2,  1,  0]
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
