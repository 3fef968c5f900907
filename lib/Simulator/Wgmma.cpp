// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma: products of a warpgroup. Each of the four warps computes its 16 of the
// 64 rows. They are performed when one of the warps waits for them, so that a
// missing wait shows; by then all four must have issued them. Whoever has
// waited knows that the matrices have been read for all.
#include "Async.h"
#include "Checks.h"
#include "Clocks.h"
#include "FloatFormats.h"
#include "Handlers.h"
#include "Matrix.h"
#include "State.h"

#include <algorithm>
#include <deque>

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

  /// Offset of the 16 bytes `chunk` of row `row`; rows run along M or N, chunks
  /// along K.
  uint64_t place(unsigned row, unsigned chunk) const {
    uint64_t offset = start + row / 8 * stride + row % 8 * rowBytes();
    return swizzled(offset + chunk * (swizzle == 0 ? leading : 16));
  }

  /// The same of a transposed matrix: rows run along K, chunks along M or N.
  uint64_t placeTransposed(unsigned row, unsigned chunk) const {
    unsigned perRow = rowBytes() / 16;
    uint64_t alongK = swizzle == 0 ? leading : stride;
    uint64_t alongChunks = swizzle == 0 ? stride : leading;
    return swizzled(start + row / 8 * alongK + row % 8 * rowBytes() +
                    chunk / perRow * alongChunks + chunk % perRow * 16);
  }

private:
  /// 128-byte lines count from where the pattern begins, of which the base
  /// offset has the line; it repeats after 8, 4 or 2 of them.
  uint64_t swizzled(uint64_t offset) const {
    constexpr uint64_t bits[] = {0, 7, 3, 1};
    uint64_t line = ((offset >> 7) - baseOffset) & bits[swizzle];
    return offset ^ line << 4;
  }
};

/// Reads `rows` x k elements of a matrix of 16-bit elements that is stored
/// along its rows, beginning at row `first`, a multiple of 8.
bool readTransposed(PendingWgmma &p, const Descriptor &d, MatrixType type,
                    unsigned first, unsigned rows, unsigned k, double *out) {
  constexpr unsigned perChunk = 8;
  for (unsigned e = 0; e < k; ++e)
    for (unsigned r = 0; r < rows; r += perChunk) {
      uint64_t place = d.placeTransposed(e, (first + r) / perChunk);
      const char *chunk = resolve(*p.warp, *p.inst, r % 32, place, 16, 16,
                                  Space::Shared, AccessMode::Read);
      if (!chunk)
        return false;
      double values[perChunk];
      decodeRow(type, chunk, perChunk, values);
      for (unsigned i = 0; i < perChunk; ++i)
        out[(r + i) * k + e] = values[i];
    }
  return true;
}

/// Reads `rows` x k elements beginning at row `first`.
bool readMatrix(PendingWgmma &p, uint64_t bits, MatrixType type,
                bool transposed, unsigned first, unsigned rows, unsigned k,
                double *out) {
  Descriptor d(bits);
  if (transposed)
    return readTransposed(p, d, type, first, rows, k, out);
  unsigned perChunk = 128 / matrixBits(type);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned chunk = 0; chunk * perChunk < k; ++chunk) {
      const char *bytes =
          resolve(*p.warp, *p.inst, r % 32, d.place(first + r, chunk), 16, 16,
                  Space::Shared, AccessMode::Read);
      if (!bytes)
        return false;
      decodeRow(type, bytes, perChunk, out + r * k + chunk * perChunk);
    }
  return true;
}

/// Element j of a lane's accumulators: half of a register where these are f16.
double readAccumulator(const uint32_t *reg, unsigned lane,
                       const MmaShape &shape, bool integer, unsigned j) {
  if (shape.halfAccumulator)
    return double(halfToFloat(uint16_t(reg[lane] >> (j % 2 * 16))));
  return integer ? double(int32_t(reg[lane]))
                 : double(bitCast<float>(reg[lane]));
}

void writeAccumulator(uint32_t *reg, unsigned lane, const MmaShape &shape,
                      bool integer, unsigned j, double sum) {
  if (!shape.halfAccumulator) {
    if (integer && shape.saturate)
      sum = std::min(std::max(sum, double(INT32_MIN)), double(INT32_MAX));
    reg[lane] = integer ? uint32_t(int64_t(sum))
                        : bitCast<uint32_t>(roundAccumulator(sum));
    return;
  }
  unsigned shift = j % 2 * 16;
  uint32_t half = floatToHalf(toFloatRoundToOdd(sum));
  reg[lane] = (reg[lane] & ~(0xffffu << shift)) | half << shift;
}

void perform(PendingWgmma &p) {
  Warp &w = *p.warp;
  const Inst &i = *p.inst;
  AsyncScope scope(w, /*asyncProxy=*/true);
  GroupReadScope reads(w);
  MmaShape shape = unpackMma(i);
  unsigned n = shape.n, k = shape.k;
  unsigned accumulators = n / 2;
  unsigned perRegister = shape.halfAccumulator ? 2 : 1;
  const OperandSlot *d = w.operands + i.operands;
  std::vector<double> a(16 * k), b(size_t(n) * k);
  if (i.flags & WgmmaARegisters)
    gatherFragmentA(w, d + accumulators / perRegister, 4, shape.a, a.data(), k);
  else if (!readMatrix(p, p.descriptorA, shape.a, i.flags & WgmmaTransposeA,
                       w.index % 4 * 16, 16, k, a.data()))
    return;
  if (!readMatrix(p, p.descriptorB, shape.b, i.flags & WgmmaTransposeB, 0, n, k,
                  b.data()))
    return;
  double sign =
      (i.flags & WgmmaNegateA ? -1 : 1) * (i.flags & WgmmaNegateB ? -1 : 1);
  bool integer = isInteger(shape.a);
  for (unsigned j = 0; j < accumulators; ++j) {
    uint32_t *reg = w.reg<uint32_t>(d[j / perRegister].slot);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned row = l / 4 + (j / 2 % 2) * 8;
      unsigned col = j / 4 * 8 + l % 4 * 2 + j % 2;
      double sum = 0;
      for (unsigned e = 0; e < k; ++e)
        sum += a[row * k + e] * b[col * k + e];
      sum *= sign;
      if (p.accumulate >> l & 1)
        sum += readAccumulator(reg, l, shape, integer, j);
      writeAccumulator(reg, l, shape, integer, j, sum);
    }
  }
}

} // namespace

/// More than any kernel that waits has outstanding in a warp.
static constexpr size_t mostPending = 1024;

void ptxsim::wgmmaHandler(Warp &w, const Inst &i, uint32_t mask) {
  if (mask != ~0u) {
    w.worker->fail(w, "wgmma executed by " +
                          std::to_string(__builtin_popcount(mask)) +
                          " of 32 threads of a warp; all must reach it");
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
  // As late as is legal, unless unfinished accumulators are copied and nothing
  // sees to it that copies find them.
  const Launch &launch = *w.block->launch;
  bool isChecked = checksProducts(launch);
  if (launch.program->copiesProducts && !isChecked) {
    perform(p);
    return;
  }
  WarpProducts &products = state.wgmma[w.index];
  p.group = products.group;
  products.pending.push_back(p);
  if (isChecked)
    issueProduct(w, i);
  if (products.pending.size() > mostPending) {
    perform(products.pending.front());
    products.pending.pop_front();
  }
}

void ptxsim::performProducts(Warp &warp, int64_t until) {
  std::deque<PendingWgmma> &pending =
      asyncOf(*warp.block).wgmma[warp.index].pending;
  while (!pending.empty() && int64_t(pending.front().group) < until) {
    PendingWgmma p = pending.front();
    pending.pop_front();
    perform(p);
  }
}

void ptxsim::wgmmaCommitHandler(Warp &w, const Inst &, uint32_t) {
  AsyncState &state = asyncOf(*w.block);
  state.wgmma.resize(w.block->warps.size());
  ++state.wgmma[w.index].group;
}

void ptxsim::wgmmaWaitHandler(Warp &w, const Inst &i, uint32_t) {
  AsyncState &state = asyncOf(*w.block);
  std::vector<Warp> &warps = w.block->warps;
  state.wgmma.resize(warps.size());
  int64_t until = int64_t(state.wgmma[w.index].group) - i.imm;
  size_t first = w.index / warpsInGroup * warpsInGroup,
         last = std::min(first + warpsInGroup, warps.size());
  auto isDue = [&](const WarpProducts &products) {
    return !products.pending.empty() &&
           int64_t(products.pending.front().group) < until;
  };
  if (isDue(state.wgmma[w.index]))
    for (size_t k = first; k < last; ++k)
      if (warps[k].live && int64_t(state.wgmma[k].group) < until) {
        w.yield = w.again = true;
        return;
      }
  for (size_t k = first; k < last; ++k)
    performProducts(warps[k], until);
  seeGroupReads(w);
  waitForProducts(w, until);
}
