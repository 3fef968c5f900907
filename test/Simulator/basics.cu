// Kernels as clang compiles them, run with every check.
//
// REQUIRES: clang
//
// RUN: %clang_cuda -O2 -o %t.ptx %s
// RUN: ptxsim %t.ptx --check | FileCheck %s --check-prefix=CHECK-ALL
// CHECK-ALL: reduce: ok
//
// RUN: ptxsim %t.ptx --kernel iota --grid 2 --block 4 --tool all \
// RUN:   --arg out:-=s32[8] | FileCheck %s --check-prefix=IOTA
// IOTA: s32[8]: 0 1 2 3 4 5 6 7
//
// RUN: ptxsim %t.ptx --kernel reduce --grid 1 --block 64 --tool all \
// RUN:   --arg out:-=s32[1] | FileCheck %s --check-prefix=REDUCE
// RUN: ptxsim %t.ptx --kernel reduce --grid 1 --block 64 --seed 5 \
// RUN:   --arg out:-=s32[1] | FileCheck %s --check-prefix=REDUCE
// REDUCE: s32[1]: 2016
//
// RUN: ptxsim %t.ptx --kernel collatz --grid 1 --block 8 --tool all \
// RUN:   --arg out:-=s32[8] | FileCheck %s --check-prefix=COLLATZ
// COLLATZ: s32[8]: 0 1 7 2 5 8 16 3
//
// RUN: ptxsim %t.ptx --kernel warp_sum --grid 1 --block 64 --tool all \
// RUN:   --arg out:-=s32[2] | FileCheck %s --check-prefix=WARP
// WARP: s32[2]: 496 1520
//
// RUN: ptxsim %t.ptx --kernel spin_lock --grid 3 --block 64 --tool memcheck \
// RUN:   --arg zero:%t.lock.npy=s32[1] --arg zero:-=s32[1] | \
// RUN:   FileCheck %s --check-prefix=SPIN
// SPIN: s32[1]: 192
//
// RUN: ptxsim %t.ptx --kernel handover --grid 2 --block 1 --tool memcheck \
// RUN:   --arg zero:-=s32[2] | FileCheck %s --check-prefix=HANDOVER
// HANDOVER: s32[2]: 1 42
#include "Inputs/cuda.h"

__global__ void iota(int *out) {
  int i = blockIdx_x() * blockDim_x() + threadIdx_x();
  out[i] = i;
}

__global__ void reduce(int *out) {
  __shared__ int s[64];
  int t = threadIdx_x();
  s[t] = t;
  __syncthreads();
  for (int k = 32; k; k >>= 1) {
    if (t < k)
      s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0)
    *out = s[0];
}

__device__ __attribute__((noinline)) int steps(int n) {
  int count = 0;
  for (; n != 1; ++count)
    n = n & 1 ? 3 * n + 1 : n / 2;
  return count;
}

__global__ void collatz(int *out) {
  out[threadIdx_x()] = steps(threadIdx_x() + 1);
}

__global__ void warp_sum(int *out) {
  int v = threadIdx_x();
  for (int k = 16; k; k >>= 1)
    v += __nvvm_shfl_sync_bfly_i32(~0u, v, k, 31);
  if (threadIdx_x() % 32 == 0)
    out[threadIdx_x() / 32] = v;
}

__global__ void spin_lock(int *lock, int *count) {
  for (bool done = false; !done;) {
    if (__nvvm_atom_cas_gen_i(lock, 0, 1) == 0) {
      *(volatile int *)count = *(volatile int *)count + 1;
      __nvvm_membar_gl();
      __nvvm_atom_xchg_gen_i(lock, 0);
      done = true;
    }
  }
}

// The first block waits for the second.
__global__ void handover(volatile int *flag) {
  if (blockIdx_x() == 0) {
    while (flag[0] == 0)
      ;
    flag[1] = 42;
  } else {
    flag[0] = 1;
  }
}
