// The scales of a paged cache, looked up by a kernel that takes the scales
// operand: one thread a token, all pools and tables from files.
// RUN: %npy make %t.blocks.npy '|u1' 4x1x2x4x1x8
// RUN: %npy make %t.lengths.npy '<u4' 2
// RUN: %npy make %t.table.npy '<u4' 2x2
// RUN: %npy make %t.max.npy '<u4' 1
// RUN: %npy make %t.scales.npy '<f4' 4x1x2x4x1x1
// RUN: %npy make %t.out.npy '<f4' 2x8
// RUN: kvcache-run %s --tool all --arg %t.blocks.npy --arg %t.lengths.npy \
// RUN:   --arg %t.table.npy --arg %t.max.npy --arg %t.max.npy \
// RUN:   --arg %t.scales.npy --arg %t.table.npy --arg index:1 \
// RUN:   --arg %t.out.npy --out 8=%t.out.npy
// RUN: %npy show %t.out.npy | FileCheck %s
// Block n of layer 1 begins at scale (2 n + 1) * 4; row b has blocks 2 b and
// 2 b + 1.
// CHECK: <f4 (2, 8) 4.0 5.0 6.0 7.0 12.0 13.0 14.0 15.0 20.0 21.0 22.0 23.0 28.0 29.0 30.0 31.0

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 8, is_mla = true>, page_size = 4, scales = <f32, granularity = 8, table = own>>

func.func @main(%blocks: memref<?x1x?x4x1x8xf8E4M3FN>, %lengths: memref<?xi32>,
                %table: memref<?x?xi32>, %max_prompt: memref<1xi32>,
                %max_cache: memref<1xi32>, %scales: memref<?x1x?x4x1x1xf32>,
                %scales_table: memref<?x?xi32>, %layer: index,
                %out: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = memref.dim %out, %c0 : memref<?x?xf32>
  %tokens = memref.dim %out, %c1 : memref<?x?xf32>
  %u0 = memref.cast %blocks : memref<?x1x?x4x1x8xf8E4M3FN> to memref<*xf8E4M3FN>
  %u1 = memref.cast %lengths : memref<?xi32> to memref<*xi32>
  %u2 = memref.cast %table : memref<?x?xi32> to memref<*xi32>
  %u3 = memref.cast %scales : memref<?x1x?x4x1x1xf32> to memref<*xf32>
  %u4 = memref.cast %scales_table : memref<?x?xi32> to memref<*xi32>
  %u5 = memref.cast %out : memref<?x?xf32> to memref<*xf32>
  gpu.host_register %u0 : memref<*xf8E4M3FN>
  gpu.host_register %u1 : memref<*xi32>
  gpu.host_register %u2 : memref<*xi32>
  gpu.host_register %u3 : memref<*xf32>
  gpu.host_register %u4 : memref<*xi32>
  gpu.host_register %u5 : memref<*xf32>
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x1x?x4x1x8xf8E4M3FN>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      scales(%scales : memref<?x1x?x4x1x1xf32>)
      scales_table(%scales_table : memref<?x?xi32>)
      : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  %s = kvcache.scales_mha_operand %k : !kvcache.cache<key, #kv>
  gpu.launch blocks(%b, %by, %bz) in (%gx = %batch, %gy = %c1, %gz = %c1)
             threads(%t, %ty, %tz) in (%sx = %tokens, %sy = %c1, %sz = %c1) {
    %h = arith.constant 0 : index
    %p = kvcache.block_paged_ptr %s[%b, %t, %h, %h]
        : !kvcache.scales_mha_operand<key, #kv>
          -> memref<1x1xf32, strided<[1, 1], offset: ?>>
    %v = memref.load %p[%h, %h] : memref<1x1xf32, strided<[1, 1], offset: ?>>
    memref.store %v, %out[%b, %t] : memref<?x?xf32>
    gpu.terminator
  }
  return
}
