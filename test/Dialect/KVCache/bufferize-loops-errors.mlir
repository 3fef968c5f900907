// Loops that would copy what they yield.
// RUN: kvcache-opt %s --split-input-file --verify-diagnostics \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops"

func.func @swapped(%pool: tensor<8xf32>, %other: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index)
    -> (tensor<8xf32>, tensor<8xf32>) {
  %last:2 = scf.for %j = %i to %n step %step iter_args(%a = %pool, %b = %other) -> (tensor<8xf32>, tensor<8xf32>) {
    // expected-note @+1 {{it is needed in place here}}
    %new = kvcache.with_buffers writes(%a : tensor<8xf32>) {
    ^bb0(%m: memref<8xf32>):
      memref.store %v, %m[%i] : memref<8xf32>
    }
    // expected-error @+2 {{'scf.yield' op operand #0 of type 'tensor<8xf32>' would be copied, but 'kvcache.with_buffers' needs it in place; yield each tensor at the place that it came from}}
    // expected-error @+1 {{'scf.yield' op operand #1 of type 'tensor<8xf32>' would be copied}}
    scf.yield %b, %new : tensor<8xf32>, tensor<8xf32>
  }
  return %last#0, %last#1 : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @while(%pool: tensor<8xf32>, %other: tensor<8xf32>, %v: f32, %i: index, %go: i1) -> tensor<8xf32> {
  %last:2 = scf.while (%a = %pool, %b = %other) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.condition(%go) %a, %b : tensor<8xf32>, tensor<8xf32>
  } do {
  ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>):
    // expected-note @+1 {{it is needed in place here}}
    %new = kvcache.with_buffers writes(%a : tensor<8xf32>) {
    ^bb0(%m: memref<8xf32>):
      memref.store %v, %m[%i] : memref<8xf32>
    }
    // expected-error @+2 {{'scf.yield' op operand #0 of type 'tensor<8xf32>' would be copied}}
    // expected-error @+1 {{'scf.yield' op operand #1 of type 'tensor<8xf32>' would be copied}}
    scf.yield %b, %new : tensor<8xf32>, tensor<8xf32>
  }
  return %last#0 : tensor<8xf32>
}
