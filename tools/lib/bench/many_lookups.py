# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A kernel with so many lookups that compile time shows."""


def module(count):
    """A straight line of `count` scale lookups at tokens that lie in pages of
    their own, so that no two share a table read."""
    lookups = "".join(f"""
    %o{n} = arith.constant {n} : index
    %t{n} = arith.addi %t, %o{n} : index
    %v{n} = kvcache.load_scale %cache[%b, %t{n}, %h, %d] : !kvcache.cache<key, #kv> -> f32
    %s{n + 1} = arith.addf %s{n}, %v{n} : f32""" for n in range(count))
    return f"""#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16,
                      scales = <f32, granularity = 128, table = own>>
gpu.module @many {{
  gpu.func @lookups(%cache: !kvcache.cache<key, #kv>, %b: index, %t: index, %h: index, %d: index,
                    %out: memref<1xf32>) kernel {{
    %zero = arith.constant 0 : index
    %s0 = arith.constant 0.0 : f32{lookups}
    memref.store %s{count}, %out[%zero] : memref<1xf32>
    gpu.return
  }}
}}
"""
