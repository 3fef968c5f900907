// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// gpu.all_reduce, whose own lowering has all lanes store the same value. (Where the
// warps are no power of two, lanes store different ones: a race that racecheck finds.)
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %in = memref.alloc() : memref<2x128xi32>
  %sum = memref.alloc() : memref<2xi32>
  %max = memref.alloc() : memref<2xi32>
  scf.for %i = %c0 to %c2 step %c1 {
    scf.for %j = %c0 to %c128 step %c1 {
      %k = arith.muli %i, %c128 : index
      %l = arith.addi %k, %j : index
      %v = arith.index_cast %l : index to i32
      memref.store %v, %in[%i, %j] : memref<2x128xi32>
    }
  }
  %ui = memref.cast %in : memref<2x128xi32> to memref<*xi32>
  %us = memref.cast %sum : memref<2xi32> to memref<*xi32>
  %um = memref.cast %max : memref<2xi32> to memref<*xi32>
  gpu.host_register %ui : memref<*xi32>
  gpu.host_register %us : memref<*xi32>
  gpu.host_register %um : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %v = memref.load %in[%bx, %tx] : memref<2x128xi32>
    %s = gpu.all_reduce add %v uniform {} : (i32) -> (i32)
    memref.store %s, %sum[%bx] : memref<2xi32>
    %m = gpu.all_reduce maxsi %v uniform {} : (i32) -> (i32)
    memref.store %m, %max[%bx] : memref<2xi32>
    gpu.terminator
  }
  // CHECK: [8128,  24512]
  call @printMemrefI32(%us) : (memref<*xi32>) -> ()
  // CHECK: [127,  255]
  call @printMemrefI32(%um) : (memref<*xi32>) -> ()
  return
}
func.func private @printMemrefI32(memref<*xi32>)
