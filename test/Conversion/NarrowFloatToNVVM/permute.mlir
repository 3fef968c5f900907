// A chip without narrow cvt: bytes are permuted into the lanes of packed f16
// or bf16, and back.
// RUN: kvcache-opt %s --split-input-file --convert-narrow-float-to-nvvm=chip=sm_80 | FileCheck %s

gpu.module @m {
  // One register of codes: two pairs, three fused multiply-adds each.
  // CHECK-LABEL: func.func @decode_e4m3
  // CHECK-DAG:     %[[WORDS:.*]] = vector.bitcast %{{.*}} : vector<4xf8E4M3FN> to vector<1xi32>
  // CHECK-DAG:     %[[WORD:.*]] = vector.extract %[[WORDS]][0]
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[WORD]], %[[WORD]]
  // CHECK:         arith.shrsi
  // CHECK-COUNT-3: llvm.intr.fma({{.*}}) : (vector<2xbf16>
  // CHECK:         nvvm.prmt <default> %{{.*}}, %[[WORD]], %[[WORD]]
  // CHECK-COUNT-3: llvm.intr.fma({{.*}}) : (vector<2xbf16>
  // CHECK-NOT:     nvvm
  // CHECK-NOT:     arith.extf
  func.func @decode_e4m3(%codes: vector<4xf8E4M3FN>) -> vector<4xbf16> {
    %0 = arith.extf %codes : vector<4xf8E4M3FN> to vector<4xbf16>
    return %0 : vector<4xbf16>
  }
}

// -----

gpu.module @m {
  // An e5m2 code is half an f16.
  // CHECK-LABEL: func.func @decode_e5m2
  // CHECK:         nvvm.prmt
  // CHECK-NEXT:    llvm.bitcast %{{.*}} : i32 to vector<2xf16>
  // CHECK-NOT:     {{fma|mulf|select}}
  // CHECK:         return
  func.func @decode_e5m2(%codes: vector<2xf8E5M2>) -> vector<2xf16> {
    %0 = arith.extf %codes : vector<2xf8E5M2> to vector<2xf16>
    return %0 : vector<2xf16>
  }
}

// -----

gpu.module @m {
  // Packed bytes reach the table lookup as they are.
  // CHECK-LABEL: func.func @decode_e2m1
  // CHECK:         vector.bitcast %{{.*}} : vector<4xi8> to vector<1xi32>
  // CHECK-COUNT-8: nvvm.prmt
  // CHECK-NOT:     {{nvvm|i4}}
  // CHECK:         return
  func.func @decode_e2m1(%bytes: vector<4xi8>) -> vector<8xf16> {
    %codes = vector.bitcast %bytes : vector<4xi8> to vector<8xf4E2M1FN>
    %0 = arith.extf %codes : vector<8xf4E2M1FN> to vector<8xf16>
    return %0 : vector<8xf16>
  }
}

// -----

gpu.module @m {
  // CHECK-LABEL: func.func @encode_e4m3
  // CHECK-COUNT-4: arith.minimumf
  // CHECK-COUNT-2: cvt.pack.sat.s8.s32.b32
  // CHECK-COUNT-3: nvvm.prmt
  // CHECK:         vector.bitcast %{{.*}} : vector<1xi32> to vector<4xf8E4M3FN>
  func.func @encode_e4m3(%values: vector<4xf32>) -> vector<4xf8E4M3FN> {
    %0 = arith.truncf %values : vector<4xf32> to vector<4xf8E4M3FN>
    return %0 : vector<4xf8E4M3FN>
  }
}

// -----

// Rows of a vector, a launch's body, and what host code around it gets.
gpu.module @m {
  // CHECK-LABEL: func.func @rows
  // CHECK:         vector.extract %{{.*}}[0, 0]
  // CHECK:         nvvm.prmt
  // CHECK:         vector.insert %{{.*}}[0, 0]
  // CHECK:         vector.extract %{{.*}}[1, 0]
  // CHECK:         nvvm.prmt
  // CHECK:         vector.insert %{{.*}}[1, 0]
  func.func @rows(%codes: vector<2x1x2xf8E5M2>) -> vector<2x1x2xf16> {
    %0 = arith.extf %codes : vector<2x1x2xf8E5M2> to vector<2x1x2xf16>
    return %0 : vector<2x1x2xf16>
  }
}

// CHECK-LABEL: func.func @launch
// CHECK-NOT:     nvvm
// CHECK:         gpu.launch
// CHECK:           nvvm.prmt
// CHECK:           gpu.terminator
// CHECK-NOT:     nvvm
func.func @launch(%code: f8E5M2, %out: memref<1xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %host = arith.extf %code : f8E5M2 to f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%x = %c1, %y = %c1, %z = %c1) {
    %device = arith.extf %code : f8E5M2 to f16
    memref.store %device, %out[%c0] : memref<1xf16>
    gpu.terminator
  }
  memref.store %host, %out[%c0] : memref<1xf16>
  return
}
