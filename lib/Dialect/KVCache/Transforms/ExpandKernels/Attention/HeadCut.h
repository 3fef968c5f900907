//===- HeadCut.h - How a head is cut into fragments ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A head goes to tensor cores 16 elements at a time: a step. Which 16 is free
// as long as both sides of a product agree, so that a lane takes elements that
// lie side by side, as many as one access reads.
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_HEADCUT_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_HEADCUT_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::kvcache {

/// Elements `first` and following of a head: `across` lanes have `perLane` of
/// them each, one lane after the other.
struct HeadPiece {
  int64_t first, perLane, across;
  int64_t span() const { return perLane * across; }
  /// Steps of 16 elements; step `s` has of each lane the `16 / across` elements
  /// from `s * 16 / across` on.
  int64_t steps() const { return span() / 16; }
};

/// A head of elements that share scales: `granularity` of them one.
struct HeadCut {
  llvm::SmallVector<HeadPiece> pieces;
  int64_t granularity, granules;

  /// Cuts a head of `size` elements into pieces of at most `maxBytes` a lane,
  /// each of which has one scale: granules are a head or, as this is, a
  /// multiple of 16 elements.
  HeadCut(int64_t size, int64_t across, int64_t elementBytes, int64_t maxBytes,
          int64_t granularity);

  int64_t granuleOf(const HeadPiece &piece) const {
    return piece.first / granularity;
  }
  /// Elements that a lane has of all pieces.
  int64_t perLane() const;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_ATTENTION_HEADCUT_H
