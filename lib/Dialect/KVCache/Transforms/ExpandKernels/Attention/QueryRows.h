//===- QueryRows.h - Rows of queries in registers -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYROWS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYROWS_H

#include "../KernelBuilder.h"

#include <optional>

namespace mlir::kvcache {

/// What scores of a row are multiplied by (f32, positive, so that the largest
/// score stays it and what is masked stays infinite), and the sign bits of its
/// query that are flipped: a register, null where none are.
struct RowFactor {
  Value magnitude, signs;
};

/// Rows of a tensor `[T, Hq, D]`, a query head of a token each, in registers of
/// two elements of 16 bits or four of 8.
class QueryRows {
public:
  /// Rows and heads start at multiples of `knownAlignment` bytes; where it is
  /// not given, of what the tensor's type says.
  QueryRows(KernelBuilder &builder, Value tensor, Type product,
            std::optional<int64_t> knownAlignment = std::nullopt);

  /// The place of row (`token`, `head`), `index` both.
  Value at(Value token, Value head);
  /// `count` elements (a power of two, and a register at least) from element
  /// `element` (`i32`) on of the row at `place`, as the tensor holds them.
  SmallVector<Value> load(Value place, Value element, int64_t count);

  /// The factor `constant` times `numbers` (f32) of any sign; this and what
  /// follows is of elements of 16 bits.
  RowFactor factor(double constant, ArrayRef<Value> numbers);
  /// A factor's magnitude times the power that takes back what numbers were
  /// multiplied by: positive again, or NaN.
  Value takeBack(Value magnitude, Value power);
  /// Flips the signs of the row's elements as its factor says.
  void flipSigns(const RowFactor &factor, MutableArrayRef<Value> words);

  /// Whether numbers are of another type than products, f16, which may not hold
  /// them: then they are multiplied by a power of two that fits the largest of
  /// their row.
  bool isScaled() const { return source != product; }
  /// The largest magnitude in registers as loaded.
  Value largest(ArrayRef<Value> words);
  /// Makes registers as loaded numbers of products, times `power`.
  void scale(MutableArrayRef<Value> words, Value power);

private:
  ImplicitLocOpBuilder &b;
  Tensor q;
  Type source, product;
  int64_t alignment;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_QUERYROWS_H
