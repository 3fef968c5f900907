// RUN: kvcache-opt %s -cse | FileCheck %s
// RUN: kvcache-opt %s -canonicalize -cse | FileCheck %s

// Lookups are shared across stores to the pools, since tables are frozen; loads
// of the pools are not, and stores stay where they are.

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

// CHECK-LABEL: func @lookups
// CHECK-SAME: %[[K:.*]]: !kvcache.cache<key, {{.*}}>, %[[POOL:.*]]: memref<?x2x3x16x2x64xf8E4M3FN>
func.func @lookups(%k: !kvcache.cache<key, #kv>, %pool: memref<?x2x3x16x2x64xf8E4M3FN>, %v: f8E4M3FN, %s: f32, %i: index)
    -> (index, index, index, index, memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>, memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>, vector<16xindex>, vector<16xindex>) {
  // CHECK: %[[N:.*]] = kvcache.cache_length %[[K]]
  %0 = kvcache.cache_length %k[%i] : !kvcache.cache<key, #kv>
  // CHECK: %[[R:.*]] = kvcache.row_idx %[[K]]
  %1 = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  // CHECK: %[[P:.*]] = kvcache.block_paged_ptr %[[K]]
  %2 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  // CHECK: %[[ROWS:.*]] = kvcache.populate %[[K]]
  %3 = kvcache.populate %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<16xindex>
  // CHECK-NEXT: kvcache.store %{{.*}}, %[[K]]
  kvcache.store %v, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<key, #kv>
  // CHECK-NEXT: kvcache.store_scale %{{.*}}, %[[K]]
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<key, #kv>
  // CHECK-NEXT: memref.store %{{.*}}, %[[POOL]]
  memref.store %v, %pool[%i, %i, %i, %i, %i, %i] : memref<?x2x3x16x2x64xf8E4M3FN>
  %4 = kvcache.cache_length %k[%i] : !kvcache.cache<key, #kv>
  %5 = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  %6 = kvcache.block_paged_ptr %k[%i, %i, %i] : !kvcache.cache<key, #kv> -> memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>
  %7 = kvcache.populate %k[%i, %i] : !kvcache.cache<key, #kv> -> vector<16xindex>
  // CHECK-NEXT: return %[[N]], %[[N]], %[[R]], %[[R]], %[[P]], %[[P]], %[[ROWS]], %[[ROWS]]
  return %0, %4, %1, %5, %2, %6, %3, %7 : index, index, index, index, memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>, memref<1x64xf8E4M3FN, strided<[128, 1], offset: ?>>, vector<16xindex>, vector<16xindex>
}

// CHECK-LABEL: func @other_policy
func.func @other_policy(%k: !kvcache.cache<key, #kv>, %i: index) -> (index, index) {
  // CHECK: %[[A:.*]] = kvcache.row_idx %
  // CHECK: %[[B:.*]] = kvcache.row_idx trap %
  %0 = kvcache.row_idx %k[%i, %i] : !kvcache.cache<key, #kv>
  %1 = kvcache.row_idx trap %k[%i, %i] : !kvcache.cache<key, #kv>
  // CHECK: return %[[A]], %[[B]]
  return %0, %1 : index, index
}

// CHECK-LABEL: func @loads
func.func @loads(%k: !kvcache.cache<key, #kv>, %pool: memref<?x2x3x16x2x64xf8E4M3FN>, %v: f8E4M3FN, %s: f32, %i: index) -> (f32, f32, f32, f32, f8E4M3FN, f8E4M3FN, f32) {
  // CHECK: %[[A:.*]] = kvcache.load %
  %0 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  // CHECK-NEXT: %[[B:.*]] = kvcache.load_scale %
  %1 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  // CHECK-NEXT: %[[C:.*]] = kvcache.load_quantized %
  %2 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f8E4M3FN
  // No store is between these two.
  %3 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  // CHECK-NEXT: kvcache.store %
  kvcache.store %v, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<key, #kv>
  // CHECK-NEXT: %[[A2:.*]] = kvcache.load %
  %4 = kvcache.load %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  // CHECK-NEXT: memref.store
  memref.store %v, %pool[%i, %i, %i, %i, %i, %i] : memref<?x2x3x16x2x64xf8E4M3FN>
  // CHECK-NEXT: %[[C2:.*]] = kvcache.load_quantized %
  %5 = kvcache.load_quantized %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f8E4M3FN
  // CHECK-NEXT: kvcache.store_scale %
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<key, #kv>
  // CHECK-NEXT: %[[B2:.*]] = kvcache.load_scale %
  %6 = kvcache.load_scale %k[%i, %i, %i, %i] : !kvcache.cache<key, #kv> -> f32
  // CHECK-NEXT: return %[[A]], %[[A]], %[[A2]], %[[B]], %[[C]], %[[C2]], %[[B2]]
  return %0, %3, %4, %1, %2, %5, %6 : f32, f32, f32, f32, f8E4M3FN, f8E4M3FN, f32
}

// The same store twice is two stores.
// CHECK-LABEL: func @stores
func.func @stores(%k: !kvcache.cache<key, #kv>, %v: f8E4M3FN, %s: f32, %i: index) {
  // CHECK-COUNT-2: kvcache.store %
  kvcache.store %v, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<key, #kv>
  kvcache.store %v, %k[%i, %i, %i, %i] : f8E4M3FN, !kvcache.cache<key, #kv>
  // CHECK-COUNT-2: kvcache.store_scale %
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<key, #kv>
  kvcache.store_scale %s, %k[%i, %i, %i, %i] : f32, !kvcache.cache<key, #kv>
  // CHECK-NEXT: return
  return
}

// After lowering: entries of frozen tables are shared across stores.
// CHECK-LABEL: func @table_reads
func.func @table_reads(%table: memref<i32>, %out: memref<4xi32>, %i: i32, %j: index) -> (i32, i32) {
  // CHECK: %[[E:.*]] = kvcache.table_read
  %0 = kvcache.table_read %table[%i] : memref<i32> -> i32
  // CHECK-NEXT: memref.store
  memref.store %i, %out[%j] : memref<4xi32>
  %1 = kvcache.table_read %table[%i] : memref<i32> -> i32
  // CHECK-NEXT: return %[[E]], %[[E]]
  return %0, %1 : i32, i32
}
