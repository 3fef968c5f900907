// RUN: kvcache-opt %s --kvcache-to-ptx="chip=sm_80,sm_90a" | FileCheck %s
// RUN: rm -rf %t && kvcache-opt %s --kvcache-to-ptx="chip=sm_80 output=%t" -o /dev/null
// RUN: FileCheck %s --check-prefix=SM80 < %t/main_kernel.sm_80.ptx
// RUN: kvcache-opt %s --kvcache-to-ptx="chip=sm_90a output=%t" -o /dev/null
// RUN: FileCheck %s --check-prefix=SM90 < %t/main_kernel.sm_90a.ptx

// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func {{ *}}@main_kernel::@main_kernel
// CHECK: gpu.binary @main_kernel {{ *}}[#gpu.object<#nvvm.target<chip = "sm_80"
// CHECK-SAME: assembly = "
// CHECK-SAME: #gpu.object<#nvvm.target<chip = "sm_90a"
// CHECK-NOT: gpu.module

// SM80-NOT: .extern
// SM80: .target sm_80{{$}}
// SM80: .visible .entry main_kernel(
// SM80-NEXT: .param .u64 .ptr
// SM80-NEXT: )
// SM80-NOT: e4m3
// SM80: st.global.b32
// SM80-NOT: .extern

// SM90-NOT: .extern
// SM90: .target sm_90a{{$}}
// SM90: ld.global
// SM90: cvt.rn.satfinite.e4m3x2.f32
// SM90: cvt.rn.f16x2.e4m3x2
// SM90-NOT: .extern

func.func @main(%n: index, %a: memref<1024xf32>) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %v = memref.load %a[%tx] : memref<1024xf32>
    %h = arith.truncf %v : f32 to f8E4M3FN
    %w = arith.extf %h : f8E4M3FN to f32
    %s = arith.addf %v, %w : f32
    memref.store %s, %a[%tx] : memref<1024xf32>
    gpu.terminator
  }
  return
}
