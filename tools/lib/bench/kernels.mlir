// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels that the benchmark counts: W1 to W7. Pages are padded at will
// (dynamic pitch), scales have a table of their own, L is a size of run time.

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>
#gqa = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128, table = own>>
#gqa32 = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#row656 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>

#indexer = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

!mla_blocks = memref<?x1x?x64x1x576xf8E4M3FN, strided<[?, ?, 36864, 576, 576, 1]>>
!mla_scales = memref<?x1x?x64x1x1xf32, strided<[?, ?, 64, 1, 1, 1]>>
!gqa_blocks = memref<?x2x?x16x8x128xf8E4M3FN, strided<[?, ?, 16384, 1024, 128, 1]>>
!gqa_scales = memref<?x2x?x16x8x1xf32, strided<[?, ?, 128, 8, 1, 1]>>
!gqa32_scales = memref<?x2x?x16x8x4xf32, strided<[?, ?, 512, 32, 4, 1]>>
!plain_blocks = memref<?x2x?x16x8x128xbf16, strided<[?, ?, 16384, 1024, 128, 1]>>
!row_blocks = memref<?x1x?x41984xi8, strided<[?, ?, 41984, 1]>>
!indexer_blocks = memref<?x1x?x64x1x128xf8E4M3FN, strided<[?, ?, 8192, 128, 128, 1]>>

func.func @w1(%blocks: !mla_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !mla_scales,
              %scales_table: memref<?x?xi32>, %layer: index, %out: memref<?x?x1x576xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !mla_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !mla_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#mla>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#mla>
  kvcache.gather from(%k : !kvcache.cache<key, #mla>) into(%out : memref<?x?x1x576xbf16>)
  return
}

func.func @w2(%blocks: !gqa_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !gqa_scales,
              %scales_table: memref<?x?xi32>, %layer: index, %out: memref<?x?x8x128xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !gqa_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !gqa_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#gqa>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
  kvcache.gather from(%k : !kvcache.cache<key, #gqa>) into(%out : memref<?x?x8x128xbf16>)
  return
}

func.func @w2b(%blocks: !gqa_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !gqa32_scales,
               %scales_table: memref<?x?xi32>, %layer: index, %out: memref<?x?x8x128xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !gqa_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !gqa32_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#gqa32>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa32>
  kvcache.gather from(%k : !kvcache.cache<key, #gqa32>) into(%out : memref<?x?x8x128xbf16>)
  return
}

func.func @w3(%blocks: !plain_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %layer: index,
              %keys: memref<?x8x128xbf16>, %values: memref<?x8x128xbf16>, %sequences: memref<?xi32>, %positions: memref<?xi32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !plain_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#plain>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#plain>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#plain>
  kvcache.append sources(%keys, %values : memref<?x8x128xbf16>, memref<?x8x128xbf16>)
      into(%k, %v : !kvcache.cache<key, #plain>, !kvcache.cache<value, #plain>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>)
  return
}

func.func @w4(%blocks: !gqa_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !gqa_scales,
              %scales_table: memref<?x?xi32>, %layer: index, %keys: memref<?x8x128xbf16>, %sequences: memref<?xi32>, %positions: memref<?xi32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !gqa_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !gqa_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#gqa>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
  kvcache.quantize_append sources(%keys : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>)
      quant(#kvcache.quantization<contract = arbitrary, floor = 0.0, floor_on = scale, apply = inverse>)
  return
}

func.func @w5(%blocks: !row_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %layer: index,
              %keys: memref<?x1x576xbf16>, %sequences: memref<?xi32>, %positions: memref<?xi32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !row_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#row656>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#row656>
  kvcache.quantize_append sources(%keys : memref<?x1x576xbf16>) into(%k : !kvcache.cache<key, #row656>)
      positions(%sequences, %positions : memref<?xi32>, memref<?xi32>)
      quant(#kvcache.quantization<contract = arbitrary, floor = 0.0, floor_on = scale, apply = inverse>)
  return
}

func.func @w6(%blocks: !plain_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %layer: index,
              %q: memref<?x32x128xbf16>, %offsets: memref<?xi32>, %workspace: memref<?xf32>, %out: memref<?x32x128xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !plain_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) : !kvcache.collection<#plain>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#plain>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#plain>
  kvcache.paged_attention queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #plain>, !kvcache.cache<value, #plain>)
      into(%out : memref<?x32x128xbf16>) ragged(%offsets : memref<?xi32>) workspace(%workspace : memref<?xf32>)
  return
}

func.func @w6b(%blocks: !gqa_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !gqa_scales, %scales_table: memref<?x?xi32>, %layer: index,
              %q: memref<?x32x128xbf16>, %offsets: memref<?xi32>, %workspace: memref<?xf32>, %out: memref<?x32x128xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !gqa_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !gqa_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#gqa>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#gqa>
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#gqa>
  kvcache.paged_attention queries(%q : memref<?x32x128xbf16>) over(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>)
      into(%out : memref<?x32x128xbf16>) ragged(%offsets : memref<?xi32>) workspace(%workspace : memref<?xf32>)
  return
}

func.func @w6m(%blocks: !mla_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !mla_scales, %scales_table: memref<?x?xi32>, %layer: index,
              %q: memref<?x16x576xbf16>, %offsets: memref<?xi32>, %workspace: memref<?xf32>, %out: memref<?x16x512xbf16>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !mla_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !mla_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#mla>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#mla>
  kvcache.mla_decode queries(%q : memref<?x16x576xbf16>) over(%k : !kvcache.cache<key, #mla>)
      into(%out : memref<?x16x512xbf16>) ragged(%offsets : memref<?xi32>) workspace(%workspace : memref<?xf32>)
  return
}

func.func @w7(%blocks: !indexer_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !mla_scales,
              %scales_table: memref<?x?xi32>, %layer: index, %queries: memref<?x64x128xf8E4M3FN>, %weights: memref<?x64xf32>,
              %offsets: memref<?xi32>, %scores: memref<?x?xf32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !indexer_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !mla_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#indexer>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#indexer>
  kvcache.indexer_scores causal queries(%queries, %weights : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>)
      from(%k : !kvcache.cache<key, #indexer>) offsets(%offsets : memref<?xi32>) into(%scores : memref<?x?xf32>)
  return
}

func.func @w7k(%blocks: !indexer_blocks, %lengths: memref<?xi32>, %table: memref<?x?xi32>, %max: memref<1xi32>, %scales: !mla_scales,
               %scales_table: memref<?x?xi32>, %layer: index, %queries: memref<?x64x128xf8E4M3FN>, %weights: memref<?x64xf32>,
               %offsets: memref<?xi32>, %best: memref<?x2048xi32>) {
  %c = kvcache.get_paged_cache blocks(%blocks : !indexer_blocks) lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>) scales(%scales : !mla_scales)
      scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#indexer>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#indexer>
  kvcache.indexer_topk causal queries(%queries, %weights : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>)
      from(%k : !kvcache.cache<key, #indexer>) offsets(%offsets : memref<?xi32>) into(%best : memref<?x2048xi32>)
  return
}
