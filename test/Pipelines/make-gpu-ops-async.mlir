// RUN: kvcache-opt %s --kvcache-make-gpu-ops-async | FileCheck %s

// CHECK-LABEL: func @sync
func.func @sync(%host: memref<4xi32>, %value: i32) {
  // CHECK:      %[[W0:.*]] = gpu.wait async
  // CHECK-NEXT: %[[M:.*]], %[[T0:.*]] = gpu.alloc async [%[[W0]]] () : memref<4xi32>
  // CHECK-NEXT: gpu.wait [%[[T0]]]
  %m = gpu.alloc () : memref<4xi32>
  // CHECK:      %[[W1:.*]] = gpu.wait async
  // CHECK-NEXT: %[[T1:.*]] = gpu.memcpy async [%[[W1]]] %[[M]], %{{.*}}
  // CHECK-NEXT: gpu.wait [%[[T1]]]
  gpu.memcpy %m, %host : memref<4xi32>, memref<4xi32>
  // CHECK: gpu.memset async [
  gpu.memset %m, %value : memref<4xi32>, i32
  // CHECK: gpu.dealloc async [
  gpu.dealloc %m : memref<4xi32>
  return
}

// What has a token, and host-shared memory, which never has one, stays.
// CHECK-LABEL: func @keep
func.func @keep(%token: !gpu.async.token) -> memref<4xi32> {
  // CHECK-NEXT: gpu.alloc host_shared () : memref<4xi32>
  %shared = gpu.alloc host_shared () : memref<4xi32>
  // CHECK-NEXT: gpu.alloc async [%{{.*}}] () : memref<4xi32>
  %m, %t = gpu.alloc async [%token] () : memref<4xi32>
  // CHECK-NEXT: gpu.wait [
  gpu.wait [%t]
  return %shared : memref<4xi32>
}
