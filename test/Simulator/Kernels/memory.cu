// Memory: histogram, locks, gathers, stencils, asynchronous copies, output.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

template <int F>
__device__ void histogram_body(const unsigned char *in, int *out, int n) {
  __shared__ int bins[64];
  int t = threadIdx.x;
  if (t < 64)
    bins[t] = 0; //! histogram_no_sync: racecheck, -, -
  if (F != NoSync)
    __syncthreads();
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) {
    if (F == NotAtomic)
      ++bins[in[i] % 64]; //! histogram_not_atomic: racecheck, -, -
    else
      atomicAdd(&bins[in[i] % 64], 1); //! histogram_no_sync: racecheck initcheck, -, -
  }
  __syncthreads();
  if (t < 64)
    atomicAdd(&out[t], bins[t]);
}
KERNEL(histogram, None, , (const unsigned char *in, int *out, int n), (in, out, n))
KERNEL(histogram, NoSync, _no_sync, (const unsigned char *in, int *out, int n),
       (in, out, n))
KERNEL(histogram, NotAtomic, _not_atomic,
       (const unsigned char *in, int *out, int n), (in, out, n))

// Every thread adds one under a lock.
template <int F> __device__ void spin_lock_body(int *lock, int *count) {
  bool done = false;
  while (!done) {
    if (F == NoSync || atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *count = *count + 1; //! spin_lock_no_sync: racecheck, -, -
      __threadfence();
      if (F != NoSync)
        atomicExch(lock, 0);
      done = true;
    }
  }
}
KERNEL(spin_lock, None, , (int *lock, int *count), (lock, count))
KERNEL(spin_lock, NoSync, _no_sync, (int *lock, int *count), (lock, count))

template <int F>
__device__ void gather_body(const float *table, const int *index, float *out,
                            int width) {
  int row = index[blockIdx.x] + (F == OffByOne);
  for (int c = threadIdx.x; c < width; c += blockDim.x)
    out[blockIdx.x * width + c] = table[row * width + c]; //! gather_off_by_one: memcheck, 5, 0
}
KERNEL(gather, None, ,
       (const float *table, const int *index, float *out, int width),
       (table, index, out, width))
KERNEL(gather, OffByOne, _off_by_one,
       (const float *table, const int *index, float *out, int width),
       (table, index, out, width))

template <int F>
__device__ void scatter_body(const int *in, const int *index, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[F == NotAtomic ? index[i] / 2 : index[i]] = in[i]; //! scatter_not_atomic: racecheck, -, -
}
KERNEL(scatter, None, , (const int *in, const int *index, int *out, int n),
       (in, index, out, n))
KERNEL(scatter, NotAtomic, _not_atomic,
       (const int *in, const int *index, int *out, int n), (in, index, out, n))

// Sums of seven neighbours; the ends repeat the edge.
template <int F> __device__ void stencil_body(const int *in, int *out, int n) {
  __shared__ int s[128 + 6];
  int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t + 3] = in[min(i, n - 1)]; //! stencil_no_sync: racecheck, -, -
  if (t < 3 - (F == NoInit)) {
    s[t] = in[max(i - 3, 0)]; //! stencil_no_sync: racecheck, -, -
    s[t + 131] = in[min(i + 128, n - 1)]; //! stencil_no_sync: racecheck, -, -
  }
  if (F != NoSync)
    __syncthreads();
  int sum = 0;
  for (int k = 0; k < 7; ++k)
    sum += s[t + k]; //! stencil_no_sync: racecheck initcheck, -, - //! stencil_no_init: initcheck, 0, -
  if (i < n)
    out[i] = sum;
}
KERNEL(stencil, None, , (const int *in, int *out, int n), (in, out, n))
KERNEL(stencil, NoSync, _no_sync, (const int *in, int *out, int n), (in, out, n))
KERNEL(stencil, NoInit, _no_init, (const int *in, int *out, int n), (in, out, n))

// Two buffers: one is filled by asynchronous copies, the other is added up.
template <int F>
__device__ void double_buffer_body(const int *in, int *out, int tiles) {
  __shared__ alignas(16) int s[2][256];
  int t = threadIdx.x;
  auto fill = [&](int tile) {
    unsigned to = sharedAddress(&s[tile % 2][4 * t]);
    const int *from = in + (blockIdx.x * tiles + tile) * 256 + 4 * t;
    to += F == Misaligned ? 8 : 0;
    // clang-format off
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory"); //! double_buffer_no_sync: racecheck, -, - //! double_buffer_no_wait: racecheck, -, - //! double_buffer_misaligned: memcheck, 0, 0
    // clang-format on
  };
  int sum = 0;
  fill(0);
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles)
      fill(tile + 1);
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (F != NoWait)
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < 4; ++k)
      sum += s[tile % 2][(t + 64 * k + 17) % 256]; //! double_buffer_no_wait: racecheck synccheck initcheck, -, - //! double_buffer_no_sync: racecheck, -, - //! double_buffer_misaligned: memcheck initcheck racecheck, 0, -
    if (F != NoSync)
      __syncthreads();
  }
  atomicAdd(&out[t], sum);
}
KERNEL(double_buffer, None, , (const int *in, int *out, int tiles), (in, out, tiles))
KERNEL(double_buffer, NoWait, _no_wait, (const int *in, int *out, int tiles),
       (in, out, tiles))
KERNEL(double_buffer, NoSync, _no_sync, (const int *in, int *out, int tiles),
       (in, out, tiles))
KERNEL(double_buffer, Misaligned, _misaligned, (const int *in, int *out, int tiles),
       (in, out, tiles))

// A stack in local memory, with an index known at run time only.
template <int F>
__device__ void local_stack_body(const int *in, int *out, int depth) {
  int stack[8], top = 0;
  int v = in[threadIdx.x];
  for (int k = 0; k < depth + (F == OffByOne); ++k)
    stack[top++] = v * (k + 1) ^ in[k & 31]; //! local_stack_off_by_one: memcheck, 0, 0
  int sum = 0;
  if (F == OffByOne)
    --top;
  while (top > 0)
    sum = 3 * sum + stack[--top];
  out[threadIdx.x] = sum;
}
KERNEL(local_stack, None, , (const int *in, int *out, int depth), (in, out, depth))
KERNEL(local_stack, OffByOne, _off_by_one, (const int *in, int *out, int depth),
       (in, out, depth))

__constant__ int weights[4] = {1, -2, 3, -4};

// A warp exchanges values in groups of eight lanes.
template <int F> __device__ void exchange_body(const int *in, int *out) {
  int t = threadIdx.x, lane = t % 32;
  int v = in[t], sum = 0;
  unsigned group = 0xffu << (lane & 24);
  if (F == BadMask && lane == 9)
    group = 0xff; //  its own lane is not in it
  for (int k = 0; k < 4; ++k)
    sum += weights[k] * __shfl_sync(group, v, (lane & 24) | ((lane + k) & 7)); //! exchange_bad_mask: synccheck, 0, 9
  out[t] = sum;
}
KERNEL(exchange, None, , (const int *in, int *out), (in, out))
KERNEL(exchange, BadMask, _bad_mask, (const int *in, int *out), (in, out))

template <int F> __device__ void say_body(const int *in) {
  if (threadIdx.x % 16 == 0)
    printf("block %d thread %d has %d, half %g %s\n", blockIdx.x, threadIdx.x,
           in[blockIdx.x * 32 + threadIdx.x],
           0.5 * in[blockIdx.x * 32 + threadIdx.x], "done");
}
KERNEL(say, None, , (const int *in), (in))
