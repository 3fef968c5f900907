// RUN: kvcache-opt %s --verify-roundtrip | FileCheck %s

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// CHECK-DAG: #[[GQA:.*]] = #kvcache.layout<bf16
// CHECK-DAG: #[[MLA:.*]] = #kvcache.layout<f8E4M3FN

// CHECK: func private @collection(!kvcache.collection<#[[MLA]]>) -> !kvcache.collection<#[[GQA]]>
func.func private @collection(!kvcache.collection<#kv>) -> !kvcache.collection<#gqa>
// CHECK: func private @cache(!kvcache.cache<key, #[[MLA]]>, !kvcache.cache<value, #[[GQA]]>)
func.func private @cache(!kvcache.cache<key, #kv>, !kvcache.cache<value, #gqa>)
// CHECK: func private @mha_operand(!kvcache.mha_operand<key, #[[MLA]]>, !kvcache.mha_operand<value, #[[GQA]]>)
func.func private @mha_operand(!kvcache.mha_operand<key, #kv>, !kvcache.mha_operand<value, #gqa>)
// CHECK: func private @scales_mha_operand(!kvcache.scales_mha_operand<key, #[[MLA]]>)
func.func private @scales_mha_operand(!kvcache.scales_mha_operand<key, #kv>)
// A layout may be spelled in place.
// CHECK: func private @in_place(!kvcache.cache<key, #[[GQA]]>)
func.func private @in_place(!kvcache.cache<key, <bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>>)
