// Device memory that the host may not touch, so that a program that only works
// on the simulator shows it.
// RUN: %lower_gpu_sync %s -o %t.mlir
// RUN: %run_gpu %t.mlir | FileCheck %s
// RUN: not env KVCACHE_SIM_HOST_ACCESS=deny %run_gpu %t.mlir 2>&1 | \
// RUN:   FileCheck %s --check-prefix=DENIED
// DENIED: kvcache: fatal: the host reads or writes device memory at 0x{{[0-9a-f]+}}, at byte 0 of 'allocation #1' (8 bytes at {{.*}}), which KVCACHE_SIM_HOST_ACCESS=deny forbids; copy it by gpu.memcpy, or allocate it as host_shared
// DENIED-NOT: {{.}}
// CHECK: done
func.func @main() {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %d = gpu.alloc () : memref<2xi32>
  memref.store %one, %d[%c0] : memref<2xi32>
  gpu.dealloc %d : memref<2xi32>
  vector.print str "done\n"
  return
}
