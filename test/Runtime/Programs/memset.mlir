// RUN: %lower_gpu %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: env KVCACHE_SIM_TOOL=all KVCACHE_SIM_STREAMS=late %run_gpu %t.mlir | FileCheck %s
// RUN: kvcache-run %s --tool all | FileCheck %s

// Fills of 16 and 32 bits.
func.func @main() {
  %host32 = memref.alloc() : memref<3xf32>
  %host16 = memref.alloc() : memref<5xf16>
  %value32 = arith.constant 1.25 : f32
  %value16 = arith.constant -0.5 : f16
  %t0 = gpu.wait async
  %d32, %t1 = gpu.alloc async [%t0] () : memref<3xf32>
  %d16, %t2 = gpu.alloc async [%t1] () : memref<5xf16>
  %t3 = gpu.memset async [%t2] %d32, %value32 : memref<3xf32>, f32
  %t4 = gpu.memset async [%t3] %d16, %value16 : memref<5xf16>, f16
  %t5 = gpu.memcpy async [%t4] %host32, %d32 : memref<3xf32>, memref<3xf32>
  %t6 = gpu.memcpy async [%t5] %host16, %d16 : memref<5xf16>, memref<5xf16>
  gpu.wait [%t6]
  %u32 = memref.cast %host32 : memref<3xf32> to memref<*xf32>
  // CHECK: [1.25,  1.25,  1.25]
  call @printMemrefF32(%u32) : (memref<*xf32>) -> ()
  %u16 = memref.cast %host16 : memref<5xf16> to memref<*xf16>
  // CHECK: [-0.5,  -0.5,  -0.5,  -0.5,  -0.5]
  call @printMemrefF16(%u16) : (memref<*xf16>) -> ()
  return
}
func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefF16(memref<*xf16>) attributes {llvm.emit_c_interface}
