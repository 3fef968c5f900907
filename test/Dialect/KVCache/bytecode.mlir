// Layouts and types in bytecode: what is written can be read, also what the first
// version wrote.
//
// RUN: kvcache-opt %s --emit-bytecode -o %t.mlirbc
// RUN: kvcache-opt %t.mlirbc | diff - %S/Inputs/bytecode-v1.txt
// RUN: kvcache-opt %S/Inputs/bytecode-v1.mlirbc | diff - %S/Inputs/bytecode-v1.txt
//
// What a later version wrote (the first file, with another version's number in it)
// is refused, and not half read.
// RUN: not kvcache-opt %S/Inputs/bytecode-newer.mlirbc 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: expected bytecode of the kvcache dialect of version 1 to 1, got 2; use a newer kvcache
// NEWER-NOT: func.func
//
// The encoding is ours, not text.
// RUN: not grep -q page_size %t.mlirbc

#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64,
    scales = <f32, granularity = 64, table = own>>
#model1 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 64,
    scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>
#nvfp4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 32>, page_size = 64,
    scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>
#inner = #kvcache.layout<f8E5M2, params = <num_heads = 2, head_size = 32>, page_size = 8,
    scales = <f16, granularity = 32>, placement = inline, kv_inner = true>

func.func private @types(!kvcache.collection<#plain>, !kvcache.cache<value, #nvfp4>, !kvcache.cache<key, #inner>,
                         !kvcache.mha_operand<key, #model1>, !kvcache.scales_mha_operand<key, #own>)
func.func @load(%k: !kvcache.cache<key, #own>, %i: index) -> f32 {
  %x = kvcache.load skip %k[%i, %i, %i, %i] : !kvcache.cache<key, #own> -> f32
  return %x : f32
}
func.func private @others() attributes {test_a = #kvcache.tuning<threads = 128>, test_b = #kvcache.norm<eps = 1.0e-6>}
