// RUN: not kvcache-opt %s --convert-narrow-float-to-nvvm=chip=sm_42 2>&1 | FileCheck %s
// RUN: not kvcache-opt %s --pass-pipeline="builtin.module(gpu.module(convert-narrow-float-to-nvvm{chip=sm_90b}))" 2>&1 | FileCheck %s --check-prefix=NESTED

// CHECK: unknown-chip.mlir:{{.*}}: error: unknown chip 'sm_42', expected one of sm_80, sm_86, sm_87, sm_89, sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_103, sm_103f, sm_103a, sm_110, sm_110f, sm_110a, sm_120, sm_120f, sm_120a, sm_121, sm_121f, sm_121a

// NESTED: unknown-chip.mlir:[[@LINE+1]]:1: error: unknown chip 'sm_90b', expected one of
gpu.module @m {
}
