// RUN: kvcache-opt %s --verify-roundtrip > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | diff - %t.mlir
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | diff - %t.mlir

// The indexer's operations in every form.

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>

// CHECK: #[[MLA:kv.*]] = #kvcache.layout<f8E4M3FN

// CHECK-LABEL: func @remap_indices
func.func @remap_indices(%k: !kvcache.cache<key, #mla>, %i: memref<?x2048xi32>, %d: memref<?x?xi32, strided<[?, 1], offset: ?>>,
                         %s: memref<?x2048xi64>, %t: memref<?x?xi32>, %offsets: memref<?xi32>) {
  // CHECK: kvcache.remap_indices indices(%{{.*}} : memref<?x2048xi32>) from(%{{.*}} : !kvcache.cache<key, #[[MLA]]>) into(%{{.*}} : memref<?x2048xi64>)
  kvcache.remap_indices indices(%i : memref<?x2048xi32>) from(%k : !kvcache.cache<key, #mla>) into(%s : memref<?x2048xi64>)
  // CHECK: kvcache.remap_indices trap indices(%{{.*}} : memref<?x?xi32, strided<[?, 1], offset: ?>>) from(%{{.*}}) into(%{{.*}} : memref<?x?xi32>) tuning(<threads = 64>)
  kvcache.remap_indices trap indices(%d : memref<?x?xi32, strided<[?, 1], offset: ?>>) from(%k : !kvcache.cache<key, #mla>)
      into(%t : memref<?x?xi32>) tuning(<threads = 64>)
  // CHECK: kvcache.remap_indices skip indices(%{{.*}}) from(%{{.*}}) into(%{{.*}} : memref<?x2048xi64>) offsets(%{{.*}} : memref<?xi32>) scale_slots(%{{.*}} : memref<?x?xi32>)
  kvcache.remap_indices skip indices(%i : memref<?x2048xi32>) from(%k : !kvcache.cache<key, #mla>) into(%s : memref<?x2048xi64>)
      offsets(%offsets : memref<?xi32>) scale_slots(%t : memref<?x?xi32>)
  return
}

// CHECK-LABEL: func @topk
func.func @topk(%s: memref<?x?xf32>, %p: memref<?x?xf32, strided<[?, 1], offset: ?>>, %n: memref<?xi32>, %i: memref<?x2048xi32>,
                %one: memref<?x1xi32>, %v: memref<?x2048xf32>) {
  // CHECK: kvcache.topk scores(%{{.*}} : memref<?x?xf32>) live(%{{.*}} : memref<?xi32>) into(%{{.*}} : memref<?x2048xi32>) values(%{{.*}} : memref<?x2048xf32>)
  kvcache.topk scores(%s : memref<?x?xf32>) live(%n : memref<?xi32>) into(%i : memref<?x2048xi32>) values(%v : memref<?x2048xf32>)
  // CHECK: kvcache.topk scores(%{{.*}} : memref<?x?xf32, strided<[?, 1], offset: ?>>) live(%{{.*}}) into(%{{.*}} : memref<?x1xi32>) tuning(<threads = 128>)
  kvcache.topk scores(%p : memref<?x?xf32, strided<[?, 1], offset: ?>>) live(%n : memref<?xi32>) into(%one : memref<?x1xi32>) tuning(<threads = 128>)
  return
}

// CHECK-LABEL: func @indexer_scores
func.func @indexer_scores(%k: !kvcache.cache<key, #mla>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>,
                          %p: memref<?x3x128xf8E4M3FN, strided<[?, 256, 1], offset: ?>>, %x: memref<?x3xf32>,
                          %o: memref<?xi32>, %s: memref<?x?xf32>, %g: memref<f32>) {
  // CHECK: kvcache.indexer_scores queries(%{{.*}}, %{{.*}} : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%{{.*}} : !kvcache.cache<key, #[[MLA]]>) offsets(%{{.*}} : memref<?xi32>) into(%{{.*}} : memref<?x?xf32>)
  kvcache.indexer_scores queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  // CHECK: kvcache.indexer_scores skip causal queries(%{{.*}}, %{{.*}} : memref<?x3x128xf8E4M3FN, strided<[?, 256, 1], offset: ?>>, memref<?x3xf32>) from(%{{.*}}) offsets(%{{.*}}) into(%{{.*}}) global_scale(%{{.*}} : memref<f32>) tuning(<chunks = 4>)
  kvcache.indexer_scores skip causal queries(%p, %x : memref<?x3x128xf8E4M3FN, strided<[?, 256, 1], offset: ?>>, memref<?x3xf32>)
      from(%k : !kvcache.cache<key, #mla>) offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>) global_scale(%g : memref<f32>) tuning(<chunks = 4>)
  return
}

// CHECK-LABEL: func @indexer_topk
func.func @indexer_topk(%k: !kvcache.cache<key, #mla>, %q: memref<?x64x128xf8E4M3FN>, %w: memref<?x64xf32>, %o: memref<?xi32>,
                        %s: memref<?x?xf32>, %i: memref<?x512xi32>, %v: memref<?x512xf32>, %parts: memref<?x?x1024xi32>, %g: memref<f32>) {
  // CHECK: kvcache.indexer_topk causal queries(%{{.*}}, %{{.*}} : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%{{.*}} : !kvcache.cache<key, #[[MLA]]>) offsets(%{{.*}} : memref<?xi32>) into(%{{.*}} : memref<?x512xi32>)
  kvcache.indexer_topk causal queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>)
  // CHECK: kvcache.indexer_topk trap queries(%{{.*}}) from(%{{.*}}) offsets(%{{.*}}) into(%{{.*}}) values(%{{.*}} : memref<?x512xf32>) scores(%{{.*}} : memref<?x?xf32>)
  kvcache.indexer_topk trap queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) values(%v : memref<?x512xf32>) scores(%s : memref<?x?xf32>)
  // CHECK: kvcache.indexer_topk skip causal {{.*}} into(%{{.*}}) workspace(%{{.*}} : memref<?x?x1024xi32>) global_scale(%{{.*}} : memref<f32>) tuning(<threads = 256>)
  kvcache.indexer_topk skip causal queries(%q, %w : memref<?x64x128xf8E4M3FN>, memref<?x64xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x512xi32>) workspace(%parts : memref<?x?x1024xi32>) global_scale(%g : memref<f32>) tuning(<threads = 256>)
  return
}
