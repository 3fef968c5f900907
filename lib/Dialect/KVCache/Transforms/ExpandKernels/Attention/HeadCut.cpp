//===- HeadCut.cpp - How a head is cut into fragments --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeadCut.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

using namespace mlir::kvcache;

HeadCut::HeadCut(int64_t size, int64_t across, int64_t elementBytes,
                 int64_t maxBytes, int64_t granularity)
    : granularity(std::min(granularity, size)),
      granules(llvm::divideCeil(size, this->granularity)) {
  assert(size % 16 == 0 && (granules == 1 || granularity % 16 == 0) &&
         "expected steps of one granule");
  int64_t least = 16 / across;
  for (int64_t first = 0; first < size;) {
    int64_t inGranule = this->granularity - first % this->granularity;
    int64_t room = std::min(size - first, inGranule);
    int64_t perLane = std::max(maxBytes / elementBytes, least);
    while (perLane > least && perLane * across > room)
      perLane /= 2;
    pieces.push_back({first, perLane, across});
    first += perLane * across;
  }
}

int64_t HeadCut::perLane() const {
  int64_t sum = 0;
  for (const HeadPiece &piece : pieces)
    sum += piece.perLane;
  return sum;
}
