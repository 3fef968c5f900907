// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions as kernels.
#ifdef __NVCC__
#define __builtin_popcountll __popcll
#else
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
struct uint3;
struct dim3;
#include <__clang_cuda_builtin_vars.h>
__device__ inline float sqrtf(float v) { return __nvvm_sqrt_rn_f(v); }
__device__ inline double sqrt(double v) { return __nvvm_sqrt_rn_d(v); }
__device__ inline float fmaf(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
__device__ inline double fma(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
#endif
#define DEVICE __device__
#define CONSTANT __constant__
__device__ inline float SQRT(float v) { return sqrtf(v); }
__device__ inline double SQRT(double v) { return sqrt(v); }
__device__ inline float FMA(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double FMA(double a, double b, double c) {
  return fma(a, b, c);
}
#include "expressions.h"

#define KERNEL(NAME, TYPE, CALL)                                               \
  extern "C" __global__ void NAME(const TYPE *a, const TYPE *b, const TYPE *c, \
                                  TYPE *out, int n) {                          \
    CALL(a, b, c, out, n, int(blockIdx.x * blockDim.x + threadIdx.x));         \
  }
KERNEL(k_u8, uint8_t, integerExpressions<u8_types>)
KERNEL(k_s8, int8_t, integerExpressions<s8_types>)
KERNEL(k_u16, uint16_t, integerExpressions<u16_types>)
KERNEL(k_s16, int16_t, integerExpressions<s16_types>)
KERNEL(k_u32, uint32_t, integerExpressions<u32_types>)
KERNEL(k_s32, int32_t, integerExpressions<s32_types>)
KERNEL(k_u64, uint64_t, integerExpressions<u64_types>)
KERNEL(k_s64, int64_t, integerExpressions<s64_types>)
KERNEL(k_f32, float, floatExpressions<float>)
KERNEL(k_f64, double, floatExpressions<double>)
