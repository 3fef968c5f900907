// Loops that give a pool's place to another tensor.
// RUN: kvcache-opt %s --split-input-file --verify-diagnostics \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"

func.func @branches(%pool: tensor<8xf32>, %other: tensor<8xf32>, %v: f32, %i: index, %go: i1)
    -> (tensor<8xf32>, tensor<8xf32>) {
  cf.br ^loop(%pool, %other : tensor<8xf32>, tensor<8xf32>)
^loop(%a: tensor<8xf32>, %b: tensor<8xf32>):
  // expected-error @+1 {{operand #0 of type 'tensor<8xf32>' would be copied to be written; use the operation's result afterwards instead}}
  %new = kvcache.with_buffers writes(%a : tensor<8xf32>) {
  ^bb0(%m: memref<8xf32>):
    memref.store %v, %m[%i] : memref<8xf32>
  }
  // expected-note @+1 {{argument #1 of the block is used here, and would lie in the same buffer; pass each tensor on at the place that it came from}}
  cf.cond_br %go, ^loop(%b, %new : tensor<8xf32>, tensor<8xf32>), ^end
^end:
  // expected-note @+1 {{argument #1 of the block is used here, and would lie in the same buffer; pass each tensor on at the place that it came from}}
  return %new, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

func.func @old(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> tensor<8xf32> {
  %last = scf.for %j = %i to %n step %step iter_args(%a = %pool) -> (tensor<8xf32>) {
    // expected-note @+1 {{it is needed in place here}}
    %new = kvcache.with_buffers writes(%a : tensor<8xf32>) {
    ^bb0(%m: memref<8xf32>):
      memref.store %v, %m[%i] : memref<8xf32>
    }
    // expected-error @+2 {{'scf.yield' op operand #0 of type 'tensor<8xf32>' would be copied, but 'kvcache.with_buffers' needs it in place; yield each tensor at the place that it came from}}
    // expected-error @+1 {{Yield operand #0 is not equivalent to the corresponding iter bbArg}}
    scf.yield %pool : tensor<8xf32>
  }
  return %last : tensor<8xf32>
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
    // expected-error @+3 {{'scf.yield' op operand #0 of type 'tensor<8xf32>' would be copied}}
    // expected-error @+2 {{'scf.yield' op operand #1 of type 'tensor<8xf32>' would be copied}}
    // expected-error @+1 {{Yield operand #0 is not equivalent to the corresponding iter bbArg}}
    scf.yield %b, %new : tensor<8xf32>, tensor<8xf32>
  }
  return %last#0 : tensor<8xf32>
}

// -----

// A loop of a caller that is right is none of the callee's business.

func.func private @step(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%m: memref<8xf32>):
    memref.store %v, %m[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}
func.func @caller(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> tensor<8xf32> {
  %last = scf.for %j = %i to %n step %step iter_args(%a = %pool) -> (tensor<8xf32>) {
    %new = func.call @step(%a, %v, %j) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
    scf.yield %new : tensor<8xf32>
  }
  return %last : tensor<8xf32>
}
