//===- GranuleCut.cpp - How granules are cut into threads ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GranuleCut.h"

#include "RowUnits.h"

using namespace mlir;
using namespace mlir::kvcache;

GranuleCut::GranuleCut(LayoutAttr layout, int64_t elementBytes,
                       int64_t rowAlignment)
    : GranuleCut([&] {
        PoolLayout values = PoolLayout::get(layout, Pool::values);
        int64_t size = layout.getQuantizedSize();
        return GranuleCut(size,
                          layout.isQuantized() ? layout.getGranularity() : size,
                          values.elementsPerStorage, values.storageBytes,
                          values.headAlignment(), elementBytes, rowAlignment);
      }()) {}

GranuleCut::GranuleCut(int64_t size, int64_t granularity, int64_t perStorage,
                       int64_t storageBytes, int64_t storageAlignment,
                       int64_t elementBytes, int64_t rowAlignment)
    : size(size), granule(std::min(granularity, size)) {
  // A vector is what one access reads; what is made of it is one access, too,
  // and neighbouring lanes read and write side by side.
  auto fits = [&](int64_t lanes) {
    return size % lanes == 0 &&
           (granule % lanes == 0 || lanes % granule == 0) &&
           rowAlignment % (lanes * elementBytes) == 0 &&
           storageAlignment % (lanes / perStorage * storageBytes) == 0;
  };
  vector = std::max(maxAccessBytes / elementBytes, perStorage);
  while (vector > perStorage && !fits(vector))
    vector /= 2;

  lanes = steps = 1;
  if (vector % granule == 0) {
    granules = vector / granule;
  } else if (granule % vector != 0) {
    granules = 2;
    steps = granules * granule / vector;
  } else {
    // As few idle lanes as can be, and among equals many lanes.
    granules = 1;
    int64_t vectors = granule / vector, best = 0;
    for (int64_t candidate = 1; candidate <= 32; candidate *= 2) {
      int64_t each = llvm::divideCeil(vectors, candidate);
      if (each * vector > maxHeld && candidate < 32)
        continue;
      if (best && each * candidate > best)
        continue;
      best = each * candidate;
      lanes = candidate;
      steps = each;
    }
  }
  cell = granules * granule;
  cells = llvm::divideCeil(size, cell);
}
