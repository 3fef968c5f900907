// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting memory traffic: sectors of global and local memory, banks of shared
// memory.
#include "Handlers.h"
#include "State.h"

#include <algorithm>

using namespace ptxsim;

static constexpr uint64_t sectorBytes = 32;
static constexpr unsigned numBanks = 32, bankBytes = 4;

static uint64_t countSectors(uint32_t mask, const uint64_t *addresses,
                             unsigned bytes) {
  uint64_t sectors[64];
  unsigned n = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t address = addresses[__builtin_ctz(m)];
    uint64_t first = address / sectorBytes,
             last = (address + bytes - 1) / sectorBytes;
    sectors[n++] = first;
    if (last != first)
      sectors[n++] = last;
  }
  std::sort(sectors, sectors + n);
  return uint64_t(std::unique(sectors, sectors + n) - sectors);
}

/// Passes over the banks: the threads that together ask for 128 bytes (a warp
/// for up to 4 bytes each, half of one for 8, a quarter for 16) form one
/// request, which takes as many passes as the fullest bank has different words.
/// An atomic serves one thread of a bank a pass, at the same word or not.
static void countWavefronts(uint32_t mask, const uint64_t *addresses,
                            unsigned bytes, bool isAtomic, uint64_t &wavefronts,
                            uint64_t &conflicts) {
  unsigned lanesPerRequest = bytes <= bankBytes ? 32 : 128 / bytes;
  for (unsigned first = 0; first < 32; first += lanesPerRequest) {
    uint64_t words[64];
    unsigned n = 0;
    for (unsigned l = first; l < first + lanesPerRequest; ++l)
      if (mask >> l & 1)
        for (unsigned k = 0; k < bytes && n < 64; k += bankBytes)
          words[n++] = (addresses[l] + k) / bankBytes;
    if (!n)
      continue;
    std::sort(words, words + n);
    if (!isAtomic)
      n = unsigned(std::unique(words, words + n) - words);
    unsigned perBank[numBanks] = {}, most = 0;
    for (unsigned k = 0; k < n; ++k)
      most = std::max(most, ++perBank[words[k] % numBanks]);
    wavefronts += most;
    conflicts += most - 1;
  }
}

void ptxsim::countAccess(Warp &warp, const Inst &inst, uint32_t mask,
                         const uint64_t *addresses, unsigned bytes,
                         AccessMode mode) {
  Worker &worker = *warp.worker;
  if (worker.counts.empty() || !mask)
    return;
  InstCounts &counts =
      worker.counts[size_t(&inst - warp.block->launch->program->code.data())];
  // Lanes of a generic access may differ in space; the first decides.
  Space space = inst.space;
  if (space == Space::Generic) {
    uint64_t window = addresses[__builtin_ctz(mask)] & windowMask;
    space = window == sharedWindow  ? Space::Shared
            : window == localWindow ? Space::Local
            : window == paramWindow ? Space::Param
                                    : Space::Global;
  }
  counts.space = space;
  unsigned lanes = unsigned(__builtin_popcount(mask));
  counts.traffic.instructions += 1;
  counts.traffic.bytes += uint64_t(lanes) * bytes;
  switch (space) {
  case Space::Shared: {
    uint64_t offsets[32];
    for (unsigned l = 0; l < 32; ++l)
      offsets[l] = addresses[l] & sharedOffsetMask;
    countWavefronts(mask, offsets, bytes, mode == AccessMode::Atomic,
                    counts.wavefronts, counts.conflicts);
    break;
  }
  case Space::Local: {
    // Local memory is interleaved: the same word of all lanes lies together.
    uint64_t words[32] = {};
    for (uint32_t m = mask; m; m &= m - 1) {
      unsigned l = unsigned(__builtin_ctz(m));
      words[l] = (addresses[l] & 0xffffffff) * 32 + l * bytes;
    }
    counts.traffic.sectors += countSectors(mask, words, bytes);
    break;
  }
  case Space::Param:
    break;
  default:
    counts.traffic.sectors += countSectors(mask, addresses, bytes);
  }
}

void ptxsim::countBulk(Warp &warp, const Inst &inst, uint64_t address,
                       uint64_t bytes, bool issued) {
  Worker &worker = *warp.worker;
  if (worker.counts.empty())
    return;
  InstCounts &counts =
      worker.counts[size_t(&inst - warp.block->launch->program->code.data())];
  counts.space = Space::Global;
  counts.traffic.instructions += issued;
  if (!bytes)
    return;
  counts.traffic.bytes += bytes;
  counts.traffic.sectors +=
      (address + bytes - 1) / sectorBytes - address / sectorBytes + 1;
}
