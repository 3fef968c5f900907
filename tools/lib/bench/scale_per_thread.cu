// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What test/Examples/scale-per-thread.mlir does, written by hand: thread t of block
// b looks up the scale of token t of sequence b. Of several ways to write it the one
// of which nvcc makes the fewest instructions; the pitch is in scales.
#include <cstdint>

template <int P, int H, int D, int G>
__device__ __forceinline__ float scaleOf(const float *__restrict__ scales,
                                         int64_t pitch,
                                         const uint32_t *__restrict__ table,
                                         uint32_t tableStride, uint32_t b,
                                         uint32_t t, uint32_t h, uint32_t d) {
  constexpr uint32_t slots = (D + G - 1) / G;
  const int64_t block = __ldg(table + (b * tableStride + t / P));
  return __ldg(scales + block * pitch + (t % P * H + h) * slots + d / G);
}

#define KERNEL(NAME, P, H, D, G)                                               \
  extern "C" __global__ void __launch_bounds__(128)                           \
      NAME(const float *__restrict__ scales, int64_t pitch,                    \
           const uint32_t *__restrict__ table, uint32_t tableStride,           \
           uint32_t h, uint32_t d, float *__restrict__ out) {                  \
    const uint32_t b = blockIdx.x, t = threadIdx.x;                            \
    out[b * 128 + t] =                                                         \
        scaleOf<P, H, D, G>(scales, pitch, table, tableStride, b, t, h, d);    \
  }

KERNEL(gqa, 16, 8, 128, 128)
KERNEL(mla, 64, 1, 576, 576)
