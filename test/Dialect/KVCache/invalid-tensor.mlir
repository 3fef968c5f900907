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
