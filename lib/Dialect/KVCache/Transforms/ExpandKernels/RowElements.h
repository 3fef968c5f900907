//===- RowElements.h - The elements of a tensor's rows -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWELEMENTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWELEMENTS_H

#include "KernelBuilder.h"

namespace mlir::kvcache {

/// The rows, `heads` heads of `headSize` elements, of a tensor of floats.
class RowElements {
public:
  /// Rows and heads start at multiples of `alignment` bytes. Where `isPacked`
  /// heads lie side by side.
  RowElements(ImplicitLocOpBuilder &b, Tensor tensor, int64_t heads,
              int64_t headSize, bool isPacked, int64_t alignment)
      : b(b), tensor(tensor), heads(heads), headSize(headSize),
        isPacked(isPacked), alignment(alignment) {}

  /// The type of `lanes` elements.
  VectorType type(int64_t lanes) const {
    return VectorType::get({lanes}, tensor.elementType);
  }

  /// `lanes` elements of the row at `indices` from element `element` (`i32`, a
  /// multiple of `lanes`) of head `head` (`i32`) on; of packed rows elements
  /// may count on over heads. Where `condition` (an i1, or null for always)
  /// does not hold they are NaN, and nothing is read.
  Value load(ValueRange indices, Value head, Value element, int64_t lanes,
             Value condition) const;

private:
  ImplicitLocOpBuilder &b;
  Tensor tensor;
  int64_t heads, headSize;
  bool isPacked;
  int64_t alignment;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWELEMENTS_H
