// Products of codes and scales that may be reassociated: a power of two of the
// decoding goes into the scale where there is no conversion instruction.
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_80 | FileCheck %s
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_90a | FileCheck %s --check-prefix=CVT
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm | FileCheck %s --check-prefix=CVT

gpu.module @m {
  // CHECK-LABEL: func.func @reassociated
  // CHECK-SAME: %[[SCALE:[a-z0-9]+]]: f32
  // CHECK: %[[MOVED:.*]] = arith.mulf %[[SCALE]], %cst{{.*}} : f32
  // CHECK: vector.broadcast %[[MOVED]] : f32 to vector<4xf32>
  // CHECK-COUNT-2: llvm.intr.fma({{.*}}) : (vector<2xf16>
  // CHECK-NEXT: arith.extf
  // CHECK-COUNT-2: llvm.intr.fma({{.*}}) : (vector<2xf16>
  // CHECK-NEXT: arith.extf
  // CHECK-NOT: llvm.intr.fma
  // CHECK: return
  // CVT-LABEL: func.func @reassociated
  // CVT-SAME: %[[SCALE:[a-z0-9]+]]: f32
  // CVT: vector.broadcast %[[SCALE]]
  func.func @reassociated(%codes: vector<4xf8E4M3FN>, %scale: f32) -> vector<4xf32> {
    %0 = arith.extf %codes : vector<4xf8E4M3FN> to vector<4xf32>
    %1 = vector.broadcast %scale : f32 to vector<4xf32>
    %2 = arith.mulf %0, %1 fastmath<reassoc> : vector<4xf32>
    return %2 : vector<4xf32>
  }

  // What is no NaN needs no care for it.
  // CHECK-LABEL: func.func @no_nan
  // CHECK-NOT: llvm.intr.fma
  // CHECK: arith.mulf %{{.*}}, %{{.*}} : vector<4xf32>
  // CHECK: return
  // CVT-LABEL: func.func @no_nan
  // CVT-NOT: fastmath
  // CVT: return
  func.func @no_nan(%codes: vector<4xf8E4M3FN>, %scale: f32) -> vector<4xf32> {
    %0 = arith.extf %codes : vector<4xf8E4M3FN> to vector<4xf32>
    %1 = vector.broadcast %scale : f32 to vector<4xf32>
    %2 = arith.mulf %0, %1 fastmath<reassoc,nnan> : vector<4xf32>
    return %2 : vector<4xf32>
  }

  // A scale is moved once for all of its lanes.
  // CHECK-LABEL: func.func @two_scales
  // CHECK-SAME: %[[A:[a-z0-9]+]]: f32, %[[B:[a-z0-9]+]]: f32
  // CHECK: %[[MA:.*]] = arith.mulf %[[A]]
  // CHECK: %[[MB:.*]] = arith.mulf %[[B]]
  // CHECK: vector.from_elements %[[MA]], %[[MA]], %[[MB]], %[[MB]]
  func.func @two_scales(%codes: vector<4xf8E4M3FN>, %a: f32, %b: f32) -> vector<4xf32> {
    %0 = arith.extf %codes : vector<4xf8E4M3FN> to vector<4xf32>
    %1 = vector.from_elements %a, %a, %b, %b : vector<4xf32>
    %2 = arith.mulf %0, %1 fastmath<reassoc> : vector<4xf32>
    return %2 : vector<4xf32>
  }

  // Without the flag, and of other formats, products stay.
  // CHECK-LABEL: func.func @exact
  // CHECK-SAME: %[[SCALE:[a-z0-9]+]]: f32
  // CHECK-COUNT-3: llvm.intr.fma
  // CHECK: vector.broadcast %[[SCALE]] : f32
  func.func @exact(%codes: vector<4xf8E4M3FN>, %scale: f32) -> vector<4xf32> {
    %0 = arith.extf %codes : vector<4xf8E4M3FN> to vector<4xf32>
    %1 = vector.broadcast %scale : f32 to vector<4xf32>
    %2 = arith.mulf %0, %1 : vector<4xf32>
    return %2 : vector<4xf32>
  }
  // CHECK-LABEL: func.func @e5m2
  // CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<reassoc>
  func.func @e5m2(%codes: vector<4xf8E5M2>, %scale: f32) -> vector<4xf32> {
    %0 = arith.extf %codes : vector<4xf8E5M2> to vector<4xf32>
    %1 = vector.broadcast %scale : f32 to vector<4xf32>
    %2 = arith.mulf %0, %1 fastmath<reassoc> : vector<4xf32>
    return %2 : vector<4xf32>
  }

  // The largest f32 below 2^120, or infinity.
  // CHECK-LABEL: func.func @limit
  // CHECK: arith.constant 1.32922792E+36 : f32
  // CVT-LABEL: func.func @limit
  // CVT: arith.constant 0x7F800000 : f32
  func.func @limit() -> f32 {
    %0 = kvcache.scale_limit : f32
    return %0 : f32
  }

  // A 256th of the numbers, whose NaN is looked for in the largest of several:
  // 480 overflows. Or numbers as they are.
  // CHECK-LABEL: func.func @scaled
  // CHECK-NOT: llvm.intr.fma
  // CHECK: llvm.call_intrinsic "llvm.fabs"(%{{.*}}) : (vector<2xf16>) -> vector<2xf16>
  // CHECK: llvm.call_intrinsic "llvm.fabs"
  // CHECK: llvm.call_intrinsic "llvm.maxnum"(%{{.*}}, %{{.*}}) : (vector<2xf16>, vector<2xf16>) -> vector<2xf16>
  // CHECK-COUNT-2: llvm.intr.fma({{.*}}) : (vector<2xf16>
  // CHECK-NOT: llvm.intr.fma
  // CHECK: arith.constant 2.560000e+02 : f32
  // CHECK: return
  // CVT-LABEL: func.func @scaled
  // CVT-NOT: llvm.fabs
  // CVT: arith.constant 1.000000e+00 : f32
  func.func @scaled(%codes: vector<4xf8E4M3FN>) -> (vector<4xf16>, vector<2xf16>, f32) {
    %0 = kvcache.decode_scaled %codes : vector<4xf8E4M3FN> to vector<4xf16>
    %1 = vector.extract_strided_slice %0 {offsets = [0], sizes = [2], strides = [1]} : vector<4xf16> to vector<2xf16>
    %2 = vector.extract_strided_slice %0 {offsets = [2], sizes = [2], strides = [1]} : vector<4xf16> to vector<2xf16>
    %3 = kvcache.restore_nan %2 of %1, %2 : vector<2xf16>
    %4 = kvcache.decoded_unit : f32
    return %0, %3, %4 : vector<4xf16>, vector<2xf16>, f32
  }
}
