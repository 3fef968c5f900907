// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proves that the arithmetic that makes scales without a division rounds as a
// division does. usage: scale_arithmetic STEP: every STEP-th f32 is divided.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static float fromBits(uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

static uint32_t toBits(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits;
}

static float divide(float amax, float largest) {
  float inverse = 1.0f / largest;
  float quotient = amax * inverse;
  float rest = std::fma(quotient, -largest, amax);
  rest *= inverse * 0x1p24f;
  return std::fma(rest, 0x1p-24f, quotient);
}

static bool isRight(float amax, float largest) {
  return toBits(divide(amax, largest)) == toBits(amax / largest);
}

/// Whether quotients of finite numbers by `largest` are those of a division: of
/// every `step`-th number, and of all whose quotients lie between two
/// denormals.
static bool divides(float largest, uint32_t step) {
  uint64_t wrong = 0;
  for (uint32_t bits = 0; bits < 0x7F800000; bits += step)
    wrong += !isRight(fromBits(bits), largest);
  for (uint32_t n = 0; n < (1u << 23); ++n) {
    double tie = std::ldexp((n + 0.5) * largest, -149);
    if (double(float(tie)) == tie)
      wrong += !isRight(float(tie), largest);
  }
  std::printf("amax / %g: %s\n", largest, wrong ? "WRONG" : "right");
  return !wrong;
}

/// One step of Newton's method from `y`.
static float refine(float scale, float y) {
  float error = std::fma(-scale, y, 1.0f);
  return std::fma(error, y, y);
}

/// Whether the inverse is right whatever number within a unit in the last place
/// of it the hardware starts from, but for a significand of all ones started
/// from below. The hardware does not: its own correctly rounded `rcp.rn` takes
/// the same step from the same number. Only significands matter: four times the
/// scale is from 2^-126 to 2^126.
static bool inverts(int exponent) {
  uint64_t wrong = 0;
  for (uint32_t significand = 0; significand < (1u << 23); ++significand) {
    float scale = fromBits(uint32_t(exponent + 127) << 23 | significand);
    float right = 1.0f / scale;
    for (int offset = -1; offset <= 1; ++offset) {
      float y = fromBits(toBits(right) + offset);
      double unit = std::ldexp(1.0, std::ilogb(right) - 23);
      bool isException = significand == 0x7FFFFF && offset < 0;
      if (std::fabs(y - 1.0 / scale) <= unit && !isException)
        wrong += toBits(refine(scale, y)) != toBits(right);
    }
  }
  std::printf("inverse of 2^%d: %s\n", exponent, wrong ? "WRONG" : "right");
  return !wrong;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  uint32_t step = uint32_t(std::strtoul(argv[1], nullptr, 10));
  bool right = step > 0;
  const float largest[] = {448.0f, 57344.0f, 6.0f, 127.0f};
  for (float format : largest)
    right &= divides(format, step);
  const int exponents[] = {-126, 0, 125};
  for (int exponent : exponents)
    right &= inverts(exponent);
  return right ? 0 : 1;
}
