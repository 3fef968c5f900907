// RUN: kvcache-opt %s --kvcache-expand-kernel-memrefs -split-input-file | FileCheck %s

module attributes {gpu.container_module} {
  // What is static stays: it passes as a bare pointer.
  // CHECK-LABEL: func.func @static(
  // CHECK-SAME: %[[A:.*]]: memref<4x8xf32>, %[[B:.*]]: memref<4xf32, strided<[8], offset: 2>>, %[[C:.*]]: memref<f32>
  func.func @static(%a: memref<4x8xf32>, %b: memref<4xf32, strided<[8], offset: 2>>, %c: memref<f32>, %n: index) {
    // CHECK: gpu.launch_func @kernels::@static {{.*}} args(%[[A]] : memref<4x8xf32>, %[[B]] : memref<4xf32, strided<[8], offset: 2>>, %[[C]] : memref<f32>)
    gpu.launch_func @kernels::@static blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%a : memref<4x8xf32>, %b : memref<4xf32, strided<[8], offset: 2>>, %c : memref<f32>)
    return
  }

  // An identity layout passes its sizes; the strides follow from them. Two
  // launches of one kernel, one with a token.
  // CHECK-LABEL: func.func @sizes(
  // CHECK-SAME: %[[A:.*]]: memref<?x8x?xf16>,
  func.func @sizes(%a: memref<?x8x?xf16>, %n: index, %s: f32) {
    // CHECK: %[[BASE:.*]], %{{.*}}, %[[SIZES:.*]]:3, %{{.*}}:3 = memref.extract_strided_metadata %[[A]]
    // CHECK: gpu.launch_func @kernels::@sizes {{.*}} args(%[[BASE]] : memref<f16>, %[[SIZES]]#0 : index, %[[SIZES]]#2 : index, %{{.*}} : f32)
    gpu.launch_func @kernels::@sizes blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%a : memref<?x8x?xf16>, %s : f32)
    %t = gpu.wait async
    // CHECK: memref.extract_strided_metadata %[[A]]
    // CHECK: gpu.launch_func async [%{{.*}}] @kernels::@sizes {{.*}} args(%{{.*}} : memref<f16>, %{{.*}} : index, %{{.*}} : index, %{{.*}} : f32)
    %u = gpu.launch_func async [%t] @kernels::@sizes blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%a : memref<?x8x?xf16>, %s : f32)
    gpu.wait [%u]
    return
  }

  // A run-time offset is applied before the launch, in bytes.
  // CHECK-LABEL: func.func @offset(
  // CHECK-SAME: %[[A:.*]]: memref<?x4xf32, strided<[?, 1], offset: ?>>
  func.func @offset(%a: memref<?x4xf32, strided<[?, 1], offset: ?>>, %n: index) {
    // CHECK: %[[BASE:.*]], %[[OFFSET:.*]], %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[A]]
    // CHECK: %[[FOUR:.*]] = arith.constant 4 : index
    // CHECK: %[[BYTES:.*]] = arith.muli %[[OFFSET]], %[[FOUR]] : index
    // CHECK: %[[P:.*]] = kvcache.byte_view %[[BASE]][%[[BYTES]]] : memref<f32> to memref<f32>
    // CHECK: gpu.launch_func @kernels::@offset {{.*}} args(%[[P]] : memref<f32>, %[[SIZES]]#0 : index, %[[STRIDES]]#0 : index)
    gpu.launch_func @kernels::@offset blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%a : memref<?x4xf32, strided<[?, 1], offset: ?>>)
    return
  }

  gpu.module @kernels {
    // CHECK: gpu.func @static(%{{.*}}: memref<4x8xf32>, %{{.*}}: memref<4xf32, strided<[8], offset: 2>>, %{{.*}}: memref<f32>) kernel
    gpu.func @static(%a: memref<4x8xf32>, %b: memref<4xf32, strided<[8], offset: 2>>, %c: memref<f32>) kernel {
      gpu.return
    }

    // Attributes stay on the pointer, attributions behind all arguments.
    // CHECK: gpu.func @sizes(%[[P:[^:]*]]: memref<f16> {llvm.align = 16 : i64, llvm.noalias}, %[[M:[^:]*]]: index, %[[N:[^:]*]]: index, %[[S:[^:]*]]: f32 {llvm.noundef})
    // CHECK-SAME: workgroup(%[[W:.*]] : memref<32xf32, #gpu.address_space<workgroup>>)
    // CHECK-SAME: private(%[[L:.*]] : memref<1xf32, #gpu.address_space<private>>)
    gpu.func @sizes(%a: memref<?x8x?xf16> {llvm.align = 16 : i64, llvm.noalias}, %s: f32 {llvm.noundef})
        workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>>)
        private(%l: memref<1xf32, #gpu.address_space<private>>) kernel {
      // CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
      // CHECK: %[[OUTER:.*]] = arith.muli %[[N]], %[[EIGHT]] overflow<nsw> : index
      // CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[P]] to offset: [0], sizes: [%[[M]], 8, %[[N]]], strides: [%[[OUTER]], %[[N]], 1] : memref<f16> to memref<?x8x?xf16>
      %t = gpu.thread_id x
      // CHECK: memref.load %[[VIEW]]
      %x = memref.load %a[%t, %t, %t] : memref<?x8x?xf16>
      %y = arith.extf %x : f16 to f32
      %z = arith.mulf %y, %s : f32
      // CHECK: memref.store %{{.*}}, %[[W]]
      memref.store %z, %w[%t] : memref<32xf32, #gpu.address_space<workgroup>>
      %c0 = arith.constant 0 : index
      // CHECK: memref.store %{{.*}}, %[[L]]
      memref.store %z, %l[%c0] : memref<1xf32, #gpu.address_space<private>>
      gpu.return
    }

    // CHECK: gpu.func @offset(%[[P:.*]]: memref<f32>, %[[M:.*]]: index, %[[PITCH:.*]]: index) kernel
    gpu.func @offset(%a: memref<?x4xf32, strided<[?, 1], offset: ?>>) kernel {
      // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
      // CHECK: memref.reinterpret_cast %[[P]] to offset: [%[[ZERO]]], sizes: [%[[M]], 4], strides: [%[[PITCH]], 1] : memref<f32> to memref<?x4xf32, strided<[?, 1], offset: ?>>
      %t = gpu.thread_id x
      %x = memref.load %a[%t, %t] : memref<?x4xf32, strided<[?, 1], offset: ?>>
      gpu.printf "%f", %x : f32
      gpu.return
    }
  }
}

// -----

// A function that device code calls is treated like a kernel; a constant offset
// is part of the view. Host functions keep their memrefs.
// CHECK-LABEL: gpu.module @device
gpu.module @device {
  // CHECK: func.func @callee(%[[P:.*]]: memref<f32>, %[[S:.*]]: index) -> f32
  func.func @callee(%a: memref<4xf32, strided<[?], offset: 3>>) -> f32 {
    // CHECK: %[[V:.*]] = memref.reinterpret_cast %[[P]] to offset: [3], sizes: [4], strides: [%[[S]]] : memref<f32> to memref<4xf32, strided<[?], offset: 3>>
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<4xf32, strided<[?], offset: 3>>
    return %x : f32
  }
  // CHECK: gpu.func @caller(%[[P:.*]]: memref<f32>, %[[S:.*]]: index)
  gpu.func @caller(%a: memref<4xf32, strided<[?], offset: 3>>) kernel {
    // CHECK: %[[V:.*]] = memref.reinterpret_cast %[[P]]
    // CHECK: %[[BASE:.*]], %{{.*}}, %{{.*}}, %[[STRIDES:.*]] = memref.extract_strided_metadata %[[V]]
    // CHECK: func.call @callee(%[[BASE]], %[[STRIDES]]) : (memref<f32>, index) -> f32
    %x = func.call @callee(%a) : (memref<4xf32, strided<[?], offset: 3>>) -> f32
    gpu.printf "%f", %x : f32
    gpu.return
  }
}
// CHECK: func.func @host(%{{.*}}: memref<?xf32>)
func.func @host(%a: memref<?xf32>) {
  return
}
