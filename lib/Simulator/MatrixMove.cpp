// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ldmatrix, stmatrix, movmatrix: small matrices between shared memory, or
// registers, and the fragments that mma takes. With g = lane / 4 and
// t = lane % 4, a lane holds four bytes of row g from byte 4 t on.
#include "Handlers.h"
#include "Matrix.h"
#include "State.h"

using namespace ptxsim;

namespace {

/// The addresses of rows of `bytes` that lanes of `mask` give, the first one
/// the first row's, counted as one access.
class RowAddresses {
public:
  RowAddresses(Warp &w, const Inst &i, uint32_t mask, unsigned rows,
               unsigned bytes, AccessMode mode)
      : w(w), i(i), lanes(rows == 32 ? mask : mask & ((1u << rows) - 1)),
        bytes(bytes) {
    forLanes(lanes, [&](unsigned l) { addresses[l] = laneAddress(w, i, l); });
    if (w.block->launch->instrumented)
      countAccess(w, i, lanes, addresses, bytes, mode);
  }
  /// Calls `use(row, data)`.
  template <typename Use> void read(Use use) {
    forLanes(lanes, [&](unsigned l) {
      if (const char *p = resolve(w, i, l, addresses[l], bytes, 16,
                                  Space::Shared, AccessMode::Read))
        use(l, p);
    });
  }
  /// `data(row)` is what to write.
  template <typename Data> void write(Data data) {
    forLanes(lanes, [&](unsigned l) {
      const char *from = data(l);
      w.storeData = from;
      char *p = resolve(w, i, l, addresses[l], bytes, 16, Space::Shared,
                        AccessMode::Write);
      w.storeData = nullptr;
      if (p)
        memcpy(p, from, bytes);
    });
    ++w.modifications;
  }

private:
  Warp &w;
  const Inst &i;
  const uint32_t lanes;
  const unsigned bytes;
  uint64_t addresses[32];
};

} // namespace

void ptxsim::ldmatrixHandler(Warp &w, const Inst &i, uint32_t mask) {
  RowAddresses rows(w, i, mask, i.count * 8u, 16, AccessMode::Read);
  uint16_t matrix[4][8][8] = {};
  rows.read([&](unsigned row, const char *p) {
    memcpy(matrix[row / 8][row % 8], p, 16);
  });
  for (unsigned k = 0; k < i.count; ++k) {
    uint32_t *d = w.reg<uint32_t>(w.operands[i.operands + k].slot);
    forLanes(mask, [&, d, k](unsigned l) {
      unsigned g = l / 4, t = l % 4;
      const auto &m = matrix[k];
      uint32_t low = i.flags ? m[2 * t][g] : m[g][2 * t];
      uint32_t high = i.flags ? m[2 * t + 1][g] : m[g][2 * t + 1];
      d[l] = high << 16 | low;
    });
  }
}

void ptxsim::stmatrixHandler(Warp &w, const Inst &i, uint32_t mask) {
  RowAddresses rows(w, i, mask, i.count * 8u, 16, AccessMode::Write);
  uint16_t matrix[4][8][8] = {};
  for (unsigned k = 0; k < i.count; ++k) {
    const uint32_t *s = w.reg<uint32_t>(w.operands[i.operands + k].slot);
    for (unsigned l = 0; l < 32; ++l) {
      unsigned g = l / 4, t = l % 4;
      auto &m = matrix[k];
      (i.flags ? m[2 * t][g] : m[g][2 * t]) = uint16_t(s[l]);
      (i.flags ? m[2 * t + 1][g] : m[g][2 * t + 1]) = uint16_t(s[l] >> 16);
    }
  }
  rows.write([&](unsigned row) {
    return reinterpret_cast<const char *>(matrix[row / 8][row % 8]);
  });
}

void ptxsim::movmatrixHandler(Warp &w, const Inst &i, uint32_t mask) {
  const uint32_t *a = w.reg<uint32_t>(i.a);
  uint16_t matrix[8][8];
  for (unsigned l = 0; l < 32; ++l) {
    matrix[l / 4][l % 4 * 2] = uint16_t(a[l]);
    matrix[l / 4][l % 4 * 2 + 1] = uint16_t(a[l] >> 16);
  }
  uint32_t *d = w.reg<uint32_t>(i.dst);
  forLanes(mask, [&, d](unsigned l) {
    unsigned g = l / 4, t = l % 4;
    d[l] = uint32_t(matrix[2 * t + 1][g]) << 16 | matrix[2 * t][g];
  });
}

// Matrices of bytes
// ----------------------------------------------------------------

/// Element `index` of a row of elements of 8, 6 or 4 bits.
static uint8_t unpackElement(const char *row, unsigned bits, unsigned index) {
  unsigned first = index * bits;
  unsigned pair = uint8_t(row[first / 8]);
  if (first / 8 != (first + bits - 1) / 8)
    pair |= unsigned(uint8_t(row[first / 8 + 1])) << 8;
  return uint8_t(pair >> first % 8 & ((1u << bits) - 1));
}

void ptxsim::ldmatrixBytesHandler(Warp &w, const Inst &i, uint32_t mask) {
  bool transposed = i.flags;
  // Behind 6- and 4-bit elements a row of 16 bytes is padding.
  RowAddresses rows(w, i, mask, i.count * (transposed ? 16u : 8u), i.size * 2u,
                    AccessMode::Read);
  uint8_t matrix[32][16] = {};
  rows.read([&](unsigned row, const char *p) {
    for (unsigned e = 0; e < 16; ++e)
      matrix[row][e] = unpackElement(p, i.size, e);
  });
  for (unsigned k = 0; k < i.count * (transposed ? 2u : 1u); ++k) {
    uint32_t *d = w.reg<uint32_t>(w.operands[i.operands + k].slot);
    forLanes(mask, [&, d, k](unsigned l) {
      unsigned g = l / 4, t = l % 4;
      uint32_t bytes = 0;
      for (unsigned e = 0; e < 4; ++e)
        bytes |=
            uint32_t(transposed ? matrix[k / 2 * 16 + 4 * t + e][g + k % 2 * 8]
                                : matrix[k * 8 + g][4 * t + e])
            << 8 * e;
      d[l] = bytes;
    });
  }
}

void ptxsim::stmatrixBytesHandler(Warp &w, const Inst &i, uint32_t mask) {
  RowAddresses rows(w, i, mask, i.count * 8u, 16, AccessMode::Write);
  // A lane holds columns 2 t and 2 t + 1 of rows g and g + 8.
  char columns[32][16] = {};
  for (unsigned k = 0; k < i.count; ++k) {
    const uint32_t *s = w.reg<uint32_t>(w.operands[i.operands + k].slot);
    for (unsigned l = 0; l < 32; ++l)
      for (unsigned e = 0; e < 4; ++e)
        columns[k * 8 + l % 4 * 2 + e % 2][l / 4 + e / 2 * 8] =
            char(s[l] >> 8 * e);
  }
  rows.write([&](unsigned row) { return columns[row]; });
}
