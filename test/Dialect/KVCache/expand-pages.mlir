// RUN: kvcache-opt %s --kvcache-expand-kernels --canonicalize --cse --split-input-file | FileCheck %s

// All layers and sides are one piece of memory: 16-byte units counted through,
// four of a thread in flight.
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK-LABEL: gpu.func @copy_copy_pages(
// CHECK-SAME: %[[C:.*]]: !kvcache.collection<#{{.*}}>, %{{.*}}: memref<i64> {llvm.noalias, llvm.noundef, llvm.readonly}
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// CHECK: scf.for
// CHECK: %[[SOURCE:.*]] = memref.load
// CHECK: %[[INSIDE:.*]] = arith.andi
// CHECK: scf.if %[[INSIDE]] {
// CHECK: kvcache.page_ptr
// CHECK-COUNT-4: vector.load %{{.*}} {alignment = 16 : i64} : memref<4xi32>, vector<4xi32>
// CHECK: kvcache.page_ptr
// CHECK-COUNT-4: vector.store %{{.*}} {alignment = 16 : i64} : memref<4xi32>, vector<4xi32>
// CHECK: } else {
// CHECK: scf.for
// CHECK-LABEL: func.func @copy(
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[UNITS:.*]] = arith.constant 4096 : index
// CHECK-DAG: %[[TILE:.*]] = arith.constant 512 : index
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[LAYERS:.*]] = kvcache.num_layers
// CHECK: %[[TOTAL:.*]] = arith.muli %[[LAYERS]], %[[UNITS]]
// CHECK: %[[UP:.*]] = arith.addi %[[TOTAL]]
// CHECK: %[[TILES:.*]] = arith.divui %[[UP]], %[[TILE]]
// CHECK: %[[FEW:.*]] = arith.minui %[[TILES]]
// CHECK: %[[ATONCE:.*]] = arith.minui %[[N]]
// CHECK: %[[BLOCKS:.*]] = arith.muli %[[ATONCE]], %[[FEW]]
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %[[BLOCKS]], %[[C0]]
// CHECK: scf.if %[[SOME]]
// CHECK: gpu.launch_func @copy_copy_pages::@copy_copy_pages blocks in (%[[BLOCKS]],
func.func @copy(%b: memref<?x2x?x16x8x128xbf16>, %pairs: memref<?x2xi64>) {
  %c = kvcache.get_page_pools blocks(%b : memref<?x2x?x16x8x128xbf16>) : !kvcache.collection<#gqa>
  kvcache.copy_pages skip %c pairs(%pairs : memref<?x2xi64>) disjoint : !kvcache.collection<#gqa>
  return
}

// -----

// With a workspace: the order, the starts, and a walk in the kernel that moves.
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK: gpu.module @order_copy_pages {
// CHECK-NOT: kvcache.page_ptr
// CHECK: gpu.module @order_copy_pages_0 {
// CHECK-NOT: kvcache.page_ptr
// CHECK: gpu.module @order_copy_pages_1 {
// CHECK-COUNT-4: vector.load
// CHECK: scf.while
// CHECK-COUNT-4: vector.load
// CHECK-COUNT-4: vector.store
// CHECK: scf.yield
// CHECK-COUNT-4: vector.store
// CHECK-LABEL: func.func @order(
// CHECK: gpu.launch_func @order_copy_pages::
// CHECK: gpu.launch_func @order_copy_pages_0::
// CHECK: gpu.launch_func @order_copy_pages_1::
func.func @order(%c: !kvcache.collection<#gqa>, %pairs: memref<?x2xi64>, %w: memref<?xi32>) {
  kvcache.copy_pages %c pairs(%pairs : memref<?x2xi64>) workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  return
}

// -----

// No layer is no work, the order of pairs included.
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK-LABEL: func.func @no_layers(
// CHECK-NOT: gpu.launch_func
func.func @no_layers(%c: !kvcache.collection<#gqa>, %pairs: memref<?x2xi64>, %w: memref<?xi32>) {
  kvcache.copy_pages %c pairs(%pairs : memref<?x2xi64>) workspace(%w : memref<?xi32>) layers = []
      : !kvcache.collection<#gqa>
  // CHECK: return
  return
}

// -----

// Pages of scales may lie at multiples of 4 bytes: the host asks for the pitch.
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>>
// CHECK: gpu.module @scales_clear_pages {
// CHECK-COUNT-2: vector.store %{{.*}} : memref<4xi32>, vector<4xi32>
// CHECK-NOT: memref.store
// CHECK: gpu.module @scales_clear_pages_0 {
// CHECK: vector.store %{{.*}} : memref<4xi32>, vector<4xi32>
// CHECK: memref.store %{{.*}} : memref<1xi32>
// CHECK-LABEL: func.func @scales(
// CHECK: %[[PITCH:.*]] = kvcache.page_pitch %{{.*}} : !kvcache.scales_mha_operand
// CHECK: %[[OVER:.*]] = arith.andi %[[PITCH]], %c15
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %[[OVER]], %c0
// CHECK: scf.if %[[ALIGNED]]
// CHECK: gpu.launch_func @scales_clear_pages::
// CHECK: } else {
// CHECK: gpu.launch_func @scales_clear_pages_0::
func.func @scales(%c: !kvcache.collection<#mla>, %p: memref<?xi32>) {
  kvcache.clear_pages skip %c pages(%p : memref<?xi32>) tuning(<chunks = 1>) : !kvcache.collection<#mla>
  return
}

// -----

// Nothing to ask where the pitch is known; no layers, nothing to do.
#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>>
// CHECK-LABEL: func.func @known(
// CHECK-NOT: page_pitch
// CHECK: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @known(%b: memref<9x1x3x64x1x128xf8E4M3FN>, %s: memref<9x1x3x64x1x1xf32>, %p: memref<?xi32>) {
  %c = kvcache.get_page_pools blocks(%b : memref<9x1x3x64x1x128xf8E4M3FN>) scales(%s : memref<9x1x3x64x1x1xf32>) : !kvcache.collection<#mla>
  kvcache.clear_pages %c pages(%p : memref<?xi32>) layers = [1, 2] : !kvcache.collection<#mla>
  kvcache.clear_pages %c pages(%p : memref<?xi32>) layers = [] : !kvcache.collection<#mla>
  return
}

// -----

// A footer's scales alone are cleared, 7 bytes of 8.
#model1 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 512, is_mla = true>, page_size = 64, scales = <f8E8M0FNU, granularity = 64>, placement = page_split, rope = <bf16, size = 64>, footer = 8, page_align = 576>
// CHECK: gpu.module @footer_clear_pages {
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : memref<4xi32>, vector<4xi32>
// CHECK: memref.store %{{.*}} : memref<1xi8>
func.func @footer(%c: !kvcache.collection<#model1>, %p: memref<?xi32>) {
  kvcache.clear_pages %c pages(%p : memref<?xi32>) tuning(<chunks = 1>) : !kvcache.collection<#model1>
  return
}

// -----

// Ids of their own: a kernel for values, one for scales.
#own = #kvcache.layout<i8, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f16, granularity = 16, table = own>>
// CHECK: gpu.module @own_move_tokens {
// CHECK-NOT: scales_mha_operand
// CHECK: gpu.module @own_move_tokens_0 {
// CHECK-NOT: kvcache.mha_operand
// CHECK-LABEL: func.func @own(
func.func @own(%c: !kvcache.collection<#own>, %p: memref<?xi64>) {
  kvcache.move_tokens skip %c from(%p, %p : memref<?xi64>, memref<?xi64>) to(%p, %p : memref<?xi64>, memref<?xi64>) disjoint
      : !kvcache.collection<#own>
  return
}

// -----

// Interleaved scales of a token lie apart: elements.
#swizzled = #kvcache.layout<f4E2M1FN, params = <num_heads = 2, head_size = 64>, page_size = 16, scales = <f8E4M3FN, granularity = 16>, swizzle = kv>
// CHECK: gpu.module @swizzled_move_tokens {
// CHECK: kvcache.load_in_page %{{.*}} -> vector<16xi8>
// CHECK: kvcache.store_in_page %{{.*}} : vector<16xi8>
// CHECK: kvcache.load_in_page %{{.*}} -> f8E4M3FN
// CHECK-LABEL: func.func @swizzled(
func.func @swizzled(%c: !kvcache.collection<#swizzled>, %p: memref<?xi64>) {
  kvcache.move_tokens %c from(%p : memref<?xi64>) to(%p : memref<?xi64>) disjoint tuning(<chunks = 1>) : !kvcache.collection<#swizzled>
  return
}

// -----

// Pages that differ in their padding alone are runs of bytes, others elements:
// vectors within heads where these are outside of tokens.
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
#hnd = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16, order = hnd>
// CHECK: gpu.module @convert_convert_layout {
// CHECK-NOT: load_in_page
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<4xi32>, vector<4xi32>
// CHECK: gpu.module @convert_convert_layout_0 {
// CHECK-NOT: vector.load
// CHECK: kvcache.load_in_page %{{.*}} : !kvcache.mha_operand<value, #{{.*}}> -> vector<8xbf16>
// CHECK: kvcache.store_in_page %{{.*}} : vector<8xbf16>, !kvcache.mha_operand<value, #{{.*}}>
// CHECK-LABEL: func.func @convert(
// CHECK: %[[FROM:.*]] = kvcache.num_blocks
// CHECK: %[[TO:.*]] = kvcache.num_blocks
// CHECK: arith.minui %[[FROM]], %[[TO]]
func.func @convert(%c: !kvcache.collection<#gqa>, %b: memref<9x2x3x16x8x128xbf16, strided<[100352, 49152, 16384, 1024, 128, 1]>>,
                   %h: !kvcache.collection<#hnd>) {
  %d = kvcache.get_page_pools blocks(%b : memref<9x2x3x16x8x128xbf16, strided<[100352, 49152, 16384, 1024, 128, 1]>>) : !kvcache.collection<#gqa>
  kvcache.convert_layout skip %c into %d tuning(<chunks = 1>) : !kvcache.collection<#gqa> into !kvcache.collection<#gqa>
  kvcache.convert_layout %c into %h tuning(<chunks = 1>) : !kvcache.collection<#gqa> into !kvcache.collection<#hnd>
  return
}

// -----

// What a compaction finds out it finds on the device: places, numbers, pairs,
// starts, the table, and then it moves.
#gqa = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>
// CHECK: gpu.module @compact_compact {
// CHECK: gpu.module @compact_compact_0 {
// CHECK: memref.atomic_rmw minu
// CHECK: gpu.module @compact_compact_1 {
// CHECK: known_block_size = array<i32: 512, 1, 1>
// CHECK: gpu.shuffle up
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: gpu.module @compact_compact_2 {
// CHECK: gpu.module @compact_compact_3 {
// CHECK: gpu.module @compact_compact_4 {
// CHECK: gpu.module @compact_compact_5 {
// CHECK: kvcache.page_ptr
// CHECK-LABEL: func.func @compact(
// CHECK-NOT: memref.load
// CHECK-COUNT-7: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @compact(%c: !kvcache.collection<#gqa>, %new: memref<?x?xi32>, %w: memref<?xi32>) {
  kvcache.compact skip %c into(%new : memref<?x?xi32>) workspace(%w : memref<?xi32>) : !kvcache.collection<#gqa>
  return
}
