// Matrix instructions against the same sums done one by one. All values are
// small integers, so every order of summation gives the same.
//
// REQUIRES: clang
// RUN: %clang_cuda -O1 -o %t.ptx %s
// RUN: ptxsim %t.ptx --kernel mma_f16 --grid 1 --block 32 --tool all \
// RUN:   --arg zero:-=s32[1] | FileCheck %s
// RUN: ptxsim %t.ptx --kernel mma_s8 --grid 1 --block 32 --tool all \
// RUN:   --arg zero:-=s32[1] | FileCheck %s
// RUN: ptxsim %t.ptx --kernel mma_e4m3 --grid 1 --block 32 --tool all \
// RUN:   --arg zero:-=s32[1] | FileCheck %s
// RUN: ptxsim %t.ptx --kernel matrix_moves --grid 1 --block 32 --tool all \
// RUN:   --arg zero:-=s32[1] | FileCheck %s
// RUN: ptxsim %t.ptx --kernel wgmma_e4m3 --grid 1 --block 128 \
// RUN:   --arg zero:-=s32[1] | FileCheck %s
// CHECK: s32[1]: 0
//
// Without the wait the accumulators are not there yet.
// RUN: ptxsim %t.ptx --kernel wgmma_no_wait --grid 1 --block 128 \
// RUN:   --arg zero:-=s32[1] | FileCheck %s --check-prefix=WRONG
// WRONG-NOT: s32[1]: 0{{$}}
#include "Inputs/cuda.h"

typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
typedef unsigned long long u64;

__device__ inline u32 shared_address(void *p) {
  return (u32)(u64)(__attribute__((address_space(3))) void *)p;
}
__device__ inline int a_value(int r, int k) { return (r * 3 + k * 5) % 7 - 3; }
__device__ inline int b_value(int k, int c) { return (k * 2 + c * 3) % 5 - 2; }
__device__ inline u16 half_bits(int v) {
  u16 h;
  asm("cvt.rn.f16.s32 %0, %1;" : "=h"(h) : "r"(v));
  return h;
}
// Exact for the small values here.
__device__ inline u8 e4m3_bits(int v) {
  u16 pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;"
      : "=h"(pair)
      : "f"(0.f), "f"((float)v));
  return (u8)pair;
}
__device__ inline float expected(int row, int col, int k) {
  int sum = row - col;
  for (int e = 0; e < k; ++e)
    sum += a_value(row, e) * b_value(e, col);
  return sum;
}
__device__ inline void compare(int *errors, const float *d, int k) {
  int g = threadIdx_x() / 4, t = threadIdx_x() % 4;
  for (int i = 0; i < 4; ++i)
    if (d[i] != expected(g + 8 * (i / 2), 2 * t + i % 2, k))
      __nvvm_atom_add_gen_i(errors, 1);
}

__global__ void mma_f16(int *errors) {
  int g = threadIdx_x() / 4, t = threadIdx_x() % 4;
  u32 a[4], b[2];
  float c[4], d[4];
  for (int i = 0; i < 4; ++i) {
    int r = g + 8 * (i % 2), k = 2 * t + 8 * (i / 2);
    a[i] = half_bits(a_value(r, k)) | (u32)half_bits(a_value(r, k + 1)) << 16;
    c[i] = g + 8 * (i / 2) - (2 * t + i % 2);
  }
  for (int i = 0; i < 2; ++i) {
    int k = 2 * t + 8 * i;
    b[i] = half_bits(b_value(k, g)) | (u32)half_bits(b_value(k + 1, g)) << 16;
  }
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
        "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  compare(errors, d, 16);
}

__global__ void mma_s8(int *errors) {
  int g = threadIdx_x() / 4, t = threadIdx_x() % 4;
  u32 a[4] = {}, b[2] = {};
  int c[4], d[4];
  for (int i = 0; i < 4; ++i) {
    for (int e = 0; e < 4; ++e)
      a[i] |= (u32)(u8)a_value(g + 8 * (i % 2), 4 * t + e + 16 * (i / 2))
              << 8 * e;
    c[i] = g + 8 * (i / 2) - (2 * t + i % 2);
  }
  for (int i = 0; i < 2; ++i)
    for (int e = 0; e < 4; ++e)
      b[i] |= (u32)(u8)b_value(4 * t + e + 16 * i, g) << 8 * e;
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
        "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
  float f[4];
  for (int i = 0; i < 4; ++i)
    f[i] = d[i];
  compare(errors, f, 32);
}

__global__ void mma_e4m3(int *errors) {
  int g = threadIdx_x() / 4, t = threadIdx_x() % 4;
  u32 a[4] = {}, b[2] = {};
  float c[4], d[4];
  for (int i = 0; i < 4; ++i) {
    for (int e = 0; e < 4; ++e)
      a[i] |= (u32)e4m3_bits(a_value(g + 8 * (i % 2), 4 * t + e + 16 * (i / 2)))
              << 8 * e;
    c[i] = g + 8 * (i / 2) - (2 * t + i % 2);
  }
  for (int i = 0; i < 2; ++i)
    for (int e = 0; e < 4; ++e)
      b[i] |= (u32)e4m3_bits(b_value(4 * t + e + 16 * i, g)) << 8 * e;
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]),
        "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
  compare(errors, d, 32);
}

// ldmatrix distributes rows; transposed it distributes columns; stmatrix
// undoes it.
__global__ void matrix_moves(int *errors) {
  __shared__ __attribute__((aligned(16))) u16 in[4][8][8], out[4][8][8];
  int lane = threadIdx_x(), g = lane / 4, t = lane % 4;
  for (int c = 0; c < 8; ++c)
    in[lane / 8][lane % 8][c] = (u16)(lane * 8 + c);
  __syncthreads();
  u32 r[4], s[4];
  u32 address = shared_address(&in[lane / 8][lane % 8][0]);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
      : "=r"(s[0]), "=r"(s[1]), "=r"(s[2]), "=r"(s[3])
      : "r"(address));
  for (int k = 0; k < 4; ++k) {
    u32 straight = in[k][g][2 * t] | (u32)in[k][g][2 * t + 1] << 16;
    u32 across = in[k][2 * t][g] | (u32)in[k][2 * t + 1][g] << 16;
    if (r[k] != straight || s[k] != across)
      __nvvm_atom_add_gen_i(errors, 1);
  }
  u32 target = shared_address(&out[lane / 8][lane % 8][0]);
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
               :
               : "r"(target), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
  __syncthreads();
  for (int c = 0; c < 8; ++c)
    if (out[lane / 8][lane % 8][c] != in[lane / 8][lane % 8][c])
      __nvvm_atom_add_gen_i(errors, 1);
}

// A is 64 x 32, B is 8 x 32, both K-major without swizzle: 8 x 16-byte cores,
// neighbours along K one after the other.
__device__ inline void wgmma_product(int *errors, bool wait) {
  __shared__ __attribute__((aligned(128))) u8 a[64 * 32], b[8 * 32];
  int tid = threadIdx_x();
  for (int i = tid; i < 64 * 32; i += 128) {
    int r = i / 32, k = i % 32;
    a[r / 8 * 256 + k / 16 * 128 + r % 8 * 16 + k % 16] =
        e4m3_bits(a_value(r, k));
  }
  for (int i = tid; i < 8 * 32; i += 128) {
    int c = i / 32, k = i % 32;
    b[k / 16 * 128 + c * 16 + k % 16] = e4m3_bits(b_value(k, c));
  }
  __syncthreads();
  auto descriptor = [](u32 address) -> u64 {
    return (u64)(address >> 4) | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
  };
  int warp = tid / 32, g = tid % 32 / 4, t = tid % 4;
  float d[4];
  for (int i = 0; i < 4; ++i)
    d[i] = warp * 16 + g + 8 * (i / 2) - (2 * t + i % 2);
  u64 da = descriptor(shared_address(a)), db = descriptor(shared_address(b));
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 "
               "{%0,%1,%2,%3}, %4, %5, 1, 1, 1;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "l"(da), "l"(db)
               : "memory");
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (wait)
    asm volatile("wgmma.wait_group.sync.aligned 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 :
                 : "memory");
  for (int i = 0; i < 4; ++i)
    if (d[i] !=
        expected(warp * 16 + g + 8 * (i / 2), 2 * t + i % 2, 32))
      __nvvm_atom_add_gen_i(errors, 1);
}
__global__ void wgmma_e4m3(int *errors) { wgmma_product(errors, true); }
__global__ void wgmma_no_wait(int *errors) { wgmma_product(errors, false); }
