// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions as functions of the host, which give their number.
#define DEVICE
#define CONSTANT static const
inline float SQRT(float v) { return __builtin_sqrtf(v); }
inline double SQRT(double v) { return __builtin_sqrt(v); }
inline float FMA(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double FMA(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}
#include "expressions.h"

#define FUNCTION(NAME, TYPE, CALL)                                             \
  extern "C" int NAME(const TYPE *a, const TYPE *b, const TYPE *c, TYPE *out,  \
                      int n) {                                                 \
    int count = 0;                                                             \
    for (int i = 0; i < n; ++i)                                                \
      count = CALL(a, b, c, out, n, i);                                        \
    return count;                                                              \
  }
FUNCTION(k_u8, uint8_t, integerExpressions<u8_types>)
FUNCTION(k_s8, int8_t, integerExpressions<s8_types>)
FUNCTION(k_u16, uint16_t, integerExpressions<u16_types>)
FUNCTION(k_s16, int16_t, integerExpressions<s16_types>)
FUNCTION(k_u32, uint32_t, integerExpressions<u32_types>)
FUNCTION(k_s32, int32_t, integerExpressions<s32_types>)
FUNCTION(k_u64, uint64_t, integerExpressions<u64_types>)
FUNCTION(k_s64, int64_t, integerExpressions<s64_types>)
FUNCTION(k_f32, float, floatExpressions<float>)
FUNCTION(k_f64, double, floatExpressions<double>)
