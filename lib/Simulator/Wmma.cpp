// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wmma: whole matrices between memory and fragments, and their product.
//
// PTX leaves open which lane holds what of a fragment. Here a fragment is those
// of the mma instructions that make up the product, one behind the other: of A
// by 16 rows, of B by 8 columns, of accumulators by 16 rows and within these by
// 8 columns. Fragments of f16 have eight registers whatever the shape; those
// beyond the matrix repeat it.
//
// Memory is read and written by lines (rows, or columns of a column-major
// matrix), of which every lane moves an equal part. The PTX manual wants every
// line aligned to the bytes of the fragment, the CUDA guide the matrix to 32
// bytes and its pitch to 16 only, which is what programs rely on: the matrix is
// held to the former, the pitch to the smaller.
#include "FloatFormats.h"
#include "Handlers.h"
#include "Matrix.h"
#include "State.h"

#include <algorithm>

using namespace ptxsim;

namespace {

constexpr unsigned maxRows = 32, maxDepth = 16, maxBytes = 1024;

/// Where an element of a fragment belongs.
struct Place {
  unsigned row, column;
};

/// Element `e` of a lane's register `r` of A or B. Of B rows and columns are
/// exchanged: its registers follow K too.
Place factorPlace(const WmmaFragment &f, unsigned r, unsigned lane,
                  unsigned e) {
  unsigned bits = f.bytes * 8, chunks = f.k * bits / 128;
  // Lines of 16 come as two registers, each for eight of them.
  unsigned pair = f.role == WmmaRole::A && f.m > 8 ? 2 : 1;
  unsigned numLines = f.role == WmmaRole::A ? f.m : f.n;
  r %= numLines / 8 * chunks;
  unsigned block = r / (pair * chunks), within = r % (pair * chunks);
  unsigned line = (block * pair + within % pair) * 8 + lane / 4;
  unsigned depth = (within / pair * 128 + lane % 4 * 32) / bits + e;
  return f.role == WmmaRole::A ? Place{line, depth} : Place{depth, line};
}

/// Element `e` of a lane's accumulators.
Place accumulatorPlace(const WmmaFragment &f, unsigned lane, unsigned e) {
  unsigned halves = f.m > 8 ? 2 : 1, tiles = f.n / 8;
  unsigned half = e / 2 % halves, tile = e / 2 / halves;
  return {tile / tiles * 16 + half * 8 + lane / 4,
          tile % tiles * 8 + lane % 4 * 2 + e % 2};
}

/// Calls body(register, byte within it, place) for what a lane holds.
template <typename Body>
void forElements(const WmmaFragment &f, unsigned numRegisters, unsigned lane,
                 Body body) {
  unsigned perRegister = 4u / f.bytes;
  for (unsigned r = 0; r < numRegisters; ++r)
    for (unsigned e = 0; e < perRegister; ++e)
      body(r, e * f.bytes,
           f.role == WmmaRole::Accumulator
               ? accumulatorPlace(f, lane, r * perRegister + e)
               : factorPlace(f, r, lane, e));
}

WmmaFragment fragmentOf(const Inst &i) {
  WmmaFragment f;
  static_cast<WmmaShape &>(f) = wmmaShapes[i.op];
  f.role = WmmaRole(i.flags >> WmmaRoleShift);
  f.bytes = i.size;
  f.columnMajor = i.flags & WmmaColumnMajor;
  return f;
}

unsigned numRows(const WmmaFragment &f) {
  return f.role == WmmaRole::B ? f.k : f.m;
}
unsigned numColumns(const WmmaFragment &f) {
  return f.role == WmmaRole::A ? f.k : f.n;
}

/// The matrix as it lies in memory, without the gaps between lines.
class Tile {
public:
  /// Only the lanes of `lanes` have addresses.
  Tile(Warp &w, const Inst &i, uint32_t lanes)
      : fragment(fragmentOf(i)), lanes(lanes) {
    lineElements =
        fragment.columnMajor ? numRows(fragment) : numColumns(fragment);
    partBytes = numRows(fragment) * numColumns(fragment) * fragment.bytes / 32;
    unsigned perLine = lineElements * fragment.bytes / partBytes;
    forLanes(lanes, [&](unsigned l) {
      uint64_t stride = i.c == noSlot ? lineElements : w.reg<uint32_t>(i.c)[l];
      addresses[l] = laneAddress(w, i, l) +
                     l / perLine * stride * fragment.bytes +
                     l % perLine * partBytes;
    });
  }
  char *at(Place p) {
    unsigned index = fragment.columnMajor ? p.column * lineElements + p.row
                                          : p.row * lineElements + p.column;
    return data + index * fragment.bytes;
  }
  /// Moves the lanes' parts; a place that may not be accessed is left out.
  void access(Warp &w, const Inst &i, AccessMode mode) {
    // What is reported as a whole is not reported by parts again.
    unsigned align = isAligned(w, i, mode) ? std::min(partBytes, 16u) : 1;
    if (w.block->launch->instrumented)
      countAccess(w, i, lanes, addresses, partBytes, mode);
    forLanes(lanes, [&](unsigned l) {
      char *part = data + l * partBytes;
      bool isWrite = mode == AccessMode::Write;
      w.storeData = isWrite ? part : nullptr;
      char *p = resolve(w, i, l, addresses[l], partBytes, align, i.space, mode);
      w.storeData = nullptr;
      if (p)
        memcpy(isWrite ? p : part, isWrite ? part : p, partBytes);
    });
  }
  const WmmaFragment fragment;

private:
  /// False if it has reported that the matrix or its lines are not aligned.
  bool isAligned(Warp &w, const Inst &i, AccessMode mode) {
    if (!(w.block->launch->tools & MemCheck))
      return true;
    const char *what = mode == AccessMode::Read ? "read" : "write";
    std::string matrix = std::string(what) + " of a " +
                         std::to_string(numRows(fragment)) + " x " +
                         std::to_string(numColumns(fragment)) + " matrix ";
    unsigned wanted = i.count * 4u;
    unsigned first = unsigned(__builtin_ctz(lanes));
    uint64_t address = laneAddress(w, i, first);
    uint64_t stride =
        i.c == noSlot ? lineElements : w.reg<uint32_t>(i.c)[first];
    uint64_t pitch = stride * fragment.bytes;
    std::string fault;
    if (uint64_t past = address % wanted)
      fault = std::to_string(past) + " bytes past a multiple of " +
              std::to_string(wanted) + ", the bytes of its fragment";
    else if (uint64_t unit = std::min(wanted, 16u); pitch % unit)
      fault = "with a pitch of " + std::to_string(stride) + " elements, " +
              std::to_string(pitch) + " bytes, which is not a multiple of " +
              std::to_string(unit);
    else
      return true;
    report(w, i, first, MemCheck, "misaligned", matrix + fault, &address,
           i.space);
    return false;
  }

  char data[maxBytes] = {};
  const uint32_t lanes;
  uint64_t addresses[32];
  unsigned lineElements, partBytes;
};

} // namespace

void ptxsim::wmmaLoadHandler(Warp &w, const Inst &i, uint32_t mask) {
  Tile tile(w, i, mask);
  tile.access(w, i, AccessMode::Read);
  const OperandSlot *o = w.operands + i.operands;
  forLanes(mask, [&](unsigned l) {
    forElements(tile.fragment, i.count, l,
                [&](unsigned r, unsigned b, Place p) {
                  memcpy(w.regs + o[r].slot + l * 4 + b, tile.at(p),
                         tile.fragment.bytes);
                });
  });
}

void ptxsim::wmmaStoreHandler(Warp &w, const Inst &i, uint32_t mask) {
  Tile tile(w, i, mask);
  const OperandSlot *o = w.operands + i.operands;
  forLanes(mask, [&](unsigned l) {
    forElements(tile.fragment, i.count, l,
                [&](unsigned r, unsigned b, Place p) {
                  memcpy(tile.at(p), w.regs + o[r].slot + l * 4 + b,
                         tile.fragment.bytes);
                });
  });
  tile.access(w, i, AccessMode::Write);
  ++w.modifications;
}

/// D = A B + C; the operands are the registers of D, A, B and C.
void ptxsim::wmmaHandler(Warp &w, const Inst &i, uint32_t mask) {
  WmmaProduct product = bitCast<WmmaProduct>(i.imm);
  const OperandSlot *d = w.operands + i.operands;
  double a[maxRows][maxDepth], b[maxDepth][maxRows], sum[maxRows][maxRows];
  WmmaFragment f;
  static_cast<WmmaShape &>(f) = product;
  f.bytes = uint8_t(matrixBits(product.a) / 8);
  unsigned accumulators = product.m * product.n / 32u;
  auto numAccumulators = [&](bool half) { return accumulators >> half; };
  unsigned numA = wmmaRegisters(product.a, product.m, product.k),
           numB = wmmaRegisters(product.b, product.n, product.k);
  const OperandSlot *ra = d + numAccumulators(product.halfD), *rb = ra + numA,
                    *c = rb + numB;
  auto value = [&](const OperandSlot *o, MatrixType type, unsigned l,
                   unsigned r, unsigned at) {
    double v;
    decodeRow(type, w.regs + o[r].slot + l * 4 + at, 1, &v);
    return v;
  };
  bool isInt = isInteger(product.a);
  for (unsigned l = 0; l < 32; ++l) {
    f.role = WmmaRole::A;
    forElements(f, numA, l, [&](unsigned r, unsigned at, Place p) {
      a[p.row][p.column] = value(ra, product.a, l, r, at);
    });
    f.role = WmmaRole::B;
    forElements(f, numB, l, [&](unsigned r, unsigned at, Place p) {
      b[p.row][p.column] = value(rb, product.b, l, r, at);
    });
    WmmaFragment g = f;
    g.role = WmmaRole::Accumulator;
    g.bytes = product.halfC ? 2 : 4;
    forElements(g, numAccumulators(product.halfC), l,
                [&](unsigned r, unsigned at, Place p) {
                  if (product.halfC) {
                    sum[p.row][p.column] = value(c, MatrixType::F16, l, r, at);
                    return;
                  }
                  uint32_t word = w.reg<uint32_t>(c[r].slot)[l];
                  sum[p.row][p.column] = isInt ? double(int32_t(word))
                                               : double(bitCast<float>(word));
                });
  }
  for (unsigned row = 0; row < product.m; ++row)
    for (unsigned e = 0; e < product.k; ++e)
      for (unsigned col = 0; col < product.n; ++col)
        sum[row][col] += a[row][e] * b[e][col];
  f.role = WmmaRole::Accumulator;
  f.bytes = product.halfD ? 2 : 4;
  forLanes(mask, [&](unsigned l) {
    forElements(f, numAccumulators(product.halfD), l,
                [&](unsigned r, unsigned at, Place p) {
                  char *to = w.regs + d[r].slot + l * 4 + at;
                  double v = sum[p.row][p.column];
                  if (product.halfD) {
                    uint16_t half = floatToHalf(toFloatRoundToOdd(v));
                    memcpy(to, &half, 2);
                    return;
                  }
                  uint32_t word = packAccumulator(v, isInt, product.saturate);
                  memcpy(to, &word, 4);
                });
  });
}
