// Copies that are none of the pool's business.
// RUN: kvcache-opt %s \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   | FileCheck %s

func.func @update(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

// One that the program asks for.
// CHECK-LABEL: func.func @explicit(
// CHECK:         memref.copy
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @explicit(%pool: tensor<8xf32>, %v: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %copy = bufferization.alloc_tensor() copy(%pool) : tensor<8xf32>
  %new = call @update(%copy, %v, %i) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
  return %pool, %new : tensor<8xf32>, tensor<8xf32>
}

// Sums that start from the same zeros, one of which is then worked on in place.
// CHECK-LABEL: func.func @activations(
// CHECK:         memref.copy
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @activations(%a: tensor<8x8xf32>, %v: f32, %i: index) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %q = linalg.matmul ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %k = linalg.matmul ins(%a, %q : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %turned = kvcache.with_buffers writes(%q : tensor<8x8xf32>) {
  ^bb0(%b: memref<8x8xf32>):
    memref.store %v, %b[%i, %i] : memref<8x8xf32>
  }
  return %turned, %k : tensor<8x8xf32>, tensor<8x8xf32>
}

// An output, whose copy is updated later.
// CHECK-LABEL: func.func @output(
// CHECK:         memref.copy
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @output(%v: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %empty = tensor.empty() : tensor<8xf32>
  %out = kvcache.with_buffers writes(%empty : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  %other = tensor.insert %v into %out[%i] : tensor<8xf32>
  return %out, %other : tensor<8xf32>, tensor<8xf32>
}

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 8>

// A part of a pool.
// CHECK-LABEL: func.func @page(
// CHECK:         memref.copy %{{.*}} : memref<1x2x1x8x1x64xbf16, {{.*}}> to memref<1x2x1x8x1x64xbf16>
// CHECK-NOT:     memref.copy
// CHECK:         return
func.func @page(%pool: tensor<16x2x1x8x1x64xbf16>, %pages: tensor<4xi32>)
    -> (tensor<1x2x1x8x1x64xbf16>, tensor<16x2x1x8x1x64xbf16>) {
  %page = tensor.extract_slice %pool[0, 0, 0, 0, 0, 0] [1, 2, 1, 8, 1, 64] [1, 1, 1, 1, 1, 1]
      : tensor<16x2x1x8x1x64xbf16> to tensor<1x2x1x8x1x64xbf16>
  %old = bufferization.alloc_tensor() copy(%page) : tensor<1x2x1x8x1x64xbf16>
  %new = kvcache.with_buffers reads(%pages : tensor<4xi32>) writes(%pool : tensor<16x2x1x8x1x64xbf16>) {
  ^bb0(%p: memref<4xi32>, %b: memref<16x2x1x8x1x64xbf16>):
    %c = kvcache.get_page_pools blocks(%b : memref<16x2x1x8x1x64xbf16>) : !kvcache.collection<#kv>
    kvcache.clear_pages %c pages(%p : memref<4xi32>) : !kvcache.collection<#kv>
  }
  return %old, %new : tensor<1x2x1x8x1x64xbf16>, tensor<16x2x1x8x1x64xbf16>
}
