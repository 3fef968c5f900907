// RUN: kvcache-opt %s --split-input-file --verify-diagnostics

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#q = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>

func.func @three(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected one or two targets, got 3}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k, %k, %k : !kvcache.cache<key, #gqa>, !kvcache.cache<key, #gqa>, !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @no_source(%k: !kvcache.cache<key, #gqa>, %v: !kvcache.cache<value, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected a source for each target, got 1 and 2}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#other = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 32>

func.func @layouts(%k: !kvcache.cache<key, #gqa>, %v: !kvcache.cache<value, #other>, %x: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error-re@+1 {{'kvcache.append' op expected caches of one layout, got #kvcache.layout<{{.*}}page_size = 16> and #kvcache.layout<{{.*}}page_size = 32>}}
  kvcache.append sources(%x, %x : memref<?x8x128xbf16>, memref<?x8x128xbf16>) into(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #other>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @no_scales(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %s: memref<?x8x1xf32>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected no 'scales', since the layout has none; add 'scales = <...>' to the layout or drop the operand}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>) scales(%s : memref<?x8x1xf32>)
  return
}

// -----

#q = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>

func.func @scale_count(%k: !kvcache.cache<key, #q>, %v: !kvcache.cache<value, #q>, %x: memref<?x2x64xf8E4M3FN>, %s: memref<?x2x2xf32>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected no scales or some for each target, got 1 and 2}}
  kvcache.append sources(%x, %x : memref<?x2x64xf8E4M3FN>, memref<?x2x64xf8E4M3FN>) into(%k, %v : !kvcache.cache<key, #q>, !kvcache.cache<value, #q>) ragged(%o : memref<?xi32>) scales(%s : memref<?x2x2xf32>)
  return
}

// -----

#q = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>

func.func @not_codes(%k: !kvcache.cache<key, #q>, %x: memref<?x2x64xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected 'sources' of 'f8E4M3FN', got 'bf16'}}
  kvcache.append sources(%x : memref<?x2x64xbf16>) into(%k : !kvcache.cache<key, #q>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @dtype(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xi8>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected 'sources' of 'bf16', 'f32' or 'f16', got 'i8'}}
  kvcache.append sources(%x : memref<?x8x128xi8>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @rank(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected 'sources' of rank 4 [B, S, H, D], got rank 3}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) padded(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @heads(%k: !kvcache.cache<key, #gqa>, %x: memref<?x4x128xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected dimension 1 (H) of 'sources' to be 8, got 4}}
  kvcache.append sources(%x : memref<?x4x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @dynamic_head(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x?xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected dimension 2 (D) of 'sources' to be 128, got a dynamic size; it must be static}}
  kvcache.append sources(%x : memref<?x8x?xbf16>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @stride(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16, strided<[2048, 256, 2]>>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected the last stride of 'sources' to be 1, got 2}}
  kvcache.append sources(%x : memref<?x8x128xbf16, strided<[2048, 256, 2]>>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @memory_space(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16, 3>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected 'sources' in the default memory space, got 3 : i64; use memref.memory_space_cast}}
  kvcache.append sources(%x : memref<?x8x128xbf16, 3>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @offsets_64(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi64>) {
  // expected-error@+1 {{'kvcache.append' op expected 'row_offsets' of 'i32', got 'i64'}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) ragged(%o : memref<?xi64>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @positions(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected 2 operands (sequences, positions) in form 'positions', got 1}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) positions(%o : memref<?xi32>)
  return
}

// -----

#q = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32, table = own>>

func.func @scale_slots(%k: !kvcache.cache<key, #q>, %x: memref<?x2x64xf8E4M3FN>, %s: memref<?x2x2xf32>, %o: memref<?xi64>) {
  // expected-error@+1 {{'kvcache.append' op expected 2 operands (slots, scale_slots) in form 'slots', got 1}}
  kvcache.append sources(%x : memref<?x2x64xf8E4M3FN>) into(%k : !kvcache.cache<key, #q>) slots(%o : memref<?xi64>) scales(%s : memref<?x2x2xf32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @slots_16(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi16>) {
  // expected-error@+1 {{'kvcache.append' op expected 'slots' of 'i32' or 'i64', got 'i16'}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) slots(%o : memref<?xi16>)
  return
}

// -----

// expected-error@+1 {{expected threads to be 0 or a multiple of 32 up to 1024, got 100}}
#tuning = #kvcache.tuning<threads = 100>

// -----

// expected-error@+1 {{expected chunks from 0 to 64, got 65}}
#tuning = #kvcache.tuning<chunks = 65>

// -----

// expected-error@+1 {{expected blocks_per_sm from 0 to 32, got -1}}
#tuning = #kvcache.tuning<blocks_per_sm = -1>

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @rows_of_sources(%k: !kvcache.cache<key, #gqa>, %v: !kvcache.cache<value, #gqa>, %x: memref<5x8x128xbf16>, %y: memref<4x8x128xbf16>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected dimension 0 of 'the first source' and of 'another one' to be the same, got 5 and 4}}
  kvcache.append sources(%x, %y : memref<5x8x128xbf16>, memref<4x8x128xbf16>)
      into(%k, %v : !kvcache.cache<key, #gqa>, !kvcache.cache<value, #gqa>) ragged(%o : memref<?xi32>)
  return
}

// -----

#q = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 32>>

func.func @rows_of_scales(%k: !kvcache.cache<key, #q>, %x: memref<5x2x64xf8E4M3FN>, %s: memref<6x2x2xf32>, %o: memref<?xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected dimension 0 of 'the first source' and of 'another one' to be the same, got 5 and 6}}
  kvcache.append sources(%x : memref<5x2x64xf8E4M3FN>) into(%k : !kvcache.cache<key, #q>) ragged(%o : memref<?xi32>)
      scales(%s : memref<6x2x2xf32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @few_positions(%k: !kvcache.cache<key, #gqa>, %x: memref<5x8x128xbf16>, %o: memref<?xi32>, %p: memref<4xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected at least as many 'sequences' and 'positions' as rows (T), got 4 and 5}}
  kvcache.append sources(%x : memref<5x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) positions(%o, %p : memref<?xi32>, memref<4xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @few_slots(%k: !kvcache.cache<key, #gqa>, %x: memref<5x8x128xbf16>, %o: memref<4xi64>) {
  // expected-error@+1 {{'kvcache.append' op expected at least as many slots as rows (T), got 4 and 5}}
  kvcache.append sources(%x : memref<5x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) slots(%o : memref<4xi64>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @new_lengths(%k: !kvcache.cache<key, #gqa>, %x: memref<3x?x8x128xbf16>, %n: memref<2xi32>) {
  // expected-error@+1 {{'kvcache.append' op expected dimension 0 of 'the first source' and of 'new_lengths' to be the same, got 3 and 2}}
  kvcache.append sources(%x : memref<3x?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) padded(%n : memref<2xi32>)
  return
}

// -----

#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

func.func @workspace(%k: !kvcache.cache<key, #gqa>, %x: memref<?x8x128xbf16>, %o: memref<?xi64>, %w: memref<?xi64>) {
  // expected-error@+1 {{'kvcache.append' op expected 'workspace' of 'i32', got 'i64'}}
  kvcache.append sources(%x : memref<?x8x128xbf16>) into(%k : !kvcache.cache<key, #gqa>) slots(%o : memref<?xi64>) workspace(%w : memref<?xi64>)
  return
}
