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

// -----

func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>, %v: f32, %i: index) {
  // expected-note @+1 {{the tensor is taken here}}
  %z = kvcache.with_buffers reads(%x : tensor<8xf32>) writes(%y : tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
    // expected-error @+1 {{'memref.store' op writes what 'kvcache.with_buffers' takes as operand #0 of 'reads'; name the tensor in 'writes'}}
    memref.store %v, %a[%i] : memref<8xf32>
  }
  return
}

// -----

// Through views, in a region of the body.
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>, %i: index) {
  // expected-note @+1 {{the tensor is taken here}}
  %z = kvcache.with_buffers reads(%x : tensor<8xf32>) writes(%y : tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
    scf.for %j = %i to %i step %i {
      %cast = memref.cast %a : memref<8xf32> to memref<?xf32>
      %part = memref.subview %cast[%j] [2] [1] : memref<?xf32> to memref<2xf32, strided<[1], offset: ?>>
      %from = memref.subview %b[%j] [2] [1] : memref<8xf32> to memref<2xf32, strided<[1], offset: ?>>
      // expected-error @+1 {{'memref.copy' op writes what 'kvcache.with_buffers' takes as operand #0 of 'reads'}}
      memref.copy %from, %part : memref<2xf32, strided<[1], offset: ?>> to memref<2xf32, strided<[1], offset: ?>>
    }
  }
  return
}

// -----

// Carried by a loop, chosen by a condition.
func.func @f(%x: tensor<8xf32>, %y: tensor<8xf32>, %v: f32, %i: index, %c: i1) {
  // expected-note @+1 {{the tensor is taken here}}
  %z = kvcache.with_buffers reads(%x : tensor<8xf32>) writes(%y : tensor<8xf32>) {
  ^bb0(%a: memref<8xf32>, %b: memref<8xf32>):
    %last = scf.for %j = %i to %i step %i iter_args(%p = %b) -> (memref<8xf32>) {
      %next = scf.if %c -> memref<8xf32> {
        scf.yield %a : memref<8xf32>
      } else {
        scf.yield %p : memref<8xf32>
      }
      scf.yield %next : memref<8xf32>
    }
    // expected-error @+1 {{'memref.store' op writes what 'kvcache.with_buffers' takes as operand #0 of 'reads'}}
    memref.store %v, %last[%i] : memref<8xf32>
  }
  return
}

// -----

// A pool that a cache stands for.
#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 8>
func.func @f(%pool: tensor<?x2x?x8x1x64xbf16>, %rows: tensor<?x1x64xbf16>, %ints: tensor<?xi32>, %table: tensor<?x?xi32>, %max: tensor<1xi32>,
             %y: tensor<8xf32>, %i: index) {
  // expected-note @+1 {{the tensor is taken here}}
  %z = kvcache.with_buffers reads(%rows, %pool, %ints, %table, %max : tensor<?x1x64xbf16>, tensor<?x2x?x8x1x64xbf16>, tensor<?xi32>, tensor<?x?xi32>, tensor<1xi32>)
      writes(%y : tensor<8xf32>) {
  ^bb0(%x: memref<?x1x64xbf16>, %b: memref<?x2x?x8x1x64xbf16>, %l: memref<?xi32>, %t: memref<?x?xi32>, %m: memref<1xi32>, %o: memref<8xf32>):
    %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x8x1x64xbf16>) lengths(%l : memref<?xi32>) table(%t : memref<?x?xi32>)
        max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
    // expected-error @+1 {{'kvcache.append' op writes what 'kvcache.with_buffers' takes as operand #1 of 'reads'}}
    kvcache.append sources(%x : memref<?x1x64xbf16>) into(%k : !kvcache.cache<key, #kv>) ragged(%l : memref<?xi32>)
  }
  return
}

// -----

// The output of a kernel.
#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 8>
func.func @f(%pool: tensor<?x2x?x8x1x64xbf16>, %out: tensor<4x32x1x64xbf16>, %ints: tensor<?xi32>, %table: tensor<?x?xi32>, %max: tensor<1xi32>, %i: index) {
  // expected-note @+1 {{the tensor is taken here}}
  %z = kvcache.with_buffers reads(%out, %ints, %table, %max : tensor<4x32x1x64xbf16>, tensor<?xi32>, tensor<?x?xi32>, tensor<1xi32>)
      writes(%pool : tensor<?x2x?x8x1x64xbf16>) {
  ^bb0(%o: memref<4x32x1x64xbf16>, %l: memref<?xi32>, %t: memref<?x?xi32>, %m: memref<1xi32>, %b: memref<?x2x?x8x1x64xbf16>):
    %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x8x1x64xbf16>) lengths(%l : memref<?xi32>) table(%t : memref<?x?xi32>)
        max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
    // expected-error @+1 {{'kvcache.gather' op writes what 'kvcache.with_buffers' takes as operand #0 of 'reads'}}
    kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%o : memref<4x32x1x64xbf16>)
  }
  return
}

// -----

// Scales that are in a pool of their own are no values.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 64>, page_size = 8, scales = <f32, granularity = 64>>
func.func @f(%pool: tensor<?x2x?x8x1x64xf8E4M3FN>, %scales: tensor<?x2x?x8x1x1xf32>, %rows: tensor<?x1x1xf32>, %ints: tensor<?xi32>,
             %table: tensor<?x?xi32>, %max: tensor<1xi32>, %i: index) -> tensor<?x2x?x8x1x1xf32> {
  %z = kvcache.with_buffers reads(%rows, %pool, %ints, %table, %max : tensor<?x1x1xf32>, tensor<?x2x?x8x1x64xf8E4M3FN>, tensor<?xi32>, tensor<?x?xi32>, tensor<1xi32>)
      writes(%scales : tensor<?x2x?x8x1x1xf32>) {
  ^bb0(%x: memref<?x1x1xf32>, %b: memref<?x2x?x8x1x64xf8E4M3FN>, %l: memref<?xi32>, %t: memref<?x?xi32>, %m: memref<1xi32>, %s: memref<?x2x?x8x1x1xf32>):
    %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x8x1x64xf8E4M3FN>) lengths(%l : memref<?xi32>) table(%t : memref<?x?xi32>)
        max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) scales(%s : memref<?x2x?x8x1x1xf32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
    kvcache.append_scales scales(%x : memref<?x1x1xf32>) into(%k : !kvcache.cache<key, #kv>) ragged(%l : memref<?xi32>)
  }
  return %z : tensor<?x2x?x8x1x1xf32>
}

// -----

// A loop of branches that comes back to what was there before it.
func.func @again(%pool: tensor<8xf32>, %v: f32, %i: index, %c: i1) -> tensor<8xf32> {
  cf.br ^turn
^turn:
  // expected-error @+1 {{'kvcache.with_buffers' op operand #0 of type 'tensor<8xf32>' would be updated once more in each turn of a loop of branches; pass the operation's result on as an argument of the loop's block}}
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  cf.cond_br %c, ^turn, ^done
^done:
  return %new : tensor<8xf32>
}

// -----

// In place: each turn goes on from the one before.
func.func @carried(%pool: tensor<8xf32>, %v: f32, %i: index, %c: i1) -> tensor<8xf32> {
  cf.br ^turn(%pool : tensor<8xf32>)
^turn(%x: tensor<8xf32>):
  %new = kvcache.with_buffers writes(%x : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  cf.cond_br %c, ^turn(%new : tensor<8xf32>), ^done
^done:
  return %new : tensor<8xf32>
}

// -----

// The body of a loop reads what is there before it.
#kv = #kvcache.layout<bf16, params = <num_heads = 1, head_size = 64>, page_size = 8>
!Pool = tensor<?x2x?x8x1x64xbf16>
func.func @inside(%pool: !Pool, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %x: bf16, %i: index) -> !Pool {
  // expected-error @+1 {{operand #0 of type 'tensor<?x2x?x8x1x64xbf16>' would be copied, but 'kvcache.with_buffers' needs it in place}}
  %all = scf.forall (%j) in (2) shared_outs(%o = %pool) -> !Pool {
    %part = tensor.extract_slice %pool[0, 0, 0, 0, 0, 0] [1, 1, 1, 8, 1, 64] [1, 1, 1, 1, 1, 1] : !Pool to tensor<1x1x1x8x1x64xbf16>
    scf.forall.in_parallel {
      // expected-note @+1 {{its old contents are used here}}
      tensor.parallel_insert_slice %part into %o[%j, 0, 0, 0, 0, 0] [1, 1, 1, 8, 1, 64] [1, 1, 1, 1, 1, 1] : tensor<1x1x1x8x1x64xbf16> into !Pool
    }
  }
  // expected-note @+1 {{it is needed in place here}}
  %new = kvcache.with_buffers writes(%all : !Pool) {
  ^bb0(%b: memref<?x2x?x8x1x64xbf16>):
    %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x8x1x64xbf16>) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
        max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%i] : !kvcache.collection<#kv>
    kvcache.store %x, %k[%i, %i, %i, %i] : bf16, !kvcache.cache<key, #kv>
  }
  return %new : !Pool
}
