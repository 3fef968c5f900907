// RUN: kvcache-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'kvcache.with_buffers' op expected one or more 'writes'; memrefs need no operation around what only reads them}}
  "kvcache.with_buffers"(%x) <{operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%b: memref<8xf32>):
  }) : (tensor<8xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'kvcache.with_buffers' op expected a body with an argument for each of 1 tensors, got 2}}
  %y = kvcache.with_buffers writes(%x : tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
  }
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'kvcache.with_buffers' op expected argument #0 of the body to be a strided memref of the elements and the shape of 'tensor<8xf32>', got 'memref<?xf32>'}}
  %y = kvcache.with_buffers writes(%x : tensor<8xf32>) {
  ^bb0(%b: memref<?xf32>):
  }
  return
}

// -----

func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{'kvcache.with_buffers' op expected argument #0 of the body to be a strided memref of the elements and the shape of 'tensor<8xf32>', got 'memref<8xf32, affine_map<(d0) -> (d0 floordiv 2)>>'}}
  %y = kvcache.with_buffers writes(%x : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32, affine_map<(d0) -> (d0 floordiv 2)>>):
  }
  return
}
