// RUN: kvcache-opt %s --convert-kvcache-to-memref --canonicalize --cse | FileCheck %s

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 32, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>>
#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// Pitches and strides come from the memrefs, in bytes for pools; static ones are
// constants. The offset of a memref moves its base.

// CHECK-LABEL: func.func @collection(
// CHECK-SAME: %[[BLOCKS:[a-z0-9]+]]: memref<?x2x?x16x8x128xf8E4M3FN, strided<[?, ?, 16384, 1024, 128, 1], offset: ?>>
// CHECK-SAME: %[[LENGTHS:[a-z0-9]+]]: memref<?xi32>, %[[TABLE:[a-z0-9]+]]: memref<?x?xi32, strided<[?, 1]>>
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: memref<4x2x3x16x8x4xf32>
func.func @collection(%blocks: memref<?x2x?x16x8x128xf8E4M3FN, strided<[?, ?, 16384, 1024, 128, 1], offset: ?>>,
                      %lengths: memref<?xi32>, %table: memref<?x?xi32, strided<[?, 1]>>,
                      %max_prompt: memref<1xi32>, %max_cache: memref<1xi32>,
                      %scales: memref<4x2x3x16x8x4xf32>, %scales_table: memref<?x?xi32>) -> !kvcache.collection<#own> {
  // CHECK: %[[ALIGNED:.*]] = memref.assume_alignment %[[BLOCKS]], 16
  // CHECK: %[[BASE:.*]], %[[OFFSET:.*]], %[[SIZES:.*]]:6, %[[STRIDES:.*]]:6 = memref.extract_strided_metadata %[[ALIGNED]]
  // CHECK: %[[VALUES:.*]] = kvcache.byte_view %[[BASE]][%[[OFFSET]]] : memref<f8E4M3FN> to memref<f8E4M3FN>
  // CHECK: %[[TBASE:[a-z0-9_]+]], %{{.*}}, %[[TSIZES:.*]]:2, %[[TSTRIDES:.*]]:2 = memref.extract_strided_metadata %[[TABLE]]
  // CHECK: %[[TSTRIDE:.*]] = arith.index_castui %[[TSTRIDES]]#0 : index to i32
  // CHECK: %[[SALIGNED:.*]] = memref.assume_alignment %[[SCALES]], 16
  // CHECK: %[[SBASE:[a-z0-9_]+]], %{{.*}} = memref.extract_strided_metadata %[[SALIGNED]]
  // CHECK-NOT: memref.load
  // CHECK: return %[[VALUES]], %[[STRIDES]]#0, %[[SIZES]]#0, %[[TBASE]], %[[TSTRIDE]], %[[SBASE]], %c12288, %c4,
  // CHECK-SAME: %[[TSIZES]]#0, %[[TSIZES]]#1, %{{.*}}, %{{.*}}, %[[SIZES]]#2 :
  %c = kvcache.get_paged_cache blocks(%blocks : memref<?x2x?x16x8x128xf8E4M3FN, strided<[?, ?, 16384, 1024, 128, 1], offset: ?>>)
      lengths(%lengths : memref<?xi32>) table(%table : memref<?x?xi32, strided<[?, 1]>>)
      max_prompt(%max_prompt : memref<1xi32>) max_cache(%max_cache : memref<1xi32>)
      scales(%scales : memref<4x2x3x16x8x4xf32>) scales_table(%scales_table : memref<?x?xi32>) : !kvcache.collection<#own>
  return %c : !kvcache.collection<#own>
}

// Keys start layer layers into a block, values L + layer layers.

// CHECK-LABEL: func.func @value_cache(
// CHECK-SAME: %[[VALUES:[a-z0-9]+]]: memref<f8E4M3FN>
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: memref<f32>
// CHECK-SAME: %[[LAYERS:[a-z0-9]+]]: index, %[[LAYER:[a-z0-9]+]]: index)
// CHECK: %[[AT:.*]] = arith.addi %[[LAYERS]], %[[LAYER]] : index
// CHECK: %[[BYTES:.*]] = arith.muli %[[AT]], %c16384 : index
// CHECK: kvcache.byte_view %[[VALUES]][%[[BYTES]]] : memref<f8E4M3FN> to memref<f8E4M3FN>
// CHECK: %[[SBYTES:.*]] = arith.muli %[[AT]], %c2048 : index
// CHECK: kvcache.byte_view %[[SCALES]][%[[SBYTES]]] : memref<f32> to memref<f32>
func.func @value_cache(%c: !kvcache.collection<#shared>, %layer: index) -> !kvcache.cache<value, #shared> {
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#shared>
  return %v : !kvcache.cache<value, #shared>
}

// A cast names the shared table twice.

// CHECK-LABEL: func.func @cast(
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: memref<i32>, %[[STRIDE:[a-z0-9]+]]: i32, %[[SCALES:[a-z0-9]+]]: memref<f32>, %[[PITCH:[a-z0-9]+]]: index, %[[BLOCKS:[a-z0-9]+]]: index,
// CHECK: return {{.*}}%[[TABLE]], %[[STRIDE]], %[[SCALES]], %[[PITCH]], %[[BLOCKS]], %[[TABLE]], %[[STRIDE]],
func.func @cast(%k: !kvcache.cache<key, #shared>) -> !kvcache.cache<key, #own> {
  %0 = kvcache.cast %k : !kvcache.cache<key, #shared> to !kvcache.cache<key, #own>
  return %0 : !kvcache.cache<key, #own>
}

// Rows are those of the pool that the operand speaks of: its table, its pitch.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<f32>, %[[PITCH:[a-z0-9]+]]: index, %[[BLOCKS:[a-z0-9]+]]: index, %[[TABLE:[a-z0-9]+]]: memref<i32>
// CHECK: kvcache.table_read %[[TABLE]]
// CHECK: %[[ROWS:.*]] = arith.shrui %[[PITCH]], %c7 : index
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[ROWS]] : index
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %{{.*}} : index
// CHECK: %[[BEFORE:.*]] = arith.subi %[[BLOCKS]], %c1 : index
// CHECK: %[[MOST:.*]] = arith.muli %[[BEFORE]], %[[ROWS]] : index
// CHECK: %[[COUNT:.*]] = arith.addi %[[MOST]], %c16 : index
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[BLOCKS]], %c0 : index
// CHECK: %[[NUMBER:.*]] = arith.select %[[NONE]], %c0, %[[COUNT]] : index
// CHECK: return %[[ROW]], %[[NUMBER]]
func.func @rows(%s: !kvcache.scales_mha_operand<key, #own>, %b: index, %t: index) -> (index, index) {
  %r = kvcache.row_idx %s[%b, %t] : !kvcache.scales_mha_operand<key, #own>
  %n = kvcache.num_kv_rows %s : !kvcache.scales_mha_operand<key, #own>
  return %r, %n : index, index
}

// CHECK-LABEL: func.func @block_row(
// CHECK: %[[BLOCK:.*]] = kvcache.table_read
// CHECK: %[[SLOT:.*]] = arith.andi %{{.*}}, %c15_i32 : i32
// CHECK: arith.index_castui %[[BLOCK]] : i32 to index
// CHECK: arith.index_castui %[[SLOT]] : i32 to index
func.func @block_row(%o: !kvcache.mha_operand<key, #plain>, %b: index, %t: index) -> (index, index) {
  %block, %row = kvcache.block_row_idx %o[%b, %t] : !kvcache.mha_operand<key, #plain>
  return %block, %row : index, index
}

// One table read a page; an alignment that was promised reads several at once.

// CHECK-LABEL: func.func @populate(
// CHECK-COUNT-4: kvcache.table_read %{{.*}} : memref<i32> -> i32
// CHECK-NOT: kvcache.table_read
// CHECK: return {{.*}} : vector<64xindex>
func.func @populate(%o: !kvcache.mha_operand<key, #plain>, %b: index, %t: index) -> vector<64xindex> {
  %rows = kvcache.populate %o[%b, %t] : !kvcache.mha_operand<key, #plain> -> vector<64xindex>
  return %rows : vector<64xindex>
}

// CHECK-LABEL: func.func @populate_aligned(
// CHECK-COUNT-1: kvcache.table_read %{{.*}} {alignment = 16 : i64} : memref<i32> -> vector<4xi32>
// CHECK-NOT: kvcache.table_read
func.func @populate_aligned(%o: !kvcache.mha_operand<key, #plain>, %b: index, %t: index) -> vector<64xindex> {
  %rows = kvcache.populate %o[%b, %t] {alignment = 16} : !kvcache.mha_operand<key, #plain> -> vector<64xindex>
  return %rows : vector<64xindex>
}

// Some rows of one page start at the token's slot.

// CHECK-LABEL: func.func @populate_in_page(
// CHECK-COUNT-1: kvcache.table_read
// CHECK: arith.andi %{{.*}}, %c15_i32 : i32
// CHECK: vector.broadcast %{{.*}} : index to vector<4xindex>
func.func @populate_in_page(%o: !kvcache.mha_operand<key, #plain>, %b: index, %t: index) -> vector<4xindex> {
  %rows = kvcache.populate %o[%b, %t] : !kvcache.mha_operand<key, #plain> -> vector<4xindex>
  return %rows : vector<4xindex>
}

// CHECK-LABEL: func.func @lengths(
// CHECK-SAME: %[[LENGTHS:[a-z0-9]+]]: memref<i32>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[PROMPT:[a-z0-9]+]]: memref<i32>, %[[CACHE:[a-z0-9]+]]: memref<i32>, %[[B:[a-z0-9]+]]: index)
// CHECK: %[[B32:.*]] = arith.index_castui %[[B]] : index to i32
// CHECK: kvcache.table_read %[[LENGTHS]][%[[B32]]]
// CHECK: kvcache.table_read %[[PROMPT]][%c0_i32]
// CHECK: %[[MOST:.*]] = kvcache.table_read %[[CACHE]][%c0_i32]
// CHECK: arith.index_castui %[[MOST]] : i32 to index
// CHECK: arith.cmpi eq, %[[MOST]], %c0_i32 : i32
func.func @lengths(%k: !kvcache.cache<key, #plain>, %b: index) -> (index, index, index, i1) {
  %n = kvcache.cache_length %k[%b] : !kvcache.cache<key, #plain>
  %p = kvcache.max_prompt_length %k : !kvcache.cache<key, #plain>
  %c = kvcache.max_context_length %k : !kvcache.cache<key, #plain>
  %e = kvcache.empty_cache %k : !kvcache.cache<key, #plain>
  return %n, %p, %c, %e : index, index, index, i1
}

// Null where there is nothing to point to.

// CHECK-LABEL: func.func @raw_pointers(
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: memref<f32>
// CHECK-DAG: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK-DAG: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[SCALES]]
// CHECK: %[[NUMBER:.*]] = arith.index_castui %[[ADDRESS]] : index to i64
// CHECK: %[[POINTER:.*]] = llvm.inttoptr %[[NUMBER]] : i64 to !llvm.ptr
// CHECK: return %[[POINTER]], %[[NULL]], %[[NULL]]
func.func @raw_pointers(%o: !kvcache.mha_operand<key, #own>, %s: !kvcache.scales_mha_operand<key, #own>,
                        %p: !kvcache.mha_operand<key, #plain>) -> (!llvm.ptr, !llvm.ptr, !llvm.ptr) {
  %0 = kvcache.scales_raw_ptr %o : !kvcache.mha_operand<key, #own>
  %1 = kvcache.scales_raw_ptr %s : !kvcache.scales_mha_operand<key, #own>
  %2 = kvcache.scales_raw_ptr %p : !kvcache.mha_operand<key, #plain>
  return %0, %1, %2 : !llvm.ptr, !llvm.ptr, !llvm.ptr
}

// CHECK-LABEL: func.func @view(
// CHECK: %[[PAGE:.*]] = kvcache.byte_view %{{.*}}[%{{.*}}] : memref<bf16> to memref<16384xbf16>
// CHECK: memref.reinterpret_cast %[[PAGE]] to offset: [%{{.*}}], sizes: [4, 64], strides: [1024, 1] : memref<16384xbf16> to memref<4x64xbf16, strided<[1024, 1], offset: ?>>
func.func @view(%o: !kvcache.mha_operand<key, #plain>, %b: index, %t: index, %h: index) -> memref<4x64xbf16, strided<[1024, 1], offset: ?>> {
  %v = kvcache.block_paged_ptr %o[%b, %t, %h] : !kvcache.mha_operand<key, #plain> -> memref<4x64xbf16, strided<[1024, 1], offset: ?>>
  return %v : memref<4x64xbf16, strided<[1024, 1], offset: ?>>
}

// The scales of a plain operand go through their own table.

// CHECK-LABEL: func.func @scales_view(
// CHECK-SAME: %[[SCALES:[a-z0-9]+]]: memref<f32>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %[[TABLE:[a-z0-9]+]]: memref<i32>
// CHECK: kvcache.table_read %[[TABLE]]
// CHECK: kvcache.byte_view %[[SCALES]]
func.func @scales_view(%o: !kvcache.mha_operand<key, #own>, %b: index, %t: index, %h: index, %d: index) -> memref<1x1xf32, strided<[32, 1], offset: ?>> {
  %v = kvcache.scales_block_paged_ptr %o[%b, %t, %h, %d] : !kvcache.mha_operand<key, #own> -> memref<1x1xf32, strided<[32, 1], offset: ?>>
  return %v : memref<1x1xf32, strided<[32, 1], offset: ?>>
}
