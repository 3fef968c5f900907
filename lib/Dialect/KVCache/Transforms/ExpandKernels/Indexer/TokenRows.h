//===- TokenRows.h - Rows of new tokens and the keys before them ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_TOKENROWS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_TOKENROWS_H

#include "../KernelBuilder.h"

namespace mlir::kvcache {

/// Which of its sequence's tokens a row may see.
enum class Sees {
  /// Those that are in the cache.
  cached,
  /// These and the new ones up to its own.
  causal,
  /// These and all new ones.
  all
};

/// The sequence of a row, and the tokens that the row sees.
struct TokenRow {
  /// `index`; 0 where the row is of no sequence.
  Value batch;
  /// `index`; 0 where the row is of no sequence.
  Value live;
};

/// The row `row` (`index`) of a tensor of new tokens: of the sequence with
/// `offsets[b] <= row < offsets[b + 1]`, a list in the kernel, or, where
/// `offsets` is null, of sequence `row`.
TokenRow emitTokenRow(ImplicitLocOpBuilder &b, Value cache, Value offsets,
                      Value row, Sees sees);

/// `memref<element>` in the kernel: the element at `row` and `column` (`index`)
/// of a tensor of rank 2.
Value viewElement(ImplicitLocOpBuilder &b, const Tensor &tensor, Value row,
                  Value column);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_INDEXER_TOKENROWS_H
