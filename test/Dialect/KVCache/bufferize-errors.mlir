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

// -----

// In a loop the second iteration needs what the first overwrote.
func.func @outer_tensor(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> f32 {
  // expected-note @+1 {{each iteration of this loop starts from the old contents; pass the tensor as an iteration argument and yield the result}}
  %last = scf.for %j = %i to %n step %step iter_args(%unused = %v) -> f32 {
    // expected-error @+1 {{operand #0 of type 'tensor<8xf32>' would be copied to be written}}
    %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
    ^bb0(%b: memref<8xf32>):
      memref.store %v, %b[%i] : memref<8xf32>
    }
    %got = tensor.extract %new[%i] : tensor<8xf32>
    scf.yield %got : f32
  }
  return %last : f32
}

// -----

// What is read before in the loop is read again after.
func.func @read_before_in_loop(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> f32 {
  // expected-note @+1 {{each iteration of this loop starts from the old contents}}
  %sum = scf.for %j = %i to %n step %step iter_args(%s = %v) -> f32 {
    // expected-note @+1 {{its old contents are used here}}
    %old = tensor.extract %pool[%i] : tensor<8xf32>
    // expected-error @+1 {{operand #0 of type 'tensor<8xf32>' would be copied to be written}}
    %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
    ^bb0(%b: memref<8xf32>):
      memref.store %v, %b[%i] : memref<8xf32>
    }
    %got = tensor.extract %new[%i] : tensor<8xf32>
    %t = arith.addf %got, %old : f32
    scf.yield %t : f32
  }
  return %sum : f32
}

// -----

// A use that has passed forces nothing, and is not named.
func.func @passed(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> (f32, tensor<8xf32>, f32) {
  %sum = scf.for %j = %i to %n step %step iter_args(%s = %v) -> f32 {
    %early = tensor.extract %pool[%j] : tensor<8xf32>
    scf.yield %early : f32
  }
  // expected-error @+1 {{operand #0 of type 'tensor<8xf32>' would be copied to be written}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  // expected-note @+1 {{its old contents are used here}}
  %late = tensor.extract %pool[%i] : tensor<8xf32>
  return %sum, %new, %late : f32, tensor<8xf32>, f32
}
