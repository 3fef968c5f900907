// RUN: kvcache-opt %s --convert-kvcache-to-memref --canonicalize | FileCheck %s

#kv = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// CHECK: llvm.func @mgpuTensorMapEncodeTiledMemref(i64, !llvm.ptr, i64, i64, i64, i64, i64, !llvm.ptr) -> !llvm.ptr

// The map shows [num_kv_rows, H, depth] with boxes of [BN, 1, one swizzle width].

// CHECK-LABEL: func.func @tile(
// CHECK-SAME: %[[VALUES:[a-z0-9]+]]: memref<bf16>
// CHECK: %[[AT:.*]] = llvm.alloca
// CHECK: %[[BOX:.*]] = llvm.alloca
// CHECK: %[[ROWS:.*]] = arith.select %{{.*}}, %c0, %{{.*}} : index
// CHECK: %[[MATRIX:.*]] = memref.reinterpret_cast %[[VALUES]] to offset: [0], sizes: [%[[ROWS]], 8, 128], strides: [1024, 128, 1] : memref<bf16> to memref<?x8x128xbf16, strided<[1024, 128, 1]>>
// CHECK: %[[DESCRIPTOR:.*]] = builtin.unrealized_conversion_cast %[[MATRIX]]
// CHECK: llvm.store %[[DESCRIPTOR]], %[[AT]] :
// CHECK: llvm.store %[[C64:.*]], %[[BOX]] : i64, !llvm.ptr
// CHECK: %[[BOX1:.*]] = llvm.getelementptr %[[BOX]][1]
// CHECK: llvm.store %[[C1:.*]], %[[BOX1]] : i64, !llvm.ptr
// CHECK: %[[BOX2:.*]] = llvm.getelementptr %[[BOX]][2]
// CHECK: llvm.store %[[C64]], %[[BOX2]] : i64, !llvm.ptr
// CHECK: llvm.call @mgpuTensorMapEncodeTiledMemref(
func.func @tile(%o: !kvcache.mha_operand<key, #kv>) -> !llvm.ptr {
  %m = kvcache.create_tma_tile %o tile(64, 128, 128) swizzle(swizzle_128b) : !kvcache.mha_operand<key, #kv>
  return %m : !llvm.ptr
}

// A ragged map starts BN rows earlier and has a dimension of BN rows that overlap
// with the next: what lies past it is not live.

// CHECK-LABEL: func.func @ragged(
// CHECK: %[[MORE:.*]] = arith.addi %{{.*}}, %c1 : index
// CHECK: %[[BEFORE:.*]] = kvcache.byte_view %{{.*}}[%c-65536] : memref<bf16> to memref<bf16>
// CHECK: memref.reinterpret_cast %[[BEFORE]] to offset: [0], sizes: [%[[MORE]], 32, 8, 64], strides: [1024, 1024, 128, 1] : memref<bf16> to memref<?x32x8x64xbf16, strided<[1024, 1024, 128, 1]>>
func.func @ragged(%o: !kvcache.mha_operand<value, #kv>) -> !llvm.ptr {
  %m = kvcache.create_ragged_tma_tile %o tile(32, 64, 64) : !kvcache.mha_operand<value, #kv>
  return %m : !llvm.ptr
}
