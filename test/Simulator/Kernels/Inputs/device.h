// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA that these kernels use, for clang without the toolkit's headers;
// nvcc has it all.
#ifndef KVCACHE_TEST_SIMULATOR_KERNELS_DEVICE_H
#define KVCACHE_TEST_SIMULATOR_KERNELS_DEVICE_H

#ifdef __NVCC__
#include <cstdio>
__device__ inline unsigned sharedAddress(const void *pointer) {
  return unsigned(__cvta_generic_to_shared(pointer));
}
#else
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
struct uint3;
struct dim3;
#include <__clang_cuda_builtin_vars.h>
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) int2 {
  int x, y;
};
extern "C" __device__ int printf(const char *, ...);

// What goes wrong in these goes wrong where they are called.
#define DEVICE_API __device__ inline __attribute__((nodebug, always_inline))
DEVICE_API void __syncwarp(unsigned mask = ~0u) { __nvvm_bar_warp_sync(mask); }
DEVICE_API void __threadfence() { __nvvm_membar_gl(); }
DEVICE_API int __shfl_sync(unsigned mask, int v, int lane) {
  return __nvvm_shfl_sync_idx_i32(mask, v, lane, 31);
}
DEVICE_API int __shfl_xor_sync(unsigned mask, int v, int k) {
  return __nvvm_shfl_sync_bfly_i32(mask, v, k, 31);
}
DEVICE_API float __shfl_xor_sync(unsigned mask, float v, int k) {
  return __nvvm_shfl_sync_bfly_f32(mask, v, k, 31);
}
DEVICE_API int __shfl_up_sync(unsigned mask, int v, int k) {
  return __nvvm_shfl_sync_up_i32(mask, v, k, 0);
}
DEVICE_API float __shfl_down_sync(unsigned mask, float v, int k) {
  return __nvvm_shfl_sync_down_f32(mask, v, k, 31);
}
DEVICE_API int __shfl_down_sync(unsigned mask, int v, int k) {
  return __nvvm_shfl_sync_down_i32(mask, v, k, 31);
}
DEVICE_API unsigned __ballot_sync(unsigned mask, bool p) {
  return __nvvm_vote_ballot_sync(mask, p);
}
DEVICE_API int __popc(unsigned v) { return __builtin_popcount(v); }
DEVICE_API int __ffs(int v) { return __builtin_ffs(v); }
DEVICE_API int atomicAdd(int *p, int v) { return __nvvm_atom_add_gen_i(p, v); }
DEVICE_API float atomicAdd(float *p, float v) {
  return __nvvm_atom_add_gen_f(p, v);
}
DEVICE_API int atomicCAS(int *p, int old, int v) {
  return __nvvm_atom_cas_gen_i(p, old, v);
}
DEVICE_API int atomicExch(int *p, int v) {
  return __nvvm_atom_xchg_gen_i(p, v);
}
DEVICE_API int atomicMax(int *p, int v) { return __nvvm_atom_max_gen_i(p, v); }
DEVICE_API float __expf(float v) {
  return __nvvm_ex2_approx_f(v * 1.4426950408889634f);
}
DEVICE_API float rsqrtf(float v) { return __nvvm_rsqrt_approx_f(v); }
DEVICE_API float fmaxf(float a, float b) { return a > b ? a : b; }
DEVICE_API float fabsf(float a) { return a < 0 ? -a : a; }
DEVICE_API int max(int a, int b) { return a > b ? a : b; }
DEVICE_API int min(int a, int b) { return a < b ? a : b; }
__device__ inline unsigned sharedAddress(const void *pointer) {
  return unsigned(
      (unsigned long)(__attribute__((address_space(3))) const char *)pointer);
}
#endif

/// What a kernel does wrong. The line that is reported says so in a comment:
/// `//! kernel: tools, block, thread`, with `-` for any.
enum Fault {
  None,
  NoSync,
  OffByOne,
  Misaligned,
  NoInit,
  BadMask,
  NoWait,
  NotAtomic,
  Divergent,
  Narrow,
  NoFence,
  NoCommit,
  WeakWait
};

/// A kernel of one of the faults.
#define KERNEL(NAME, FAULT, SUFFIX, PARAMS, ARGUMENTS)                         \
  extern "C" __global__ void NAME##SUFFIX PARAMS {                             \
    NAME##_body<FAULT> ARGUMENTS;                                              \
  }

#endif // KVCACHE_TEST_SIMULATOR_KERNELS_DEVICE_H
