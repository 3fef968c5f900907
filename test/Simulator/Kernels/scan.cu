// Prefix sums and what is built of them.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

// Doubling steps between two buffers.
template <int F> __device__ void scan_block_body(const int *in, int *out) {
  __shared__ int s[2][256];
  int t = threadIdx.x, from = 0;
  s[0][t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int k = 1; k < 256; k *= 2) {
    int v = s[from][t]; //! scan_block_no_sync: racecheck initcheck, -, -
    if (t >= k)
      v += s[from][t - k]; //! scan_block_no_sync: racecheck initcheck, -, -
    from ^= 1;
    s[from][t] = v; //! scan_block_no_sync: racecheck, -, -
    if (F != NoSync)
      __syncthreads();
  }
  out[blockIdx.x * 256 + t] = s[from][t];
}
KERNEL(scan_block, None, , (const int *in, int *out), (in, out))
KERNEL(scan_block, NoSync, _no_sync, (const int *in, int *out), (in, out))

template <int F> __device__ void scan_warp_body(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  int v = in[i];
  for (int k = 1; k < 32; k *= 2) {
    int before = __shfl_up_sync(F == BadMask ? 0x7fffffff : ~0u, v, k); //! scan_warp_bad_mask: synccheck, 0, 31
    if (lane >= k)
      v += before;
  }
  out[i] = v;
}
KERNEL(scan_warp, None, , (const int *in, int *out), (in, out))
KERNEL(scan_warp, BadMask, _bad_mask, (const int *in, int *out), (in, out))

// Keeps the positive elements, warp by warp in any order.
template <int F>
__device__ void compact_body(const int *in, int *out, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  int v = i < n ? in[i] : 0;
  unsigned keep = __ballot_sync(~0u, v > 0);
  int base = 0;
  if (lane == 0)
    base = atomicAdd(count, __popc(keep));
  base = __shfl_sync(~0u, base, 0);
  if (v > 0)
    out[base + __popc(keep & ((1u << lane) - 1)) + (F == OffByOne)] = v; //! compact_off_by_one: memcheck, -, -
}
KERNEL(compact, None, , (const int *in, int *out, int *count, int n),
       (in, out, count, n))
KERNEL(compact, OffByOne, _off_by_one, (const int *in, int *out, int *count, int n),
       (in, out, count, n))

// One stable pass by the two bits at `shift`; one block.
template <int F>
__device__ void radix_pass_body(const unsigned *in, unsigned *out, int shift) {
  __shared__ int count[4][8], base[4][8];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned v = in[t];
  int digit = v >> shift & 3, rank = 0;
  for (int d = 0; d < 4; ++d) {
    unsigned same = __ballot_sync(~0u, digit == d);
    if (digit == d)
      rank = __popc(same & ((1u << lane) - 1));
    if (lane == 0 && (F != NoInit || warp != 5))
      count[d][warp] = __popc(same); //! radix_pass_no_sync: racecheck, -, -
  }
  if (F != NoSync)
    __syncthreads();
  if (t == 0) {
    int sum = 0;
    for (int d = 0; d < 4; ++d)
      for (int w = 0; w < 8; ++w) {
        base[d][w] = sum;
        sum += count[d][w]; //! radix_pass_no_sync: racecheck initcheck, 0, 0 //! radix_pass_no_init: initcheck, 0, 0
      }
  }
  __syncthreads();
  int to = base[digit][warp] + rank;
  out[F == None ? to : to & 255] = v;
}
KERNEL(radix_pass, None, , (const unsigned *in, unsigned *out, int shift),
       (in, out, shift))
KERNEL(radix_pass, NoSync, _no_sync, (const unsigned *in, unsigned *out, int shift),
       (in, out, shift))
KERNEL(radix_pass, NoInit, _no_init, (const unsigned *in, unsigned *out, int shift),
       (in, out, shift))

// Sorts 256 keys in one block.
template <int F> __device__ void bitonic_body(const int *in, int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int size = 2; size <= 256; size *= 2)
    for (int stride = size / 2; stride; stride /= 2) {
      int other = t ^ stride;
      if (other > t) {
        int a = s[t], b = s[other]; //! bitonic_no_sync: racecheck, -, -
        bool up = (t & size) == 0;
        if ((a > b) == up) {
          s[t] = b; //! bitonic_no_sync: racecheck, -, -
          s[other] = a; //! bitonic_no_sync: racecheck, -, -
        }
      }
      if (F != NoSync)
        __syncthreads();
    }
  out[blockIdx.x * 256 + t] = s[t]; //! bitonic_no_sync: racecheck, -, -
}
KERNEL(bitonic, None, , (const int *in, int *out), (in, out))
KERNEL(bitonic, NoSync, _no_sync, (const int *in, int *out), (in, out))
