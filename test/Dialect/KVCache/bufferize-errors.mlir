// RUN: kvcache-opt %s --split-input-file --verify-diagnostics \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"

func.func @old_contents(%pool: tensor<8xf32>, %v: f32, %i: index) -> (tensor<8xf32>, f32) {
  // expected-error @+1 {{'kvcache.with_buffers' op operand #0 of type 'tensor<8xf32>' would be copied to be written; use the operation's result afterwards instead}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  // expected-note @+1 {{its old contents are used here}}
  %old = tensor.extract %pool[%i] : tensor<8xf32>
  return %new, %old : tensor<8xf32>, f32
}

// -----

func.func @twice(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-error @+3 {{operand #0 of type 'tensor<8xf32>' would be copied to be written}}
  // expected-error @+2 {{operand #1 of type 'tensor<8xf32>' would be copied to be written}}
  // expected-note @+1 {{the same operation uses it once more}}
  %new, %same = kvcache.with_buffers writes(%pool, %pool : tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

// -----

// expected-note @+1 {{it comes from here and may not be written; a function's argument may be where it is marked 'bufferization.writable = true'}}
func.func @not_writable(%pool: tensor<8xf32> {bufferization.writable = false}, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-error @+1 {{operand #0 of type 'tensor<8xf32>' would be copied to be written}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

// -----

func.func @other_layout(%x: tensor<64xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  %part = tensor.extract_slice %x[%i] [8] [2] : tensor<64xf32> to tensor<8xf32>
  // expected-error @+2 {{failed to bufferize op}}
  // expected-error @+1 {{operand #0 lies in a buffer of type 'memref<8xf32, strided<[2], offset: ?>>', but the body takes 'memref<8xf32>'; give functions identity layouts (function-boundary-type-conversion=identity-layout-map), or let the body take a strided memref}}
  %new = kvcache.with_buffers writes(%part : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}
