// Pools start at multiples of 16 bytes, and so do tensors without an offset in their
// type where accesses are so wide; what does not is named before anything is written.
// RUN: kvcache-run %s --instrument --arg=index:0 --arg=index:0 2>&1 | count 0
// RUN: not kvcache-run %s --instrument --arg=index:8 --arg=index:0 2>&1 | FileCheck %s --check-prefix=POOL
// RUN: not kvcache-run %s --arg=index:8 --arg=index:0 2>&1 | FileCheck %s --check-prefix=POOL
// POOL: aligned.mlir:{{[0-9]+:[0-9]+}}: error: 'kvcache.get_page_pools' op expected 'blocks' to be aligned to 16 bytes, got {{[0-9]+}}
// RUN: not kvcache-run %s --instrument --arg=index:0 --arg=index:1 2>&1 | FileCheck %s --check-prefix=SOURCE
// RUN: not kvcache-run %s --instrument --arg=index:0 --arg=index:2 2>&1 | FileCheck %s --check-prefix=SOURCE
// RUN: not kvcache-run %s --instrument --arg=index:0 --arg=index:8 2>&1 | FileCheck %s --check-prefix=SOURCE
// SOURCE: aligned.mlir:{{[0-9]+:[0-9]+}}: error: 'kvcache.append' op expected operand 0 at a multiple of 16 bytes, got {{[0-9]+}}
// SOURCE-NOT: memcheck

#kv = #kvcache.layout<bf16, params = <num_heads = 2, head_size = 8>, page_size = 4>

func.func @main(%pool_at: index, %source_at: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i8
  %one = arith.constant 1 : i32
  %bytes = memref.alloc() {alignment = 16} : memref<1024xi8>
  %rows = memref.alloc() {alignment = 16} : memref<64xi8>
  %slots = memref.alloc() : memref<1xi32>
  linalg.fill ins(%zero : i8) outs(%bytes : memref<1024xi8>)
  linalg.fill ins(%zero : i8) outs(%rows : memref<64xi8>)
  linalg.fill ins(%one : i32) outs(%slots : memref<1xi32>)
  %bytes_any = memref.cast %bytes : memref<1024xi8> to memref<*xi8>
  gpu.host_register %bytes_any : memref<*xi8>
  %rows_any = memref.cast %rows : memref<64xi8> to memref<*xi8>
  gpu.host_register %rows_any : memref<*xi8>
  %slots_any = memref.cast %slots : memref<1xi32> to memref<*xi32>
  gpu.host_register %slots_any : memref<*xi32>

  %pool = memref.view %bytes[%pool_at][] : memref<1024xi8> to memref<3x2x1x4x2x8xbf16>
  %x = memref.view %rows[%source_at][] : memref<64xi8> to memref<1x2x8xbf16>
  %c = kvcache.get_page_pools blocks(%pool : memref<3x2x1x4x2x8xbf16>) : !kvcache.collection<#kv>
  %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#kv>
  kvcache.append sources(%x : memref<1x2x8xbf16>) into(%k : !kvcache.cache<key, #kv>) slots(%slots : memref<1xi32>)
  return
}
