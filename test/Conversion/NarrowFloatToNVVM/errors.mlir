// RUN: kvcache-opt %s --split-input-file --convert-narrow-float-to-nvvm=chip=sm_90a --verify-diagnostics

func.func @tensor(%codes: tensor<4xf8E4M3FN>) -> tensor<4xf32> {
  // expected-error @+1 {{'arith.extf' op expected scalars or vectors, got 'tensor<4xf8E4M3FN>'; bufferize and vectorize before lowering narrow floats}}
  %0 = arith.extf %codes : tensor<4xf8E4M3FN> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @scalable(%values: vector<[4]xf32>) -> vector<[4]xf8E5M2> {
  // expected-error @+1 {{'arith.truncf' op expected a vector of fixed size, got 'vector<[4]xf32>'}}
  %0 = arith.truncf %values : vector<[4]xf32> to vector<[4]xf8E5M2>
  return %0 : vector<[4]xf8E5M2>
}

// -----

// Every fault is reported, not only the first.
func.func @types(%a: f8E4M3FNUZ, %b: f6E2M3FN, %c: f128) -> (f32, f16, f8E4M3FN) {
  // expected-error @+1 {{'arith.extf' op cannot lower conversions of 'f8E4M3FNUZ', expected f8E4M3FN, f8E5M2, f8E8M0FNU or f4E2M1FN and f16, bf16, f32 or f64}}
  %0 = arith.extf %a : f8E4M3FNUZ to f32
  // expected-error @+1 {{'arith.extf' op cannot lower conversions of 'f6E2M3FN', expected f8E4M3FN, f8E5M2, f8E8M0FNU or f4E2M1FN and f16, bf16, f32 or f64}}
  %1 = arith.extf %b : f6E2M3FN to f16
  // expected-error @+1 {{'arith.truncf' op cannot lower conversions of 'f128', expected f8E4M3FN, f8E5M2, f8E8M0FNU or f4E2M1FN and f16, bf16, f32 or f64}}
  %2 = arith.truncf %c : f128 to f8E4M3FN
  return %0, %1, %2 : f32, f16, f8E4M3FN
}

// -----

func.func @rounding(%value: f32) -> (f8E4M3FN, f8E8M0FNU) {
  // expected-error @+1 {{'arith.truncf' op cannot round 'f8E4M3FN' downward, expected to_nearest_even (the default)}}
  %0 = arith.truncf %value downward : f32 to f8E4M3FN
  // expected-error @+1 {{'arith.truncf' op cannot round 'f8E8M0FNU' to_nearest_even, expected upward (the default) or toward_zero}}
  %1 = arith.truncf %value to_nearest_even : f32 to f8E8M0FNU
  return %0, %1 : f8E4M3FN, f8E8M0FNU
}

// -----

func.func @inexact(%code: f4E2M1FN) -> f8E8M0FNU {
  // expected-error @+1 {{'arith.extf' op f8E8M0FNU does not hold every value of 'f4E2M1FN'}}
  %0 = arith.extf %code : f4E2M1FN to f8E8M0FNU
  return %0 : f8E8M0FNU
}

// -----

func.func @scale(%value: f32, %scale: f32) -> f8E4M3FN {
  // expected-error @+1 {{'arith.scaling_truncf' op expected a scale of f8E8M0FNU, got 'f32'; round it with 'arith.truncf' first}}
  %0 = arith.scaling_truncf %value, %scale : f32, f32 to f8E4M3FN
  return %0 : f8E4M3FN
}
