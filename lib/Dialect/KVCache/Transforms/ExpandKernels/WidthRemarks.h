//===- WidthRemarks.h - What keeps kernels from wide accesses ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_WIDTHREMARKS_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_WIDTHREMARKS_H

#include "KernelBuilder.h"

namespace mlir::kvcache {

/// What lets rows of `memref` (see `areRowsAligned`) start elsewhere than at
/// multiples of `bytes`: a stride or the offset, with its number, or that it is
/// known at run time only. Empty where nothing does.
std::string whyUnaligned(Value memref, int64_t bytes, unsigned rowRank);

/// A condition of wide accesses: something called `what` has, or starts at
/// multiples of, `bytes` bytes.
struct WidthLimit {
  StringRef what;
  int64_t bytes;
};

/// Remarks at `location` that `subject` is accessed `bytes` bytes at a time,
/// unless that is as wide as can be, naming the first limit that is no multiple
/// of the widest access.
void remarkWidth(Location location, StringRef subject, int64_t bytes,
                 ArrayRef<WidthLimit> limits);

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_WIDTHREMARKS_H
