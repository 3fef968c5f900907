// RUN: kvcache-opt %s --split-input-file --kvcache-expand-kernels --canonicalize --cse | FileCheck %s
// RUN: kvcache-opt %s --split-input-file --kvcache-expand-kernels="threads=64 chunks=2" --canonicalize --cse | FileCheck %s --check-prefix=TUNED

#mla = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 576, table = own>>

// A block a page, 36 vectors a row and 4 rows at a time, eight of them in
// flight. One lookup of each table serves the page. What is left is held to the
// last row and copied the same way; then come, with care, rows that may be
// wrong. Rows past the length are 0.

// CHECK-LABEL: gpu.module @own_gather
// CHECK: memref.global "private" @shared : memref<18432xf8E4M3FN, 3> = uninitialized {alignment = 16 : i64}
// CHECK: gpu.func @own_gather(
// CHECK-SAME: memref<bf16> {llvm.noalias, llvm.noundef}
// CHECK-SAME: known_block_size = array<i32: 144, 1, 1>, {{.*}}nvvm.minctasm = 2 : i32
// CHECK: kvcache.cache_length
// CHECK: kvcache.block_id %{{.*}} : !kvcache.mha_operand
// CHECK: kvcache.block_id %{{.*}} : !kvcache.scales_mha_operand
// CHECK-NOT: kvcache.block_id
// Neighbours exchange halves, so that their stores fill sectors.
// CHECK: scf.while
// CHECK-COUNT-8: kvcache.load_in_page {{.*}} {alignment = 16 : i64} : !kvcache.mha_operand{{.*}} -> vector<16xf8E4M3FN>
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-8: vector.store {{.*}} {alignment = 16 : i64} : memref<18432xf8E4M3FN, 3>, vector<16xf8E4M3FN>
// CHECK: nvvm.bar.warp.sync
// CHECK: vector.load {{.*}} {alignment = 8 : i64} : memref<18432xf8E4M3FN, 3>, vector<8xf8E4M3FN>
// CHECK: arith.mulf {{.*}} fastmath<reassoc,nnan> : vector<8xf32>
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<8xbf16>, vector<8xbf16>
// CHECK: scf.if
// CHECK: kvcache.page_ptr
// CHECK-COUNT-8: vector.load {{.*}} {alignment = 16 : i64} : memref<16xf8E4M3FN>, vector<16xf8E4M3FN>
// CHECK: kvcache.load_in_page {{.*}} -> f32
// CHECK-COUNT-8: nvvm.shfl.sync idx
// CHECK-NOT: scf.if
// CHECK-COUNT-16: vector.store {{.*}} {alignment = 16 : i64} : memref<8xbf16>, vector<8xbf16>
// CHECK: %[[LIMIT:.*]] = kvcache.scale_limit : f32
// CHECK: scf.if
// CHECK: scf.while
// CHECK: kvcache.load_in_page
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK: scf.while
// CHECK-NOT: kvcache.load_in_page
// CHECK: vector.store %{{cst.*}}, %{{.*}} {alignment = 16 : i64} : memref<8xbf16>
// CHECK: gpu.return

// The host does not know how the tensor is aligned: there is a kernel for each.
// Nothing is launched where there is nothing to write. Grids have a second
// dimension for what the first does not hold.

// CHECK: gpu.module @own_gather_0
// CHECK-LABEL: func.func @own(
// CHECK: scf.if
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %{{.*}}, %c0
// CHECK: scf.if %[[SOME]]
// CHECK: gpu.launch_func @own_gather::@own_gather blocks in (%[[FEW:.*]], %[[ROWS:.*]], %c1) threads in (%c144, %c1, %c1)
// CHECK: else
// CHECK: gpu.launch_func @own_gather_0::@own_gather_0

// TUNED-LABEL: gpu.module @own_gather
// TUNED: known_block_size = array<i32: 36, 1, 1>
// TUNED: scf.while
// TUNED-COUNT-2: -> vector<16xf8E4M3FN>
// TUNED: scf.if
func.func @own(%k: !kvcache.cache<key, #mla>, %out: memref<?x?x1x576xbf16, strided<[?, ?, 576, 1], offset: ?>>) {
  kvcache.gather from(%k : !kvcache.cache<key, #mla>) into(%out : memref<?x?x1x576xbf16, strided<[?, ?, 576, 1], offset: ?>>)
  return
}

// -----

#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 32>>

// Scales lie in the same blocks: one table is read, and under `skip` the block
// is looked for in both pools.

// CHECK-LABEL: gpu.module @shared_gather
// CHECK: kvcache.block_id skip
// CHECK-NOT: kvcache.block_id
// CHECK: kvcache.num_blocks %{{.*}} : !kvcache.scales_mha_operand
// CHECK: gpu.return
// CHECK-LABEL: func.func @shared(
// CHECK-COUNT-1: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// CHECK: return
func.func @shared(%v: !kvcache.cache<value, #shared>, %out: memref<4x4096x8x128xf16>) {
  kvcache.gather skip from(%v : !kvcache.cache<value, #shared>) into(%out : memref<4x4096x8x128xf16>)
  return
}

// -----

#row656 = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 576, is_mla = true>, page_size = 64, scales = <f32, granularity = 128>, placement = inline, rope = <bf16, size = 64>>

// Codes, then the tail, which is copied; scales beside.

// CHECK-LABEL: gpu.module @tail_gather
// CHECK-COUNT-1: kvcache.block_id
// CHECK: kvcache.load_in_page %{{.*}} -> vector<16xf8E4M3FN>
// CHECK: kvcache.load_in_page %{{.*}} tail {alignment = 16 : i64} {{.*}} -> vector<8xbf16>
// CHECK: kvcache.load_in_page {{.*}} -> vector<1xf32>
// CHECK: vector.store {{.*}} : memref<1xf32>, vector<1xf32>
// CHECK: gpu.return
func.func @tail(%k: !kvcache.cache<key, #row656>, %out: memref<4x128x1x576xbf16>, %scales: memref<4x128x1x4xf32>) {
  kvcache.gather from(%k : !kvcache.cache<key, #row656>) into(%out : memref<4x128x1x576xbf16>) scales(%scales : memref<4x128x1x4xf32>)
  return
}

// -----

#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// A ragged tensor: a block finds its sequence by bisection of the offsets. There
// are as many blocks as pages at most, known from sizes alone.

// CHECK-LABEL: gpu.module @ragged_gather
// CHECK: scf.while
// CHECK: kvcache.table_read invariant
// CHECK: kvcache.table_read invariant
// CHECK: kvcache.cache_length
// CHECK: kvcache.load_in_page {{.*}} -> vector<8xbf16>
// CHECK: gpu.return
// CHECK-LABEL: func.func @ragged(
// CHECK-SAME: %{{.*}}, %[[OUT:[a-z0-9]+]]: memref<?x8x128xbf16>, %[[OFFSETS:[a-z0-9]+]]: memref<?xi32>
// CHECK-DAG: %[[T:.*]] = memref.dim %[[OUT]], %c0
// CHECK-DAG: %[[N:.*]] = memref.dim %[[OFFSETS]], %c0
// CHECK-DAG: %[[ENTRIES:.*]] = arith.maxui %[[N]], %c1
// CHECK-DAG: %[[PAGES:.*]] = arith.divui %[[T]], %c16
// CHECK: %[[ALL:.*]] = arith.addi %[[PAGES]], %[[ENTRIES]]
// CHECK: arith.select %{{.*}}, %c0, %[[ALL]]
func.func @ragged(%k: !kvcache.cache<key, #plain>, %out: memref<?x8x128xbf16>, %offsets: memref<?xi32>, %ids: memref<?xi32>) {
  kvcache.gather from(%k : !kvcache.cache<key, #plain>) into(%out : memref<?x8x128xbf16>)
      sequences(%ids : memref<?xi32>) offsets(%offsets : memref<?xi32>)
  return
}

// -----

#odd = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 46>, page_size = 3, scales = <f32, granularity = 12>>

// Heads of 46 bytes and granules of 12: pairs, each with a scale of its own.
// Pages are small: a block takes several.

// CHECK-LABEL: gpu.module @odd_gather
// CHECK: gpu.func @odd_gather(
// CHECK-SAME: known_block_size = array<i32: 253, 1, 1>
// CHECK: kvcache.load_in_page {{.*}} {alignment = 2 : i64} {{.*}} -> vector<2xf8E4M3FN>
// CHECK: gpu.return
func.func @odd(%k: !kvcache.cache<key, #odd>, %out: memref<4x9x1x46xf32>) {
  kvcache.gather from(%k : !kvcache.cache<key, #odd>) into(%out : memref<4x9x1x46xf32>)
  return
}
