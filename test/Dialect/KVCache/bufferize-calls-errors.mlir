// Copies of pools at other operations than the one that works on them.
// RUN: kvcache-opt %s --split-input-file --verify-diagnostics \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map"

func.func @update(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

func.func @old_contents(%pool: tensor<8xf32>, %v: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<8xf32>' would be copied, but 'kvcache.with_buffers' needs it in place; use the operation's result afterwards instead}}
  %new = call @update(%pool, %v, %i) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
  // expected-note @+1 {{its old contents are used here}}
  return %pool, %new : tensor<8xf32>, tensor<8xf32>
}

// -----

// Callers may come first, be several calls away, and call in a loop.
func.func @loop(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> f32 {
  // expected-note @+1 {{each iteration of this loop starts from the old contents; pass the tensor as an iteration argument and yield the result}}
  %last = scf.for %j = %i to %n step %step iter_args(%unused = %v) -> f32 {
    // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<8xf32>' would be copied}}
    %new = func.call @middle(%pool, %v, %i) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
    %got = tensor.extract %new[%i] : tensor<8xf32>
    scf.yield %got : f32
  }
  return %last : f32
}

func.func @middle(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  %new = call @update(%pool, %v, %i) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
  return %new : tensor<8xf32>
}

func.func @update(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

// -----

// A caller's argument that may not be written.
// expected-note @+1 {{it comes from here and may not be written}}
func.func @not_writable(%pool: tensor<8xf32> {bufferization.writable = false}, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<8xf32>' would be copied}}
  %new = call @update(%pool, %v, %i) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
  return %new : tensor<8xf32>
}

func.func @update(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

// -----

// The pool of one function is what another returns.
func.func @same(%pool: tensor<8xf32>) -> tensor<8xf32> {
  return %pool : tensor<8xf32>
}

func.func @update(%pool: tensor<8xf32>, %v: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<8xf32>' would be copied}}
  %other = call @same(%pool) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%other : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  // expected-note @+1 {{its old contents are used here}}
  return %pool, %new : tensor<8xf32>, tensor<8xf32>
}

// -----

// Nothing is known of a declared function: the pool would be copied for it.
func.func private @unknown(tensor<8xf32>) -> tensor<8xf32>

func.func @external(%pool: tensor<8xf32>, %v: f32, %i: index) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<8xf32>' would be copied, but 'kvcache.with_buffers' needs it in place; use the call's result afterwards instead, or mark the argument of '@unknown' with 'bufferization.access = "read"' where it is only read}}
  %other = call @unknown(%pool) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-note @+2 {{its old contents are used here}}
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new, %other : tensor<8xf32>, tensor<8xf32>
}

// -----

// A pool is not copied afterwards either, nor where it is only read.
#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 8>
!pool = tensor<16x2x1x8x1x64xbf16>

func.func private @unknown(!pool)

func.func @afterwards(%pool: !pool, %pages: tensor<4xi32>) -> !pool {
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers reads(%pages : tensor<4xi32>) writes(%pool : !pool) {
  ^bb0(%p: memref<4xi32>, %b: memref<16x2x1x8x1x64xbf16>):
    %c = kvcache.get_page_pools blocks(%b : memref<16x2x1x8x1x64xbf16>) : !kvcache.collection<#kv>
    kvcache.clear_pages %c pages(%p : memref<4xi32>) : !kvcache.collection<#kv>
  }
  // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<16x2x1x8x1x64xbf16>' would be copied}}
  call @unknown(%new) : (!pool) -> ()
  // expected-note @+1 {{its old contents are used here}}
  return %new : !pool
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 8>
!pool = tensor<16x2x1x8x1x64xbf16>

// A callee, too, copies nothing.
func.func @set(%pool: !pool, %v: bf16, %i: index) -> (!pool, bf16) {
  // expected-error @+1 {{'tensor.insert' op operand #1 of type 'tensor<16x2x1x8x1x64xbf16>' would be copied}}
  %new = tensor.insert %v into %pool[%i, %i, %i, %i, %i, %i] : !pool
  // expected-note @+1 {{its old contents are used here}}
  %old = tensor.extract %pool[%i, %i, %i, %i, %i, %i] : !pool
  return %new, %old : !pool, bf16
}

func.func @read(%pool: !pool, %v: bf16, %i: index, %lengths: tensor<4xi32>, %table: tensor<4x4xi32>, %max: tensor<1xi32>)
    -> (tensor<4x32x1x64xbf16>, bf16) {
  %new, %old = call @set(%pool, %v, %i) : (!pool, bf16, index) -> (!pool, bf16)
  %empty = tensor.empty() : tensor<4x32x1x64xbf16>
  // expected-note @+1 {{it is needed in place here}}
  %out = kvcache.with_buffers reads(%new, %lengths, %table, %max : !pool, tensor<4xi32>, tensor<4x4xi32>, tensor<1xi32>)
      writes(%empty : tensor<4x32x1x64xbf16>) {
  ^bb0(%b: memref<16x2x1x8x1x64xbf16>, %l: memref<4xi32>, %t: memref<4x4xi32>, %m: memref<1xi32>, %o: memref<4x32x1x64xbf16>):
    %c = kvcache.get_paged_cache blocks(%b : memref<16x2x1x8x1x64xbf16>) lengths(%l : memref<4xi32>)
        table(%t : memref<4x4xi32>) max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
    kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%o : memref<4x32x1x64xbf16>)
  }
  return %out, %old : tensor<4x32x1x64xbf16>, bf16
}

// -----

// A slice that cannot be one of the tensor itself.
func.func @slice(%pool: tensor<64xf32>, %v: f32, %i: index) -> (tensor<8xf32>, tensor<64xf32>) {
  // expected-error @+1 {{'tensor.extract_slice' op operand #0 of type 'tensor<64xf32>' would be copied}}
  %part = tensor.extract_slice %pool[8] [8] [1] : tensor<64xf32> to tensor<8xf32>
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%part : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32, strided<[1], offset: ?>>):
    memref.store %v, %b[%i] : memref<8xf32, strided<[1], offset: ?>>
  }
  // expected-note @+1 {{its old contents are used here}}
  return %new, %pool : tensor<8xf32>, tensor<64xf32>
}

// -----

// Nor can the tensor that a slice is of be another one.
func.func @layer(%pool: tensor<64xf32>, %v: f32, %i: index) -> tensor<64xf32> {
  %part = tensor.extract_slice %pool[8] [8] [1] : tensor<64xf32> to tensor<8xf32>
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%part : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32, strided<[1], offset: ?>>):
    memref.store %v, %b[%i] : memref<8xf32, strided<[1], offset: ?>>
  }
  %all = tensor.insert_slice %new into %pool[8] [8] [1] : tensor<8xf32> into tensor<64xf32>
  return %all : tensor<64xf32>
}

func.func @old_contents(%pool: tensor<64xf32>, %v: f32, %i: index) -> (tensor<64xf32>, tensor<64xf32>) {
  // expected-error @+1 {{'func.call' op operand #0 of type 'tensor<64xf32>' would be copied}}
  %new = call @layer(%pool, %v, %i) : (tensor<64xf32>, f32, index) -> tensor<64xf32>
  // expected-note @+1 {{its old contents are used here}}
  return %pool, %new : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @parallel(%pool: tensor<64xf32>, %v: f32, %i: index) -> (tensor<64xf32>, tensor<64xf32>) {
  // expected-error @+1 {{'scf.forall' op operand #0 of type 'tensor<64xf32>' would be copied}}
  %new = scf.forall (%t) = (0) to (64) step (8) shared_outs(%all = %pool) -> tensor<64xf32> {
    %part = tensor.extract_slice %all[%t] [8] [1] : tensor<64xf32> to tensor<8xf32>
    // expected-note @+1 {{it is needed in place here}}
    %set = kvcache.with_buffers writes(%part : tensor<8xf32>) {
    ^bb0(%b: memref<8xf32, strided<[1], offset: ?>>):
      memref.store %v, %b[%i] : memref<8xf32, strided<[1], offset: ?>>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %set into %all[%t] [8] [1] : tensor<8xf32> into tensor<64xf32>
    }
  }
  // expected-note @+1 {{its old contents are used here}}
  return %new, %pool : tensor<64xf32>, tensor<64xf32>
}
