// Order between blocks: what passes from one to another, and to whom. The line
// of the other access says so in a comment: `//~ kernel: block, thread`.
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

ASM_API void release(int *flag, int value) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
ASM_API void release_to_cluster(int *flag, int value) {
  asm volatile("st.release.cluster.global.s32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}
ASM_API int acquire(int *flag) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}
ASM_API void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

// Clusters of two blocks. A block writes, its neighbour behind their barrier
// says so to the other cluster.
template <int F> __device__ void relay_body(int *data, int *flag, int *out) {
  int t = threadIdx.x, b = blockIdx.x;
  if (b == 0)
    data[t] = 5 * t; //~ relay_no_sync: 0, - //~ relay_narrow: 0, -
  if (F != NoSync)
    cluster_barrier();
  if (b == 1 && t == 0) {
    if (F == Narrow)
      release_to_cluster(flag, 1); //~ relay_narrow: 1, 0
    else
      release(flag, 1);
  }
  if (b == 2) {
    if (t == 0)
      while (!acquire(flag)) //! relay_narrow: racecheck, 2, 0
        ;
    __syncthreads();
    out[t] = data[63 - t]; //! relay_no_sync: racecheck, 2, - //! relay_narrow: racecheck, 2, -
  }
}
KERNEL(relay, None, , (int *data, int *flag, int *out), (data, flag, out))
KERNEL(relay, NoSync, _no_sync, (int *data, int *flag, int *out), (data, flag, out))
KERNEL(relay, Narrow, _narrow, (int *data, int *flag, int *out), (data, flag, out))

// The first of two flags is set before the data is there.
template <int F> __device__ void two_flags_body(int *data, int *flags, int *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0)
      release(flags, 1);
    data[t] = 7 * t; //~ two_flags_no_wait: 0, -
    __syncthreads();
    if (t == 0)
      release(flags + 1, 1);
  } else {
    if (t == 0) {
      while (!acquire(flags))
        ;
      while (F != NoWait && !acquire(flags + 1))
        ;
    }
    __syncthreads();
    out[t] = data[31 - t]; //! two_flags_no_wait: racecheck, 1, -
  }
}
KERNEL(two_flags, None, , (int *data, int *flags, int *out), (data, flags, out))
KERNEL(two_flags, NoWait, _no_wait, (int *data, int *flags, int *out), (data, flags, out))

// One thread of a block releases what another has written.
template <int F> __device__ void own_block_body(int *data, int *flag, int *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t + 1; //~ own_block_no_sync: 0, -
    if (F != NoSync)
      __syncthreads();
    if (t == 40)
      release(flag, 1);
  } else {
    while (!acquire(flag))
      ;
    out[t] = data[63 - t]; //! own_block_no_sync: racecheck, 1, -
  }
}
KERNEL(own_block, None, , (int *data, int *flag, int *out), (data, flag, out))
KERNEL(own_block, NoSync, _no_sync, (int *data, int *flag, int *out), (data, flag, out))

// Four blocks read, a fifth overwrites once it knows of all of them; the fault:
// of all but one.
template <int F> __device__ void four_readers_body(int *data, int *done, int *out) {
  int b = blockIdx.x;
  if (threadIdx.x)
    return;
  if (b < 4) {
    out[b] = data[0]; //~ four_readers_no_fence: 2, 0
    if (F != NoFence || b != 2)
      __threadfence();
    atomicAdd(done, 1);
  } else {
    while (*(volatile int *)done < 4)
      ;
    __threadfence();
    data[0] = 9; //! four_readers_no_fence: racecheck, 4, 0
  }
}
KERNEL(four_readers, None, , (int *data, int *done, int *out), (data, done, out))
KERNEL(four_readers, NoFence, _no_fence, (int *data, int *done, int *out), (data, done, out))

// The same by warps of a block in shared memory.
template <int F> __device__ void four_warps_body(int *out) {
  __shared__ unsigned long long read;
  __shared__ int s;
  int t = threadIdx.x, warp = t / 32;
  if (t == 0) {
    s = 3;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(&read)), "r"(F == NoWait ? 3 : 4) : "memory");
  }
  __syncthreads();
  if (t % 32)
    return;
  if (warp < 4) {
    out[warp] = s; //! four_warps_no_wait: racecheck, 0, 64 //~ four_warps_no_wait: 0, 64
    if (F != NoWait || warp != 2)
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(&read)) : "memory");
  } else {
    asm volatile("{\n .reg .pred p;\n"
                 "again:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n"
                 " @!p bra again;\n}" ::"r"(sharedAddress(&read))
                 : "memory");
    s = 4; //! four_warps_no_wait: racecheck, 0, 128 //~ four_warps_no_wait: 0, 128
  }
}
KERNEL(four_warps, None, , (int *out), (out))
KERNEL(four_warps, NoWait, _no_wait, (int *out), (out))

// A reduction whose last block adds up what the others have left.
template <int F> __device__ void tickets_body(const int *in, int *partial, int *ticket, int *out) {
  __shared__ int sum;
  __shared__ bool isLast;
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[b * 64 + t]);
  __syncthreads();
  if (t == 0) {
    partial[b] = sum; //~ tickets_no_fence: -, 0
    if (F != NoFence)
      __threadfence();
    isLast = atomicAdd(ticket, 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (!isLast)
    return;
  if (t < int(gridDim.x))
    atomicAdd(out, partial[t]); //! tickets_no_fence: racecheck, -, -
  // For the next launch.
  if (t == 0)
    *ticket = 0;
}
KERNEL(tickets, None, , (const int *in, int *partial, int *ticket, int *out), (in, partial, ticket, out))
KERNEL(tickets, NoFence, _no_fence, (const int *in, int *partial, int *ticket, int *out), (in, partial, ticket, out))

// A scan that looks back: a block waits for the sum of those before it.
template <int F> __device__ void look_back_body(const int *in, int *state, int *sums, int *prefixes, int *out) {
  __shared__ int own, before;
  int t = threadIdx.x, b = blockIdx.x;
  if (t == 0)
    own = before = 0;
  __syncthreads();
  atomicAdd(&own, in[b * 32 + t]);
  __syncthreads();
  if (t == 0) {
    // 1: the block's own sum is there; 2: that of all up to it.
    sums[b] = own;
    if (F != NoFence)
      __threadfence();
    *(volatile int *)(state + b) = b ? 1 : 2;
    for (int k = b - 1; k >= 0; --k) {
      int seen;
      while ((seen = *(volatile int *)(state + k)) == 0)
        ;
      __threadfence();
      before += seen == 2 ? k ? prefixes[k] : sums[0] : sums[k]; //! look_back_no_fence: racecheck, -, 0
      if (seen == 2)
        break;
    }
    if (b) {
      prefixes[b] = before + own;
      if (F != NoFence)
        __threadfence();
      *(volatile int *)(state + b) = 2;
    }
    out[b] = before;
  }
}
KERNEL(look_back, None, , (const int *in, int *state, int *sums, int *prefixes, int *out), (in, state, sums, prefixes, out))
KERNEL(look_back, NoFence, _no_fence, (const int *in, int *state, int *sums, int *prefixes, int *out), (in, state, sums, prefixes, out))

// A lock that is had in the order of asking.
template <int F> __device__ void ticket_lock_body(int *next, int *serving, int *count) {
  if (threadIdx.x)
    return;
  for (int k = 0; k < 5; ++k) {
    int mine = atomicAdd(next, 1);
    while (*(volatile int *)serving != mine)
      ;
    __threadfence();
    *count += blockIdx.x + 1; //! ticket_lock_no_fence: racecheck, -, 0 //~ ticket_lock_no_fence: -, 0
    if (F != NoFence)
      __threadfence();
    *(volatile int *)serving = mine + 1;
  }
}
KERNEL(ticket_lock, None, , (int *next, int *serving, int *count), (next, serving, count))
KERNEL(ticket_lock, NoFence, _no_fence, (int *next, int *serving, int *count), (next, serving, count))

// Steps of a stencil between two buffers, with a barrier of the grid.
template <int F> __device__ void grid_steps_body(int *a, int *b, int *arrived) {
  int t = threadIdx.x, n = gridDim.x * 32, i = blockIdx.x * 32 + t;
  for (int step = 0; step < 4; ++step) {
    const int *from = step % 2 ? b : a;
    int *to = step % 2 ? a : b;
    to[i] = from[i] + from[(i + 1) % n] + from[(i + n - 1) % n]; //! grid_steps_no_fence: racecheck, -, - //~ grid_steps_no_fence: -, -
    __syncthreads();
    if (t == 0) {
      if (F != NoFence)
        __threadfence();
      atomicAdd(arrived, 1);
      while (*(volatile int *)arrived < int(gridDim.x) * (step + 1))
        ;
      __threadfence();
    }
    __syncthreads();
  }
}
KERNEL(grid_steps, None, , (int *a, int *b, int *arrived), (a, b, arrived))
KERNEL(grid_steps, NoFence, _no_fence, (int *a, int *b, int *arrived), (a, b, arrived))

// A flag passes through a third block.
template <int F> __device__ void pass_on_body(int *data, int *flags, int *out) {
  int t = threadIdx.x, b = blockIdx.x;
  if (t)
    return;
  if (b == 0) {
    data[0] = 11; //~ pass_on_no_fence: 0, 0
    release(flags, 1);
  } else if (b == 1) {
    while (*(volatile int *)flags == 0)
      ;
    if (F != NoFence)
      __threadfence();
    *(volatile int *)(flags + 1) = 1;
  } else {
    while (!acquire(flags + 1))
      ;
    out[0] = data[0]; //! pass_on_no_fence: racecheck, 2, 0
  }
}
KERNEL(pass_on, None, , (int *data, int *flags, int *out), (data, flags, out))
KERNEL(pass_on, NoFence, _no_fence, (int *data, int *flags, int *out), (data, flags, out))

// Sums by a compare-and-swap, whose first read is a guess; a plain read that
// leads to none is none.
template <int F> __device__ void swaps_body(const int *in, int *sum, int *out) {
  int v = in[blockIdx.x * 32 + threadIdx.x], seen, old = *sum;
  do {
    seen = old;
    old = atomicCAS(sum, seen, seen + v); //~ swaps_not_atomic: -, - //! swaps_not_atomic: racecheck, -, -
  } while (seen != old);
  if (F == NotAtomic)
    asm volatile("{\n .reg .b64 a;\n mov.b64 a, %1;\n ld.global.s32 %0, [a];\n}" : "=r"(old) : "l"(sum) : "memory"); //! swaps_not_atomic: racecheck, -, - //~ swaps_not_atomic: -, -
  out[blockIdx.x * 32 + threadIdx.x] = old;
}
KERNEL(swaps, None, , (const int *in, int *sum, int *out), (in, sum, out))
KERNEL(swaps, NotAtomic, _not_atomic, (const int *in, int *sum, int *out), (in, sum, out))

// A flag that is an element of what is read as a vector.
template <int F> __device__ void flag_in_vector_body(int *data, int *flags, int *out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 3;
    __syncthreads();
    if (threadIdx.x == 0)
      release(flags + 1, 1);
    return;
  }
  if (threadIdx.x == 0) {
    int first, second;
    do
      asm volatile("ld.acquire.gpu.global.v2.s32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "l"(flags) : "memory");
    while (!second);
  }
  __syncthreads();
  out[threadIdx.x] = data[threadIdx.x];
}
KERNEL(flag_in_vector, None, , (int *data, int *flags, int *out), (data, flags, out))

// What a release orders is what its thread has copied before it.
template <int F> __device__ void early_copy_body(int *data, int *flags, int *out) {
  __shared__ int s;
  if (blockIdx.x == 0) {
    if (F == NoWait)
      release(flags, 1);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.wait_all;" ::"r"(sharedAddress(&s)), "l"(data) : "memory"); //~ early_copy_no_wait: 0, 0
    out[0] = s;
    if (F != NoWait)
      release(flags, 1);
  } else {
    while (!acquire(flags))
      ;
    data[0] = 5; //! early_copy_no_wait: racecheck, 1, 0
  }
}
KERNEL(early_copy, None, , (int *data, int *flags, int *out), (data, flags, out))
KERNEL(early_copy, NoWait, _no_wait, (int *data, int *flags, int *out), (data, flags, out))

// What a block has read by a strong access it may read as usual, whoever else
// has read it since.
template <int F> __device__ void seen_before_body(int *x, int *flags, int *out) {
  if (blockIdx.x == 0)
    *(volatile int *)x = 1; //~ seen_before_no_wait: 0, 0
  if (blockIdx.x == 1) {
    while (F != NoWait && *(volatile int *)x == 0)
      ;
    release(flags, 1);
    while (*(volatile int *)(flags + 1) == 0)
      ;
    out[0] = *x; //! seen_before_no_wait: racecheck, 1, 0
  }
  if (blockIdx.x == 2) {
    while (!acquire(flags))
      ;
    out[1] = *(volatile int *)x;
    *(volatile int *)(flags + 1) = 1;
  }
}
KERNEL(seen_before, None, , (int *x, int *flags, int *out), (x, flags, out))
KERNEL(seen_before, NoWait, _no_wait, (int *x, int *flags, int *out), (x, flags, out))

// A store of the value that is there hides no reader from the next one.
template <int F> __device__ void stored_again_body(int *x, int *arrived, int *out) {
  if (blockIdx.x == 0) {
    out[0] = *x; //~ stored_again_no_wait: 0, 0
    __threadfence();
    if (F != NoWait)
      atomicAdd(arrived, 1);
  }
  if (blockIdx.x == 1) {
    if (F != NoWait)
      while (!acquire(arrived))
        ;
    *x = 0;
    __threadfence();
    atomicAdd(arrived, 1);
  }
  if (blockIdx.x == 2) {
    while (acquire(arrived) < (F == NoWait ? 1 : 2))
      ;
    *x = 7; //! stored_again_no_wait: racecheck, 2, 0
  }
}
KERNEL(stored_again, None, , (int *x, int *arrived, int *out), (x, arrived, out))
KERNEL(stored_again, NoWait, _no_wait, (int *x, int *arrived, int *out), (x, arrived, out))

// The load that a compare-and-swap will look at again is a guess: what it finds
// orders nothing.
template <int F> __device__ void guess_body(int *data, int *flag, int *out) {
  if (blockIdx.x == 0) {
    data[0] = 3; //~ guess_no_wait: 0, 0
    __threadfence();
    atomicCAS(flag, 0, 1);
    return;
  }
  int seen = F == NoWait ? *flag : 0;
  while (!seen)
    seen = atomicCAS(flag, 5, 6);
  out[0] = data[0]; //! guess_no_wait: racecheck, 1, 0
}
KERNEL(guess, None, , (int *data, int *flag, int *out), (data, flag, out))
KERNEL(guess, NoWait, _no_wait, (int *data, int *flag, int *out), (data, flag, out))
