// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma: products of a warpgroup. Each of the four warps computes its 16 of the
// 64 rows. They are performed when waited for, so that a missing wait shows.
#include "Async.h"
#include "Checks.h"
#include "FloatFormats.h"
#include "Handlers.h"
#include "Matrix.h"
#include "State.h"

#include <algorithm>

using namespace ptxsim;

namespace {

/// A matrix in shared memory, as the descriptor has it.
struct Descriptor {
  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4), baseOffset(bits >> 49 & 7),
        swizzle(unsigned(bits >> 62)) {}
  uint64_t start, leading, stride, baseOffset;
  /// 0 none, 1: 128 bytes, 2: 64, 3: 32.
  unsigned swizzle;

  unsigned rowBytes() const { return swizzle == 0 ? 16 : 256u >> swizzle; }

  /// Offset of byte `at` of row `row`; rows run along M or N, bytes along K.
  uint64_t place(unsigned row, unsigned at) const {
    unsigned pitch = rowBytes();
    uint64_t offset = start + row / 8 * stride + row % 8 * pitch;
    if (swizzle == 0)
      return offset + at / 16 * leading + at % 16;
    offset += at;
    uint64_t bits = swizzle == 1 ? 7 : swizzle == 2 ? 3 : 1;
    return offset ^ ((offset >> 7 & bits) << 4);
  }
};

/// Reads `rows` x k elements beginning at row `first`.
bool readMatrix(PendingWgmma &p, uint64_t bits, MatrixType type, unsigned first,
                unsigned rows, unsigned k, double *out) {
  Descriptor d(bits);
  if (d.baseOffset) {
    p.warp->worker->fail(*p.warp, "matrix descriptors with a base offset are "
                                  "not supported");
    return false;
  }
  unsigned bytes = k * matrixBytes(type), perChunk = 16 / matrixBytes(type);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned at = 0; at < bytes; at += 16) {
      const char *chunk =
          resolve(*p.warp, *p.inst, r % 32, d.place(first + r, at), 16, 16,
                  Space::Shared, AccessMode::Read);
      if (!chunk)
        return false;
      decodeRow(type, chunk, perChunk, out + r * k + at / matrixBytes(type));
    }
  return true;
}

void perform(PendingWgmma &p) {
  Warp &w = *p.warp;
  const Inst &i = *p.inst;
  AsyncScope scope(w, /*asyncProxy=*/true);
  MmaShape shape = unpackMma(i);
  unsigned n = shape.n, k = shape.k;
  unsigned accumulators = n / 2;
  const OperandSlot *d = w.operands + i.operands;
  std::vector<double> a(16 * k), b(size_t(n) * k);
  if (i.flags & WgmmaARegisters)
    gatherFragmentA(w, d + accumulators, 4, shape.a, a.data(), k);
  else if (!readMatrix(p, p.descriptorA, shape.a, w.index % 4 * 16, 16, k,
                       a.data()))
    return;
  if (!readMatrix(p, p.descriptorB, shape.b, 0, n, k, b.data()))
    return;
  double sign =
      (i.flags & WgmmaNegateA ? -1 : 1) * (i.flags & WgmmaNegateB ? -1 : 1);
  bool integer = shape.a == MatrixType::S8 || shape.a == MatrixType::U8;
  for (unsigned j = 0; j < accumulators; ++j) {
    uint32_t *reg = w.reg<uint32_t>(d[j].slot);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned row = l / 4 + (j / 2 % 2) * 8;
      unsigned col = j / 4 * 8 + l % 4 * 2 + j % 2;
      double sum = 0;
      for (unsigned e = 0; e < k; ++e)
        sum += a[row * k + e] * b[col * k + e];
      sum *= sign;
      if (p.accumulate >> l & 1)
        sum +=
            integer ? double(int32_t(reg[l])) : double(bitCast<float>(reg[l]));
      reg[l] = integer ? uint32_t(int64_t(sum))
                       : bitCast<uint32_t>(roundAccumulator(sum));
    }
  }
}

} // namespace

void ptxsim::wgmmaHandler(Warp &w, const Inst &i, uint32_t mask) {
  if (mask != ~0u) {
    report(w, i, unsigned(__builtin_ctz(mask)), SyncCheck, "divergent-wgmma",
           "wgmma executed by part of a warp");
    w.worker->fail(w, "wgmma executed by part of a warp");
    return;
  }
  PendingWgmma p;
  p.inst = &i;
  p.warp = &w;
  p.descriptorA = i.flags & WgmmaARegisters ? 0 : w.reg<uint64_t>(i.a)[0];
  p.descriptorB = w.reg<uint64_t>(i.b)[0];
  p.accumulate = w.pred(i.c);
  AsyncState &state = asyncOf(*w.block);
  state.wgmma.resize(w.block->warps.size());
  p.group = state.wgmma[w.index].group;
  state.wgmma[w.index].pending.push_back(p);
}

void ptxsim::wgmmaCommitHandler(Warp &w, const Inst &, uint32_t) {
  AsyncState &state = asyncOf(*w.block);
  state.wgmma.resize(w.block->warps.size());
  ++state.wgmma[w.index].group;
}

void ptxsim::wgmmaWaitHandler(Warp &w, const Inst &i, uint32_t) {
  AsyncState &state = asyncOf(*w.block);
  state.wgmma.resize(w.block->warps.size());
  WarpProducts &products = state.wgmma[w.index];
  while (!products.pending.empty() && int64_t(products.pending.front().group) <
                                          int64_t(products.group) - i.imm) {
    PendingWgmma p = products.pending.front();
    products.pending.pop_front();
    perform(p);
  }
}
