// RUN: kvcache-opt %s --convert-kvcache-to-memref --canonicalize --cse | FileCheck %s

// Other places for scales, tails and heads.

// Rows of 656 bytes: 512 codes, 4 scales of f32, 64 elements of bf16.
#row656 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>
// 64 rows of 576 bytes, then 64 of 8.
#row584 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 64, scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>
#inner = #kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f32, granularity = 64>, placement = inline, kv_inner = true>
#hnd = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>
#odd = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 46, is_mla = true>, page_size = 16, scales = <f32, granularity = 46>, placement = inline>
#split4 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = page_split, page_align = 4>
#nvfp4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, placement = page_split, order = hnd, swizzle = v>
#nhd4 = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 128>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, placement = page_split, swizzle = kv>

// One pool, one table, whatever is read of it; a scales operand too.

// CHECK-LABEL: func.func @one_pool(
// CHECK-SAME: %{{[a-z0-9]+}}: memref<i8>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: i32, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: memref<i32>, %{{[a-z0-9]+}}: index)
// CHECK-COUNT-1: kvcache.table_read
// CHECK-NOT: kvcache.table_read
// CHECK: return
func.func @one_pool(%k: !kvcache.cache<key, #row656>, %t: index) -> (vector<16xf32>, f32) {
  %c0 = arith.constant 0 : index
  %x = kvcache.load %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #row656> -> vector<16xf32>
  %s = kvcache.load_scale %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #row656> -> f32
  return %x, %s : vector<16xf32>, f32
}

// CHECK-LABEL: func.func @scales_operand(
// CHECK-SAME: %[[BASE:[a-z0-9]+]]: memref<i8>, %[[PITCH:[a-z0-9]+]]: index,
// CHECK: %[[PAGE:.*]] = arith.muli %{{.*}}, %[[PITCH]] : index
// CHECK: %[[OFFSET:.*]] = arith.addi %[[PAGE]], %c512 : index
// CHECK: %[[VIEW:.*]] = kvcache.byte_view %[[BASE]][%[[OFFSET]]] : memref<i8> to memref<10368xf32>
// CHECK: %[[SLOT:.*]] = arith.muli %{{.*}}, %c164_i32 : i32
// CHECK: %[[INDEX:.*]] = arith.index_castui %[[SLOT]] : i32 to index
// CHECK: memref.reinterpret_cast %[[VIEW]] to offset: [%[[INDEX]]], sizes: [1, 4], strides: [164, 1]
func.func @scales_operand(%s: !kvcache.scales_mha_operand<key, #row656>, %t: index) -> memref<1x4xf32, strided<[164, 1], offset: ?>> {
  %c0 = arith.constant 0 : index
  %p = kvcache.block_paged_ptr %s[%c0, %t, %c0] : !kvcache.scales_mha_operand<key, #row656> -> memref<1x4xf32, strided<[164, 1], offset: ?>>
  return %p : memref<1x4xf32, strided<[164, 1], offset: ?>>
}

// Footers follow the rows of the page: 64 * 576 bytes on.

// CHECK-LABEL: func.func @footer(
// CHECK: %[[OFFSET:.*]] = arith.addi %{{.*}}, %c36864 : index
// CHECK: kvcache.byte_view %{{.*}}[%[[OFFSET]]] : memref<i8> to memref<512xf8E8M0FNU>
// CHECK: arith.muli %{{.*}}, %c8_i32 : i32
// CHECK: vector.load %{{.*}} {alignment = 8 : i64} : memref<512xf8E8M0FNU>, vector<7xf8E8M0FNU>
func.func @footer(%k: !kvcache.cache<key, #row584>, %t: index) -> vector<7xf8E8M0FNU> {
  %c0 = arith.constant 0 : index
  %s = kvcache.load_scale %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #row584> -> vector<7xf8E8M0FNU>
  return %s : vector<7xf8E8M0FNU>
}

// The tail has no scale: it is loaded as it is, whether dim is a constant or not.

// CHECK-LABEL: func.func @tail(
// CHECK: %[[OFFSET:.*]] = arith.addi %{{.*}}, %c528 : index
// CHECK: kvcache.byte_view %{{.*}}[%[[OFFSET]]] : memref<i8> to memref<20728xbf16>
// CHECK: arith.muli %{{.*}}, %c328_i32 : i32
// CHECK: %[[X:.*]] = vector.load %{{.*}} {alignment = 16 : i64} : memref<20728xbf16>, vector<8xbf16>
// CHECK-NEXT: return %[[X]]
func.func @tail(%k: !kvcache.cache<key, #row656>, %t: index) -> vector<8xbf16> {
  %c0 = arith.constant 0 : index
  %c520 = arith.constant 520 : index
  %x = kvcache.load %k[%c0, %t, %c0, %c520] : !kvcache.cache<key, #row656> -> vector<8xbf16>
  return %x : vector<8xbf16>
}

// Multiples of 8 do not cross 512: one question for the vector.

// CHECK-LABEL: func.func @either(
// CHECK: %[[CODES:.*]] = arith.cmpi ult, %[[DIM:.*]], %c512 : index
// CHECK: scf.if %[[CODES]] -> (vector<8xf32>) {
// CHECK:   vector.load {{.*}} vector<8xf8E4M3FN>
// CHECK:   arith.mulf
// CHECK: } else {
// CHECK:   arith.subi %[[DIM]], %c512 : index
// CHECK:   vector.load {{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xbf16>
// CHECK:   arith.extf
// CHECK-NOT: arith.mulf
// CHECK: return
func.func @either(%k: !kvcache.cache<key, #row656>, %t: index, %lane: index) -> vector<8xf32> {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %dim = arith.muli %lane, %c8 : index
  %x = kvcache.load %k[%c0, %t, %c0, %dim] : !kvcache.cache<key, #row656> -> vector<8xf32>
  return %x : vector<8xf32>
}

// A constant that crosses is two loads; a number that may cross asks lane by lane.

// CHECK-LABEL: func.func @across(
// CHECK-NOT: scf.if
// CHECK: vector.load {{.*}} vector<2xf8E4M3FN>
// CHECK: vector.load {{.*}} vector<2xbf16>
// CHECK: vector.insert_strided_slice {{.*}}offsets = [2]
// CHECK: return
func.func @across(%k: !kvcache.cache<key, #row656>, %t: index) -> vector<4xf32> {
  %c0 = arith.constant 0 : index
  %c510 = arith.constant 510 : index
  %x = kvcache.load %k[%c0, %t, %c0, %c510] : !kvcache.cache<key, #row656> -> vector<4xf32>
  return %x : vector<4xf32>
}

// CHECK-LABEL: func.func @lanes(
// CHECK-COUNT-2: scf.if
// CHECK-NOT: scf.if
// CHECK: return
func.func @lanes(%k: !kvcache.cache<key, #row656>, %t: index, %dim: index) -> vector<2xf32> {
  %c0 = arith.constant 0 : index
  %x = kvcache.load %k[%c0, %t, %c0, %dim] : !kvcache.cache<key, #row656> -> vector<2xf32>
  return %x : vector<2xf32>
}

// A value of another float type goes to the tail, converted to its dtype.

// CHECK-LABEL: func.func @store_tail(
// CHECK: %[[X:.*]] = arith.truncf %{{.*}} : vector<4xf32> to vector<4xbf16>
// CHECK: vector.store %[[X]], {{.*}} {alignment = 8 : i64} : memref<20728xbf16>, vector<4xbf16>
func.func @store_tail(%k: !kvcache.cache<key, #row656>, %t: index, %x: vector<4xf32>) {
  %c0 = arith.constant 0 : index
  %c516 = arith.constant 516 : index
  kvcache.store %x, %k[%c0, %t, %c0, %c516] : vector<4xf32>, !kvcache.cache<key, #row656>
  return
}

// Values beside the keys: 68 bytes on in rows of 136; the layers are no sides apart.

// CHECK-LABEL: func.func @side_by_side(
// CHECK-SAME: %[[BASE:[a-z0-9]+]]: memref<i8>,
// CHECK: %[[LAYER:.*]] = arith.muli %{{.*}}, %c4352 : index
// CHECK: %[[VALUE:.*]] = arith.addi %[[LAYER]], %c68 : index
// CHECK: kvcache.byte_view %[[BASE]][%[[VALUE]]] : memref<i8> to memref<i8>
// CHECK-DAG: arith.muli %{{.*}}, %c68_i32 : i32
// CHECK-DAG: arith.muli %{{.*}}, %c34_i32 : i32
// CHECK: memref.load
func.func @side_by_side(%c: !kvcache.collection<#inner>, %layer: index, %t: index, %h: index) -> f32 {
  %c0 = arith.constant 0 : index
  %v = kvcache.get_value_cache %c[%layer] : !kvcache.collection<#inner>
  %s = kvcache.load_scale %v[%c0, %t, %h, %c0] : !kvcache.cache<value, #inner> -> f32
  return %s : f32
}

// Heads are a page of rows apart, tokens one row.

// CHECK-LABEL: func.func @heads_outside(
// CHECK: %[[SLOT:.*]] = arith.muli %{{.*}}, %c128_i32 : i32
// CHECK: %[[HEAD:.*]] = arith.muli %{{.*}}, %c2048_i32 : i32
// CHECK: arith.addi %[[SLOT]], %[[HEAD]] : i32
// CHECK: memref.reinterpret_cast {{.*}} sizes: [16, 128], strides: [128, 1]
func.func @heads_outside(%k: !kvcache.cache<key, #hnd>, %t: index, %h: index) -> memref<16x128xbf16, strided<[128, 1], offset: ?>> {
  %c0 = arith.constant 0 : index
  %p = kvcache.block_paged_ptr %k[%c0, %t, %h] : !kvcache.cache<key, #hnd> -> memref<16x128xbf16, strided<[128, 1], offset: ?>>
  return %p : memref<16x128xbf16, strided<[128, 1], offset: ?>>
}

// Rows of 50 bytes: the scale is four bytes at an even address.

// CHECK-LABEL: func.func @unaligned(
// CHECK: %[[OFFSET:.*]] = arith.addi %{{.*}}, %c46 : index
// CHECK: %[[VIEW:.*]] = kvcache.byte_view %{{.*}}[%[[OFFSET]]] : memref<i8> to memref<754xi8>
// CHECK: arith.muli %{{.*}}, %c50_i32 : i32
// CHECK: %[[BYTES:.*]] = vector.load %[[VIEW]][%{{.*}}] {alignment = 2 : i64} : memref<754xi8>, vector<4xi8>
// CHECK: %[[SCALE:.*]] = vector.bitcast %[[BYTES]] : vector<4xi8> to vector<1xf32>
// CHECK: vector.extract %[[SCALE]][0]
// CHECK: %[[STORED:.*]] = vector.bitcast %{{.*}} : vector<1xf32> to vector<4xi8>
// CHECK: vector.store %[[STORED]], %[[VIEW]][%{{.*}}] {alignment = 2 : i64} : memref<754xi8>, vector<4xi8>
func.func @unaligned(%k: !kvcache.cache<key, #odd>, %t: index) {
  %c0 = arith.constant 0 : index
  %s = kvcache.load_scale %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #odd> -> f32
  %d = arith.addf %s, %s : f32
  kvcache.store_scale %d, %k[%c0, %t, %c0, %c0] : f32, !kvcache.cache<key, #odd>
  return
}

// Pages at multiples of 4 bytes: no wider alignment is said of what lies in them.

// CHECK-LABEL: func.func @page_align(
// CHECK: vector.load {{.*}} {alignment = 4 : i64} : {{.*}}, vector<16xf8E4M3FN>
// CHECK: memref.load {{.*}} : memref<64xf32>
func.func @page_align(%k: !kvcache.cache<key, #split4>, %t: index) -> (vector<16xf8E4M3FN>, f32) {
  %c0 = arith.constant 0 : index
  %x = kvcache.load_quantized %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #split4> -> vector<16xf8E4M3FN>
  %s = kvcache.load_scale %k[%c0, %t, %c0, %c0] : !kvcache.cache<key, #split4> -> f32
  return %x, %s : vector<16xf8E4M3FN>, f32
}

// Scale j of token t lies at 4 * j + t % 4 of four tokens' scales; the keys' lie
// straight with swizzle v.

// CHECK-LABEL: func.func @swizzled(
// CHECK: %[[T:.*]] = arith.andi %[[SLOT:.*]], %c3_i32 : i32
// CHECK: %[[FIRST:.*]] = arith.subi %[[SLOT]], %[[T]] : i32
// CHECK: %[[J:.*]] = arith.shrui %{{.*}}, %c4_i32 : i32
// CHECK: %[[J4:.*]] = arith.muli %[[J]], %c4_i32 : i32
// CHECK: %[[FLAT:.*]] = arith.addi %[[J4]], %[[T]] : i32
// CHECK: %[[TOKENS:.*]] = arith.muli %[[FIRST]], %c8_i32 : i32
// CHECK: arith.addi %[[TOKENS]], %[[FLAT]] : i32
func.func @swizzled(%v: !kvcache.cache<value, #nvfp4>, %t: index, %h: index, %d: index) -> f8E4M3FN {
  %c0 = arith.constant 0 : index
  %s = kvcache.load_scale %v[%c0, %t, %h, %d] : !kvcache.cache<value, #nvfp4> -> f8E4M3FN
  return %s : f8E4M3FN
}

// CHECK-LABEL: func.func @straight_keys(
// CHECK-NOT: %c3_i32
// CHECK: vector.load {{.*}} {alignment = 8 : i64} : {{.*}}, vector<8xf8E4M3FN>
func.func @straight_keys(%k: !kvcache.cache<key, #nvfp4>, %t: index, %h: index) -> vector<8xf8E4M3FN> {
  %c0 = arith.constant 0 : index
  %s = kvcache.load_scale %k[%c0, %t, %h, %c0] : !kvcache.cache<key, #nvfp4> -> vector<8xf8E4M3FN>
  return %s : vector<8xf8E4M3FN>
}

// With other heads between the tokens, the place is a token of the four and a
// scale of it.

// CHECK-LABEL: func.func @swizzled_tokens_outside(
// CHECK: %[[FLAT:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: %[[TOKEN:.*]] = arith.shrui %[[FLAT]], %c3_i32 : i32
// CHECK: arith.addi %{{.*}}, %[[TOKEN]] : i32
// CHECK: arith.andi %[[FLAT]], %c7_i32 : i32
func.func @swizzled_tokens_outside(%k: !kvcache.cache<key, #nhd4>, %t: index, %h: index, %d: index) -> f8E4M3FN {
  %c0 = arith.constant 0 : index
  %s = kvcache.load_scale %k[%c0, %t, %h, %d] : !kvcache.cache<key, #nhd4> -> f8E4M3FN
  return %s : f8E4M3FN
}

// Lanes of swizzled scales do not lie side by side.

// CHECK-LABEL: func.func @swizzled_lanes(
// CHECK-COUNT-3: memref.store
// CHECK-NOT: store
// CHECK: return
func.func @swizzled_lanes(%v: !kvcache.cache<value, #nvfp4>, %t: index, %s: vector<3xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  kvcache.store_scale %s, %v[%c0, %t, %c0, %c0] : vector<3xf8E4M3FN>, !kvcache.cache<value, #nvfp4>
  return
}
