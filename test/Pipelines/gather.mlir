// What the gather of an MLA cache comes down to: no load but through the
// read-only path, 16 bytes an access of values and of the tensor, and addresses
// that rows share.

// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_80,sm_90a output=%t" -o /dev/null
// RUN: FileCheck %s < %t/main_gather.sm_90a.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t/main_gather.sm_90a.ptx
// RUN: FileCheck %s --check-prefix=LOADS < %t/main_gather.sm_80.ptx

// CHECK: .maxntid 144
// CHECK: .minnctapersm 2
// Eight rows in flight: their addresses differ by constants.
// CHECK: ld.global.nc.v4.b32 {{.*}}, [[[VALUES:%rd[0-9]+]]];
// CHECK-NEXT: ld.global.nc.v4.b32 {{.*}}, [[[VALUES]]+2304];
// CHECK-COUNT-5: ld.global.nc.v4.b32 {{.*}}, [[[VALUES]]+
// CHECK-NEXT: ld.global.nc.v4.b32 {{.*}}, [[[VALUES]]+16128];
// A load reads the scales of 16 rows, for the last warp has 16 lanes.
// CHECK: ld.global.nc.b32 [[SCALE:%r[0-9]+]], [[[SCALES:%rd[0-9]+]]];
// CHECK-COUNT-4: shfl.sync.idx.b32 %r{{[0-9]+}}, [[SCALE]],
// CHECK-NEXT: ld.global.nc.b32 [[SCALE:%r[0-9]+]], [[[SCALES]]+64];
// CHECK-COUNT-4: shfl.sync.idx.b32 %r{{[0-9]+}}, [[SCALE]],
// CHECK-NEXT: bar.warp.sync
// CHECK-COUNT-8: st.shared.v4.b32
// CHECK-NEXT: bar.warp.sync
// CHECK-NEXT: ld.shared.v4.b16
// CHECK-COUNT-4: cvt.rn.f16x2.e4m3x2
// CHECK: st.global.v4.b32

// LOADS-NOT: ld.global.{{[^n]}}
// LOADS-NOT: ld.local
// LOADS-NOT: st.global.{{[^v]}}

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
func.func @main(%blocks: memref<?x1x2x64x1x576xf8E4M3FN, strided<[?, 73728, 36864, 576, 576, 1]>>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
                %scales: memref<?x1x2x64x1x1xf32, strided<[?, 128, 64, 1, 1, 1]>>, %scales_table: memref<?x?xi32>, %out: memref<64x4096x1x576xbf16>) {
  %layer = arith.constant 1 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x2x64x1x576xf8E4M3FN, strided<[?, 73728, 36864, 576, 576, 1]>>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%scales : memref<?x1x2x64x1x1xf32, strided<[?, 128, 64, 1, 1, 1]>>) scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<64x4096x1x576xbf16>)
  return
}
