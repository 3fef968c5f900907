// wmma: every shape and type of the factors, both layouts in memory, a pitch
// above the width, accumulators of f16 and f32, in global and shared memory.
//
// REQUIRES: nvcc, ml-dtypes
// RUN: for arch in 80 90a 120; do \
// RUN:   %nvcc -ptx -arch=sm_$arch -std=c++17 -O2 -lineinfo -o %t.$arch.ptx %s && \
// RUN:   %python %S/Inputs/check_wmma.py %t.$arch.ptx %t.d || exit 1; done
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;
using bf16 = __nv_bfloat16;

template <typename Layout> constexpr bool isRow = std::is_same_v<Layout, wmma::row_major>;
constexpr int gap = 16;

// D = 2 (A B + C), the factors with a pitch of their width and a gap.
template <int M, int N, int K, typename T, typename Sum, typename LA, typename LB, typename Stored>
__device__ void product(const Stored *a, const Stored *b, const Sum *c, Sum *d) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LA> x;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LB> y;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
  wmma::load_matrix_sync(x, a, (isRow<LA> ? K : M) + gap);
  wmma::load_matrix_sync(y, b, (isRow<LB> ? N : K) + gap);
  auto layout = isRow<LA> ? wmma::mem_row_major : wmma::mem_col_major;
  wmma::load_matrix_sync(sum, c, isRow<LA> ? N : M, layout);
  wmma::mma_sync(sum, x, y, sum);
  for (int i = 0; i < sum.num_elements; ++i)
    sum.x[i] = sum.x[i] + sum.x[i];
  wmma::store_matrix_sync(d, sum, isRow<LA> ? N : M, layout);
}

#define KERNEL(NAME, M, N, K, T, SUM, LA, LB, STORED)                                      \
  extern "C" __global__ void NAME(const STORED *a, const STORED *b, const SUM *c, SUM *d) { \
    product<M, N, K, T, SUM, wmma::LA##_major, wmma::LB##_major>(a, b, c, d);               \
  }
#define LAYOUTS(NAME, M, N, K, T, SUM, STORED)              \
  KERNEL(NAME##_row_row, M, N, K, T, SUM, row, row, STORED) \
  KERNEL(NAME##_row_col, M, N, K, T, SUM, row, col, STORED) \
  KERNEL(NAME##_col_row, M, N, K, T, SUM, col, row, STORED) \
  KERNEL(NAME##_col_col, M, N, K, T, SUM, col, col, STORED)
#define SHAPES(NAME, T, SUM, STORED)                      \
  LAYOUTS(NAME##_16_16_16, 16, 16, 16, T, SUM, STORED)    \
  LAYOUTS(NAME##_8_32_16, 8, 32, 16, T, SUM, STORED)      \
  LAYOUTS(NAME##_32_8_16, 32, 8, 16, T, SUM, STORED)
SHAPES(f16_f32, half, float, half)
SHAPES(f16_f16, half, half, half)
SHAPES(bf16_f32, bf16, float, bf16)
SHAPES(s8_s32, signed char, int, signed char)
SHAPES(u8_s32, unsigned char, int, unsigned char)
LAYOUTS(tf32_f32_16_16_8, 16, 16, 8, wmma::precision::tf32, float, float)

// Four warps, each a quarter of a 32 x 32 product, by way of shared memory.
extern "C" __global__ void tiled(const half *a, const half *b, float *d, int k) {
  __shared__ alignas(32) half sa[32][16 + 8], sb[16][32 + 8];
  int warp = threadIdx.x / 32, row = warp / 2 * 16, column = warp % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.f);
  for (int first = 0; first < k; first += 16) {
    for (int i = threadIdx.x; i < 512; i += 128) {
      sa[i / 16][i % 16] = a[i / 16 * k + first + i % 16];
      sb[i / 32][i % 32] = b[(first + i / 32) * 32 + i % 32];
    }
    __syncthreads();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> y;
    wmma::load_matrix_sync(x, &sa[row][0], 24);
    wmma::load_matrix_sync(y, &sb[0][column], 40);
    wmma::mma_sync(sum, x, y, sum);
    __syncthreads();
  }
  wmma::store_matrix_sync(d + row * 32 + column, sum, 32, wmma::mem_row_major);
}

// Copies a matrix of 16 x 16 by way of a fragment, from an offset and with a pitch
// in elements, in shared memory and in global memory.
template <typename T> __device__ void copy(const T *in, T *out, int offset, int pitch) {
  __shared__ alignas(32) T s[512];
  for (int i = threadIdx.x; i < 512; i += 32)
    s[i] = in[i];
  __syncwarp();
  wmma::fragment<wmma::accumulator, 16, 16, 16, T> x, y;
  wmma::load_matrix_sync(x, s + offset, pitch, wmma::mem_row_major); // shared
  wmma::load_matrix_sync(y, in, 16, wmma::mem_row_major);
  for (int i = 0; i < x.num_elements; ++i)
    x.x[i] += y.x[i];
  wmma::store_matrix_sync(out + offset, x, pitch, wmma::mem_row_major); // global
}
extern "C" __global__ void copy_f32(const float *in, float *out, int offset, int pitch) {
  copy(in, out, offset, pitch);
}
extern "C" __global__ void copy_f16(const half *in, half *out, int offset, int pitch) {
  copy(in, out, offset, pitch);
}
