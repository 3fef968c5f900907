// Reductions: in shared memory, in warps, over the grid.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

template <int F>
__device__ void reduce_shared_body(const float *in, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  float v = 0;
  if (i < n + (F == OffByOne))
    v = in[i]; //! reduce_shared_off_by_one: memcheck, 3, 232
  if (F != NoInit || t != 200)
    s[t] = v; //! reduce_shared_no_sync: racecheck, -, -
  if (F != NoSync)
    __syncthreads();
  for (int k = 128; k; k >>= 1) {
    if (t < k)
      s[t] += s[t + k]; //! reduce_shared_no_sync: racecheck initcheck, -, - //! reduce_shared_no_init: initcheck, 0, 72
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = s[0];
}
KERNEL(reduce_shared, None, , (const float *in, float *out, int n), (in, out, n))
KERNEL(reduce_shared, NoSync, _no_sync, (const float *in, float *out, int n),
       (in, out, n))
KERNEL(reduce_shared, OffByOne, _off_by_one,
       (const float *in, float *out, int n), (in, out, n))
KERNEL(reduce_shared, NoInit, _no_init, (const float *in, float *out, int n),
       (in, out, n))

template <int F> __device__ void reduce_warp_body(const int *in, int *out) {
  __shared__ int sums[4];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int v = in[blockIdx.x * 128 + t];
  for (int k = 16; k; k >>= 1)
    v += __shfl_xor_sync(F == BadMask ? 0x0000ffff : ~0u, v, k); //! reduce_warp_bad_mask: synccheck, 0, 16
  if (lane == 0)
    sums[warp] = v; //! reduce_warp_no_sync: racecheck, -, -
  if (F != NoSync)
    __syncthreads();
  if (t == 0)
    out[blockIdx.x] = sums[0] + sums[1] + sums[2] + sums[3]; //! reduce_warp_no_sync: racecheck initcheck, -, 0
}
KERNEL(reduce_warp, None, , (const int *in, int *out), (in, out))
KERNEL(reduce_warp, BadMask, _bad_mask, (const int *in, int *out), (in, out))
KERNEL(reduce_warp, NoSync, _no_sync, (const int *in, int *out), (in, out))

// Every warp adds its part to the result.
template <int F>
__device__ void dot_body(const float *a, const float *b, float *out, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    v += a[i] * b[i];
  for (int k = 16; k; k >>= 1)
    v += __shfl_down_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) {
    if (F == NotAtomic)
      *out += v; //! dot_not_atomic: racecheck, -, -
    else
      atomicAdd(out, v); //! dot_no_init: initcheck, -, -
  }
}
KERNEL(dot, None, , (const float *a, const float *b, float *out, int n),
       (a, b, out, n))
KERNEL(dot, NoInit, _no_init, (const float *a, const float *b, float *out, int n),
       (a, b, out, n))
KERNEL(dot, NotAtomic, _not_atomic,
       (const float *a, const float *b, float *out, int n), (a, b, out, n))

// The last block to finish adds up what the others left.
template <int F>
__device__ void last_block_body(const int *in, int *partial, int *ticket,
                                int *out) {
  __shared__ int s[64];
  __shared__ int isLast;
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int k = 0; k < 64; ++k)
      sum += s[k];
    partial[blockIdx.x] = sum; //! last_block_no_wait: racecheck, -, 0
    __threadfence();
    isLast = atomicAdd(ticket, 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if ((F == NoWait ? blockIdx.x == 0 : isLast) && t == 0) {
    __threadfence();
    int total = 0;
    for (int k = 0; k < int(gridDim.x); ++k)
      total += ((volatile int *)partial)[k]; //! last_block_no_wait: racecheck initcheck, 0, 0
    *out = total;
  }
}
KERNEL(last_block, None, , (const int *in, int *partial, int *ticket, int *out),
       (in, partial, ticket, out))
KERNEL(last_block, NoWait, _no_wait,
       (const int *in, int *partial, int *ticket, int *out),
       (in, partial, ticket, out))

// The greatest element and its first position.
template <int F> __device__ void argmax_body(const float *in, int *out, int n) {
  __shared__ float bestValue[8];
  __shared__ int bestIndex[8];
  int t = threadIdx.x, lane = t % 32, warp = t / 32, index = t;
  float value = in[blockIdx.x * n + t];
  for (int i = t + 256; i < n + (F == OffByOne ? 1 : 0); i += 256) {
    float v = in[blockIdx.x * n + i]; //! argmax_off_by_one: memcheck, -, 232
    if (v > value) {
      value = v;
      index = i;
    }
  }
  for (int k = 16; k; k >>= 1) {
    float otherValue = __shfl_down_sync(~0u, value, k);
    int otherIndex = __shfl_down_sync(~0u, index, k);
    if (otherValue > value || (otherValue == value && otherIndex < index)) {
      value = otherValue;
      index = otherIndex;
    }
  }
  if (lane == 0) {
    bestValue[warp] = value;
    bestIndex[warp] = index;
  }
  __syncthreads();
  if (t == 0) {
    for (int k = 1; k < 8; ++k)
      if (bestValue[k] > value || (bestValue[k] == value && bestIndex[k] < index)) {
        value = bestValue[k];
        index = bestIndex[k];
      }
    out[blockIdx.x] = index;
  }
}
KERNEL(argmax, None, , (const float *in, int *out, int n), (in, out, n))
KERNEL(argmax, OffByOne, _off_by_one, (const float *in, int *out, int n),
       (in, out, n))
