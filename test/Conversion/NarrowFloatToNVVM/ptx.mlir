// From conversions to PTX, with everything else that touches a narrow float on
// the way: constants, select, bitcast, loads and stores.

// DEFINE: %{chip} = sm_80
// DEFINE: %{ptx} = 84
// DEFINE: %{lower} = kvcache-opt %s --pass-pipeline="builtin.module( \
// DEFINE:   nvvm-attach-target{chip=%{chip} features=+ptx%{ptx} O=3}, \
// DEFINE:   gpu.module(convert-narrow-float-to-nvvm{chip=%{chip}}, \
// DEFINE:     convert-vector-to-llvm, \
// DEFINE:     convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1}, \
// DEFINE:     convert-nvvm-to-llvm,reconcile-unrealized-casts), \
// DEFINE:   gpu-module-to-binary{format=isa})" | sed -e 's/\\0A/\n/g' -e 's/\\09/ /g'

// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,SM80 -DCHIP=sm_80
// REDEFINE: %{chip} = sm_90a
// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,F8,SM90 -DCHIP=sm_90a
// REDEFINE: %{chip} = sm_100a
// REDEFINE: %{ptx} = 88
// RUN: %{lower} | FileCheck %s --check-prefixes=CHECK,F8,SM100 -DCHIP=sm_100a

// CHECK-NOT: .extern
// CHECK-NOT: unrealized_conversion_cast
// CHECK:     .target [[CHIP]]
gpu.module @m {
  // CHECK-LABEL: .entry decode(
  // CHECK:       ld.global.{{b32|v2.b16}}
  // SM80:        prmt.b32 {{.*}}, 0x1800U
  // SM80:        shr.s32
  // SM80-COUNT-3: fma.rn.bf16x2
  // SM80:        prmt.b32 {{.*}}, 0x3a22U
  // SM80-COUNT-3: fma.rn.bf16x2
  // F8-COUNT-2: cvt.rn.f16x2.e4m3x2
  // CHECK:       st.global.v2.b32
  // CHECK-NOT:   .extern
  gpu.func @decode(%in: memref<64xf8E4M3FN>, %out: memref<64xbf16>) kernel {
    %t = gpu.thread_id x
    %codes = vector.load %in[%t] {alignment = 4 : i64} : memref<64xf8E4M3FN>, vector<4xf8E4M3FN>
    %values = arith.extf %codes : vector<4xf8E4M3FN> to vector<4xbf16>
    vector.store %values, %out[%t] {alignment = 8 : i64} : memref<64xbf16>, vector<4xbf16>
    gpu.return
  }

  // CHECK-LABEL: .entry encode(
  // CHECK:       ld.global.v4.b32
  // SM80:        abs.f32
  // SM80:        min.NaN.f32
  // SM80-COUNT-2: cvt.pack.sat.s8.s32.b32
  // F8-COUNT-2: cvt.rn.satfinite.e4m3x2.f32
  // CHECK:       st.global.{{b32|v2.b16}}
  // CHECK-NOT:   .extern
  gpu.func @encode(%in: memref<64xf32>, %out: memref<64xf8E4M3FN>) kernel {
    %t = gpu.thread_id x
    %values = vector.load %in[%t] {alignment = 16 : i64} : memref<64xf32>, vector<4xf32>
    %codes = arith.truncf %values : vector<4xf32> to vector<4xf8E4M3FN>
    vector.store %codes, %out[%t] {alignment = 4 : i64} : memref<64xf8E4M3FN>, vector<4xf8E4M3FN>
    gpu.return
  }

  // Two codes a byte: no 4-bit arithmetic.
  // CHECK-LABEL: .entry decode_f4(
  // CHECK:       ld.global.b32
  // SM80-COUNT-8: prmt.b32
  // SM90-COUNT-8: prmt.b32
  // SM100-COUNT-4: cvt.rn.f16x2.e2m1x2
  // CHECK:       st.global.v4.b32
  // CHECK-NOT:   .extern
  gpu.func @decode_f4(%in: memref<64xi8>, %out: memref<64xf16>) kernel {
    %t = gpu.thread_id x
    %bytes = vector.load %in[%t] {alignment = 4 : i64} : memref<64xi8>, vector<4xi8>
    %codes = vector.bitcast %bytes : vector<4xi8> to vector<8xf4E2M1FN>
    %values = arith.extf %codes : vector<8xf4E2M1FN> to vector<8xf16>
    vector.store %values, %out[%t] {alignment = 16 : i64} : memref<64xf16>, vector<8xf16>
    gpu.return
  }

  // CHECK-LABEL: .entry scale(
  // SM100:       cvt.rn.bf16x2.ue8m0x2
  // SM100:       cvt.rp.satfinite.ue8m0x2.f32
  // CHECK:       ret
  // CHECK-NOT:   .extern
  gpu.func @scale(%in: memref<64xf8E8M0FNU>, %out: memref<64xf8E8M0FNU>) kernel {
    %t = gpu.thread_id x
    %code = memref.load %in[%t] : memref<64xf8E8M0FNU>
    %value = arith.extf %code : f8E8M0FNU to f32
    %three = arith.constant 3.0 : f32
    %product = arith.mulf %value, %three : f32
    %result = arith.truncf %product : f32 to f8E8M0FNU
    memref.store %result, %out[%t] : memref<64xf8E8M0FNU>
    gpu.return
  }

  // 1.5 is 0x3C as e4m3, two of them 0x3C3C; NaN is 0x7F.
  // CHECK-LABEL: .entry others(
  // CHECK:       ret
  // CHECK-NOT:   .extern
  gpu.func @others(%in: memref<64xf8E4M3FN>, %out: memref<64xf8E4M3FN>, %flag: i1) kernel {
    %t = gpu.thread_id x
    %nan = arith.constant 0x7F : f8E4M3FN
    %twice = arith.constant dense<1.5> : vector<2xf8E4M3FN>
    %loaded = memref.load %in[%t] : memref<64xf8E4M3FN>
    %one = arith.select %flag, %loaded, %nan : f8E4M3FN
    %bits = arith.bitcast %one : f8E4M3FN to i8
    %again = arith.bitcast %bits : i8 to f8E4M3FN
    %pair = vector.insert %again, %twice[0] : f8E4M3FN into vector<2xf8E4M3FN>
    %wide = arith.extf %pair : vector<2xf8E4M3FN> to vector<2xf32>
    %sum = arith.addf %wide, %wide : vector<2xf32>
    %codes = arith.truncf %sum : vector<2xf32> to vector<2xf8E4M3FN>
    vector.store %codes, %out[%t] : memref<64xf8E4M3FN>, vector<2xf8E4M3FN>
    gpu.return
  }
}
