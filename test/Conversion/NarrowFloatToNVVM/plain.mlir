// Without a chip, and in host code with one, conversions become arithmetic
// that any target has.
// RUN: kvcache-opt %s --split-input-file --convert-narrow-float-to-nvvm | FileCheck %s
// RUN: kvcache-opt %s --split-input-file --convert-narrow-float-to-nvvm=chip=sm_100a | FileCheck %s

// CHECK-LABEL: func.func @decode_e4m3
// CHECK-NOT:     {{llvm|nvvm|vector}}.
// CHECK-DAG:     %[[CODES:.*]] = arith.bitcast %{{.*}} : vector<3xf8E4M3FN> to vector<3xi8>
// CHECK-DAG:     %[[SCALE:.*]] = arith.constant dense<1.329228E+36> : vector<3xf32>
// CHECK:         arith.mulf %{{.*}}, %[[SCALE]]
// CHECK-NOT:     {{llvm|nvvm|vector}}.
// CHECK:         return %{{.*}} : vector<3xf32>
func.func @decode_e4m3(%codes: vector<3xf8E4M3FN>) -> vector<3xf32> {
  %0 = arith.extf %codes : vector<3xf8E4M3FN> to vector<3xf32>
  return %0 : vector<3xf32>
}

// -----

// bf16 is the upper half of an f32: no conversion that a host may lack.
// CHECK-LABEL: func.func @bf16
// CHECK-NOT:     arith.{{extf|truncf}}
// CHECK:         return
func.func @bf16(%code: f8E5M2, %value: bf16) -> (bf16, f8E5M2) {
  %0 = arith.extf %code : f8E5M2 to bf16
  %1 = arith.truncf %value : bf16 to f8E5M2
  return %0, %1 : bf16, f8E5M2
}

// -----

// Any rank, elementwise.
// CHECK-LABEL: func.func @rank2
// CHECK:         arith.trunci %{{.*}} : vector<2x4xi32> to vector<2x4xi4>
// CHECK:         arith.bitcast %{{.*}} : vector<2x4xi4> to vector<2x4xf4E2M1FN>
func.func @rank2(%values: vector<2x4xf32>) -> vector<2x4xf4E2M1FN> {
  %0 = arith.truncf %values : vector<2x4xf32> to vector<2x4xf4E2M1FN>
  return %0 : vector<2x4xf4E2M1FN>
}

// -----

// CHECK-LABEL: func.func @e8m0
// CHECK:         arith.constant 4194304 : i32
// CHECK:         arith.maxui
// CHECK:         arith.constant 255 : i32
// CHECK:         return
func.func @e8m0(%code: f8E8M0FNU) -> f32 {
  %0 = arith.extf %code : f8E8M0FNU to f32
  return %0 : f32
}

// -----

// f64 is truncated to f32 with the lost bits' trace kept, then rounded once.
// CHECK-LABEL: func.func @f64
// CHECK:         %[[NEAREST:.*]] = arith.truncf %[[VALUE:.*]] : f64 to f32
// CHECK:         %[[BACK:.*]] = arith.extf %[[NEAREST]] : f32 to f64
// CHECK:         arith.cmpf one, %[[BACK]], %[[VALUE]]
func.func @f64(%value: f64) -> f8E4M3FN {
  %0 = arith.truncf %value : f64 to f8E4M3FN
  return %0 : f8E4M3FN
}

// -----

// The reciprocal of a power of two is on its code.
// CHECK-LABEL: func.func @scaling
// CHECK-DAG:     %[[SCALE:.*]] = arith.bitcast %{{.*}} : f8E8M0FNU to i8
// CHECK-DAG:     %[[C254:.*]] = arith.constant -2 : i8
// CHECK:         arith.subi %[[C254]], %[[SCALE]] : i8
// CHECK-NOT:     arith.divf
// CHECK-NOT:     arith.scaling
// CHECK:         return
func.func @scaling(%value: f32, %code: f4E2M1FN, %scale: f8E8M0FNU)
    -> (f8E4M3FN, bf16) {
  %0 = arith.scaling_truncf %value, %scale : f32, f8E8M0FNU to f8E4M3FN
  %1 = arith.scaling_extf %code, %scale : f4E2M1FN, f8E8M0FNU to bf16
  return %0, %1 : f8E4M3FN, bf16
}

// -----

// Others' conversions stay.
// CHECK-LABEL: func.func @wide
// CHECK-NEXT:    arith.extf %{{.*}} : f16 to f32
// CHECK-NEXT:    arith.truncf %{{.*}} downward : f32 to bf16
// CHECK-NEXT:    return
func.func @wide(%value: f16) -> bf16 {
  %0 = arith.extf %value : f16 to f32
  %1 = arith.truncf %0 downward : f32 to bf16
  return %1 : bf16
}
