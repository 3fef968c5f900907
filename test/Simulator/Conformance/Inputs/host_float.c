// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's arithmetic over arrays, in the four directions of rounding.
// Compiled by the host's compiler and loaded by float.py.
#include <fenv.h>
#include <math.h>
#include <stddef.h>

#pragma STDC FENV_ACCESS ON

static void setRounding(int mode) {
  static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,
                              FE_UPWARD};
  fesetround(modes[mode]);
}

enum { Add, Sub, Mul, Fma, Div, Sqrt, Rcp };

#define ARITHMETIC(NAME, TYPE, FMA, SQRT)                                      \
  void NAME(int op, int mode, size_t n, const TYPE *a, const TYPE *b,          \
            const TYPE *c, TYPE *out) {                                        \
    setRounding(mode);                                                         \
    for (size_t i = 0; i < n; ++i) {                                           \
      volatile TYPE x = a[i], y = b[i], z = c[i], r = 0;                       \
      switch (op) {                                                            \
      case Add:                                                                \
        r = x + y;                                                             \
        break;                                                                 \
      case Sub:                                                                \
        r = x - y;                                                             \
        break;                                                                 \
      case Mul:                                                                \
        r = x * y;                                                             \
        break;                                                                 \
      case Fma:                                                                \
        r = FMA(x, y, z);                                                      \
        break;                                                                 \
      case Div:                                                                \
        r = x / y;                                                             \
        break;                                                                 \
      case Sqrt:                                                               \
        r = SQRT(x);                                                           \
        break;                                                                 \
      case Rcp:                                                                \
        r = 1 / x;                                                             \
        break;                                                                 \
      }                                                                        \
      out[i] = r;                                                              \
    }                                                                          \
    setRounding(0);                                                            \
  }

ARITHMETIC(arithmetic32, float, fmaf, sqrtf)
ARITHMETIC(arithmetic64, double, fma, sqrt)
