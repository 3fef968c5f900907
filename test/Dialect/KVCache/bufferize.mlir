// Pools are updated where they lie: no allocation, no copy.
// RUN: kvcache-opt %s --split-input-file \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   | FileCheck %s --implicit-check-not=memref.copy --implicit-check-not=kvcache.with_buffers

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// CHECK-LABEL: func.func @append(
// CHECK-SAME:    %[[POOL:[a-z0-9]+]]: memref<?x2x?x16x8x128xbf16>, %[[X:[a-z0-9]+]]: memref<?x8x128xbf16>, %[[OFFSETS:[a-z0-9]+]]: memref<?xi32>
// CHECK-SAME:    %[[LENGTHS:[a-z0-9]+]]: memref<?xi32>, %[[TABLE:[a-z0-9]+]]: memref<?x?xi32>
// CHECK-NOT:     memref.alloc
// CHECK:         %[[C:.*]] = kvcache.get_paged_cache blocks(%[[POOL]] : memref<?x2x?x16x8x128xbf16>) lengths(%[[LENGTHS]] :
// CHECK-SAME:      table(%[[TABLE]] :
// CHECK:         %[[K:.*]] = kvcache.get_key_cache %[[C]]
// CHECK:         kvcache.append sources(%[[X]] : memref<?x8x128xbf16>) into(%[[K]] : {{.*}}) ragged(%[[OFFSETS]] : memref<?xi32>)
// CHECK:         return %[[POOL]] : memref<?x2x?x16x8x128xbf16>
func.func @append(%pool: tensor<?x2x?x16x8x128xbf16>, %x: tensor<?x8x128xbf16>, %offsets: tensor<?xi32>,
                  %lengths: tensor<?xi32>, %table: tensor<?x?xi32>, %max: tensor<1xi32>,
                  %layer: index) -> tensor<?x2x?x16x8x128xbf16> {
  %pool1 = kvcache.with_buffers
      reads(%x, %offsets, %lengths, %table, %max : tensor<?x8x128xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>, tensor<1xi32>)
      writes(%pool : tensor<?x2x?x16x8x128xbf16>) {
  ^bb0(%rows: memref<?x8x128xbf16>, %o: memref<?xi32>, %l: memref<?xi32>, %t: memref<?x?xi32>, %m: memref<1xi32>,
       %b: memref<?x2x?x16x8x128xbf16>):
    %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x16x8x128xbf16>)
        lengths(%l : memref<?xi32>) table(%t : memref<?x?xi32>)
        max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
    kvcache.append sources(%rows : memref<?x8x128xbf16>)
        into(%k : !kvcache.cache<key, #kv>) ragged(%o : memref<?xi32>)
  }
  return %pool1 : tensor<?x2x?x16x8x128xbf16>
}

// -----

// A pool that a loop carries, and an output that nothing was in before.
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// CHECK-LABEL: func.func @layers(
// CHECK-SAME:    %[[POOL:[a-z0-9]+]]: memref<?x2x?x16x8x128xbf16>
// CHECK-NOT:     memref.alloc
// CHECK:         %[[AFTER:.*]] = scf.for {{.*}} iter_args(%[[CARRIED:.*]] = %[[POOL]])
// CHECK:           get_page_pools blocks(%[[CARRIED]]
// CHECK:           kvcache.clear_pages
// CHECK:           scf.yield %[[CARRIED]]
// CHECK:         %[[OUT:.*]] = memref.alloc
// CHECK-NOT:     memref.alloc
// CHECK:         kvcache.get_paged_cache blocks(%[[AFTER]]
// CHECK:         kvcache.gather from({{.*}}) into(%[[OUT]] :
// CHECK:         return %[[AFTER]], %[[OUT]]
func.func @layers(%pool: tensor<?x2x?x16x8x128xbf16>, %free: tensor<?xi32>, %lengths: tensor<?xi32>,
                  %table: tensor<?x?xi32>, %max: tensor<1xi32>, %times: index, %layer: index)
    -> (tensor<?x2x?x16x8x128xbf16>, tensor<4x64x8x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cleared = scf.for %i = %c0 to %times step %c1 iter_args(%p = %pool) -> tensor<?x2x?x16x8x128xbf16> {
    %next = kvcache.with_buffers reads(%free : tensor<?xi32>) writes(%p : tensor<?x2x?x16x8x128xbf16>) {
    ^bb0(%f: memref<?xi32>, %b: memref<?x2x?x16x8x128xbf16>):
      %c = kvcache.get_page_pools blocks(%b : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#kv>
      kvcache.clear_pages skip %c pages(%f : memref<?xi32>) : !kvcache.collection<#kv>
    }
    scf.yield %next : tensor<?x2x?x16x8x128xbf16>
  }
  %empty = tensor.empty() : tensor<4x64x8x128xf32>
  %out = kvcache.with_buffers
      reads(%cleared, %lengths, %table, %max : tensor<?x2x?x16x8x128xbf16>, tensor<?xi32>, tensor<?x?xi32>, tensor<1xi32>)
      writes(%empty : tensor<4x64x8x128xf32>) {
  ^bb0(%b: memref<?x2x?x16x8x128xbf16>, %l: memref<?xi32>, %t: memref<?x?xi32>, %m: memref<1xi32>,
       %o: memref<4x64x8x128xf32>):
    %c = kvcache.get_paged_cache blocks(%b : memref<?x2x?x16x8x128xbf16>)
        lengths(%l : memref<?xi32>) table(%t : memref<?x?xi32>)
        max_prompt(%m : memref<1xi32>) max_cache(%m : memref<1xi32>) : !kvcache.collection<#kv>
    %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
    kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%o : memref<4x64x8x128xf32>)
  }
  return %cleared, %out : tensor<?x2x?x16x8x128xbf16>, tensor<4x64x8x128xf32>
}

// -----

// A strided memref in the body takes any buffer.
// CHECK-LABEL: func.func @strided(
// CHECK:         %[[VIEW:.*]] = memref.cast %{{.*}} : memref<8xf32> to memref<8xf32, strided<[?], offset: ?>>
// CHECK:         memref.store %{{.*}}, %[[VIEW]]
func.func @strided(%x: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  %y = kvcache.with_buffers writes(%x : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32, strided<[?], offset: ?>>):
    memref.store %v, %b[%i] : memref<8xf32, strided<[?], offset: ?>>
  }
  return %y : tensor<8xf32>
}

// -----

// Calls in a row and in a loop, each on the result of the last; a function that
// is said to read alone.
// CHECK-LABEL: func.func @calls(
// CHECK-SAME:    %[[POOL:[a-z0-9]+]]: memref<8xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         call @update(%[[POOL]]
// CHECK:         call @look(
func.func @update(%pool: tensor<8xf32>, %v: f32, %i: index) -> tensor<8xf32> {
  %new = kvcache.with_buffers writes(%pool : tensor<8xf32>) {
  ^bb0(%b: memref<8xf32>):
    memref.store %v, %b[%i] : memref<8xf32>
  }
  return %new : tensor<8xf32>
}

func.func private @look(tensor<8xf32> {bufferization.access = "read"})

func.func @calls(%pool: tensor<8xf32>, %v: f32, %i: index, %n: index, %step: index) -> tensor<8xf32> {
  %first = call @update(%pool, %v, %i) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
  call @look(%first) : (tensor<8xf32>) -> ()
  %last = scf.for %j = %i to %n step %step iter_args(%p = %first) -> tensor<8xf32> {
    %new = func.call @update(%p, %v, %j) : (tensor<8xf32>, f32, index) -> tensor<8xf32>
    scf.yield %new : tensor<8xf32>
  }
  return %last : tensor<8xf32>
}
