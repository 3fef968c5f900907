// Matrices: transposes and products.
//
// REQUIRES: clang, ml-dtypes
// RUN: %clang_cuda -O2 -gline-tables-only -I %S/Inputs -o %t.ptx %s
// RUN: %python %S/Inputs/check.py %s %t.ptx %t.d
// RUN: %if long %{ %python %S/Inputs/check.py %s %t.ptx %t.d 40 %}
// RUN: %if nvcc %{ %nvcc -ptx -arch=sm_90a -lineinfo -std=c++17 -O2 -I %S/Inputs -o %t.nvcc.ptx %s %}
// RUN: %if nvcc %{ %python %S/Inputs/check.py %s %t.nvcc.ptx %t.d %}
#include "device.h"

template <int F>
__device__ void transpose_body(const float *in, float *out, int rows, int cols) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y0 = blockIdx.y * 32;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (x < cols && y0 + j < rows)
      tile[j][threadIdx.x] = in[(y0 + j) * cols + x]; //! transpose_no_sync: racecheck, -, -
  if (F != NoSync)
    __syncthreads();
  int tx = blockIdx.y * 32 + threadIdx.x, ty0 = blockIdx.x * 32;
  for (int j = threadIdx.y; j < 32; j += 8)
    if (tx < rows && ty0 + j < cols + (F == OffByOne))
      out[(ty0 + j) * rows + tx] = tile[threadIdx.x][j]; //! transpose_no_sync: racecheck initcheck, -, - //! transpose_off_by_one: memcheck initcheck, -, -
}
KERNEL(transpose, None, , (const float *in, float *out, int rows, int cols),
       (in, out, rows, cols))
KERNEL(transpose, NoSync, _no_sync,
       (const float *in, float *out, int rows, int cols), (in, out, rows, cols))
KERNEL(transpose, OffByOne, _off_by_one,
       (const float *in, float *out, int rows, int cols), (in, out, rows, cols))

// A warp a row, four columns at a time.
template <int F>
__device__ void matvec_body(const float *matrix, const float *vector, float *out,
                            int rows, int cols) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows + (F == OffByOne))
    return;
  float sum = 0;
  for (int c = 4 * lane; c < cols; c += 128) {
    float4 a = *(const float4 *)(matrix + row * cols + c + (F == Misaligned)); //! matvec_misaligned: memcheck, 0, 0 //! matvec_off_by_one: memcheck, 1, 64
    float4 b = *(const float4 *)(vector + c);
    sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
  for (int k = 16; k; k >>= 1)
    sum += __shfl_xor_sync(~0u, sum, k);
  if (lane == 0)
    out[row] = sum; //! matvec_off_by_one: memcheck, 1, 64
}
KERNEL(matvec, None, ,
       (const float *matrix, const float *vector, float *out, int rows, int cols),
       (matrix, vector, out, rows, cols))
KERNEL(matvec, Misaligned, _misaligned,
       (const float *matrix, const float *vector, float *out, int rows, int cols),
       (matrix, vector, out, rows, cols))
KERNEL(matvec, OffByOne, _off_by_one,
       (const float *matrix, const float *vector, float *out, int rows, int cols),
       (matrix, vector, out, rows, cols))

template <int F>
__device__ void matmul_tiled_body(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    as[ty][tx] = a[row * n + k0 + tx]; //! matmul_tiled_no_sync: racecheck, -, -
    bs[ty][tx] = b[(k0 + ty) * n + col]; //! matmul_tiled_no_sync: racecheck, -, -
    __syncthreads();
    for (int k = 0; k < 16; ++k)
      sum += as[ty][k] * bs[k][tx]; //! matmul_tiled_no_sync: racecheck, -, -
    if (F != NoSync)
      __syncthreads();
  }
  c[row * n + col] = sum;
}
KERNEL(matmul_tiled, None, , (const float *a, const float *b, float *c, int n),
       (a, b, c, n))
KERNEL(matmul_tiled, NoSync, _no_sync,
       (const float *a, const float *b, float *c, int n), (a, b, c, n))

// f16 tensor cores: a warp computes 16 x 8 of A (m x k, rows) B (k x n, rows).
template <int F>
__device__ void matmul_tensor_body(const short *a, const short *b, float *c, int n,
                                   int k) {
  __shared__ alignas(16) short as[16][24], bs[16][8];
  int t = threadIdx.x, row0 = blockIdx.y * 16, col0 = blockIdx.x * 8;
  float acc[4] = {0, 0, 0, 0};
  for (int k0 = 0; k0 < k; k0 += 16) {
    for (int i = t; i < 256; i += 32)
      as[i / 16][i % 16] = a[(row0 + i / 16) * k + k0 + i % 16]; //! matmul_tensor_no_sync: racecheck, -, -
    for (int i = t; i < 128; i += 32)
      bs[i / 8][i % 8] = b[(k0 + i / 8) * n + col0 + i % 8]; //! matmul_tensor_no_sync: racecheck, -, -
    if (F != NoSync)
      __syncwarp();
    unsigned ra[4], rb[2];
    unsigned pa = sharedAddress(&as[t % 16][t / 16 * 8]) + (F == Misaligned ? 2 : 0);
    unsigned pb = sharedAddress(&bs[t % 16][0]);
    // clang-format off
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3]) : "r"(pa) : "memory"); //! matmul_tensor_no_sync: racecheck initcheck, -, - //! matmul_tensor_misaligned: memcheck initcheck, 0, -
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(rb[0]), "=r"(rb[1]) : "r"(pb) : "memory"); //! matmul_tensor_no_sync: racecheck initcheck, -, -
    // clang-format on
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]),
                   "r"(rb[1]));
    __syncwarp();
  }
  float *tile = c + (row0 + t / 4) * n + col0 + t % 4 * 2;
  tile[0] = acc[0];
  tile[1] = acc[1];
  tile[8 * n] = acc[2];
  tile[8 * n + 1] = acc[3];
}
KERNEL(matmul_tensor, None, ,
       (const short *a, const short *b, float *c, int n, int k), (a, b, c, n, k))
KERNEL(matmul_tensor, NoSync, _no_sync,
       (const short *a, const short *b, float *c, int n, int k), (a, b, c, n, k))
KERNEL(matmul_tensor, Misaligned, _misaligned,
       (const short *a, const short *b, float *c, int n, int k), (a, b, c, n, k))
