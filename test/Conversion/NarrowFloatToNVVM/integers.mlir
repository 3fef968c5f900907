// Integers become narrow floats through f32, and the reverse. MLIR's own folding
// makes such operations of a truncf of a sitofp.
// RUN: kvcache-opt %s --canonicalize --convert-narrow-float-to-nvvm | FileCheck %s

// CHECK-LABEL: func @folded
func.func @folded(%n: i32) -> f8E4M3FN {
  // CHECK: %[[WIDE:.*]] = arith.uitofp %{{.*}} : i32 to f32
  // CHECK-NOT: uitofp
  // CHECK: return %{{.*}} : f8E4M3FN
  %wide = arith.uitofp %n : i32 to f32
  %code = arith.truncf %wide : f32 to f8E4M3FN
  return %code : f8E4M3FN
}

// CHECK-LABEL: func @signed_vector
func.func @signed_vector(%n: vector<4xi8>) -> vector<4xf8E5M2> {
  // CHECK: arith.sitofp %{{.*}} : vector<4xi8> to vector<4xf32>
  // CHECK-NOT: sitofp
  // CHECK: return
  %code = arith.sitofp %n : vector<4xi8> to vector<4xf8E5M2>
  return %code : vector<4xf8E5M2>
}

// f32 would round 2^24 + 1 down, and f8E8M0FNU goes up to 2^25.
// CHECK-LABEL: func @far
func.func @far(%n: i32) -> f8E8M0FNU {
  // CHECK: arith.sitofp %{{.*}} : i32 to f64
  // CHECK: return
  %code = arith.sitofp %n : i32 to f8E8M0FNU
  return %code : f8E8M0FNU
}

// CHECK-LABEL: func @to_integers
func.func @to_integers(%a: f8E4M3FN, %b: vector<2xf8E5M2>) -> (i32, vector<2xi16>) {
  // CHECK: arith.fptosi %{{.*}} : f32 to i32
  // CHECK: arith.fptoui %{{.*}} : vector<2xf32> to vector<2xi16>
  %0 = arith.fptosi %a : f8E4M3FN to i32
  %1 = arith.fptoui %b : vector<2xf8E5M2> to vector<2xi16>
  return %0, %1 : i32, vector<2xi16>
}

// bf16 and f32 are not narrow.
// CHECK-LABEL: func @wide
func.func @wide(%n: i32) -> bf16 {
  // CHECK-NEXT: %[[X:.*]] = arith.sitofp %{{.*}} : i32 to bf16
  // CHECK-NEXT: return %[[X]]
  %x = arith.sitofp %n : i32 to bf16
  return %x : bf16
}
