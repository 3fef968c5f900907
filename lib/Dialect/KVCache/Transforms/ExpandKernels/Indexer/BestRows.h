//===- BestRows.h - Rows of the best indices and their scores ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_BESTROWS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_BESTROWS_H

#include "Candidates.h"

namespace mlir::kvcache {

/// The most keys of a row: steps beyond the last one still fit 31 bits.
constexpr int64_t maxKeys = (int64_t(1) << 31) - (1 << 16);

/// The threads of a block that has candidates, near to what is wished.
int64_t getBlockThreads(int64_t wished);

/// The tensors of indices and, perhaps, of scores of the best of each row.
class BestRows {
public:
  /// `values` may be null.
  BestRows(KernelBuilder &builder, Value indices, Value values);

  /// The best of a row.
  int64_t k() const { return count; }
  /// Writes the best of `candidates` as row `row` (`index`).
  void store(Candidates &candidates, Value row);

private:
  ImplicitLocOpBuilder &b;
  int64_t count;
  Tensor indices;
  std::optional<Tensor> values;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_BESTROWS_H
