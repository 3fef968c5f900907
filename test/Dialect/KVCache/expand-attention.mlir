// RUN: kvcache-opt %s --split-input-file --kvcache-expand-kernels --canonicalize --cse | FileCheck %s
// RUN: kvcache-opt %s --split-input-file --kvcache-expand-kernels=threads=32 | FileCheck %s --check-prefix=WARP

// Four query heads a head of the cache: a block has eight rows, of which decode
// has four. Tiles that are seen as a whole: sixteen loads of 16 bytes ahead, the
// table once a page.

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// CHECK-LABEL: gpu.module @gqa_paged_attention
// CHECK: gpu.func @gqa_paged_attention(
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>, {{.*}}nvvm.minctasm = 3 : i32
// Which sequence the rows are of.
// CHECK: scf.while
// CHECK: nvvm.vote.sync ballot
// CHECK: kvcache.cache_length
// CHECK: scf.for
// CHECK: kvcache.block_id {{.*}} : !kvcache.mha_operand<key, #kv>
// CHECK-NOT: kvcache.block_id {{.*}} : !kvcache.mha_operand<value
// Scores: eight steps of each of two groups of tokens.
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-8: kvcache.load_in_page {{.*}} {alignment = 16 : i64} : !kvcache.mha_operand<key, #kv> -> vector<8xbf16>
// CHECK: nvvm.vote.sync any
// Values: eight steps, by two terms of the weights.
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-8: kvcache.load_in_page {{.*}} {alignment = 16 : i64} : !kvcache.mha_operand<value, #kv> -> vector<8xbf16>
// The edges.
// CHECK: scf.for
// CHECK-COUNT-32: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: gpu.barrier
// CHECK-LABEL: func.func @gqa(
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected one more of 'row_offsets' than sequences (B)"
// CHECK-NOT: cf.assert
// One kernel, and one that combines parts.
// CHECK: gpu.launch_func @gqa_paged_attention::@gqa_paged_attention
// CHECK: gpu.launch_func @gqa_paged_attention_0::@gqa_paged_attention_0
func.func @gqa(%blocks: memref<?x2x?x16x8x128xbf16>, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>,
               %layer: index, %q: memref<?x32x128xbf16>, %out: memref<?x32x128xbf16>, %offsets: memref<?xi32>, %w: memref<?xf32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x8x128xbf16>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#gqa>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#gqa>
  kvcache.paged_attention queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>)
      into(%out : memref<?x32x128xbf16>) ragged(%offsets : memref<?xi32>) workspace(%w : memref<?xf32>)
  return
}

// -----

// Codes are fragment A, for half the products; weights are transposed. Scales
// have a table of their own.

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128, table = own>>

// CHECK-LABEL: gpu.module @codes_paged_attention
// CHECK: scf.for
// CHECK: kvcache.block_id {{.*}} : !kvcache.mha_operand<key, #kv>
// CHECK: kvcache.block_id {{.*}} : !kvcache.scales_mha_operand<key, #kv>
// CHECK: kvcache.decode_scaled {{.*}} : vector<4xf8E4M3FN> to vector<4xf16>
// CHECK-COUNT-7: nvvm.mma.sync
// A token's NaN goes to the last of its numbers, of two tokens.
// CHECK-COUNT-2: kvcache.restore_nan {{.*}} of {{%[0-9]+(, %[0-9]+)+}} : vector<2xf16>
// CHECK-NEXT: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-2: movmatrix.sync.aligned.m8n8.trans.b16
// CHECK-COUNT-8: nvvm.mma.sync
func.func @codes(%k: !kvcache.cache<key, #own>, %v: !kvcache.cache<value, #own>, %q: memref<?x32x128xbf16>,
                 %out: memref<?x32x128xbf16>, %offsets: memref<?xi32>) {
  kvcache.paged_attention queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #own>, !kvcache.cache<value, #own>)
      into(%out : memref<?x32x128xbf16>) ragged(%offsets : memref<?xi32>)
  return
}

// -----

// Latents: 32 tokens at a time in shared memory, of which more is asked for than
// blocks have without asking.

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>

// CHECK-LABEL: gpu.module @latents_mla_decode
// CHECK: gpu.dynamic_shared_memory
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<row>
// CHECK: gpu.barrier
// CHECK: nvvm.ldmatrix {{.*}} layout = #nvvm.mma_layout<col>
// CHECK: gpu.barrier
// CHECK-LABEL: func.func @latents(
// CHECK: gpu.launch_func {{.*}} dynamic_shared_memory_size %{{.*}}
func.func @latents(%k: !kvcache.cache<key, #mla>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %offsets: memref<?xi32>) {
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #mla>)
      into(%out : memref<?x16x512xbf16>) ragged(%offsets : memref<?xi32>)
  return
}

// -----

// The start of a window is a difference, which must not become the sum with a
// negative constant that does not wrap, unsigned: such a sum always does.

#narrow = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 64>, page_size = 24>

// CHECK-LABEL: gpu.module @window_paged_attention
// CHECK-NOT: arith.addi %{{.*}}, %c-{{[0-9]+}}_i32 overflow<{{.*}}nuw{{.*}}>
// CHECK: arith.addi %{{.*}}, %c-185_i32 : i32
// CHECK-NOT: arith.addi %{{.*}}, %c-{{[0-9]+}}_i32 overflow<{{.*}}nuw{{.*}}>
// CHECK-LABEL: func.func @window(
func.func @window(%k: !kvcache.cache<key, #narrow>, %v: !kvcache.cache<value, #narrow>, %q: memref<?x8x64xbf16>,
                  %out: memref<?x8x64xbf16>, %offsets: memref<?xi32>) {
  kvcache.paged_attention queries(%q : memref<?x8x64xbf16>) over(%k, %v : !kvcache.cache<key, #narrow>, !kvcache.cache<value, #narrow>)
      into(%out : memref<?x8x64xbf16>) ragged(%offsets : memref<?xi32>) {window = 200 : i64}
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 16, head_size = 128>, page_size = 16, scales = <f32, granularity = 128, table = own>>

// A block takes eight heads, one a warp: two warps load the scales of all, 16 bytes
// a lane, and each warp reads those of its head.
// Who says how many threads takes the other form.
// WARP-LABEL: gpu.func @heads_paged_attention(
// WARP-SAME: known_block_size = array<i32: 32, 1, 1>
// CHECK-LABEL: gpu.module @heads_paged_attention {
// CHECK: memref.global "private" @shared{{.*}} : memref<320xf32, 3>
// CHECK: gpu.func @heads_paged_attention(
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-SAME: nvvm.maxnreg = 168
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}} : memref<320xf32, 3>
// CHECK: gpu.barrier
// CHECK: kvcache.load_in_page {{.*}} {alignment = 16 : i64} : !kvcache.scales_mha_operand<key, {{.*}} -> vector<4xf32>
// CHECK: kvcache.load_in_page {{.*}} {alignment = 16 : i64} : !kvcache.scales_mha_operand<value, {{.*}} -> vector<4xf32>
// CHECK: memref.load {{.*}} : memref<320xf32, 3>
func.func @heads(%k: !kvcache.cache<key, #kv>, %v: !kvcache.cache<value, #kv>, %q: memref<?x32x128xbf16>, %out: memref<?x32x128xbf16>, %offsets: memref<?xi32>, %w: memref<?xf32>) {
  kvcache.paged_attention queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #kv>, !kvcache.cache<value, #kv>)
      into(%out : memref<?x32x128xbf16>) ragged(%offsets : memref<?xi32>) workspace(%w : memref<?xf32>)
  return
}

// -----

// Lists of keys, and of their scales, are of one size.

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>

// CHECK-LABEL: func.func @lists(
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected as many rows (dimension 0) of 'out' as of 'q'"
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected as many rows (dimension 0) of 'slots' as of 'q'"
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected as many rows (dimension 0) of 'scale_slots' as of 'q'"
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected dimension 1 (K) of 'slots' and of 'scale_slots' to be the same"
// CHECK: cf.assert %{{.*}}, "{{.*}} op expected one more of 'row_offsets' than sequences (B)"
func.func @lists(%k: !kvcache.cache<key, #mla>, %q: memref<?x16x576xbf16>, %out: memref<?x16x512xbf16>, %offsets: memref<?xi32>,
                 %s: memref<?x?xi64>, %t: memref<?x?xi64>) {
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #mla>)
      into(%out : memref<?x16x512xbf16>) ragged(%offsets : memref<?xi32>) slots(%s, %t : memref<?x?xi64>, memref<?x?xi64>)
  return
}
