// A kernel that is written by hand takes collections as kernel operations do: what
// their pages promise is compared before it is launched, once for each that is not
// made in sight.
// RUN: kvcache-opt %s -kvcache-instrument | FileCheck %s
// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_90a instrument=true output=%t" -o /dev/null
// RUN: FileCheck %s --check-prefix=RECORD --input-file=%t/given.json

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 32>, page_size = 4,
                      scales = <f32, granularity = 16>>

// CHECK-LABEL: func @given
// CHECK-DAG: cf.assert %{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'gpu.launch' op expected a page pitch of 'values' of at least a page, in bytes"
// CHECK-DAG: cf.assert %{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'gpu.launch' op expected a page pitch of 'values' that is a multiple of 64 bytes"
// CHECK-DAG: cf.assert %{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'gpu.launch' op expected a page pitch of 'scales' of at least a page, in bytes"
// CHECK-DAG: cf.assert %{{.*}}, "{{[^ ]*}}:{{[0-9]+:[0-9]+}}: 'gpu.launch' op expected as many scales blocks (NBs) as value blocks (NB) where both share a table"
// CHECK: gpu.launch blocks
// RECORD-DAG: 'gpu.launch' op expected a page pitch of 'values' of at least a page, in bytes
// RECORD-DAG: 'gpu.launch' op expected a page pitch of 'scales' that is a multiple of 16 bytes
func.func @given(%c: !kvcache.collection<#kv> {kvcache.name = "c"}, %layer: index {kvcache.name = "layer"},
                 %out: memref<?xf32> {kvcache.name = "out"}) {
  %c1 = arith.constant 1 : index
  %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %x = kvcache.load %k[%bx, %tx, %bx, %tx] : !kvcache.cache<key, #kv> -> f32
    memref.store %x, %out[%tx] : memref<?xf32>
    gpu.terminator
  }
  return
}

// What is made in sight is compared where it is made.
// CHECK-LABEL: func @made
// CHECK-NOT: 'gpu.launch' op expected a page pitch
func.func @made(%blocks: memref<?x2x?x4x2x32xf8E4M3FN>, %scales: memref<?x2x?x4x2x2xf32>, %lengths: memref<?xi32>,
                %table: memref<?x?xi32>, %max: memref<1xi32>, %layer: index, %out: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x4x2x32xf8E4M3FN>) lengths(%lengths : memref<?xi32>)
      table(%table : memref<?x?xi32>) max_prompt(%max : memref<1xi32>) max_cache(%max : memref<1xi32>)
      scales(%scales : memref<?x2x?x4x2x2xf32>) : !kvcache.collection<#kv>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %k = kvcache.get_key_cache %c[%layer] : !kvcache.collection<#kv>
    %x = kvcache.load %k[%bx, %tx, %bx, %tx] : !kvcache.cache<key, #kv> -> f32
    memref.store %x, %out[%tx] : memref<?xf32>
    gpu.terminator
  }
  return
}
