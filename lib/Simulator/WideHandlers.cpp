// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FloatFormats.h"
#include "Handlers.h"
#include "State.h"

#include <algorithm>
#include <cmath>

using namespace ptxsim;

/// One lane of a word, extended.
static int32_t videoLane(uint32_t word, unsigned bits, unsigned k,
                         bool isSigned) {
  uint32_t v = word << (32 - bits - bits * k);
  return isSigned ? int32_t(v) >> (32 - bits) : int32_t(v >> (32 - bits));
}

static int32_t videoResult(VideoOp op, int32_t x, int32_t y) {
  switch (op) {
  case VideoOp::Add:
    return x + y;
  case VideoOp::Sub:
    return x - y;
  case VideoOp::Average:
    // Halves round away from zero.
    return (x + y + (x + y >= 0)) >> 1;
  case VideoOp::Min:
    return std::min(x, y);
  case VideoOp::Max:
    return std::max(x, y);
  case VideoOp::Absdiff:
    return x > y ? x - y : y - x;
  case VideoOp::Eq:
    return x == y;
  case VideoOp::Ne:
    return x != y;
  case VideoOp::Lt:
    return x < y;
  case VideoOp::Le:
    return x <= y;
  case VideoOp::Gt:
    return x > y;
  case VideoOp::Ge:
    return x >= y;
  }
  return 0;
}

/// Inst::count: lanes of a word; with VideoAccumulate the sum of the results is
/// added to c.
void ptxsim::videoHandler(Warp &w, const Inst &i, uint32_t mask) {
  uint32_t *d = w.reg<uint32_t>(i.dst);
  const uint32_t *a = w.reg<uint32_t>(i.a), *b = w.reg<uint32_t>(i.b),
                 *c = w.reg<uint32_t>(i.c);
  unsigned bits = 32u / i.count;
  int32_t low = i.flags & VideoSignedD ? -(1 << (bits - 1)) : 0;
  int32_t high =
      i.flags & VideoSignedD ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  forLanes(mask, [=, &i](unsigned l) {
    uint32_t packed = 0, sum = c[l];
    for (unsigned k = 0; k < i.count; ++k) {
      int32_t r = videoResult(VideoOp(i.op),
                              videoLane(a[l], bits, k, i.flags & VideoSignedA),
                              videoLane(b[l], bits, k, i.flags & VideoSignedB));
      if (i.flags & VideoSaturate)
        r = std::min(std::max(r, low), high);
      packed |= (uint32_t(r) & ((1u << bits) - 1)) << (bits * k);
      sum += uint32_t(r);
    }
    d[l] = i.flags & VideoAccumulate ? sum : packed;
  });
}

void ptxsim::fmaOutsideHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint16_t *a = w.reg<uint16_t>(i.a), *b = w.reg<uint16_t>(i.b);
  // The result may take the place of a source.
  bool outside[64] = {};
  for (unsigned e = 0; e < 32u * i.count; ++e)
    outside[e] = a[e] == outsideNaN16 || b[e] == outsideNaN16;
  Handler inner = reinterpret_cast<Handler>(uintptr_t(i.imm));
  inner(w, i, mask);
  uint16_t *d = w.reg<uint16_t>(i.dst);
  for (unsigned e = 0; e < 32u * i.count; ++e)
    if (outside[e] && mask >> e / i.count & 1)
      d[e] = 0;
}

/// Of both the operand and the result the upper 32 bits count.
static double upperHalf(double x) {
  return bitCast<double>(bitCast<uint64_t>(x) & 0xffffffff00000000);
}

static double flushed(double x) {
  return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0, x) : x;
}

template <typename Function>
static void coarse(Warp &w, const Inst &i, uint32_t mask, Function function) {
  double *d = w.reg<double>(i.dst);
  const double *a = w.reg<double>(i.a);
  forLanes(mask, [=](unsigned l) {
    double r = function(flushed(upperHalf(a[l])));
    d[l] = r != r ? bitCast<double>(uint64_t(0x7fffffff00000000))
                  : upperHalf(flushed(r));
  });
}

void ptxsim::coarseRcpHandler(Warp &w, const Inst &i, uint32_t mask) {
  coarse(w, i, mask, [](double x) { return 1.0 / x; });
}

void ptxsim::coarseRsqrtHandler(Warp &w, const Inst &i, uint32_t mask) {
  coarse(w, i, mask, [](double x) { return 1.0 / std::sqrt(x); });
}
