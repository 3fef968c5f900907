//===- LaneGroup.h - Lanes of a warp that work on one thing --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_LANEGROUP_H
#define LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_LANEGROUP_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::kvcache {

/// A power of two of neighbouring lanes of a warp.
struct LaneGroup {
  int64_t lanes;
  /// Whether all lanes of a warp come to the same places of the program; else
  /// only those of a group do.
  bool hasWholeWarps;
  /// The number in the group, `i32`.
  Value lane;

  /// `combine` of an f32 of each lane of the group, in each of them.
  Value reduce(ImplicitLocOpBuilder &b, Value number,
               function_ref<Value(Value, Value)> combine) const;
};

} // namespace mlir::kvcache

#endif // LIB_DIALECT_KVCACHE_TRANSFORMS_EXPANDKERNELS_LANEGROUP_H
