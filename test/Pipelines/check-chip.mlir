// RUN: kvcache-opt %s --kvcache-check-chip=chip=sm_100a -verify-diagnostics
// RUN: not kvcache-opt %s --kvcache-check-chip=chip=sm_90a 2>&1 | FileCheck %s --check-prefix=SM90A
// RUN: not kvcache-opt %s --kvcache-check-chip=chip=sm_80 2>&1 | FileCheck %s --check-prefix=SM80
// RUN: not kvcache-opt %s --kvcache-check-chip=chip=sm_1 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// UNKNOWN: error: unknown chip 'sm_1', expected one of sm_80,

// SM90A-NOT: error:
// SM90A: :[[#@LINE+10]]:{{[0-9]+}}: error: 'nvvm.convert.f32x2.to.f8x2' needs sm_100f, {{.*}} or sm_121a, but is compiled for sm_90a
// SM90A: error: 'nvvm.convert.f32x2.to.f4x2' needs
// SM90A-NOT: error:

// SM80: error: 'nvvm.convert.f32x2.to.f8x2' needs sm_100f, {{.*}}, but is compiled for sm_80
// SM80: error: 'nvvm.convert.f32x2.to.f4x2' needs
// SM80: error: 'nvvm.mapa' needs sm_90 or later, but is compiled for sm_80
// SM80-NOT: error:
llvm.func @f(%x: f32, %p: !llvm.ptr<3>, %r: i32) {
  // The same operation needs more for e8m0.
  %0 = nvvm.convert.f32x2.to.f8x2 %x, %x {rnd = #nvvm.fp_rnd_mode<rp>, sat = #nvvm.sat_mode<satfinite>} : i16 (f8E8M0FNU)
  %1 = nvvm.convert.f32x2.to.f4x2 %x, %x : i8 (f4E2M1FN)
  %2 = nvvm.mapa %p, %r : !llvm.ptr<3> -> !llvm.ptr<7>
  nvvm.barrier0
  llvm.return
}
