// RUN: kvcache-opt %s --verify-roundtrip | FileCheck %s

// CHECK: #[[NONE:.*]] = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK: #[[NVFP4:.*]] = #kvcache.layout<f4E2M1FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f8E4M3FN, granularity = 16>>
// CHECK: #[[OWN:.*]] = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 1, scales = <f8E8M0FNU, granularity = 128, table = own>>

module attributes {
  // CHECK-DAG: kvcache_test.params = #kvcache.params<num_heads = 8, head_size = 128>
  kvcache_test.params = #kvcache.params<num_heads = 8, head_size = 128, is_mla = false>,
  // Parameters come in any order.
  // CHECK-DAG: kvcache_test.mla = #kvcache.params<num_heads = 1, head_size = 576, is_mla = true>
  kvcache_test.mla = #kvcache.params<is_mla = true, head_size = 576, num_heads = 1>,
  // CHECK-DAG: kvcache_test.scales = #kvcache.scales<f32, granularity = 128>
  kvcache_test.scales = #kvcache.scales<f32, granularity = 128, table = shared>,
  // CHECK-DAG: kvcache_test.scales_own = #kvcache.scales<bf16, granularity = 1000, table = own>
  kvcache_test.scales_own = #kvcache.scales<bf16, granularity = 1000, table = own>,
  // CHECK-DAG: kvcache_test.layout = #[[NONE]]
  kvcache_test.layout = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>,
  // CHECK-DAG: kvcache_test.layout_own = #[[OWN]]
  kvcache_test.layout_own = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 1, scales = <f8E8M0FNU, granularity = 128, table = own>>,
  // CHECK-DAG: kvcache_test.layout_f4 = #[[NVFP4]]
  kvcache_test.layout_f4 = #kvcache.layout<f4E2M1FN, scales = <f8E4M3FN, granularity = 16>, page_size = 16, params = <num_heads = 8, head_size = 128>>,
  // CHECK-DAG: kvcache_test.rope = #kvcache.rope<bf16, size = 64>
  kvcache_test.rope = #kvcache.rope<bf16, size = 64>
} {}
