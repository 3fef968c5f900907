// Rows at a time: softmax, layer normalisation, quantisation.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

struct Sum {
  static __device__ float apply(float a, float b) { return a + b; }
};
struct Largest {
  static __device__ float apply(float a, float b) { return fmaxf(a, b); }
};

/// Over a block of 128 threads; every thread gets the result.
template <typename Op> __device__ inline float inWarp(float v) {
  for (int k = 16; k; k >>= 1)
    v = Op::apply(v, __shfl_xor_sync(~0u, v, k));
  return v;
}

template <int F>
__device__ void softmax_body(const float *in, float *out, int n) {
  __shared__ float largest[4], sums[4];
  int t = threadIdx.x, warp = t / 32;
  const float *row = in + blockIdx.x * n;
  float m = -3e38f;
  for (int i = t; i < n; i += 128)
    m = fmaxf(m, row[i]);
  m = inWarp<Largest>(m);
  if (t % 32 == 0 && (F != NoInit || warp != 3))
    largest[warp] = m; //! softmax_no_sync: racecheck, -, -
  if (F != NoSync)
    __syncthreads();
  m = fmaxf(fmaxf(largest[0], largest[1]), fmaxf(largest[2], largest[3])); //! softmax_no_sync: racecheck initcheck, -, - //! softmax_no_init: initcheck, 0, -
  float sum = 0;
  for (int i = t; i < n; i += 128)
    sum += __expf(row[i] - m);
  sum = inWarp<Sum>(sum);
  if (t % 32 == 0)
    sums[warp] = sum;
  __syncthreads();
  float scale = 1 / (sums[0] + sums[1] + sums[2] + sums[3]);
  for (int i = t; i < n; i += 128)
    out[blockIdx.x * n + i] = __expf(row[i] - m) * scale;
}
KERNEL(softmax, None, , (const float *in, float *out, int n), (in, out, n))
KERNEL(softmax, NoSync, _no_sync, (const float *in, float *out, int n),
       (in, out, n))
KERNEL(softmax, NoInit, _no_init, (const float *in, float *out, int n),
       (in, out, n))

template <int F>
__device__ void layernorm_body(const float *in, const float *gamma,
                               const float *beta, float *out, int n) {
  __shared__ float part[2][4];
  int t = threadIdx.x, warp = t / 32;
  const float *row = in + blockIdx.x * n;
  float sum = 0, squares = 0;
  for (int i = t; i < n + (F == OffByOne); i += 128) {
    float v = row[i]; //! layernorm_off_by_one: memcheck, 2, 72
    sum += v;
    squares += v * v;
  }
  sum = inWarp<Sum>(sum);
  squares = inWarp<Sum>(squares);
  if (t % 32 == 0) {
    part[0][warp] = sum;
    part[1][warp] = squares;
  }
  if (F == Divergent) {
    if (t < 100)
      __syncthreads(); //! layernorm_divergent: synccheck only, 0, -
  } else {
    __syncthreads();
  }
  sum = squares = 0;
  for (int w = 0; w < 4; ++w) {
    sum += part[0][w];
    squares += part[1][w];
  }
  float mean = sum / n;
  float scale = rsqrtf(squares / n - mean * mean + 1e-5f);
  for (int i = t; i < n; i += 128)
    out[blockIdx.x * n + i] = (row[i] - mean) * scale * gamma[i] + beta[i];
}
KERNEL(layernorm, None, ,
       (const float *in, const float *gamma, const float *beta, float *out, int n),
       (in, gamma, beta, out, n))
KERNEL(layernorm, OffByOne, _off_by_one,
       (const float *in, const float *gamma, const float *beta, float *out, int n),
       (in, gamma, beta, out, n))
KERNEL(layernorm, Divergent, _divergent,
       (const float *in, const float *gamma, const float *beta, float *out, int n),
       (in, gamma, beta, out, n))

// e4m3 with a power-of-two scale a row; a warp a row of 128.
template <int F>
__device__ void quantise_body(const float *in, unsigned char *codes, float *scales) {
  int row = blockIdx.x, lane = threadIdx.x;
  const float4 *source = (const float4 *)(in + row * 128);
  float4 v = source[lane];
  float m = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
  m = inWarp<Largest>(m);
  float scale = 1;
  while (m * scale > 448)
    scale *= 0.5f;
  while (m * scale < 224 && scale < 1e6f)
    scale *= 2;
  unsigned short low, high;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(low)
      : "f"(v.y * scale), "f"(v.x * scale));
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(high)
      : "f"(v.w * scale), "f"(v.z * scale));
  unsigned *target = (unsigned *)(codes + row * 128 + (F == Misaligned ? 2 : 0));
  target[lane + (F == OffByOne)] = low | unsigned(high) << 16; //! quantise_misaligned: memcheck, 0, 0 //! quantise_off_by_one: memcheck, 15, 31
  if (lane == 0)
    scales[row] = scale;
}
KERNEL(quantise, None, , (const float *in, unsigned char *codes, float *scales),
       (in, codes, scales))
KERNEL(quantise, Misaligned, _misaligned,
       (const float *in, unsigned char *codes, float *scales), (in, codes, scales))
KERNEL(quantise, OffByOne, _off_by_one,
       (const float *in, unsigned char *codes, float *scales), (in, codes, scales))
