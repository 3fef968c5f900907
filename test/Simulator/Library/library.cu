// What nvcc makes of CUDA's own library: cooperative groups, barriers, pipelines,
// atomics, calls by address, 64-bit and 128-bit division, doubles.
//
// REQUIRES: nvcc
// RUN: for arch in 80 90a 120; do \
// RUN:   %nvcc -ptx -arch=sm_$arch -std=c++17 -O2 -lineinfo -rdc=true -o %t.$arch.ptx %s && \
// RUN:   %python %S/Inputs/check_library.py %t.$arch.ptx %t.d || exit 1; done
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace cg = cooperative_groups;
#define KERNEL extern "C" __global__ void

KERNEL groups(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto tile = cg::tiled_partition<8>(block);
  int t = block.thread_rank(), v = in[t];
  out[t] = cg::reduce(warp, v, cg::plus<int>());
  out[64 + t] = cg::reduce(tile, v, cg::greater<int>());
  out[128 + t] = cg::inclusive_scan(warp, v);
  out[192 + t] = cg::exclusive_scan(tile, v);
  out[256 + t] = 0;
  if (v & 1) {
    auto odd = cg::coalesced_threads();
    out[256 + t] = odd.size() * 100 + odd.thread_rank();
  }
  out[320 + t] = cg::labeled_partition(warp, v & 3).size();
}

// Tiles of several warps meet in the memory that the system keeps.
KERNEL tiles(const int *in, int *out) {
  __shared__ int s[128];
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<64>(block);
  int t = threadIdx.x, n = blockDim.x;
  in += blockIdx.x * n, out += blockIdx.x * 3 * n;
  s[t] = in[t];
  tile.sync();
  int v = s[t ^ 63];
  out[t] = cg::reduce(tile, v, cg::plus<int>());
  out[n + t] = cg::inclusive_scan(tile, v);
  out[2 * n + t] = tile.any(v == 7);
}

// Threads of a block take turns.
KERNEL turns(int *out) {
  __shared__ int held, count;
  if (threadIdx.x == 0)
    held = count = 0;
  __syncthreads();
  while (atomicCAS(&held, 0, 1))
    ;
  __threadfence_block();
  count += threadIdx.x;
  __threadfence_block();
  atomicExch(&held, 0);
  __syncthreads();
  if (threadIdx.x == 0)
    out[blockIdx.x] = count;
}

// Blocks meet twice; each reads what another has written.
KERNEL grid(int *a, int *b) {
  auto grid = cg::this_grid();
  int n = grid.size(), t = grid.thread_rank();
  for (int round = 0; round < 2; ++round) {
    a[t] = t * (round + 1);
    grid.sync();
    b[round * n + t] = a[(t + 37) % n];
    grid.sync();
  }
}

KERNEL barrier(const int *in, int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ alignas(16) int s[128];
  auto block = cg::this_thread_block();
  if (threadIdx.x == 0)
    init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(block, s, in, cuda::aligned_size_t<16>(sizeof s), bar);
  bar.arrive_and_wait();
  out[threadIdx.x] = s[127 - threadIdx.x];
}

// Lanes of one warp wait for each other, asleep.
KERNEL semaphore(int *out) {
  using Semaphore = cuda::binary_semaphore<cuda::thread_scope_block>;
  __shared__ alignas(8) char room[sizeof(Semaphore)];
  auto &free = *reinterpret_cast<Semaphore *>(room);
  if (threadIdx.x == 0)
    new (&free) Semaphore(1);
  __syncthreads();
  free.acquire();
  out[0] += threadIdx.x + 1;
  free.release();
}

// Half of the threads leave after the first phase.
KERNEL drop(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0)
    init(&bar, 64);
  __syncthreads();
  s[t] = t;
  if (t >= 32) {
    bar.arrive_and_drop();
    return;
  }
  bar.arrive_and_wait();
  int v = s[63 - t];
  bar.arrive_and_wait();
  s[t] = v * 2;
  bar.arrive_and_wait();
  out[t] = s[31 - t];
}

// What caches are told changes no value; a discarded line has none.
KERNEL hints(const int *in, int *out) {
  int t = threadIdx.x, v;
  unsigned long long policy;
  asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64"
               " %0, [%1], 128, 256;" : "=l"(policy) : "l"(in));
  asm volatile("createpolicy.cvt.L2.b64 %0, 0x10f0000000000000;" : "=l"(policy));
  asm volatile("ld.global.L1::no_allocate.L2::cache_hint.b32 %0, [%1], %2;"
               : "=r"(v) : "l"(in + t), "l"(policy));
  asm volatile("prefetch.global.L2::evict_last [%0];\n"
               "applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in));
  out[t] = 5;
  __syncthreads();
  if (t == 0)
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(out) : "memory");
  __syncthreads();
  __stcs(out + t, v + __ldcv(in + t) + __ldlu(in + t));
}

KERNEL packed(const unsigned *in, unsigned *out) {
  unsigned a = in[threadIdx.x], b = in[threadIdx.x + 32], c = in[threadIdx.x + 64];
  out[threadIdx.x] = __viaddmin_s16x2_relu(a, b, c);
  out[32 + threadIdx.x] = __vimax_s32_relu(a, b);
}

KERNEL pipeline(const int *in, int *out, int n) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ int s[2][128];
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  for (int k = 0, filled = 0; k < n; ++k) {
    for (; filled < n && filled < k + 2; ++filled) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[filled & 1], in + filled * 128,
                         sizeof(int) * 128, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    out[k * 128 + threadIdx.x] = s[k & 1][127 - threadIdx.x];
    pipe.consumer_release();
  }
}

KERNEL thread_pipeline(const int *in, int *out, int n) {
  __shared__ int s[2][128];
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x;
  auto fill = [&](int k) {
    pipe.producer_acquire();
    cuda::memcpy_async(&s[k & 1][t], &in[k * 128 + t], sizeof(int), pipe);
    pipe.producer_commit();
  };
  fill(0);
  for (int k = 0; k < n; ++k) {
    if (k + 1 < n) {
      fill(k + 1);
      cuda::pipeline_consumer_wait_prior<1>(pipe);
    } else {
      cuda::pipeline_consumer_wait_prior<0>(pipe);
    }
    __syncthreads();
    out[k * 128 + t] = s[k & 1][127 - t];
    __syncthreads();
    pipe.consumer_release();
  }
}

KERNEL atomics(int *i, unsigned long long *u, double *d, float *f, __half *h,
               __nv_bfloat162 *b, float4 *v) {
  auto &a = *reinterpret_cast<cuda::atomic<int, cuda::thread_scope_device> *>(i);
  a.fetch_add(3, cuda::memory_order_relaxed);
  a.fetch_max(40, cuda::memory_order_acq_rel);
  atomicAdd(u, 1ull << 33);
  atomicMax(u + 1, (unsigned long long)threadIdx.x << 40);
  atomicAdd(d, 0.5);
  atomicAdd(f, 0.25f);
  atomicAdd(h, __float2half(1.f));
  atomicAdd(b, __floats2bfloat162_rn(1.f, 2.f));
#if __CUDA_ARCH__ >= 900
  atomicAdd(v, make_float4(1, 2, 3, 4));
  float2 old = atomicAdd(reinterpret_cast<float2 *>(v + 1), make_float2(1, 2));
  atomicAdd(&v[1].z, old.y - 2 * old.x);
#else
  for (int k = 0; k < 4; ++k)
    atomicAdd(&v->x + k, k + 1.f);
  atomicAdd(&v[1].x, 1.f);
  atomicAdd(&v[1].y, 2.f);
#endif
}

__device__ __noinline__ int triple(int x) { return x * 3; }
__device__ __noinline__ int plus_seven(int x) { return x + 7; }
__device__ __noinline__ int flip(int x) { return x ^ 5; }
__device__ int (*functions[3])(int) = {triple, plus_seven, flip};

// Three targets in every warp.
KERNEL by_address(const int *in, int *out) {
  out[threadIdx.x] = functions[unsigned(in[threadIdx.x]) % 3](threadIdx.x);
}

struct Shape {
  __device__ virtual int area(int) const = 0;
};
struct Square : Shape {
  __device__ __noinline__ int area(int x) const override { return x * x; }
};
struct Strip : Shape {
  int width;
  __device__ Strip(int width) : width(width) {}
  __device__ __noinline__ int area(int x) const override { return x * width; }
};
KERNEL virtual_functions(const int *in, int *out) {
  Square square;
  Strip strip(threadIdx.x + 2);
  const Shape *shape = in[threadIdx.x] & 1 ? (const Shape *)&square : &strip;
  out[threadIdx.x] = shape->area(threadIdx.x);
}

KERNEL division(const long long *a, const long long *b, long long *out) {
  int t = threadIdx.x;
  out[t] = a[t] / b[t];
  out[64 + t] = a[t] % b[t];
  out[128 + t] = (unsigned long long)a[t] / (unsigned long long)b[t];
  out[192 + t] = __umul64hi(a[t], b[t]);
  unsigned __int128 wide = (unsigned __int128)(unsigned long long)a[t] *
                               (unsigned long long)b[t] +
                           (unsigned long long)a[t];
  out[256 + t] = (unsigned long long)(wide >> 64);
  wide = wide / ((unsigned __int128)(unsigned long long)b[t] * 5 + 1);
  out[320 + t] = (unsigned long long)wide;
}

KERNEL doubles(const double *in, double *out) {
  int t = threadIdx.x;
  double x = in[t];
  out[t] = exp(x);
  out[64 + t] = log(fabs(x));
  out[128 + t] = sin(x);
  out[192 + t] = cos(x);
  out[256 + t] = pow(fabs(x), 1.5);
  out[320 + t] = tanh(x);
  out[384 + t] = cbrt(x);
  out[448 + t] = atan2(x, 2.0);
  out[512 + t] = fmod(x, 0.7);
  out[576 + t] = rsqrt(fabs(x));
}

KERNEL floats(const float *in, float *out) {
  int t = threadIdx.x;
  float x = in[t];
  out[t] = expf(x);
  out[64 + t] = logf(fabsf(x));
  out[128 + t] = sinf(x);
  out[192 + t] = cosf(x);
  out[256 + t] = powf(fabsf(x), 1.5f);
  out[320 + t] = tanhf(x);
  out[384 + t] = cbrtf(x);
  out[448 + t] = atan2f(x, 2.f);
  out[512 + t] = fmodf(x, 0.7f);
  out[576 + t] = rsqrtf(fabsf(x));
}

KERNEL halves(const __half2 *in, unsigned *out) {
  int t = threadIdx.x;
  __half2 x = in[t], y = in[t ^ 1];
  out[t] = __hbeq2(x, y);
  out[64 + t] = __heq2_mask(x, y);
  __half2 ge = __hge2(x, y);
  out[128 + t] = *reinterpret_cast<unsigned *>(&ge);
}
