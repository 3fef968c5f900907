// RUN: kvcache-opt %s --convert-kvcache-to-memref --canonicalize --cse | FileCheck %s

#gqa = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#g12 = #kvcache.layout<i8, params = <num_heads = 1, head_size = 40>, page_size = 3, scales = <bf16, granularity = 12>>
#f4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 4, scales = <f8E4M3FN, granularity = 16>>
#bf16 = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// Table arithmetic and in-page arithmetic are 32-bit and unsigned, the page is
// 64-bit. Powers of two are shifts.

// CHECK-LABEL: func.func @scale(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<f8E4M3FN>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: i32,
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: memref<f32>, %[[PITCH:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %[[TABLE:[a-z0-9]+]]: memref<i32>, %[[STRIDE:[a-z0-9]+]]: i32,
// CHECK-SAME: %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: memref<i32>,
// CHECK-SAME: %[[B:[a-z0-9]+]]: index, %[[T:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index)
func.func @scale(%k: !kvcache.cache<key, #gqa>, %b: index, %t: index, %h: index, %d: index) -> f32 {
  // CHECK-DAG: %[[T32:.*]] = arith.index_castui %[[T]] : index to i32
  // CHECK-DAG: %[[B32:.*]] = arith.index_castui %[[B]] : index to i32
  // CHECK: %[[PAGE:.*]] = arith.shrui %[[T32]], %c4_i32 : i32
  // CHECK: %[[ROW:.*]] = arith.muli %[[B32]], %[[STRIDE]] : i32
  // CHECK: %[[PLACE:.*]] = arith.addi %[[ROW]], %[[PAGE]] : i32
  // CHECK: %[[BLOCK:.*]] = kvcache.table_read %[[TABLE]][%[[PLACE]]] : memref<i32> -> i32
  // CHECK: %[[SLOT:.*]] = arith.andi %[[T32]], %c15_i32 : i32
  // CHECK: %[[WIDE:.*]] = arith.index_castui %[[BLOCK]] : i32 to index
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[WIDE]], %[[PITCH]] : index
  // CHECK: %[[VIEW:.*]] = kvcache.byte_view %[[SCALES]][%[[OFFSET]]] : memref<f32> to memref<512xf32>
  // CHECK: %[[ROWS:.*]] = arith.muli %[[SLOT]], %c32_i32 : i32
  // CHECK: %[[H32:.*]] = arith.index_castui %[[H]] : index to i32
  // CHECK: %[[HEADS:.*]] = arith.muli %[[H32]], %c4_i32 : i32
  // CHECK: %[[SUM:.*]] = arith.addi %[[ROWS]], %[[HEADS]] : i32
  // CHECK: %[[D32:.*]] = arith.index_castui %[[D]] : index to i32
  // CHECK: %[[G:.*]] = arith.shrui %[[D32]], %c5_i32 : i32
  // CHECK: %[[ALL:.*]] = arith.addi %[[SUM]], %[[G]] : i32
  // CHECK: %[[INDEX:.*]] = arith.index_castui %[[ALL]] : i32 to index
  // CHECK: %[[SCALE:.*]] = memref.load %[[VIEW]][%[[INDEX]]] : memref<512xf32>
  // CHECK: return %[[SCALE]] : f32
  %s = kvcache.load_scale %k[%b, %t, %h, %d] : !kvcache.cache<key, #gqa> -> f32
  return %s : f32
}

// With one table a value and its scale share the read, across a store too; with
// two they do not.

// CHECK-LABEL: func.func @shared_table(
// CHECK-COUNT-1: kvcache.table_read
// CHECK-NOT: kvcache.table_read
// CHECK: return
func.func @shared_table(%k: !kvcache.cache<key, #g12>, %v: !kvcache.cache<value, #g12>, %t: index, %code: i8) -> f32 {
  %c0 = arith.constant 0 : index
  kvcache.store %code, %k[%c0, %t, %c0, %c0] : i8, !kvcache.cache<key, #g12>
  %s = kvcache.load_scale %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #g12> -> f32
  %x = kvcache.load %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #g12> -> f32
  %y = arith.addf %x, %s : f32
  return %y : f32
}

// CHECK-LABEL: func.func @own_table(
// CHECK-COUNT-2: kvcache.table_read
// CHECK-NOT: kvcache.table_read
// CHECK: return
func.func @own_table(%k: !kvcache.cache<key, #gqa>, %t: index) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %x = kvcache.load %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #gqa> -> vector<8xf32>
  return %x : vector<8xf32>
}

// A page size that is no power of two is divided by.

// CHECK-LABEL: func.func @odd_page(
// CHECK: arith.divui %{{.*}}, %c3_i32 : i32
// CHECK: arith.remui %{{.*}}, %c3_i32 : i32
func.func @odd_page(%k: !kvcache.cache<key, #g12>, %t: index) -> i8 {
  %c0 = arith.constant 0 : index
  %x = kvcache.load_quantized %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #g12> -> i8
  return %x : i8
}

// Lanes 8 to 15 of granules of 12 use two scales: one for four lanes, one for
// the other four. The product is f32 and rounded once.

// CHECK-LABEL: func.func @straddles(
// CHECK: vector.load {{.*}} {alignment = 8 : i64} : memref<120xi8>, vector<8xi8>
// CHECK: arith.sitofp %{{.*}} : vector<8xi8> to vector<8xf32>
// CHECK-COUNT-2: memref.load %{{.*}} : memref<12xbf16>
// CHECK-NOT: memref.load
// CHECK: %[[PRODUCT:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<8xf32>
// CHECK: arith.truncf %[[PRODUCT]] : vector<8xf32> to vector<8xbf16>
func.func @straddles(%k: !kvcache.cache<key, #g12>, %t: index) -> vector<8xbf16> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %x = kvcache.load %k[%c0, %t, %c0, %c8] : !kvcache.cache<key, #g12> -> vector<8xbf16>
  return %x : vector<8xbf16>
}

// Where nothing is known of the element every lane looks up its own scale; where
// it is a multiple of the granule they share one.

// CHECK-LABEL: func.func @unknown_element(
// CHECK: vector.load {{.*}} {alignment = 1 : i64} : memref<16384xf8E4M3FN>, vector<4xf8E4M3FN>
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
func.func @unknown_element(%k: !kvcache.cache<key, #gqa>, %t: index, %d: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %x = kvcache.load %k[%c0, %t, %c0, %d] : !kvcache.cache<key, #gqa> -> vector<4xf32>
  return %x : vector<4xf32>
}

// CHECK-LABEL: func.func @known_multiple(
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<16384xf8E4M3FN>, vector<16xf8E4M3FN>
// CHECK-COUNT-1: memref.load
// CHECK-NOT: memref.load
// CHECK: vector.broadcast
func.func @known_multiple(%k: !kvcache.cache<key, #gqa>, %t: index, %i: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %d = arith.muli %i, %c16 : index
  %x = kvcache.load %k[%c0, %t, %c0, %d] : !kvcache.cache<key, #gqa> -> vector<16xf32>
  return %x : vector<16xf32>
}

// A promise about the address is kept.

// CHECK-LABEL: func.func @promised(
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<16384xf8E4M3FN>, vector<16xf8E4M3FN>
func.func @promised(%k: !kvcache.cache<key, #gqa>, %t: index, %d: index) -> vector<16xf8E4M3FN> {
  %c0 = arith.constant 0 : index
  %x = kvcache.load_quantized %k[%c0, %t, %c0, %d] {alignment = 16 : i64} : !kvcache.cache<key, #gqa> -> vector<16xf8E4M3FN>
  return %x : vector<16xf8E4M3FN>
}

// f4: two elements a byte, the even one in the low nibble.

// CHECK-LABEL: func.func @packed(
// CHECK: %[[BYTES:.*]] = vector.load {{.*}} {alignment = 4 : i64} : memref<256xi8>, vector<4xi8>
// CHECK: %[[CODES:.*]] = vector.bitcast %[[BYTES]] : vector<4xi8> to vector<8xf4E2M1FN>
// CHECK: arith.extf %[[CODES]] : vector<8xf4E2M1FN> to vector<8xf32>
func.func @packed(%k: !kvcache.cache<key, #f4>, %t: index, %h: index) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %x = kvcache.load %k[%c0, %t, %h, %c8] : !kvcache.cache<key, #f4> -> vector<8xf32>
  return %x : vector<8xf32>
}

// CHECK-LABEL: func.func @packed_lane(
// CHECK-SAME: %[[D:[a-z0-9]*]]: index)
// CHECK: memref.load %{{.*}} : memref<256xi8>
// CHECK: arith.shrui %{{.*}}, %{{.*}} : i8
// CHECK: arith.trunci %{{.*}} : i8 to i4
func.func @packed_lane(%k: !kvcache.cache<key, #f4>, %t: index, %d: index) -> f32 {
  %c0 = arith.constant 0 : index
  %x = kvcache.load %k[%c0, %t, %c0, %d] : !kvcache.cache<key, #f4> -> f32
  return %x : f32
}

// Without scales a load converts, and so does a store.

// CHECK-LABEL: func.func @converts(
// CHECK: %[[X:.*]] = memref.load %{{.*}} : memref<16384xbf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK: arith.truncf %[[WIDE]] : f32 to f16
// CHECK: %[[CODE:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK: memref.store %[[CODE]], %{{.*}} : memref<16384xbf16>
func.func @converts(%k: !kvcache.cache<key, #bf16>, %t: index, %y: f32) -> f16 {
  %c0 = arith.constant 0 : index
  %x = kvcache.load %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #bf16> -> f16
  kvcache.store %y, %k[%c0, %t, %c0, %c0] : f32, !kvcache.cache<key, #bf16>
  return %x : f16
}

// skip: the table is read only where it has the entry, the pool only where it has
// the block; the block is checked against the pool that is addressed.

// CHECK-LABEL: func.func @skip(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<f8E4M3FN>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: i32,
// CHECK-SAME: %{{[a-z0-9]+}}: memref<f32>, %{{[a-z0-9]+}}: index, %[[BLOCKS:[a-z0-9]+]]: index, %[[TABLE:[a-z0-9]+]]: memref<i32>, %{{[a-z0-9]+}}: i32,
// CHECK-SAME: %{{[a-z0-9]+}}: memref<i32>, %[[BATCH:[a-z0-9]+]]: index, %[[COLUMNS:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: memref<i32>,
// CHECK-SAME: %[[B:[a-z0-9]+]]: index, %[[T:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[D:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: f32)
func.func @skip(%k: !kvcache.cache<key, #gqa>, %b: index, %t: index, %h: index, %d: index, %s: f32) -> f32 {
  // CHECK-DAG: arith.cmpi ult, %[[H]], %c8 : index
  // CHECK-DAG: arith.cmpi ult, %[[D]], %c128 : index
  // CHECK-DAG: arith.cmpi ult, %[[B]], %[[BATCH]] : index
  // CHECK-DAG: %[[PAGE:.*]] = arith.shrui %[[T]], %c4 : index
  // CHECK-DAG: arith.cmpi ult, %[[PAGE]], %[[COLUMNS]] : index
  // CHECK: scf.if %{{.*}} {
  // CHECK:   %[[BLOCK:.*]] = kvcache.table_read %[[TABLE]]
  // CHECK:   %[[WIDE:.*]] = arith.index_castui %[[BLOCK]]
  // CHECK:   %[[IN:.*]] = arith.cmpi ult, %[[WIDE]], %[[BLOCKS]] : index
  // CHECK:   scf.if %[[IN]] {
  // CHECK:     memref.store
  kvcache.store_scale skip %s, %k[%b, %t, %h, %d] : f32, !kvcache.cache<key, #gqa>
  // CHECK: scf.if %{{.*}} -> (f32) {
  // CHECK:   scf.if %{{.*}} -> (f32) {
  // CHECK:     memref.load
  // CHECK:   } else {
  // CHECK:     scf.yield %cst : f32
  // CHECK: } else {
  // CHECK:   scf.yield %cst : f32
  %r = kvcache.load_scale skip %k[%b, %t, %h, %d] : !kvcache.cache<key, #gqa> -> f32
  return %r : f32
}

// CHECK-LABEL: func.func @trap(
// CHECK: scf.if %{{.*}} {
// CHECK: llvm.call @dprintf
// CHECK-NEXT: llvm.intr.trap
// CHECK: kvcache.table_read
// CHECK: scf.if %{{.*}} {
// CHECK: llvm.call @dprintf
// CHECK-NEXT: llvm.intr.trap
// CHECK: memref.load
func.func @trap(%k: !kvcache.cache<key, #gqa>, %b: index, %t: index, %h: index, %d: index) -> f32 {
  %r = kvcache.load_scale trap %k[%b, %t, %h, %d] : !kvcache.cache<key, #gqa> -> f32
  return %r : f32
}

// Several scales from the one that covers an element on.

// CHECK-LABEL: func.func @slots(
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<512xf32>, vector<4xf32>
func.func @slots(%k: !kvcache.cache<key, #gqa>, %t: index, %h: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %s = kvcache.load_scale %k[%c0, %t, %h, %c0] : !kvcache.cache<key, #gqa> -> vector<4xf32>
  return %s : vector<4xf32>
}

// Casts cut off what does not fit: only powers of two are sure to divide. A vector
// of 32 from a "multiple of 48" on may straddle granules of 48.

#g48 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 96>, page_size = 16, scales = <f32, granularity = 48>>

// CHECK-LABEL: func.func @cut_off(
// CHECK-COUNT-2: memref.load
// CHECK-NOT: memref.load
// CHECK: return
func.func @cut_off(%k: !kvcache.cache<key, #g48>, %t: index, %x: i8) -> vector<32xf32> {
  %c0 = arith.constant 0 : index
  %c48 = arith.constant 48 : i8
  %m = arith.muli %x, %c48 : i8
  %d = arith.index_castui %m : i8 to index
  %v = kvcache.load %k[%c0, %t, %c0, %d] : !kvcache.cache<key, #g48> -> vector<32xf32>
  return %v : vector<32xf32>
}
