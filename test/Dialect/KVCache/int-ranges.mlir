// RUN: kvcache-opt %s -int-range-optimizations | FileCheck %s

// What is known of numbers that lookups give.

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 16>

// Lengths and blocks are unsigned 32-bit numbers.
// CHECK-LABEL: func @entries
func.func @entries(%k: !kvcache.cache<key, #kv>, %b: index, %t: index) -> (i1, i1, i1, i1, i1, i1) {
  %limit = arith.constant 4294967296 : index
  %zero = arith.constant 0 : index
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
  %0 = arith.cmpi slt, %n, %limit : index
  %1 = arith.cmpi sge, %n, %zero : index
  %p = kvcache.max_prompt_length %k : !kvcache.cache<key, #kv>
  %2 = arith.cmpi ult, %p, %limit : index
  %c = kvcache.max_context_length %k : !kvcache.cache<key, #kv>
  %3 = arith.cmpi ult, %c, %limit : index
  %block, %slot = kvcache.block_row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
  %4 = arith.cmpi ult, %block, %limit : index
  %page = arith.constant 16 : index
  %5 = arith.cmpi ult, %slot, %page : index
  // CHECK: return %[[TRUE]], %[[TRUE]], %[[TRUE]], %[[TRUE]], %[[TRUE]], %[[TRUE]]
  return %0, %1, %2, %3, %4, %5 : i1, i1, i1, i1, i1, i1
}

// Rows are not negative.
// CHECK-LABEL: func @rows
func.func @rows(%k: !kvcache.cache<key, #kv>, %b: index, %t: index) -> (i1, i1) {
  %zero = arith.constant 0 : index
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  %r = kvcache.row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
  %0 = arith.cmpi sge, %r, %zero : index
  %n = kvcache.num_kv_rows %k : !kvcache.cache<key, #kv>
  %1 = arith.cmpi sge, %n, %zero : index
  // CHECK: return %[[TRUE]], %[[TRUE]]
  return %0, %1 : i1, i1
}

// Nothing more is known: a row need not fit 32 bits, a length may use all of
// its bits, a cache may or may not be empty.
// CHECK-LABEL: func @unknown
func.func @unknown(%k: !kvcache.cache<key, #kv>, %b: index, %t: index) -> (i1, i1, i1, i1) {
  %limit = arith.constant 4294967296 : index
  %signed = arith.constant 2147483648 : index
  // CHECK: %[[R:.*]] = kvcache.row_idx
  %r = kvcache.row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
  // CHECK: arith.cmpi ult, %[[R]]
  %0 = arith.cmpi ult, %r, %limit : index
  // CHECK: %[[N:.*]] = kvcache.cache_length
  %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #kv>
  // CHECK: arith.cmpi slt, %[[N]]
  %1 = arith.cmpi slt, %n, %signed : index
  // CHECK: %[[BLOCK:.*]], %[[SLOT:.*]] = kvcache.block_row_idx
  %block, %slot = kvcache.block_row_idx %k[%b, %t] : !kvcache.cache<key, #kv>
  %last = arith.constant 15 : index
  // CHECK: arith.cmpi ult, %[[SLOT]]
  %2 = arith.cmpi ult, %slot, %last : index
  // CHECK: %[[E:.*]] = kvcache.empty_cache
  %e = kvcache.empty_cache %k : !kvcache.cache<key, #kv>
  // CHECK: return %{{.*}}, %{{.*}}, %{{.*}}, %[[E]]
  return %0, %1, %2, %e : i1, i1, i1, i1
}
