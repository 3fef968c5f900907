// RUN: kvcache-opt %s --split-input-file --kvcache-expand-kernels --canonicalize --cse | FileCheck %s

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

// A block has a stretch of one row, whose sequence it finds once; the index
// decides whether a table is read at all.
// CHECK-LABEL: gpu.func @remap_remap_indices(
// CHECK-SAME: memref<i32> {llvm.noalias, llvm.noundef, llvm.readonly}
// CHECK-SAME: memref<i64> {llvm.noalias, llvm.noundef}
// CHECK: scf.while
// CHECK: %[[LENGTH:.*]] = kvcache.cache_length
// CHECK: memref.load
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: kvcache.block_id skip %{{.*}} : !kvcache.mha_operand
// CHECK: kvcache.block_id skip %{{.*}} : !kvcache.scales_mha_operand
// CHECK: } else {
// CHECK-NEXT: scf.yield %c-1_i64, %c-1_i64
// CHECK: memref.store
// CHECK-LABEL: func.func @remap(
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected one more of 'offsets' than sequences (B)"
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected slots that fit 32 bits; let them be of i64"
func.func @remap(%k: !kvcache.cache<key, #mla>, %i: memref<?x2048xi32>, %s: memref<?x2048xi64>, %t: memref<?x2048xi32>, %offsets: memref<?xi32>) {
  kvcache.remap_indices skip indices(%i : memref<?x2048xi32>) from(%k : !kvcache.cache<key, #mla>) into(%s : memref<?x2048xi64>)
      offsets(%offsets : memref<?xi32>) scale_slots(%t : memref<?x2048xi32>)
  return
}

// -----

// Rows that the host cannot tell to be aligned: a kernel that reads vectors, and
// one that reads numbers. Shared memory is that of every block, 48 KiB.
// CHECK-LABEL: gpu.module @best_topk {
// CHECK-DAG: memref.global "private" @shared{{.*}} : memref<5108xi32, 3>
// CHECK-DAG: memref.global "private" @shared{{.*}} : memref<2048xi32, 3>
// CHECK: gpu.func @best_topk(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<4xf32>, vector<4xf32>
// The next step is read before this one is looked at.
// CHECK: scf.for
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<4xf32>, vector<4xf32>
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK: memref.atomic_rmw addi
// CHECK: nvvm.vote.sync ballot
// CHECK-LABEL: gpu.module @best_topk_0 {
// CHECK-NOT: vector<4xf32>
// CHECK-LABEL: func.func @best(
// CHECK: gpu.launch_func @best_topk::@best_topk
func.func @best(%s: memref<?x?xf32>, %n: memref<?xi32>, %i: memref<?x2048xi32>) {
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x2048xi32>)
  return
}

// -----

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

// A tile of 32 keys is one lookup of each table; 8 vectors of 16 bytes a lane, each
// only where there is its key; and 2 x 8 products for each of 8 tiles of heads, or,
// for chips with wgmma, two for all heads.
// CHECK-LABEL: gpu.func @score_indexer_scores(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: %[[WGMMA:.*]] = kvcache.has_wgmma
// CHECK: scf.if %[[WGMMA]] {
// CHECK: nvvm.fence.proxy
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: scf.if %[[WGMMA]] -> (f32, f32, f32, f32) {
// CHECK-COUNT-2: wgmma.fence.sync.aligned
// CHECK-NOT: wgmma.fence.sync.aligned
// CHECK: } else {
// CHECK-COUNT-128: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: kvcache.page_ptr {{.*}} : !kvcache.mha_operand
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 16 : i64} : memref<16xf8E4M3FN>, vector<16xf8E4M3FN>
// CHECK: kvcache.load_in_page {{.*}} : !kvcache.scales_mha_operand{{.*}} -> f32
// CHECK: kvcache.block_id %{{.*}} : !kvcache.mha_operand
// CHECK: kvcache.block_id %{{.*}} : !kvcache.scales_mha_operand
// CHECK-NOT: kvcache.block_id
// CHECK: nvvm.bar.warp.sync
func.func @score(%k: !kvcache.cache<key, #mla>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  kvcache.indexer_scores causal queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#small = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 48>, page_size = 61, scales = <bf16, granularity = 48>, placement = page_split>

// Pages that cut groups of 8 tokens: a lookup a token. Heads of 48 are 8 and 4 bytes
// a lane, of rows at multiples of 2.
// CHECK-LABEL: gpu.func @odd_indexer_scores(
// CHECK: scf.for
// CHECK-COUNT-6: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: vector.load {{.*}} {alignment = 2 : i64} : memref<2xf8E4M3FN>, vector<2xf8E4M3FN>
// CHECK: kvcache.load_in_page {{.*}} -> bf16
// CHECK-COUNT-4: kvcache.block_id
// CHECK: nvvm.bar.warp.sync
func.func @odd(%k: !kvcache.cache<key, #small>, %q: memref<?x3x48xf8E4M3FN>, %w: memref<?x3xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>) {
  kvcache.indexer_scores queries(%q, %w : memref<?x3x48xf8E4M3FN>, memref<?x3xf32>) from(%k : !kvcache.cache<key, #small>)
      offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

// Queries of which the host does not know the alignment: one kernel reads them by
// vectors and by codes.
// CHECK-LABEL: gpu.module @slices_indexer_scores {
// CHECK-COUNT-2: vector.load {{.*}} {alignment = 16 : i64} : memref<16xf8E4M3FN>, vector<16xf8E4M3FN>
// CHECK: } else {
// CHECK-COUNT-32: vector.load {{.*}} : memref<16xf8E4M3FN>, vector<1xf8E4M3FN>
// CHECK-LABEL: func.func @slices(
// CHECK-COUNT-1: gpu.launch_func @slices_indexer_scores::
// CHECK-NOT: gpu.launch_func
func.func @slices(%k: !kvcache.cache<key, #mla>, %q: memref<?x64x128xf8E4M3FN, strided<[?, ?, 1], offset: ?>>, %w: memref<?x64xf32>, %o: memref<?xi32>,
                  %s: memref<?x?xf32>) {
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN, strided<[?, ?, 1], offset: ?>>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

// The most heads and candidates: what threads share is more than is static, and the
// launch asks for it.
// CHECK-LABEL: gpu.module @most_indexer_topk {
// CHECK-NOT: memref.global
// CHECK: gpu.func @most_indexer_topk(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: %[[MEMORY:.*]] = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.view %[[MEMORY]][%c0][] : {{.*}} to memref<8192xi32, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.view %[[MEMORY]][%c32768][] : {{.*}} to memref<128xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.view %[[MEMORY]][%c33280][] : {{.*}} to memref<4224xi32, #gpu.address_space<workgroup>>
// CHECK-LABEL: func.func @most(
// CHECK: gpu.launch_func @most_indexer_topk::@most_indexer_topk {{.*}} dynamic_shared_memory_size %c75344_i32
func.func @most(%k: !kvcache.cache<key, #mla>, %q: memref<?x128x128xf8E4M3FN>, %w: memref<?x128xf32>, %o: memref<?xi32>, %i: memref<?x2048xi32>) {
  kvcache.indexer_topk queries(%q, %w : memref<?x128x128xf8E4M3FN>, memref<?x128xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x2048xi32>)
  return
}

// -----

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

// With all scores, of which the host does not know the alignment, with parts, and
// by itself.
// CHECK-LABEL: gpu.module @forms_indexer_topk {
// CHECK: nvvm.mma.sync
// CHECK-LABEL: gpu.module @forms_indexer_topk_0 {
// CHECK-NOT: nvvm.mma.sync
// CHECK-LABEL: gpu.module @forms_indexer_topk_1 {
// CHECK-NOT: nvvm.mma.sync
// CHECK-LABEL: gpu.module @forms_indexer_topk_2 {
// CHECK: nvvm.mma.sync
// CHECK: nvvm.vote.sync
// CHECK-LABEL: gpu.module @forms_indexer_topk_3 {
// CHECK-NOT: nvvm.mma.sync
// CHECK: nvvm.vote.sync
// CHECK-LABEL: gpu.module @forms_indexer_topk_4 {
// CHECK: nvvm.mma.sync
// CHECK: nvvm.vote.sync
// CHECK-LABEL: func.func @forms(
// CHECK: gpu.launch_func @forms_indexer_topk::
// CHECK: scf.if
// CHECK: gpu.launch_func @forms_indexer_topk_0::
// CHECK: gpu.launch_func @forms_indexer_topk_1::
// CHECK: gpu.launch_func @forms_indexer_topk_2::
// CHECK: gpu.launch_func @forms_indexer_topk_3::
// CHECK: gpu.launch_func @forms_indexer_topk_4::
func.func @forms(%k: !kvcache.cache<key, #mla>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>, %s: memref<?x?xf32>,
                 %i: memref<?x2048xi32>, %p: memref<?x?x4096xi32>) {
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x2048xi32>) scores(%s : memref<?x?xf32>)
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x2048xi32>) workspace(%p : memref<?x?x4096xi32>)
  kvcache.indexer_topk queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x2048xi32>)
  return
}
