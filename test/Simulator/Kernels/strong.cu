// Atomics order nothing by themselves, not even what their own thread did before;
// nor do shuffles, votes, or exits.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

// A counter is set by a thread that counts there as well.
template <int F> __device__ void set_and_count_body(int *out) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0)
    s = 5; //! set_and_count_no_sync: racecheck, 0, -
  if (F != NoSync)
    __syncthreads();
  atomicAdd(&s, 1); //! set_and_count_no_sync: racecheck initcheck, 0, -
  __syncthreads();
  out[t] = s;
}
KERNEL(set_and_count, None, , (int *out), (out))
KERNEL(set_and_count, NoSync, _no_sync, (int *out), (out))

// A counter is read by threads that count there as well.
template <int F> __device__ void read_and_count_body(int *out) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0)
    s = 7;
  __syncthreads();
  int v = s; //! read_and_count_no_sync: racecheck, 0, -
  if (F != NoSync)
    __syncthreads();
  atomicAdd(&s, 1); //! read_and_count_no_sync: racecheck, 0, -
  __syncthreads();
  out[t] = v + s;
}
KERNEL(read_and_count, None, , (int *out), (out))
KERNEL(read_and_count, NoSync, _no_sync, (int *out), (out))

// The same of a place that all blocks count at.
template <int F> __device__ void set_for_all_body(int *count) {
  if (blockIdx.x == 0) {
    if (F == NotAtomic)
      *count = 5; //! set_for_all_not_atomic: racecheck, 0, 0
    else
      atomicAdd(count, 5);
  }
  atomicAdd(count, 1); //! set_for_all_not_atomic: racecheck, -, 0
}
KERNEL(set_for_all, None, , (int *count), (count))
KERNEL(set_for_all, NotAtomic, _not_atomic, (int *count), (count))

template <int F> __device__ void read_for_all_body(int *count, int *out) {
  if (blockIdx.x == 0)
    *out = F == NotAtomic ? *count //! read_for_all_not_atomic: racecheck, 0, 0
                          : atomicAdd(count, 0);
  atomicAdd(count, 1); //! read_for_all_not_atomic: racecheck, -, 0
}
KERNEL(read_for_all, None, , (int *count, int *out), (count, out))
KERNEL(read_for_all, NotAtomic, _not_atomic, (int *count, int *out), (count, out))

// Atomics of different sizes do not serve each other.
#ifdef __NVCC__
#define ASM_API __device__ __forceinline__
#else
#define ASM_API DEVICE_API
#endif
ASM_API void add(unsigned long long *to) {
  asm volatile("red.global.add.u64 [%0], 1;" ::"l"(to) : "memory");
}
ASM_API void add(unsigned *to) {
  asm volatile("red.global.add.u32 [%0], 1;" ::"l"(to) : "memory");
}
ASM_API void add_shared(unsigned long long *to) {
  asm volatile("red.shared.add.u64 [%0], 1;" ::"r"(sharedAddress(to)) : "memory");
}
ASM_API void add_shared(unsigned *to) {
  asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(sharedAddress(to)) : "memory");
}
template <int F> __device__ void sizes_body(unsigned long long *count) {
  if (blockIdx.x == 0 || F != Narrow)
    add(count); //! sizes_narrow: racecheck, 0, 0
  else
    add((unsigned *)count); //! sizes_narrow: racecheck, 1, 0
}
KERNEL(sizes, None, , (unsigned long long *count), (count))
KERNEL(sizes, Narrow, _narrow, (unsigned long long *count), (count))

template <int F> __device__ void shared_sizes_body(int *out) {
  __shared__ unsigned long long count;
  int t = threadIdx.x;
  if (t == 0)
    count = 0;
  __syncthreads();
  if (t < 32 || F != Narrow)
    add_shared(&count); //! shared_sizes_narrow: racecheck, 0, -
  else
    add_shared((unsigned *)&count); //! shared_sizes_narrow: racecheck, 0, -
  __syncthreads();
  out[t] = int(count);
}
KERNEL(shared_sizes, None, , (int *out), (out))
KERNEL(shared_sizes, Narrow, _narrow, (int *out), (out))

// A shuffle and a vote make no order in memory.
template <int F> __device__ void shuffled_body(int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t;
  int v = __shfl_sync(~0u, t, 0);
  if (F != NoSync)
    __syncwarp();
  out[t] = s[31 - t] + v; //! shuffled_no_sync: racecheck, 0, -
}
KERNEL(shuffled, None, , (int *out), (out))
KERNEL(shuffled, NoSync, _no_sync, (int *out), (out))

template <int F> __device__ void voted_body(int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t;
  int v = __ballot_sync(~0u, t == 0) - 1;
  if (F != NoSync)
    __syncwarp();
  out[t] = s[31 - t] + v; //! voted_no_sync: racecheck, 0, -
}
KERNEL(voted, None, , (int *out), (out))
KERNEL(voted, NoSync, _no_sync, (int *out), (out))

// What lanes have read they may overwrite once they have exchanged it.
extern "C" __global__ void rotated(int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t;
  __syncwarp();
  int v = __shfl_sync(~0u, s[31 - t], t ^ 1);
  s[t] = v;
  out[t] = s[t];
}

// Two warps read what another block overwrites once one of them says that it may.
template <int F> __device__ void two_readers_body(int *data, int *flag, int *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 1) {
    if (t == 0) {
      while (atomicAdd(flag, 0) == 0)
        ;
      __threadfence();
      *data = 7; //! two_readers_no_sync: racecheck, 1, 0
    }
    return;
  }
  if (t % 32 == 0)
    out[t / 32] = *data;
  if (F != NoSync)
    __syncthreads();
  if (t == 32) {
    __threadfence();
    atomicExch(flag, 1);
  }
}
KERNEL(two_readers, None, , (int *data, int *flag, int *out), (data, flag, out))
KERNEL(two_readers, NoSync, _no_sync, (int *data, int *flag, int *out), (data, flag, out))

// Barriers do not count threads that have exited, whoever comes first.
extern "C" __global__ void early_exits(int *out) {
  int t = threadIdx.x;
  if (t >= 40)
    return;
  __syncthreads();
  out[t] = t;
}
