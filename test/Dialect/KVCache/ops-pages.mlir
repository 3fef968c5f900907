// RUN: kvcache-opt %s --verify-roundtrip > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: kvcache-opt %s --mlir-print-op-generic | kvcache-opt | diff - %t.mlir
// RUN: kvcache-opt %s --emit-bytecode | kvcache-opt | diff - %t.mlir

// Kernels on whole pages, in every form, and what they are made of.

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#hnd = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>
#own = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>

// CHECK-DAG: #[[GQA:kv.*]] = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK-DAG: #[[HND:kv.*]] = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>
// CHECK-DAG: #[[OWN:kv.*]] = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>

// CHECK-LABEL: func @lookups
func.func @lookups(%c: !kvcache.collection<#gqa>, %s: !kvcache.scales_mha_operand<value, #own>, %block: i32) {
  // CHECK: kvcache.num_layers %{{.*}} : !kvcache.collection<#[[GQA]]>
  %0 = kvcache.num_layers %c : !kvcache.collection<#gqa>
  // CHECK: kvcache.page_pitch %{{.*}} : !kvcache.scales_mha_operand<value, #[[OWN]]>
  %1 = kvcache.page_pitch %s : !kvcache.scales_mha_operand<value, #own>
  // CHECK: kvcache.page_ptr %{{.*}}[%{{.*}}] : !kvcache.scales_mha_operand<value, #[[OWN]]> -> memref<i8>
  %2 = kvcache.page_ptr %s[%block] : !kvcache.scales_mha_operand<value, #own> -> memref<i8>
  return
}

// CHECK-LABEL: func @clear_pages
func.func @clear_pages(%c: !kvcache.collection<#gqa>, %o: !kvcache.collection<#own>, %i32: memref<?xi32>, %i64: memref<?xi64>) {
  // CHECK: kvcache.clear_pages %{{.*}} pages(%{{.*}} : memref<?xi32>) : !kvcache.collection<#[[GQA]]>
  kvcache.clear_pages %c pages(%i32 : memref<?xi32>) : !kvcache.collection<#gqa>
  // CHECK: kvcache.clear_pages trap %{{.*}} pages(%{{.*}}, %{{.*}} : memref<?xi64>, memref<?xi32>) layers = [2, 0] tuning(<threads = 64>) : !kvcache.collection<#[[OWN]]>
  kvcache.clear_pages trap %o pages(%i64, %i32 : memref<?xi64>, memref<?xi32>) layers = [2, 0] tuning(<threads = 64>)
      : !kvcache.collection<#own>
  // CHECK: kvcache.clear_pages skip %{{.*}} pages(%{{.*}} : memref<?xi64>) layers = [] : !kvcache.collection<#[[GQA]]>
  kvcache.clear_pages skip %c pages(%i64 : memref<?xi64>) layers = [] : !kvcache.collection<#gqa>
  return
}

// CHECK-LABEL: func @copy_pages
func.func @copy_pages(%c: !kvcache.collection<#gqa>, %o: !kvcache.collection<#own>, %i32: memref<?x2xi32>,
                      %i64: memref<?x2xi64, strided<[?, 1], offset: ?>>, %w: memref<?xi32>) {
  // CHECK: kvcache.copy_pages skip %{{.*}} pairs(%{{.*}} : memref<?x2xi32>) workspace(%{{.*}} : memref<?xi32>) : !kvcache.collection<#[[GQA]]>
  kvcache.copy_pages skip %c pairs(%i32 : memref<?x2xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  // CHECK: kvcache.copy_pages %{{.*}} pairs(%{{.*}}, %{{.*}} : memref<?x2xi64, strided<[?, 1], offset: ?>>, memref<?x2xi32>) disjoint layers = [1] tuning(<chunks = 8>) : !kvcache.collection<#[[OWN]]>
  kvcache.copy_pages %o pairs(%i64, %i32 : memref<?x2xi64, strided<[?, 1], offset: ?>>, memref<?x2xi32>) disjoint
      layers = [1] tuning(<chunks = 8>) : !kvcache.collection<#own>
  return
}

// CHECK-LABEL: func @move_tokens
func.func @move_tokens(%c: !kvcache.collection<#gqa>, %o: !kvcache.collection<#own>, %i32: memref<?xi32>, %i64: memref<?xi64>,
                       %w: memref<64xi32>) {
  // CHECK: kvcache.move_tokens trap %{{.*}} from(%{{.*}} : memref<?xi64>) to(%{{.*}} : memref<?xi64>) workspace(%{{.*}} : memref<64xi32>) : !kvcache.collection<#[[GQA]]>
  kvcache.move_tokens trap %c from(%i64 : memref<?xi64>) to(%i64 : memref<?xi64>) workspace(%w : memref<64xi32>)
      : !kvcache.collection<#gqa>
  // CHECK: kvcache.move_tokens %{{.*}} from(%{{.*}}, %{{.*}} : memref<?xi32>, memref<?xi64>) to(%{{.*}}, %{{.*}} : memref<?xi32>, memref<?xi64>) disjoint layers = [0] : !kvcache.collection<#[[OWN]]>
  kvcache.move_tokens %o from(%i32, %i64 : memref<?xi32>, memref<?xi64>) to(%i32, %i64 : memref<?xi32>, memref<?xi64>)
      disjoint layers = [0] : !kvcache.collection<#own>
  return
}

// CHECK-LABEL: func @compact
func.func @compact(%c: !kvcache.collection<#gqa>, %o: !kvcache.collection<#own>, %new: memref<?x?xi32>,
                   %strided: memref<4x9xi32, strided<[16, 1]>>, %w: memref<?xi32>) {
  // CHECK: kvcache.compact skip %{{.*}} into(%{{.*}} : memref<?x?xi32>) workspace(%{{.*}} : memref<?xi32>) : !kvcache.collection<#[[GQA]]>
  kvcache.compact skip %c into(%new : memref<?x?xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  // CHECK: kvcache.compact %{{.*}} into(%{{.*}}, %{{.*}} : memref<?x?xi32>, memref<4x9xi32, strided<[16, 1]>>) workspace(%{{.*}} : memref<?xi32>) tuning(<chunks = 2>) : !kvcache.collection<#[[OWN]]>
  kvcache.compact %o into(%new, %strided : memref<?x?xi32>, memref<4x9xi32, strided<[16, 1]>>) workspace(%w : memref<?xi32>)
      tuning(<chunks = 2>) : !kvcache.collection<#own>
  return
}

// CHECK-LABEL: func @convert_layout
func.func @convert_layout(%c: !kvcache.collection<#gqa>, %h: !kvcache.collection<#hnd>) {
  // CHECK: kvcache.convert_layout %{{.*}} into %{{.*}} : !kvcache.collection<#[[GQA]]> into !kvcache.collection<#[[HND]]>
  kvcache.convert_layout %c into %h : !kvcache.collection<#gqa> into !kvcache.collection<#hnd>
  // CHECK: kvcache.convert_layout trap %{{.*}} into %{{.*}} layers = [7] tuning(<threads = 64>) : !kvcache.collection<#[[HND]]> into !kvcache.collection<#[[GQA]]>
  kvcache.convert_layout trap %h into %c layers = [7] tuning(<threads = 64>) : !kvcache.collection<#hnd> into !kvcache.collection<#gqa>
  return
}
