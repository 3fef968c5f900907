// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Encodes f32 bits from standard input with the host code of NVIDIA's headers.
// Writes, per value, the bytes of e4m3, e5m2, e2m1, e8m0 upward and toward
// zero.
#include <cstdio>
#include <cuda_fp4.h>
#include <cuda_fp8.h>

int main() {
  float x;
  while (std::fread(&x, sizeof x, 1, stdin) == 1) {
    unsigned char codes[] = {
        __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3),
        __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2),
        __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest),
        __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf),
        __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundZero)};
    std::fwrite(codes, sizeof codes, 1, stdout);
  }
}
