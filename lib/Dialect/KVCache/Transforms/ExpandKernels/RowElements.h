//===- RowElements.h - The elements of a tensor's rows -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWELEMENTS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWELEMENTS_H

#include "KernelBuilder.h"
#include "LaneGroup.h"

namespace mlir::kvcache {

/// Elements of a head: from `begin` to before `end`.
struct ElementRange {
  int64_t begin, end;

  bool meets(ElementRange other) const {
    return begin < other.end && other.begin < end;
  }
  bool holds(ElementRange other) const {
    return begin <= other.begin && other.end <= end;
  }
};

/// A tensor in a kernel whose rows start at multiples of `alignment` bytes.
struct AlignedTensor {
  Tensor tensor;
  int64_t alignment;

  /// Takes a read-only memref of the host.
  static AlignedTensor take(KernelBuilder &builder, Value memref);
  /// The f32 of `lanes` elements from `element` (`i32`) on of the row at
  /// `indices`, which has `count`.
  Value loadF32(ImplicitLocOpBuilder &b, ValueRange indices, int64_t count,
                Value element, int64_t lanes) const;
};

/// A rotary embedding: `#kvcache.rotation` and its tables of `columns` columns.
struct Rotation {
  RotationAttr attr;
  AlignedTensor cos, sin;
  int64_t columns;

  ElementRange range() const {
    return {attr.getStart(), attr.getStart() + 2 * columns};
  }
};

/// An RMS norm: `#kvcache.norm` and its `count` weights.
struct Normalisation {
  NormAttr attr;
  AlignedTensor weight;
  int64_t count;

  ElementRange range() const { return {0, count}; }
};

/// The rows, `heads` heads of `headSize` elements, of a tensor of floats, and
/// what is made of them before they are used.
class RowElements {
public:
  /// Rows and heads start at multiples of `alignment` bytes. Where `isPacked`
  /// heads lie side by side.
  RowElements(ImplicitLocOpBuilder &b, Tensor tensor, int64_t heads,
              int64_t headSize, bool isPacked, int64_t alignment,
              const std::optional<Rotation> &rotation = std::nullopt,
              const std::optional<Normalisation> &norm = std::nullopt)
      : b(b), tensor(std::move(tensor)), heads(heads), headSize(headSize),
        isPacked(isPacked), alignment(alignment), rotation(rotation),
        norm(norm) {}

  /// A head in a row.
  struct Head {
    /// The leading indices, and the head (`i32`).
    SmallVector<Value> indices;
    Value head;
    /// The position (`index`) by which it turns.
    Value position;
    /// What a norm multiplies it with, f32; made by `normalise`.
    Value factor;
  };

  /// The type of `lanes` elements: the tensor's, or f32 where something is made
  /// of them.
  VectorType type(int64_t lanes) const;

  /// Sets the norm's factor of `head`, if elements of `within` are made with
  /// it; all lanes of `group` have the same head.
  void normalise(Head &head, ElementRange within, const LaneGroup &group) const;

  /// `lanes` elements from `element` (`i32`, a multiple of `lanes`, in
  /// `within`) on; of packed rows elements may count on over heads where
  /// nothing is made of them. Where `condition` (an i1, or null for always)
  /// does not hold they are NaN, and nothing is read.
  Value load(const Head &head, Value element, int64_t lanes,
             ElementRange within, Value condition) const;

private:
  /// Whether the norm's factor is in what elements of `within` become.
  bool needsFactor(ElementRange within) const;
  Value loadStored(const Head &head, Value element, int64_t lanes) const;
  Value loadNormalised(const Head &head, Value element, int64_t lanes,
                       ElementRange within) const;
  Value loadRotated(const Head &head, Value element, int64_t lanes,
                    ElementRange within) const;
  Value turnNeighbours(const Head &head, Value element, Value numbers) const;
  Value turnHalves(const Head &head, Value element, Value numbers) const;
  Value orElse(Value condition, function_ref<Value()> then,
               Value otherwise) const;

  ImplicitLocOpBuilder &b;
  Tensor tensor;
  int64_t heads, headSize;
  bool isPacked;
  int64_t alignment;
  std::optional<Rotation> rotation;
  std::optional<Normalisation> norm;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ROWELEMENTS_H
