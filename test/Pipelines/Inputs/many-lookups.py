# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a kernel with so many lookups of scales in one block."""
import sys

print("""#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>,
                      page_size = 64, scales = <f32, granularity = 128, table = own>>
gpu.module @kernels {
  gpu.func @many(%s: !kvcache.scales_mha_operand<key, #kv>, %out: memref<?xf32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %c0 = arith.constant 0 : index""")
for i in range(int(sys.argv[1])):
    print(f"""    %k{i} = arith.constant {i * 37} : index
    %t{i} = arith.addi %t, %k{i} : index
    %p{i} = kvcache.block_paged_ptr %s[%b, %t{i}, %c0, %c0] : !kvcache.scales_mha_operand<key, #kv> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
    %v{i} = memref.load %p{i}[%c0, %c0] : memref<1x1xf32, strided<[1, 1], offset: ?>>
    memref.store %v{i}, %out[%t{i}] : memref<?xf32>""")
print("    gpu.return\n  }\n}")
