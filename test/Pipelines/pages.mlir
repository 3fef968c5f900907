// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_90a output=%t" -o /dev/null
// RUN: FileCheck %s --input-file=%t/copy_copy_pages.sm_90a.ptx --check-prefix=COPY
// RUN: FileCheck %s --input-file=%t/copy_copy_pages.sm_90a.ptx --check-prefix=LIST
// RUN: FileCheck %s --input-file=%t/order_copy_pages_1.sm_90a.ptx --check-prefix=WALK
// RUN: FileCheck %s --input-file=%t/clear_clear_pages.sm_90a.ptx --check-prefix=CLEAR
// RUN: FileCheck %s --input-file=%t/convert_convert_layout.sm_90a.ptx --check-prefix=CONVERT

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#hnd = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>

// Four loads in flight, and nothing narrower than 16 bytes but the list, which is
// only read.
// COPY-NOT: .extern
// COPY: .maxntid 128, 1, 1
// COPY-COUNT-4: ld.global.v4.b32
// COPY-NOT: ld.global
// COPY-COUNT-4: st.global.v4.b32
// LIST-NOT: {{(ld|st)\.global\.b}}
// LIST: ld.global.nc.{{v2.b32|b32|b64}}
// LIST-NOT: {{(ld|st)\.global\.b}}
func.func @copy(%b: memref<?x2x?x16x8x128xbf16>, %pairs: memref<?x2xi32>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#kv>
  kvcache.copy_pages skip %c pairs(%pairs : memref<?x2xi32>) disjoint : !kvcache.collection<#kv>
  return
}

// The order is read only here.
// WALK-NOT: {{ld\.global\.[bu]32}}
// WALK: ld.global.nc.b32
// WALK: ld.global.v4.b32
// WALK: st.global.v4.b32
func.func @order(%b: memref<?x2x?x16x8x128xbf16>, %pairs: memref<?x2xi32>, %w: memref<?xi32>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#kv>
  kvcache.copy_pages skip %c pairs(%pairs : memref<?x2xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#kv>
  return
}

// CLEAR-NOT: st.global.b
// CLEAR-COUNT-4: st.global.v4.b32
// CLEAR-NOT: st.global.b
func.func @clear(%b: memref<?x2x?x16x8x128xbf16>, %pages: memref<?xi32>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#kv>
  kvcache.clear_pages skip %c pages(%pages : memref<?xi32>) : !kvcache.collection<#kv>
  return
}

// CONVERT: ld.global.v4.b32
// CONVERT: st.global.v4.b32
// CONVERT-NOT: {{(ld|st)\.global\.b}}
func.func @convert(%b: memref<?x2x?x16x8x128xbf16>, %h: memref<?x2x?x8x16x128xbf16>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#kv>
  %d = kvcache.get_page_pools blocks(%h : memref<?x2x?x8x16x128xbf16>) : !kvcache.collection<#hnd>
  kvcache.convert_layout %c into %d : !kvcache.collection<#kv> into !kvcache.collection<#hnd>
  return
}
