// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the expressions use, and a loop over all of them for each type. DEVICE
// and LOOP are defined for the host and for a device.
#ifndef EXPRESSIONS_H
#define EXPRESSIONS_H

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t;
#ifdef __NVCC__
typedef signed long int64_t;
typedef unsigned long uint64_t;
#else
typedef long int64_t;
typedef unsigned long uint64_t;
#endif

DEVICE inline uint32_t bits(float f) {
  union {
    float f;
    uint32_t u;
  } v;
  v.f = f;
  return v.u;
}
DEVICE inline uint64_t bits64(double f) {
  union {
    double f;
    uint64_t u;
  } v;
  v.f = f;
  return v.u;
}
/// Collatz: a loop of unknown length.
DEVICE inline int steps(uint32_t n) {
  int count = 0;
  for (; n > 1; ++count)
    n = n & 1 ? 3 * n + 1 : n / 2;
  return count;
}
DEVICE inline uint32_t divisor(uint32_t a, uint32_t b) {
  while (b) {
    uint32_t t = a % b;
    a = b;
    b = t;
  }
  return a;
}
/// Two loops, one inside the other, both left early.
DEVICE inline uint32_t parity(uint32_t a, uint32_t b) {
  uint32_t found = 0;
  for (int i = 0; i < 32; i += 5) {
    for (int j = i; j < 32; ++j) {
      if (!(a >> j & 1))
        continue;
      if (b >> (31 - j) & 1)
        break;
      found = found * 5 + j;
    }
    if (found > 100000)
      break;
  }
  return found;
}
DEVICE inline uint32_t choose(uint32_t k, uint32_t b, uint32_t c) {
  switch (k) {
  case 0:
    return b + c;
  case 1:
    return b ^ c;
  case 2:
    return b & c;
  case 3:
    return b - c;
  case 4:
    return b * c;
  case 5:
    b >>= 3;
    // Falls through.
  case 6:
    return b | c;
  default:
    return ~b;
  }
}
DEVICE inline uint32_t reversed(uint32_t v) {
  uint32_t r = 0;
  for (int i = 0; i < 32; ++i) {
    r = r << 1 | (v & 1);
    v >>= 1;
  }
  return r;
}
/// An integer part that every int holds.
template <typename T> DEVICE inline int whole(T v) {
  return v > T(-1000000) && v < T(1000000) ? int(v) : 77;
}
template <typename T> DEVICE inline T polynomial(T a, T b, T c) {
  T sum = 0;
  for (int i = 0; i < 5; ++i)
    sum = sum * a + (i & 1 ? b : c);
  return sum;
}
template <typename T> DEVICE inline T newton(T a) {
  T x = 1;
  for (int i = 0; i < 4; ++i)
    x = (x + a / x) / 2;
  return x;
}
CONSTANT uint32_t table[8] = {3, 1, 4, 1, 5, 92, 65, 358979};

#define EXPR(...) out[k++ * n + i] = __VA_ARGS__;
#define INTEGER(NAME, TYPE, TWIN, WIDTH)                                       \
  struct NAME##_types {                                                        \
    typedef TYPE T;                                                            \
    typedef TWIN U;                                                            \
    enum { BITS = WIDTH };                                                     \
  };
INTEGER(u8, uint8_t, uint8_t, 8)
INTEGER(s8, int8_t, uint8_t, 8)
INTEGER(u16, uint16_t, uint16_t, 16)
INTEGER(s16, int16_t, uint16_t, 16)
INTEGER(u32, uint32_t, uint32_t, 32)
INTEGER(s32, int32_t, uint32_t, 32)
INTEGER(u64, uint64_t, uint64_t, 64)
INTEGER(s64, int64_t, uint64_t, 64)

/// Returns how many expressions there are.
template <typename Types, typename T = typename Types::T>
DEVICE inline int integerExpressions(const T *as, const T *bs, const T *cs,
                                     T *out, int n, int i) {
  typedef typename Types::U U;
  enum { BITS = Types::BITS };
  T a = as[i], b = bs[i], c = cs[i];
  int k = 0;
#define INTEGER_EXPRESSIONS
#include "expressions.inc"
#undef INTEGER_EXPRESSIONS
  return k;
}

template <typename T>
DEVICE inline int floatExpressions(const T *as, const T *bs, const T *cs,
                                   T *out, int n, int i) {
  T a = as[i], b = bs[i], c = cs[i];
  int k = 0;
#define FLOAT_EXPRESSIONS
#include "expressions.inc"
#undef FLOAT_EXPRESSIONS
  return k;
}

#endif // EXPRESSIONS_H
