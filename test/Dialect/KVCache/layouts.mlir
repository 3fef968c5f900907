// RUN: kvcache-opt %s --verify-roundtrip | FileCheck %s

// What other projects publish, as values of the layout.

module attributes {
  // Rows of 656 bytes: 512 codes, 4 scales, 64 elements that are not quantised.
  // CHECK-DAG: #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
  kvcache_test.row656 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>,
  // Pages of 576 bytes a token, then 8 a token, padded.
  // CHECK-DAG: #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 64, scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>
  kvcache_test.row584 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 64, scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>,
  // Keys of an indexer, 132 bytes a token.
  // CHECK-DAG: #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = page_split>
  kvcache_test.indexer = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = page_split>,
  // A scale a token and head, keys and values side by side.
  // CHECK-DAG: #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>, placement = inline, kv_inner = true>
  kvcache_test.token_head = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>, placement = inline, kv_inner = true>,
  // NVFP4, heads outside of tokens, the values' scales interleaved.
  // CHECK-DAG: #kvcache.layout<f4E2M1FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>
  kvcache_test.nvfp4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>,
  // Defaults are not printed.
  // CHECK-DAG: #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
  kvcache_test.defaults = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, placement = pool, order = nhd, kv_inner = false, footer = 0, page_align = 0, swizzle = none>,
  // CHECK-DAG: #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>
  kvcache_test.pool_hnd = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>,
  // Interleaving is of any placement; MLA keys too.
  // CHECK-DAG: #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 4, scales = <f32, granularity = 16, table = own>, swizzle = kv>
  kvcache_test.keys = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 4, scales = <f32, granularity = 16, table = own>, swizzle = kv>,
  // The largest footer: what is left of 2^32 - 1 bytes.
  // CHECK-DAG: #kvcache.layout<i8, params = <num_heads = 1, head_size = 1, is_mla = true>, page_size = 1, scales = <f32, granularity = 1>, placement = page_split, footer = 4294967294>
  kvcache_test.largest = #kvcache.layout<i8, params = <num_heads = 1, head_size = 1, is_mla = true>, page_size = 1, scales = <f32, granularity = 1>, placement = page_split, footer = 4294967294>
} {}
