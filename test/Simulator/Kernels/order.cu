// Order between lanes, warps and blocks: what one lane passes on, and to whom.
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

ASM_API void init(unsigned long long *barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(barrier)),
               "r"(count)
               : "memory");
}
ASM_API void arrive(unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(barrier))
               : "memory");
}
ASM_API void wait(unsigned long long *barrier, int parity) {
  asm volatile("{\n .reg .pred p;\n"
               "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               " @!p bra again;\n}" ::"r"(sharedAddress(barrier)),
               "r"(parity)
               : "memory");
}
ASM_API void release(int *flag, int value) {
  asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"r"(sharedAddress(flag)), "r"(value)
               : "memory");
}
ASM_API int acquire(int *flag) {
  int value;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];"
               : "=r"(value)
               : "r"(sharedAddress(flag))
               : "memory");
  return value;
}

// One lane arrives for its warp.
template <int F> __device__ void hand_over_body(const int *in, int *out) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0)
    init(&full, 1);
  __syncthreads();
  if (t < 32) {
    s[lane] = in[lane];
    if (F != NoSync)
      __syncwarp();
    if (lane == 0)
      arrive(&full);
  } else {
    wait(&full, 0);
    out[lane] = s[31 - lane]; //! hand_over_no_sync: racecheck, 0, -
  }
}
KERNEL(hand_over, None, , (const int *in, int *out), (in, out))
KERNEL(hand_over, NoSync, _no_sync, (const int *in, int *out), (in, out))

// One lane waits for its warp.
template <int F> __device__ void wait_one_body(const int *in, int *out) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0)
    init(&full, 32);
  __syncthreads();
  if (t < 32) {
    s[lane] = in[lane]; //! wait_one_no_sync: racecheck, 0, -
    arrive(&full);
  } else {
    if (lane == 0)
      wait(&full, 0);
    if (F != NoSync)
      __syncwarp();
    out[lane] = s[31 - lane]; //! wait_one_no_sync: racecheck initcheck, 0, -
  }
}
KERNEL(wait_one, None, , (const int *in, int *out), (in, out))
KERNEL(wait_one, NoSync, _no_sync, (const int *in, int *out), (in, out))

// A buffer that is filled again once one lane says that its warp has read it.
template <int F> __device__ void refill_body(const int *in, int *out) {
  __shared__ unsigned long long full, empty;
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0) {
    init(&full, 32);
    init(&empty, 1);
  }
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    if (t < 32) {
      if (k)
        wait(&empty, (k - 1) % 2);
      s[lane] = in[k * 32 + lane]; //! refill_no_sync: racecheck, 0, -
      arrive(&full);
    } else {
      wait(&full, k % 2);
      out[k * 32 + lane] = s[31 - lane];
      if (F != NoSync)
        __syncwarp();
      if (lane == 5)
        arrive(&empty);
    }
  }
}
KERNEL(refill, None, , (const int *in, int *out), (in, out))
KERNEL(refill, NoSync, _no_sync, (const int *in, int *out), (in, out))

// A flag that one lane sets and one lane reads.
template <int F> __device__ void flag_body(const int *in, int *out) {
  __shared__ int ready;
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0)
    ready = 0;
  __syncthreads();
  if (t < 32) {
    s[lane] = in[lane]; //! flag_no_wait: racecheck, 0, -
    if (F != NoSync)
      __syncwarp();
    if (lane == 3)
      release(&ready, 1);
  } else {
    if (lane == 7)
      while (!acquire(&ready))
        ;
    if (F != NoWait)
      __syncwarp();
    out[lane] = s[31 - lane]; //! flag_no_sync: racecheck, 0, - //! flag_no_wait: racecheck initcheck, 0, -
  }
}
KERNEL(flag, None, , (const int *in, int *out), (in, out))
KERNEL(flag, NoSync, _no_sync, (const int *in, int *out), (in, out))
KERNEL(flag, NoWait, _no_wait, (const int *in, int *out), (in, out))

// What a lane has copied is its own until the warp meets.
template <int F> __device__ void own_copies_body(const int *in, int *out) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n"
               "cp.async.wait_all;" ::"r"(sharedAddress(s + lane)),
               "l"(in + lane)
               : "memory");
  if (F != NoSync)
    __syncwarp();
  out[lane] = s[31 - lane]; //! own_copies_no_sync: racecheck, 0, -
}
KERNEL(own_copies, None, , (const int *in, int *out), (in, out))
KERNEL(own_copies, NoSync, _no_sync, (const int *in, int *out), (in, out))

// Copies that an mbarrier announces are not their thread's, waited for or not.
__device__ void announced_copies_body(const int *in, int *out) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0)
    init(&full, 32);
  __syncthreads();
  if (t < 32) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\n"
                 "cp.async.mbarrier.arrive.noinc.shared.b64 [%2];\n"
                 "cp.async.wait_all;" ::"r"(sharedAddress(s + lane)),
                 "l"(in + lane), "r"(sharedAddress(&full))
                 : "memory");
  } else {
    wait(&full, 0);
    out[lane] = s[31 - lane];
  }
}
extern "C" __global__ void announced_copies(const int *in, int *out) {
  announced_copies_body(in, out);
}

// Lanes that have exited have met nobody since.
template <int F> __device__ void exits_body(const int *in, int *out) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0)
    init(&full, 1);
  __syncthreads();
  if (t < 32) {
    s[lane] = in[lane];
    if (F != NoSync)
      __syncwarp();
    if (lane)
      return;
    asm volatile("nanosleep.u32 100;");
    arrive(&full);
  } else {
    wait(&full, 0);
    out[lane] = s[31 - lane]; //! exits_no_sync: racecheck, 0, -
  }
}
KERNEL(exits, None, , (const int *in, int *out), (in, out))
KERNEL(exits, NoSync, _no_sync, (const int *in, int *out), (in, out))

// A thread reads a flag of its own as usual while others poll it; then it waits
// for an ordinary reader, too.
template <int F> __device__ void readers_body(int *out) {
  __shared__ unsigned long long done;
  __shared__ int flag;
  int t = threadIdx.x, value = 0;
  if (t == 0) {
    flag = 5;
    init(&done, 1);
  }
  __syncthreads();
  if (t == 0) {
    value = flag;
    if (F != NoWait)
      wait(&done, 0);
    *(volatile int *)&flag = value + 1; //! readers_no_wait: racecheck, 0, -
  } else if (t == 32) {
    while (*(volatile int *)&flag == 5)
      ;
  } else if (t == 64) {
    value = flag; //! readers_no_wait: racecheck, 0, -
    arrive(&done);
  }
  if (t % 32 == 0)
    out[t / 32] = value;
}
KERNEL(readers, None, , (int *out), (out))
KERNEL(readers, NoWait, _no_wait, (int *out), (out))

// Halves of a warp that meet by themselves.
template <int F> __device__ void halves_body(const int *in, int *out) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  unsigned half = lane < 16 ? 0xffff : 0xffff0000;
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[lane] = in[k * 32 + lane]; //! halves_bad_mask: racecheck, 0, -
    __syncwarp(half);
    sum += s[F == BadMask ? lane ^ 31 : lane ^ 15]; //! halves_bad_mask: racecheck, 0, -
    __syncwarp(half);
  }
  out[lane] = sum;
}
KERNEL(halves, None, , (const int *in, int *out), (in, out))
KERNEL(halves, BadMask, _bad_mask, (const int *in, int *out), (in, out))

// Another block waits for a flag in global memory.
template <int F> __device__ void announce_body(int *data, int *flag, int *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = 3 * t;
    if (F == Narrow)
      asm volatile("fence.acq_rel.cta;" ::: "memory");
    else if (F != NoFence)
      __threadfence();
    __syncthreads();
    if (t == 0)
      *(volatile int *)flag = 1;
  } else {
    if (t == 0)
      while (*(volatile int *)flag == 0)
        ;
    __syncthreads();
    __threadfence();
    out[t] = data[63 - t]; //! announce_narrow: racecheck, 1, - //! announce_no_fence: racecheck, 1, -
  }
}
KERNEL(announce, None, , (int *data, int *flag, int *out), (data, flag, out))
KERNEL(announce, Narrow, _narrow, (int *data, int *flag, int *out), (data, flag, out))
KERNEL(announce, NoFence, _no_fence, (int *data, int *flag, int *out), (data, flag, out))

// Each block adds to what the one before it has released.
template <int F> __device__ void chain_body(int *sums, int *flags) {
  int b = blockIdx.x, ready = 0, sum = b + 1;
  if (threadIdx.x)
    return;
  while (b && !ready)
    // A store of a block's scope is no flag for others, either.
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(ready) : "l"(flags + b - 1) : "memory"); //! chain_narrow: racecheck, 1, 0
  if (b)
    sum += sums[b - 1]; //! chain_narrow: racecheck, 1, 0 //! chain_no_fence: racecheck, 1, 0
  sums[b] = sum;
  if (F == Narrow)
    asm volatile("st.release.cta.global.s32 [%0], 1;" ::"l"(flags + b) : "memory");
  else if (F == NoFence)
    asm volatile("st.relaxed.gpu.global.s32 [%0], 1;" ::"l"(flags + b) : "memory");
  else
    asm volatile("st.release.gpu.global.s32 [%0], 1;" ::"l"(flags + b) : "memory");
}
KERNEL(chain, None, , (int *sums, int *flags), (sums, flags))
KERNEL(chain, Narrow, _narrow, (int *sums, int *flags), (sums, flags))
KERNEL(chain, NoFence, _no_fence, (int *sums, int *flags), (sums, flags))

// Blocks take turns often; each reads the turn it has acquired once more.
template <int F> __device__ void turns_body(int *turn, int *sum, int *out) {
  int b = blockIdx.x, seen = 0, again = 0;
  if (threadIdx.x)
    return;
  for (int k = 0; k < 30; ++k) {
    do
      asm volatile("nanosleep.u32 100;\n ld.acquire.gpu.global.s32 %0, [%1];"
                   : "=r"(seen)
                   : "l"(turn)
                   : "memory"); //! turns_no_fence: racecheck, -, 0
    while (seen % 3 != b);
    asm volatile("ld.global.s32 %0, [%1];" : "=r"(again) : "l"(turn) : "memory"); //! turns_no_fence: racecheck, -, 0
    *sum += again; //! turns_no_fence: racecheck, -, 0
    if (F == NoFence)
      asm volatile("st.relaxed.gpu.global.s32 [%0], %1;" ::"l"(turn), "r"(seen + 1) : "memory"); //! turns_no_fence: racecheck, -, 0
    else
      asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(turn), "r"(seen + 1) : "memory");
  }
  out[b] = again;
}
KERNEL(turns, None, , (int *turn, int *sum, int *out), (turn, sum, out))
KERNEL(turns, NoFence, _no_fence, (int *turn, int *sum, int *out), (turn, sum, out))

// All blocks add to one sum.
template <int F> __device__ void tally_body(const int *in, int *out) {
  int v = in[blockIdx.x * 64 + threadIdx.x];
  if (F == Narrow)
    asm volatile("red.relaxed.cta.global.add.s32 [%0], %1;" ::"l"(out), "r"(v) : "memory"); //! tally_narrow: racecheck, -, -
  else
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" ::"l"(out), "r"(v) : "memory");
}
KERNEL(tally, None, , (const int *in, int *out), (in, out))
KERNEL(tally, Narrow, _narrow, (const int *in, int *out), (in, out))

// A flag in global memory orders what warps of a block do in shared memory.
template <int F> __device__ void far_flag_body(const int *in, int *flag, int *out) {
  __shared__ int s[32];
  int t = threadIdx.x, lane = t % 32;
  if (t < 32) {
    s[lane] = in[lane];
    if (F != NoFence)
      __threadfence();
    __syncwarp();
    if (lane == 0)
      *(volatile int *)flag = 1;
  } else {
    while (*(volatile int *)flag == 0)
      ;
    __threadfence();
    out[lane] = s[31 - lane]; //! far_flag_no_fence: racecheck, 0, -
  }
}
KERNEL(far_flag, None, , (const int *in, int *flag, int *out), (in, flag, out))
KERNEL(far_flag, NoFence, _no_fence, (const int *in, int *flag, int *out), (in, flag, out))

// A copy by the async proxy refills B once one thread says that its warp group's
// product has read it. A is 64 x 16, B 8 x 16, without a swizzle.
struct alignas(16) Piece {
  unsigned words[4];
};
ASM_API void copy_piece(Piece *to, const Piece *from, unsigned long long *barrier) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%2], 256;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
               ::"r"(sharedAddress(to)), "l"(from), "r"(sharedAddress(barrier))
               : "memory");
}
ASM_API unsigned long long describe(const Piece *matrix) {
  return 128ull >> 4 << 16 | 256ull >> 4 << 32 | (sharedAddress(matrix) & 0x3ffff) >> 4;
}
template <int F> __device__ void group_products_body(const Piece *a, const Piece *b, float *d) {
  __shared__ Piece A[128], B[16];
  __shared__ unsigned long long full, empty;
  int t = threadIdx.x;
  if (t == 0) {
    init(&full, 1);
    init(&empty, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if (t < 128)
    A[t] = a[t];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (t >= 128) {
    if (t == 128)
      for (int k = 0; k < 4; ++k) {
        if (k)
          wait(&empty, (k - 1) % 2);
        copy_piece(B, b + 16 * k, &full); //! group_products_no_wait: racecheck, 0, 128
      }
    return;
  }
  float x[4] = {0, 0, 0, 0};
  for (int k = 0; k < 4; ++k) {
    wait(&full, k % 2);
    asm volatile("wgmma.fence.sync.aligned;\n"
                 "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
                 "wgmma.commit_group.sync.aligned;"
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])
                 : "l"(describe(A)), "l"(describe(B))
                 : "memory");
    if (F == NoWait && t == 77)
      arrive(&empty);
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3])::"memory");
    if (F != NoWait && t == 77)
      arrive(&empty);
  }
  for (int i = 0; i < 4; ++i)
    d[(t / 32 * 16 + t % 32 / 4 + i / 2 * 8) * 8 + t % 4 * 2 + i % 2] = x[i];
}
KERNEL(group_products, None, , (const Piece *a, const Piece *b, float *d), (a, b, d))
KERNEL(group_products, NoWait, _no_wait, (const Piece *a, const Piece *b, float *d), (a, b, d))
