// What keeps kernels from accesses of 16 bytes and arithmetic of 32 bits is
// said, with the number that does.
// RUN: kvcache-opt %s --kvcache-expand-kernels --split-input-file --verify-diagnostics -o /dev/null

#kv = #kvcache.layout<bf16, params = <num_heads = 3, head_size = 46>, page_size = 16>
func.func @layout(%k: !kvcache.cache<key, #kv>, %x: memref<?x3x46xbf16>, %b: memref<?xi32>, %p: memref<?xi32>, %out: memref<?x?x3x46xf32>) {
  // expected-remark @below {{appends by accesses of 4 bytes, not 16: a row has 276 bytes}}
  // expected-remark @below {{rows of tensors start at multiples of 4 bytes, not 16: stride 0 of memref<?x3x46xbf16> is 276 bytes}}
  kvcache.append sources(%x : memref<?x3x46xbf16>) into(%k : !kvcache.cache<key, #kv>)
      positions(%b, %p : memref<?xi32>, memref<?xi32>)
  // expected-remark @below {{reads values by accesses of 4 bytes, not 16: a row has 276 bytes}}
  // expected-remark @below {{rows of tensors start at multiples of 8 bytes, not 16: stride 1 of memref<?x?x3x46xf32> is 552 bytes}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x3x46xf32>)
  return
}

// -----

// Eight heads of 92 bytes are rows of 736, which 16 divides.
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 46>, page_size = 16>
func.func @rows(%k: !kvcache.cache<key, #kv>, %out: memref<?x?x8x46xf32>) {
  // expected-remark@+1 {{pages are numbered in 64 bits: a block of threads has 5 of them}}
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x8x46xf32>)
  return
}

// -----

// Strides and offsets of run time.
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
!slice = memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>>
!wide = memref<?x8x128xbf16, strided<[1028, 128, 1]>>
func.func @strides(%k: !kvcache.cache<key, #kv>, %x: !slice, %y: !wide, %b: memref<?xi32>, %p: memref<?xi32>) {
  // expected-remark @below {{two kernels, for rows at multiples of 16 and of 2 bytes: the offset of memref<?x8x128xbf16, strided<[?, 128, 1], offset: ?>> is known at run time only}}
  kvcache.append sources(%x : !slice) into(%k : !kvcache.cache<key, #kv>)
      positions(%b, %p : memref<?xi32>, memref<?xi32>)
  // expected-remark @below {{rows of tensors start at multiples of 8 bytes, not 16: stride 0 of memref<?x8x128xbf16, strided<[1028, 128, 1]>> is 2056 bytes}}
  kvcache.append sources(%y : !wide) into(%k : !kvcache.cache<key, #kv>)
      positions(%b, %p : memref<?xi32>, memref<?xi32>)
  return
}

// -----

// Queries of the indexer: of any byte, of 16 where the host finds so, of two.
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128, table = own>>
!odd = memref<?x8x128xf8E4M3FN, strided<[1025, 128, 1]>>
!open = memref<?x8x128xf8E4M3FN, strided<[?, ?, 1]>>
!even = memref<?x8x128xf8E4M3FN, strided<[1026, 128, 1]>>
func.func @queries(%k: !kvcache.cache<key, #mla>, %x: !odd, %y: !open, %z: !even, %packed: memref<?x8x128xf8E4M3FN>, %w: memref<?x8xf32>, %o: memref<?xi32>, %i: memref<?x64xi32>, %s: memref<?x?xf32>) {
  // expected-remark @below {{rows of tensors start at multiples of 1 bytes, not 16: stride 0 of memref<?x8x128xf8E4M3FN, strided<[1025, 128, 1]>> is 1025 bytes}}
  kvcache.indexer_topk queries(%x, %w : !odd, memref<?x8xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x64xi32>)
  // expected-remark @below {{two ways to read queries, for rows at multiples of 16 and of 1 bytes: stride 0 of memref<?x8x128xf8E4M3FN, strided<[?, ?, 1]>> is known at run time only}}
  kvcache.indexer_topk queries(%y, %w : !open, memref<?x8xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%i : memref<?x64xi32>)
  // expected-remark @below {{rows of tensors start at multiples of 2 bytes, not 16: stride 0 of memref<?x8x128xf8E4M3FN, strided<[1026, 128, 1]>> is 1026 bytes}}
  kvcache.indexer_scores queries(%z, %w : !even, memref<?x8xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  kvcache.indexer_scores queries(%packed, %w : memref<?x8x128xf8E4M3FN>, memref<?x8xf32>) from(%k : !kvcache.cache<key, #mla>)
      offsets(%o : memref<?xi32>) into(%s : memref<?x?xf32>)
  return
}

// -----

// Nothing to say: sizes of run time are no strides of run time.
#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576>>
func.func @sizes(%k: !kvcache.cache<key, #kv>, %x: memref<?x1x576xbf16>, %out: memref<?x?x1x576xbf16>, %b: memref<?xi32>, %p: memref<?xi32>) {
  kvcache.gather from(%k : !kvcache.cache<key, #kv>) into(%out : memref<?x?x1x576xbf16>)
  kvcache.quantize_append sources(%x : memref<?x1x576xbf16>) into(%k : !kvcache.cache<key, #kv>)
      positions(%b, %p : memref<?xi32>, memref<?xi32>)
      quant(#kvcache.quantization<contract = arbitrary, floor = 0.0, floor_on = scale, apply = inverse>)
  return
}

// -----

#kv = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 40>, page_size = 16, scales = <f32, granularity = 12>>
func.func @granules(%k: !kvcache.cache<key, #kv>, %x: memref<?x1x40xbf16>, %b: memref<?xi32>, %p: memref<?xi32>) {
  // expected-remark @below {{reads rows by accesses of 8 bytes, not 16: a granule has 24 bytes}}
  kvcache.quantize_append sources(%x : memref<?x1x40xbf16>) into(%k : !kvcache.cache<key, #kv>)
      positions(%b, %p : memref<?xi32>, memref<?xi32>)
      quant(#kvcache.quantization<contract = arbitrary, floor = 0.0, floor_on = scale, apply = inverse>)
  return
}

// -----

// 64 bits.
#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
func.func @indices(%k: !kvcache.cache<key, #kv>, %x: memref<?x8x128xbf16>, %slots: memref<?xi64>, %offsets: memref<?xi32>) {
  // expected-remark @below {{slots are divided in 64 bits: 'memref<?xi64>' has more than 32}}
  kvcache.append skip sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #kv>)
      slots(%slots : memref<?xi64>)
  // expected-remark @below {{positions are computed in 64 bits: under 'skip' nothing promises that lengths and new rows add up to less than 2^32}}
  kvcache.append skip sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%offsets : memref<?xi32>)
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #kv>)
      ragged(%offsets : memref<?xi32>)
  return
}

// -----

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
!blocks = memref<?x2x?x16x8x128xbf16, strided<[?, ?, 16384, 1024, 128, 1]>>
func.func @pages(%blocks: !blocks, %pairs: memref<?x2xi32>) {
  %c = kvcache.get_page_pools blocks(%blocks : !blocks) : !kvcache.collection<#kv>
  kvcache.copy_pages skip %c pairs(%pairs : memref<?x2xi32>) disjoint : !kvcache.collection<#kv>
  return
}
