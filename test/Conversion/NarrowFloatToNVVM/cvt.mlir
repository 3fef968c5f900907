// The chip's own instructions: f8 from sm_89 on, f4 and e8m0 on the specific
// targets of sm_100 and later.
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_89 | FileCheck %s --check-prefixes=F8,NONE
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_90a | FileCheck %s --check-prefixes=F8,NONE
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_100 | FileCheck %s --check-prefixes=F8,NONE
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_100a | FileCheck %s --check-prefixes=F8,F4
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_103f | FileCheck %s --check-prefixes=F8,F4
// RUN: kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_121a | FileCheck %s --check-prefixes=F8,F4

gpu.module @m {
  // F8-LABEL: func.func @decode_f8
  // F8:         nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
  // F8-NEXT:    %[[F32:.*]] = arith.extf %{{.*}} : vector<2xf16> to vector<2xf32>
  // F8-NEXT:    arith.truncf %[[F32]] : vector<2xf32> to vector<2xbf16>
  // F8:         nvvm.convert.f8x2.to.f16x2 %{{.*}} : vector<2xi8>(f8E4M3FN) -> vector<2xf16>
  // F8-NOT:     nvvm
  // F8:         return
  func.func @decode_f8(%codes: vector<3xf8E4M3FN>) -> vector<3xbf16> {
    %0 = arith.extf %codes : vector<3xf8E4M3FN> to vector<3xbf16>
    return %0 : vector<3xbf16>
  }

  // The first element is the low byte, which is the second operand's.
  // F8-LABEL: func.func @encode_f8
  // F8-DAG:     %[[FIRST:.*]] = vector.extract %{{.*}}[0]
  // F8-DAG:     %[[SECOND:.*]] = vector.extract %{{.*}}[1]
  // F8:         nvvm.convert.f32x2.to.f8x2 %[[SECOND]], %[[FIRST]] {rnd = #nvvm.fp_rnd_mode<rn>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E5M2)
  func.func @encode_f8(%values: vector<2xf32>) -> vector<2xf8E5M2> {
    %0 = arith.truncf %values : vector<2xf32> to vector<2xf8E5M2>
    return %0 : vector<2xf8E5M2>
  }

  // No double rounding: bf16 by way of f32, f16 as it is.
  // F8-LABEL: func.func @encode_16
  // F8:         arith.extf %{{.*}} : vector<2xbf16> to vector<2xf32>
  // F8:         nvvm.convert.f32x2.to.f8x2
  // F8-NOT:     arith.extf
  // F8:         nvvm.convert.f16x2.to.f8x2 %{{.*}} : vector<2xf16> -> i16(f8E4M3FN)
  func.func @encode_16(%a: vector<2xbf16>, %b: vector<2xf16>)
      -> (vector<2xf8E4M3FN>, vector<2xf8E4M3FN>) {
    %0 = arith.truncf %a to_nearest_even : vector<2xbf16> to vector<2xf8E4M3FN>
    %1 = arith.truncf %b : vector<2xf16> to vector<2xf8E4M3FN>
    return %0, %1 : vector<2xf8E4M3FN>, vector<2xf8E4M3FN>
  }

  // F8-LABEL: func.func @f4
  // F4:         nvvm.convert.f4x2.to.f16x2 %{{.*}} : i8(f4E2M1FN) -> vector<2xf16>
  // F4:         nvvm.convert.f32x2.to.f4x2 %{{.*}}, %{{.*}} : i8(f4E2M1FN)
  // NONE-NOT:   nvvm.convert
  // F8:         return
  func.func @f4(%codes: vector<2xf4E2M1FN>, %values: vector<2xf32>)
      -> (vector<2xf16>, vector<2xf4E2M1FN>) {
    %0 = arith.extf %codes : vector<2xf4E2M1FN> to vector<2xf16>
    %1 = arith.truncf %values : vector<2xf32> to vector<2xf4E2M1FN>
    return %0, %1 : vector<2xf16>, vector<2xf4E2M1FN>
  }

  // F8-LABEL: func.func @e8m0
  // F4:         nvvm.convert.f8x2.to.bf16x2 %{{.*}} : vector<2xi8>(f8E8M0FNU) -> vector<2xbf16>
  // F4:         llvm.call_intrinsic "llvm.fabs"
  // F4:         nvvm.convert.f32x2.to.f8x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E8M0FNU)
  // F4:         nvvm.convert.f32x2.to.f8x2 {{.*}} {rnd = #nvvm.fp_rnd_mode<rz>, sat = #nvvm.sat_mode<satfinite>} : i16(f8E8M0FNU)
  // NONE-NOT:   {{nvvm|llvm}}.
  // F8:         return
  func.func @e8m0(%code: f8E8M0FNU, %value: f32) -> (f32, f8E8M0FNU, f8E8M0FNU) {
    %0 = arith.extf %code : f8E8M0FNU to f32
    %1 = arith.truncf %value upward : f32 to f8E8M0FNU
    %2 = arith.truncf %value toward_zero : f32 to f8E8M0FNU
    return %0, %1, %2 : f32, f8E8M0FNU, f8E8M0FNU
  }
}
