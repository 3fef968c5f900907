// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_90a output=%t" -o /dev/null
// RUN: FileCheck %s --input-file=%t/both_append.sm_90a.ptx
// RUN: FileCheck %s --input-file=%t/both_append.sm_90a.ptx --check-prefix=LOADS
// RUN: FileCheck %s --input-file=%t/slice_append.sm_90a.ptx --check-prefix=WIDE
// RUN: FileCheck %s --input-file=%t/slice_append_0.sm_90a.ptx --check-prefix=NARROW

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// Keys and values in 16-byte accesses, by one read of the table, everything that
// is only read on the read-only path, and a multiplication of 64 bits only for
// pages and rows.

// CHECK: .maxntid 128, 1, 1
// CHECK-COUNT-3: ld.global.nc.b32
// CHECK-NOT: ld.global.nc.b32
// CHECK-COUNT-8: st.global.v4.b32
// CHECK-NOT: {{(ld|st)\.global}}
// CHECK-NOT: .extern
// LOADS-COUNT-8: ld.global.nc.v4.b32
// LOADS-NOT: ld.global
func.func @both(%blocks: memref<?x2x?x16x8x128xbf16, strided<[?, ?, 16384, 1024, 128, 1]>>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
                %xk: memref<?x8x128xbf16>, %xv: memref<?x8x128xbf16>, %sequences: memref<?xi32>, %positions: memref<?xi32>, %layer: index) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x8x128xbf16, strided<[?, ?, 16384, 1024, 128, 1]>>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.append sources(%xk, %xv : memref<?x8x128xbf16>, memref<?x8x128xbf16>)
      into(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>)
  return
}

// Rows of a slice may start anywhere: the host chooses.

// WIDE: ld.global.nc.b64
// WIDE-NOT: ld.global.nc.b32
// WIDE: ld.global.nc.v4.b32
// WIDE: st.global.v4.b32
// NARROW-NOT: .v4
// NARROW: ld.global.nc.b16
// NARROW: st.global.b16
func.func @slice(%k: !kvcache.cache<key, #kv>, %x: memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>, %slots: memref<?xi64>) {
  kvcache.append sources(%x : memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>) into(%k : !kvcache.cache<key, #kv>) slots(%slots : memref<?xi64>)
  return
}
