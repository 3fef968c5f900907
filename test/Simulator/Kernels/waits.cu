// What asynchronous work still reads and writes before it has been waited for.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

#ifdef __NVCC__
#define ASM_API __device__ __forceinline__
#else
#define ASM_API DEVICE_API
#endif

struct alignas(16) Piece {
  unsigned words[4];
};

// The result of a product of a warp group. A is 64 x 16, B 8 x 16, without a
// swizzle.
ASM_API unsigned long long describe(const Piece *matrix) {
  return 128ull >> 4 << 16 | 256ull >> 4 << 32 | (sharedAddress(matrix) & 0x3ffff) >> 4;
}
ASM_API void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
ASM_API void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> ASM_API void wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
ASM_API void multiply(float *x, const Piece *a, const Piece *b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
               "{%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
               : "l"(describe(a)), "l"(describe(b))
               : "memory");
}
template <int F> __device__ void product_body(const Piece *a, const Piece *b, float *d) {
  __shared__ Piece A[128], B[16];
  int t = threadIdx.x;
  A[t] = a[t];
  if (t < 16)
    B[t] = b[t];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float x[4] = {float(t), float(t), float(t), float(t)};
  if (F != NoFence)
    fence();
  multiply(x, A, B); //! product_no_fence: synccheck, 0, -
  if (F != NoCommit)
    commit();
  if (F == WeakWait)
    wait_group<1>();
  else if (F != NoWait)
    wait_group<0>();
  for (int i = 0; i < 4; ++i)
    d[(t / 32 * 16 + t % 32 / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = x[i] - t; //! product_no_wait: racecheck, 0, - //! product_no_commit: racecheck, 0, - //! product_weak_wait: racecheck, 0, -
}
KERNEL(product, None, , (const Piece *a, const Piece *b, float *d), (a, b, d))
KERNEL(product, NoFence, _no_fence, (const Piece *a, const Piece *b, float *d), (a, b, d))
KERNEL(product, NoCommit, _no_commit, (const Piece *a, const Piece *b, float *d), (a, b, d))
KERNEL(product, NoWait, _no_wait, (const Piece *a, const Piece *b, float *d), (a, b, d))
KERNEL(product, WeakWait, _weak_wait, (const Piece *a, const Piece *b, float *d), (a, b, d))

// Two products of one shape follow each other; what changes the accumulators in
// between needs a wait before it and a fence behind.
template <int F> __device__ void two_products_body(const Piece *a, const Piece *b, float *d) {
  __shared__ Piece A[128], B[16];
  int t = threadIdx.x;
  A[t] = a[t];
  if (t < 16)
    B[t] = b[t];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float x[4] = {};
  fence();
  multiply(x, A, B);
  multiply(x, A, B);
  commit();
  wait_group<0>();
  for (float &value : x)
    value *= 2;
  if (F != NoFence)
    fence();
  multiply(x, A, B); //! two_products_no_fence: synccheck, 0, -
  commit();
  wait_group<0>();
  for (int i = 0; i < 4; ++i)
    d[(t / 32 * 16 + t % 32 / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = x[i];
}
KERNEL(two_products, None, , (const Piece *a, const Piece *b, float *d), (a, b, d))
KERNEL(two_products, NoFence, _no_fence, (const Piece *a, const Piece *b, float *d), (a, b, d))

// A block must not end before its shared memory has been read.
ASM_API void store(int *to, const int *from) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n"
               "cp.async.bulk.commit_group;" ::"l"(to),
               "r"(sharedAddress(from))
               : "memory");
}
template <int F> __device__ void store_and_end_body(int *out) {
  __shared__ alignas(128) int s[64];
  int t = threadIdx.x;
  s[t] = t;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (t == 0) {
    store(out, s); //! store_and_end_no_wait: racecheck, 0, 0
    if (F != NoWait)
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
KERNEL(store_and_end, None, , (int *out), (out))
KERNEL(store_and_end, NoWait, _no_wait, (int *out), (out))

// Nor before it has been written.
ASM_API void copy(int *to, const int *from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(sharedAddress(to)), "l"(from)
               : "memory");
}
template <int F> __device__ void load_and_end_body(const int *in, int *out) {
  __shared__ alignas(128) int s[64];
  int t = threadIdx.x;
  copy(s + t, in + t); //! load_and_end_no_wait: racecheck, 0, -
  if (F != NoWait)
    asm volatile("cp.async.wait_all;" ::: "memory");
  out[t] = t;
}
KERNEL(load_and_end, None, , (const int *in, int *out), (in, out))
KERNEL(load_and_end, NoWait, _no_wait, (const int *in, int *out), (in, out))

ASM_API void init(unsigned long long *barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
               "r"(count)
               : "memory");
}
ASM_API void load(int *to, const int *from, unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%2], 256;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
               ::"r"(sharedAddress(to)), "l"(from), "r"(sharedAddress(barrier))
               : "memory");
}
ASM_API void wait(unsigned long long *barrier) {
  asm volatile("{\n .reg .pred p;\n"
               "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
               " @!p bra again;\n}" ::"r"(sharedAddress(barrier))
               : "memory");
}
template <int F> __device__ void bulk_load_and_end_body(const int *in, int *out) {
  __shared__ alignas(128) int s[64];
  __shared__ unsigned long long full;
  int t = threadIdx.x;
  if (t == 0)
    init(&full, 1);
  __syncthreads();
  if (t == 0)
    load(s, in, &full); //! bulk_load_and_end_no_wait: racecheck, 0, 0
  if (F != NoWait)
    wait(&full);
  out[t] = t;
}
KERNEL(bulk_load_and_end, None, , (const int *in, int *out), (in, out))
KERNEL(bulk_load_and_end, NoWait, _no_wait, (const int *in, int *out), (in, out))

// What a copy reads must stay until the wait.
template <int F> __device__ void source_body(int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  copy(s + t, in + t);
  if (F != NoWait)
    asm volatile("cp.async.wait_all;" ::: "memory");
  in[t] = -1000; //! source_no_wait: racecheck, 0, -
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[t] = s[t];
}
KERNEL(source, None, , (int *in, int *out), (in, out))
KERNEL(source, NoWait, _no_wait, (int *in, int *out), (in, out))

// An mbarrier may be used by those that its initialisation is ordered before.
ASM_API void arrive(unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier))
               : "memory");
}
template <int F> __device__ void initialised_barrier_body(int *out) {
  __shared__ unsigned long long full;
  int t = threadIdx.x;
  if (t == 0)
    init(&full, 64);
  if (F != NoSync)
    __syncthreads();
  arrive(&full); //! initialised_barrier_no_sync: racecheck, 0, - //! initialised_barrier_no_sync: synccheck, 0, -
  wait(&full); //! initialised_barrier_no_sync: racecheck, 0, -
  out[t] = t;
}
KERNEL(initialised_barrier, None, , (int *out), (out))
KERNEL(initialised_barrier, NoSync, _no_sync, (int *out), (out))

// A block of a cluster must not read what another has left behind.
ASM_API int read_first(const int *s) {
  int value;
  asm volatile("{\n .reg .b32 a;\n mapa.shared::cluster.u32 a, %1, 0;\n"
               " ld.shared::cluster.s32 %0, [a];\n}"
               : "=r"(value)
               : "r"(sharedAddress(s))
               : "memory");
  return value;
}
ASM_API void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n"
               "barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
template <int F> __device__ void neighbour_body(int *out) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = 5;
  cluster_sync();
  if (blockIdx.x == 1)
    out[t] = read_first(s + t); //! neighbour_no_sync: memcheck, 1, - //! neighbour_no_sync: racecheck, 1, -
  if (F != NoSync)
    cluster_sync();
}
KERNEL(neighbour, None, , (int *out), (out))
KERNEL(neighbour, NoSync, _no_sync, (int *out), (out))
