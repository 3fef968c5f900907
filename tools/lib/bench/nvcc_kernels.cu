// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same work as kernels.mlir, W1 to W5, in CUDA by hand. W4 and W5 have a
// floor of 1e-4 and multiply by a reciprocal; W5 has no rope part. One explicit
// instantiation is compiled at a time.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
using bf = __nv_bfloat16;
__device__ __forceinline__ void st16(void* p, uint4 v) { asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" ::"l"(__cvta_generic_to_global(p)), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory"); }
struct Cache { const uint8_t* k; const float* s; const uint32_t* lut; const uint32_t* slut; const uint32_t* len; int64_t page_stride, s_page_stride; uint32_t lut_stride; };

__device__ __forceinline__ void dq16(uint4 v, float s, uint4& a, uint4& b) {
  const __nv_fp8x2_storage_t* p = reinterpret_cast<const __nv_fp8x2_storage_t*>(&v);
  __nv_bfloat162 r[8];
#pragma unroll
  for (int i = 0; i < 8; i++) { __half2_raw h = __nv_cvt_fp8x2_to_halfraw2(p[i], __NV_E4M3); float2 f = __half22float2(__half2(h)); r[i] = __floats2bfloat162_rn(f.x * s, f.y * s); }
  a = *reinterpret_cast<uint4*>(&r[0]); b = *reinterpret_cast<uint4*>(&r[4]);
}

// e4m3 to f16 by bits (value * 2^-8; finite inputs only), then times s * 2^8:
// for chips without cvt of e4m3.
__device__ __forceinline__ void dq16b(uint4 v, float s, uint4& a, uint4& b) {
  const uint32_t w[4] = {v.x, v.y, v.z, v.w};
  __nv_bfloat162 r[8];
  s *= 256.f;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    uint32_t x = __byte_perm(w[i / 2], 0, (i & 1) ? 0x3424 : 0x1404);
    uint32_t h = (x & 0x80008000u) | ((x >> 1) & 0x3f803f80u);
    float2 f = __half22float2(*reinterpret_cast<__half2*>(&h));
    r[i] = __floats2bfloat162_rn(f.x * s, f.y * s);
  }
  a = *reinterpret_cast<uint4*>(&r[0]); b = *reinterpret_cast<uint4*>(&r[4]);
}

// page of a request per CTA; P tokens x (H*D) bytes; one f32 scale per G elements
template <int P, int H, int D, int G, int NT, bool BITS>
__global__ void __launch_bounds__(NT) gather_dequant(Cache c, bf* __restrict__ out, uint32_t max_tokens) {
  constexpr int VT = H * D / 16, NV = P * VT, HDG = (D + G - 1) / G;
  const uint32_t b = blockIdx.y, pg = blockIdx.x, n = c.len[b];
  const uint32_t first = pg * P;
  if (first >= n) return;
  const uint32_t nt = min(n - first, (uint32_t)P);
  const uint32_t id = __ldg(&c.lut[b * c.lut_stride + pg]), sid = __ldg(&c.slut[b * c.lut_stride + pg]);
  const uint8_t* __restrict__ kp = c.k + id * c.page_stride;
  const float* __restrict__ sp = c.s + sid * c.s_page_stride;
  bf* __restrict__ op = out + (int64_t)(b * max_tokens + first) * (H * D);
#pragma unroll 4
  for (int v = threadIdx.x; v < NV; v += NT) {
    const int t = v / VT, e = (v % VT) * 16, h = e / D, d = e % D;
    if (t >= nt) break;
    const uint4 x = __ldg(reinterpret_cast<const uint4*>(kp + v * 16));
    uint4 lo, hi;
    const float sc = __ldg(sp + (t * H + h) * HDG + d / G);
    if constexpr (BITS) dq16b(x, sc, lo, hi); else dq16(x, sc, lo, hi);
    st16(op + v * 16, lo);
    st16(op + v * 16 + 8, hi);
  }
}
template __global__ void gather_dequant<64, 1, 576, 576, 256, false>(Cache, bf*, uint32_t);
template __global__ void gather_dequant<64, 1, 576, 576, 256, true>(Cache, bf*, uint32_t);
template __global__ void gather_dequant<16, 8, 128, 128, 256, false>(Cache, bf*, uint32_t);
template __global__ void gather_dequant<16, 8, 128, 128, 256, true>(Cache, bf*, uint32_t);
template __global__ void gather_dequant<16, 8, 128, 32, 256, false>(Cache, bf*, uint32_t);
template __global__ void gather_dequant<16, 8, 128, 32, 256, true>(Cache, bf*, uint32_t);

struct WCache { bf* k; bf* v; const uint32_t* lut; int64_t page_stride; uint32_t lut_stride; };
// W3: token per CTA, H*D/8 threads, 16 B of K and of V each
template <int P, int H, int D>
__global__ void __launch_bounds__(H * D / 8) append_bf16(WCache c, const bf* __restrict__ k, const bf* __restrict__ v, const uint32_t* __restrict__ bi, const uint32_t* __restrict__ pos) {
  const uint32_t t = blockIdx.x, p = __ldg(&pos[t]), id = __ldg(&c.lut[__ldg(&bi[t]) * c.lut_stride + p / P]);
  const int64_t dst = id * c.page_stride + (p % P) * (H * D) + threadIdx.x * 8;
  const int64_t src = (int64_t)t * (H * D) + threadIdx.x * 8;
  const uint4 a = __ldg(reinterpret_cast<const uint4*>(k + src)), b = __ldg(reinterpret_cast<const uint4*>(v + src));
  st16(c.k + dst, a);
  st16(c.v + dst, b);
}
template __global__ void append_bf16<16, 8, 128>(WCache, const bf*, const bf*, const uint32_t*, const uint32_t*);

struct QCache { uint8_t* k; float* s; const uint32_t* lut; const uint32_t* slut; int64_t page_stride, s_page_stride; uint32_t lut_stride; };
// W4: K append, per-token-group (G) fp8 e4m3 quantise; 16 lanes of 8 elements per 128-group
template <int P, int H, int D, int G>
__global__ void __launch_bounds__(H * D / 8) append_quant(QCache c, const bf* __restrict__ k, const uint32_t* __restrict__ bi, const uint32_t* __restrict__ pos) {
  constexpr int L = G / 8, HDG = D / G;
  const uint32_t t = blockIdx.x, p = __ldg(&pos[t]), b = __ldg(&bi[t]), e = threadIdx.x * 8;
  const uint32_t id = __ldg(&c.lut[b * c.lut_stride + p / P]), sid = __ldg(&c.slut[b * c.lut_stride + p / P]);
  uint4 x = __ldg(reinterpret_cast<const uint4*>(k + (int64_t)t * (H * D) + e));
  const __nv_bfloat162* q = reinterpret_cast<const __nv_bfloat162*>(&x);
  __nv_bfloat162 m2 = __habs2(q[0]);
#pragma unroll
  for (int i = 1; i < 4; i++) m2 = __hmax2(m2, __habs2(q[i]));
  float m = fmaxf(__low2float(m2), __high2float(m2));
#pragma unroll
  for (int o = L / 2; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(~0u, m, o, L));
  const float s = fmaxf(m, 1e-4f) * (1.f / 448.f), r = 1.f / s;
  uint16_t o[4];
#pragma unroll
  for (int i = 0; i < 4; i++) { float2 f = __bfloat1622float2(q[i]); f.x *= r; f.y *= r; o[i] = __nv_cvt_float2_to_fp8x2(f, __NV_SATFINITE, __NV_E4M3); }
  *reinterpret_cast<uint2*>(c.k + id * c.page_stride + (p % P) * (H * D) + e) = *reinterpret_cast<uint2*>(o);
  if (threadIdx.x % L == 0) c.s[sid * c.s_page_stride + (p % P) * (H * HDG) + e / G] = s;
}
template __global__ void append_quant<16, 8, 128, 128>(QCache, const bf*, const uint32_t*, const uint32_t*);
template __global__ void append_quant<64, 1, 512, 128>(QCache, const bf*, const uint32_t*, const uint32_t*);
