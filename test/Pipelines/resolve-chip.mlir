// RUN: kvcache-opt %s --kvcache-resolve-chip=chip=sm_90a | FileCheck %s --check-prefixes=CHECK,WITH
// RUN: kvcache-opt %s --kvcache-resolve-chip=chip=sm_90 | FileCheck %s --check-prefixes=CHECK,WITHOUT
// RUN: kvcache-opt %s --kvcache-resolve-chip=chip=sm_100a | FileCheck %s --check-prefixes=CHECK,WITHOUT
// RUN: not kvcache-opt %s --kvcache-resolve-chip=chip=sm_1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown chip 'sm_1', expected one of sm_80

// One form stays, without a branch.
// CHECK-LABEL: func @forms
// CHECK-NOT: has_wgmma
// CHECK-NOT: scf.if
// WITH: return %arg0
// WITHOUT: return %arg1
func.func @forms(%a: i32, %b: i32) -> i32 {
  %has = kvcache.has_wgmma
  %form = scf.if %has -> i32 {
    scf.yield %a : i32
  } else {
    scf.yield %b : i32
  }
  return %form : i32
}

// CHECK-LABEL: func @answer
// WITH: arith.constant true
// WITHOUT: arith.constant false
func.func @answer() -> i1 {
  %has = kvcache.has_wgmma
  return %has : i1
}
