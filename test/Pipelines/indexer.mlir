// REQUIRES: ptxas
// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_80,sm_90a,sm_100a,sm_120 format=bin output=%t" -o /dev/null
// RUN: kvcache-opt %s --kvcache-to-ptx="chip=sm_90,sm_90a output=%t" -o /dev/null
// RUN: FileCheck %s --check-prefix=WARP --implicit-check-not=wgmma --implicit-check-not=.local < %t/fused_indexer_topk.sm_90.ptx
// RUN: FileCheck %s --implicit-check-not=.extern --implicit-check-not=.local --implicit-check-not=mma.sync < %t/fused_indexer_topk.sm_90a.ptx
// RUN: FileCheck %s --check-prefix=BEST --implicit-check-not=.extern --implicit-check-not=.local < %t/best_topk.sm_90a.ptx

// The largest choices fit the shared memory that every chip gives a block. Keys
// are read 16 bytes a lane on the read-only path.
// CHECK: ld.global.nc.v4.b32
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// WARP: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// BEST: ld.global.nc.v4.b32
// BEST: atom.shared.add.u32

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
func.func @fused(%k: !kvcache.cache<key, #kv>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %i: memref<?x2048xi32>, %p: memref<?x?x4096xi32>) {
  kvcache.indexer_topk causal queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x2048xi32>)
  kvcache.indexer_topk causal queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #kv>) offsets(%o : memref<?xi32>) into(%i : memref<?x2048xi32>) workspace(%p : memref<?x?x4096xi32>)
  return
}
func.func @best(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<?x2048xi32>) {
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x2048xi32>)
  return
}
