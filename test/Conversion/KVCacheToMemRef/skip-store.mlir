// RUN: kvcache-opt %s --convert-kvcache-to-memref | FileCheck %s

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 4>

// A skipped store leaves no value behind, and what follows it stays.
// CHECK-LABEL: func @store_then_more
func.func @store_then_more(%k: !kvcache.cache<key, #kv>, %x: bf16, %b: index, %t: index,
                           %h: index, %d: index, %more: i1, %out: memref<1xbf16>) {
  // CHECK: scf.if %[[MORE:.*]] {
  scf.if %more {
    // CHECK: %[[IN_TABLE:.*]] = arith.andi
    // CHECK: scf.if %{{.*}} {
    // CHECK:   kvcache.table_read
    // CHECK:   %[[IN_POOL:.*]] = arith.cmpi ult
    // CHECK:   scf.if %[[IN_POOL]] {
    // CHECK:     memref.store
    // CHECK-NEXT: }
    // CHECK-NEXT: }
    kvcache.store skip %x, %k[%b, %t, %h, %d] : bf16, !kvcache.cache<key, #kv>
    // CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<1xbf16>
    %zero = arith.constant 0 : index
    memref.store %x, %out[%zero] : memref<1xbf16>
  }
  return
}
