// A pool is written where it lies: of a program nothing is left that copies or
// allocates one, on the host or in a kernel, and every store to a pool stays
// where it was said, as often as it was said.

// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_90a output=%t" -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir --implicit-check-not=memref.copy --implicit-check-not="memref.alloc(" \
// RUN:     --implicit-check-not=gpu.alloc --implicit-check-not=gpu.memcpy --implicit-check-not=memcpy
// RUN: cat %t/*.ptx | FileCheck %s --check-prefix=PTX
// RUN: FileCheck %s --input-file=%t/stores_kernel.sm_90a.ptx --check-prefix=STORES

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128, table = own>>
#hnd = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd, scales = <f32, granularity = 128, table = own>>
!blocks = memref<?x2x?x16x8x128xf8E4M3FN>
!scales = memref<?x2x?x16x8x1xf32>

// No memory of a thread's own, and nothing of another module.
// PTX-NOT: .local
// PTX-NOT: .extern
// PTX: .entry
// PTX-NOT: {{\.local|\.extern}}

// Twice the same is done twice.
// CHECK-LABEL: func @kernels
// CHECK-COUNT-2: gpu.launch_func {{ *}}@kernels_quantize_append
// CHECK-COUNT-2: gpu.launch_func {{ *}}@kernels_clear_pages
func.func @kernels(%blocks: !blocks, %scales: !scales, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                   %scales_table: memref<?x?xi32>, %max: memref<1xi32>, %x: memref<?x8x128xbf16>, %o: memref<?xi32>,
                   %pairs: memref<?x2xi32>, %pages: memref<?xi32>, %w: memref<?xi32>, %new: memref<?x?xi32>,
                   %out: memref<?x8x128xbf16>, %q: memref<?x64x128xbf16>, %attended: memref<?x64x128xbf16>,
                   %other: memref<?x2x?x8x16x128xf8E4M3FN>, %other_scales: memref<?x2x?x8x16x1xf32>) {
  %c0 = arith.constant 0 : index
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%scales : !scales) scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
  %v = kvcache.get_value_cache %c[%c0] : !kvcache.collection<#kv>
  kvcache.quantize_append sources(%x, %x : memref<?x8x128xbf16>, memref<?x8x128xbf16>)
      into(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>) ragged(%o : memref<?xi32>) quant(<>)
  kvcache.quantize_append sources(%x, %x : memref<?x8x128xbf16>, memref<?x8x128xbf16>)
      into(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>) ragged(%o : memref<?xi32>) quant(<>)
  kvcache.clear_pages %c pages(%pages, %pages : memref<?xi32>, memref<?xi32>) : !kvcache.collection<#kv>
  kvcache.copy_pages %c pairs(%pairs, %pairs : memref<?x2xi32>, memref<?x2xi32>) disjoint : !kvcache.collection<#kv>
  kvcache.move_tokens %c from(%pages, %pages : memref<?xi32>, memref<?xi32>) to(%pages, %pages : memref<?xi32>, memref<?xi32>)
      workspace(%w : memref<?xi32>) : !kvcache.collection<#kv>
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x8x128xbf16>) offsets(%o : memref<?xi32>)
  kvcache.paged_attention queries(%q : memref<?x64x128xbf16>)
      over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%attended : memref<?x64x128xbf16>) ragged(%o : memref<?xi32>)
  %d = kvcache.get_page_pools blocks(%other : memref<?x2x?x8x16x128xf8E4M3FN>) scales(%other_scales : memref<?x2x?x8x16x1xf32>)
      : !kvcache.collection<#hnd>
  kvcache.convert_layout %c into %d : !kvcache.collection<#kv> into !kvcache.collection<#hnd>
  kvcache.compact %c into(%new, %new : memref<?x?xi32>, memref<?x?xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#kv>
  kvcache.clear_pages %c pages(%pages, %pages : memref<?xi32>, memref<?xi32>) : !kvcache.collection<#kv>
  return
}

// One of two stores to a place is not the other, a store in a loop is in the loop,
// and one under a condition is under it.
// CHECK-LABEL: func @stores
// STORES: st.global.b8
// STORES: bar.sync
// STORES: st.global.b8
// STORES: [[LOOP:\$L__[A-Za-z0-9_]+]]:
// STORES: st.global.b8
// STORES: bra {{.*}}[[LOOP]];
func.func @stores(%blocks: !blocks, %scales: !scales, %lengths: memref<?xi32>, %table: memref<?x?xi32>,
                  %max: memref<1xi32>, %token: index, %times: index, %codes: memref<2xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = kvcache.get_paged_cache blocks(%blocks : !blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%scales : !scales) scales_table(%table : memref<?x?xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
  gpu.launch blocks(%b, %b1, %b2) in (%g0 = %c1, %g1 = %c1, %g2 = %c1) threads(%t, %t1, %t2) in (%n0 = %c1, %n1 = %c1, %n2 = %c1) {
    %first = memref.load %codes[%c0] : memref<2xf8E4M3FN>
    %second = memref.load %codes[%c1] : memref<2xf8E4M3FN>
    kvcache.store %first, %k[%c0, %token, %c0, %c0] : f8E4M3FN, !kvcache.cache<key, #kv>
    gpu.barrier
    kvcache.store %second, %k[%c0, %token, %c0, %c0] : f8E4M3FN, !kvcache.cache<key, #kv>
    scf.for %i = %c0 to %times step %c1 {
      gpu.barrier
      kvcache.store %first, %k[%c0, %token, %c0, %c1] : f8E4M3FN, !kvcache.cache<key, #kv>
    }
    gpu.terminator
  }
  return
}
