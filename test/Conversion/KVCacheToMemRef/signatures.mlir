// RUN: kvcache-opt %s --convert-kvcache-to-memref --split-input-file | FileCheck %s

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128, table = own>>
#shared = #kvcache.layout<f8E4M3FN, params = <num_heads = 8, head_size = 128>, page_size = 16, scales = <f32, granularity = 128>>
#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// The number and order of arguments follow from the type.

// CHECK-LABEL: func.func private @collection_own(
// CHECK-SAME: memref<f8E4M3FN>, index, index, memref<i32>, i32,
// CHECK-SAME: memref<f32>, index, index, memref<i32>, i32,
// CHECK-SAME: memref<i32>, index, index, memref<i32>, memref<i32>, index)
func.func private @collection_own(!kvcache.collection<#own>)

// CHECK-LABEL: func.func private @collection_shared(
// CHECK-SAME: memref<f8E4M3FN>, index, index, memref<i32>, i32,
// CHECK-SAME: memref<f32>, index, index,
// CHECK-SAME: memref<i32>, index, index, memref<i32>, memref<i32>, index)
func.func private @collection_shared(!kvcache.collection<#shared>)

// CHECK-LABEL: func.func private @cache_plain(
// CHECK-SAME: memref<bf16>, index, index, memref<i32>, i32,
// CHECK-SAME: memref<i32>, index, index, memref<i32>, memref<i32>)
func.func private @cache_plain(!kvcache.cache<key, #plain>)

// A scales operand speaks of one pool, which always has a table here.

// CHECK-LABEL: func.func private @scales_operand(
// CHECK-SAME: memref<f32>, index, index, memref<i32>, i32,
// CHECK-SAME: memref<i32>, index, index, memref<i32>, memref<i32>)
func.func private @scales_operand(!kvcache.scales_mha_operand<key, #shared>)

// -----

#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// Attributes stay on the arguments and results they were written for.

// CHECK-LABEL: func.func @attributes(
// CHECK-SAME: %{{[^:]*}}: i32 {test.a},
// CHECK-SAME: %{{[^:]*}}: memref<bf16>, %{{[^:]*}}: index, %{{[^:]*}}: index, %{{[^:]*}}: memref<i32>, %{{[^:]*}}: i32,
// CHECK-SAME: %{{[^:]*}}: memref<i32>, %{{[^:]*}}: index, %{{[^:]*}}: index, %{{[^:]*}}: memref<i32>, %{{[^:]*}}: memref<i32>,
// CHECK-SAME: %{{[^:]*}}: i64 {test.b})
// CHECK-SAME: -> (memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>, i64 {test.c})
// CHECK: return %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11 :
func.func @attributes(%a: i32 {test.a}, %k: !kvcache.cache<key, #plain>, %b: i64 {test.b})
    -> (!kvcache.cache<key, #plain>, i64 {test.c}) {
  return %k, %b : !kvcache.cache<key, #plain>, i64
}

// CHECK-LABEL: func.func @call(
// CHECK: %[[R:.*]]:11 = call @attributes(%arg10, %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg11)
// CHECK: %[[N:.*]] = kvcache.table_read %[[R]]#9[
// CHECK: arith.index_castui %[[N]] : i32 to index
func.func @call(%k: !kvcache.cache<key, #plain>, %a: i32, %b: i64) -> index {
  %r:2 = call @attributes(%a, %k, %b) : (i32, !kvcache.cache<key, #plain>, i64) -> (!kvcache.cache<key, #plain>, i64)
  %n = kvcache.max_context_length %r#0 : !kvcache.cache<key, #plain>
  return %n : index
}

// -----

#own = #kvcache.layout<f8E4M3FN, params = <num_heads = 1, head_size = 128, is_mla = true>, page_size = 16, scales = <f32, granularity = 128, table = own>>

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Tables are frozen; pools are `noalias` in a kernel that writes none. The
    // workgroup memory stays behind the arguments.

    // CHECK-LABEL: gpu.func @reads(
    // CHECK-SAME: %{{[^:]*}}: memref<f32> {llvm.noalias, llvm.noundef, llvm.readonly},
    // CHECK-SAME: index, %{{[^:]*}}: index,
    // CHECK-SAME: memref<i32> {llvm.noalias, llvm.noundef, llvm.readonly}
    // CHECK-SAME: memref<i32> {llvm.noalias, llvm.noundef, llvm.readonly}
    // CHECK-SAME: %[[OUT:[^:]*]]: memref<128xf32> {llvm.noalias, test.out})
    // CHECK-SAME: workgroup(%[[SHARED:.*]] : memref<128xf32, #gpu.address_space<workgroup>>)
    // CHECK-SAME: kernel
    gpu.func @reads(%s: !kvcache.scales_mha_operand<key, #own>, %out: memref<128xf32> {llvm.noalias, test.out})
        workgroup(%shared: memref<128xf32, #gpu.address_space<workgroup>>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %p = kvcache.block_paged_ptr %s[%c0, %t, %c0] : !kvcache.scales_mha_operand<key, #own> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
      %v = memref.load %p[%c0, %c0] : memref<1x1xf32, strided<[1, 1], offset: ?>>
      // CHECK: memref.store %{{.*}}, %[[SHARED]][
      memref.store %v, %shared[%t] : memref<128xf32, #gpu.address_space<workgroup>>
      // CHECK: memref.store %{{.*}}, %[[OUT]][
      memref.store %v, %out[%t] : memref<128xf32>
      gpu.return
    }

    // An address that leaves as a number may be written through.

    // CHECK-LABEL: gpu.func @address_leaves(
    // CHECK-SAME: %{{[^:]*}}: memref<f32> {llvm.noundef},
    gpu.func @address_leaves(%s: !kvcache.scales_mha_operand<key, #own>, %out: memref<index>) kernel {
      %c0 = arith.constant 0 : index
      %p = kvcache.block_paged_ptr %s[%c0, %c0, %c0] : !kvcache.scales_mha_operand<key, #own> -> memref<1x1xf32, strided<[1, 1], offset: ?>>
      %a = memref.extract_aligned_pointer_as_index %p : memref<1x1xf32, strided<[1, 1], offset: ?>> -> index
      memref.store %a, %out[] : memref<index>
      gpu.return
    }

    // A table that comes with an argument is not written while the kernel runs;
    // one that the kernel makes a collection of may have been.

    // CHECK-LABEL: gpu.func @argument_table(
    // CHECK: kvcache.table_read invariant
    gpu.func @argument_table(%k: !kvcache.cache<key, #own>, %out: memref<index>) kernel {
      %c0 = arith.constant 0 : index
      %r = kvcache.row_idx %k[%c0, %c0] : !kvcache.cache<key, #own>
      memref.store %r, %out[] : memref<index>
      gpu.return
    }

    // CHECK-LABEL: gpu.func @own_collection(
    // CHECK: memref.store
    // CHECK: kvcache.table_read %
    gpu.func @own_collection(%blocks: memref<4x1x1x16x1x128xf8E4M3FN>, %lengths: memref<1xi32>, %table: memref<1x2xi32>,
                             %one: memref<1xi32>, %scales: memref<4x1x1x16x1x1xf32>, %entry: i32, %out: memref<index>) kernel {
      %c0 = arith.constant 0 : index
      memref.store %entry, %table[%c0, %c0] : memref<1x2xi32>
      %c = kvcache.get_paged_cache blocks(%blocks : memref<4x1x1x16x1x128xf8E4M3FN>) lengths(%lengths : memref<1xi32>)
          table(%table : memref<1x2xi32>) max_prompt(%one : memref<1xi32>) max_cache(%one : memref<1xi32>)
          scales(%scales : memref<4x1x1x16x1x1xf32>) scales_table(%table : memref<1x2xi32>) : !kvcache.collection<#own>
      %k = kvcache.get_key_cache %c[%c0] : !kvcache.collection<#own>
      %r = kvcache.row_idx %k[%c0, %c0] : !kvcache.cache<key, #own>
      memref.store %r, %out[] : memref<index>
      gpu.return
    }

    // A kernel that stores, through the cache or a view of it, has no `noalias`
    // on the pool.

    // CHECK-LABEL: gpu.func @stores(
    // CHECK-SAME: %{{[^:]*}}: memref<f8E4M3FN> {llvm.noundef},
    // CHECK-SAME: memref<i32> {llvm.noalias, llvm.noundef, llvm.readonly}
    // CHECK-SAME: %{{[^:]*}}: memref<f32> {llvm.noundef},
    gpu.func @stores(%k: !kvcache.cache<key, #own>, %v: f32) kernel {
      %c0 = arith.constant 0 : index
      kvcache.store_scale %v, %k[%c0, %c0, %c0, %c0] : f32, !kvcache.cache<key, #own>
      gpu.return
    }

    // CHECK-LABEL: gpu.func @stores_through_view(
    // CHECK-SAME: %{{[^:]*}}: memref<f32> {llvm.noundef},
    gpu.func @stores_through_view(%s: !kvcache.scales_mha_operand<key, #own>, %v: f32) kernel {
      %c0 = arith.constant 0 : index
      %p = kvcache.block_paged_ptr %s[%c0, %c0, %c0] : !kvcache.scales_mha_operand<key, #own> -> memref<4x1xf32, strided<[1, 1], offset: ?>>
      %sub = memref.subview %p[1, 0] [1, 1] [1, 1] : memref<4x1xf32, strided<[1, 1], offset: ?>> to memref<1x1xf32, strided<[1, 1], offset: ?>>
      memref.store %v, %sub[%c0, %c0] : memref<1x1xf32, strided<[1, 1], offset: ?>>
      gpu.return
    }
  }

  // CHECK-LABEL: func.func @launch(
  // CHECK-SAME: %[[BASE:[^:]*]]: memref<f32>
  // CHECK: %[[TOKEN:.*]] = gpu.wait async
  // CHECK: gpu.launch_func async [%[[TOKEN]]] @kernels::@reads blocks in
  // CHECK-SAME: args(%[[BASE]] : memref<f32>, %{{.*}} : index, %{{.*}} : index, %{{.*}} : memref<i32>, %{{.*}} : i32, %{{.*}} : memref<i32>, %{{.*}} : index, %{{.*}} : index, %{{.*}} : memref<i32>, %{{.*}} : memref<i32>, %{{.*}} : memref<128xf32>)
  func.func @launch(%s: !kvcache.scales_mha_operand<key, #own>, %out: memref<128xf32>) {
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %token = gpu.wait async
    %done = gpu.launch_func async [%token] @kernels::@reads blocks in (%c1, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%s : !kvcache.scales_mha_operand<key, #own>, %out : memref<128xf32>)
    gpu.wait [%done]
    return
  }
}

// -----

#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// Values pass through structured control flow and branches.

// CHECK-LABEL: func.func @scf(
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>)
// CHECK: scf.if {{.*}} -> (memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>)
// CHECK: arith.select {{.*}} : memref<bf16>
// CHECK: scf.execute_region -> (memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>)
// CHECK: scf.index_switch {{.*}} -> memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>
// CHECK: scf.while
// CHECK-NOT: kvcache.cache<
func.func @scf(%c: i1, %n: index, %a: !kvcache.cache<key, #plain>, %b: !kvcache.cache<key, #plain>) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%k = %a) -> (!kvcache.cache<key, #plain>) {
    scf.yield %b : !kvcache.cache<key, #plain>
  }
  %1 = scf.if %c -> !kvcache.cache<key, #plain> {
    scf.yield %0 : !kvcache.cache<key, #plain>
  } else {
    scf.yield %b : !kvcache.cache<key, #plain>
  }
  %2 = arith.select %c, %1, %a : !kvcache.cache<key, #plain>
  %3 = scf.execute_region -> !kvcache.cache<key, #plain> {
    scf.yield %2 : !kvcache.cache<key, #plain>
  }
  %4 = scf.index_switch %n -> !kvcache.cache<key, #plain>
  case 0 {
    scf.yield %3 : !kvcache.cache<key, #plain>
  }
  default {
    scf.yield %b : !kvcache.cache<key, #plain>
  }
  %5 = scf.while (%k = %4) : (!kvcache.cache<key, #plain>) -> !kvcache.cache<key, #plain> {
    scf.condition(%c) %k : !kvcache.cache<key, #plain>
  } do {
  ^bb0(%k: !kvcache.cache<key, #plain>):
    scf.yield %k : !kvcache.cache<key, #plain>
  }
  %length = kvcache.cache_length %5[%c0] : !kvcache.cache<key, #plain>
  return %length : index
}

// CHECK-LABEL: func.func @cf(
// CHECK: cf.switch %{{.*}} : i32, [
// CHECK-NEXT: default: ^bb1(%{{.*}} : memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>),
// CHECK-NEXT: 7: ^bb2(%{{.*}} : memref<bf16>, index, index, memref<i32>, i32, memref<i32>, index, index, memref<i32>, memref<i32>)
// CHECK: ^bb1(%{{.*}}: memref<bf16>, %{{.*}}: index,
// CHECK: cf.br ^bb2(%{{.*}} : memref<bf16>,
// CHECK: cf.cond_br %{{.*}}, ^bb1(%{{.*}} : memref<bf16>,
// CHECK-NOT: kvcache.cache<
func.func @cf(%c: i1, %flag: i32, %a: !kvcache.cache<key, #plain>) -> index {
  cf.switch %flag : i32, [
    default: ^bb1(%a : !kvcache.cache<key, #plain>),
    7: ^bb2(%a : !kvcache.cache<key, #plain>)
  ]
^bb1(%k1: !kvcache.cache<key, #plain>):
  cf.br ^bb2(%k1 : !kvcache.cache<key, #plain>)
^bb2(%k2: !kvcache.cache<key, #plain>):
  cf.cond_br %c, ^bb1(%k2 : !kvcache.cache<key, #plain>), ^bb3
^bb3:
  %n = kvcache.max_prompt_length %k2 : !kvcache.cache<key, #plain>
  return %n : index
}

// -----

#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// A launch region and other regions capture values as they are.

// CHECK-LABEL: func.func @captures(
// CHECK: gpu.launch
// CHECK: kvcache.table_read %arg5
// CHECK-NOT: kvcache.cache<
func.func @captures(%k: !kvcache.cache<key, #plain>, %out: memref<?xindex>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %n = kvcache.cache_length %k[%tx] : !kvcache.cache<key, #plain>
    memref.store %n, %out[%tx] : memref<?xindex>
    gpu.terminator
  }
  return
}

// -----

#plain = #kvcache.layout<bf16, params = <num_heads = 8, head_size = 128>, page_size = 16>

// Blocks are converted where the function's signature is not.

// CHECK-LABEL: func.func @switch_only(
// CHECK: cf.switch
// CHECK: ^bb1(%{{.*}}: memref<bf16>, %{{.*}}: index,
// CHECK-NOT: kvcache.cache<
func.func private @make() -> !kvcache.cache<key, #plain>
func.func @switch_only(%flag: i32) -> index {
  %k = call @make() : () -> !kvcache.cache<key, #plain>
  cf.switch %flag : i32, [
    default: ^bb1(%k : !kvcache.cache<key, #plain>),
    7: ^bb1(%k : !kvcache.cache<key, #plain>)
  ]
^bb1(%k1: !kvcache.cache<key, #plain>):
  %n = kvcache.max_prompt_length %k1 : !kvcache.cache<key, #plain>
  return %n : index
}
